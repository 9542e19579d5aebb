"""Validated reading of JSON records: an error names the line, the field and the expected value.

Owns the error. Knows no data set.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from ...errors import UserError


class BadData(UserError):
    """A file has another form than expected. The message names the file, the place, and the expected form."""


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object and its place: "file.jsonl:3"."""

    where: str
    fields: Mapping[str, Any]

    def text(self, name: str, default: str | None = None) -> str:
        value = self.fields.get(name, default)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            self.fail(name, "a text")
        return str(value)

    def texts(self, name: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """At least one, or the default when the field is missing."""
        if default is not None and name not in self.fields:
            return default
        value = self.fields.get(name)
        if not isinstance(value, list) or not value or not all(isinstance(each, str | int | float) for each in value):
            self.fail(name, "a list of texts, with at least one")
        return tuple(map(str, value))

    def number(self, name: str, least: int, most: int) -> int:
        value = self.fields.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.fail(name, f"a number from {least} to {most}")
        return value

    def record(self, name: str) -> Record:
        value = self.fields.get(name)
        if not isinstance(value, dict):
            self.fail(name, "an object")
        return Record(f"{self.where}, {name}", value)

    def records(self, name: str) -> list[Record]:
        """The objects of a list; there may be none."""
        value = self.fields.get(name)
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            self.fail(name, "a list of objects")
        return [Record(f"{self.where}, {name}[{place}]", each) for place, each in enumerate(value)]

    def fail(self, name: str, expected: str) -> NoReturn:
        found = "nothing" if name not in self.fields else repr(self.fields[name])[:60]
        raise BadData(f"{self.where}: field {name!r}: expected {expected}, found {found}. Correct the file.")


def read_records(path: Path) -> Iterator[Record]:
    """The objects of a file: one a line, or all in one list. Raises BadData."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadData(
            f"{path}: expected UTF-8, found another encoding at byte {error.start}. Convert the file."
        ) from None
    except OSError as error:
        raise BadData(f"{path} cannot be read: {error.strerror}. Name another file.") from None
    if text.lstrip().startswith("["):
        values = _parsed(text, str(path))
        places = ((f"{path}, item {number}", value) for number, value in enumerate(values))
    else:
        lines = ((f"{path}:{number}", line) for number, line in enumerate(text.split("\n"), 1) if line.strip())
        places = ((where, _parsed(line, where)) for where, line in lines)
    for where, value in places:
        if not isinstance(value, dict):
            raise BadData(f"{where}: expected a JSON object, found {repr(value)[:60]}. Correct the file.")
        yield Record(where, value)


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadData(f"{where}: expected JSON: {error}. Correct the file.") from None
