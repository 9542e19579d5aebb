"""Edit of the user's configuration file: put a model first, and keep every other character.

The new text is parsed and compared with the intended result before it atomically replaces the file; the old file stays
as `.bak`. Knows no model and no setting.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import UserError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from ...llm.disk import NotRegular, read_regular, replacing

_HEADER = re.compile(r"\s*\[")
_MODEL_HEADER = re.compile(r"""\s*\[\[\s*(model|"model"|'model')\s*\]\]\s*(#.*)?$""")
_IDENTITY = ("backend", "path", "url", "name")  # two tables with the same values are the same model

Table = Mapping[str, str | int | bool]


class CannotEdit(UserError):
    """The file is unchanged. The message says what to write into it by hand."""


def prefer_model(path: Path, table: Table) -> bool:
    """Make `table` the first `[[model]]` of the file at `path`; an existing table of the same model is moved.

    Returns False if it already is the first. Raises CannotEdit, and OSError if the file can't be written.
    """
    path = Path(os.path.realpath(path))  # a symbolic link stays a link
    try:
        data = read_regular(path) if path.exists() else b""
    except NotRegular as error:
        raise CannotEdit(f"Can't read {path}: {error.strerror}. Replace it by a file.") from error
    try:
        text = data.decode("utf-8")
        before = tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except ValueError as error:
        raise CannotEdit(f"Can't read {path}: {error}. Correct it first.") from error
    models = before.get("model", [])
    reason = f"{path} has an unusual layout, which Weft does not edit. Write as its first model:"
    by_hand = CannotEdit("\n".join([reason, *_block(table)]))
    if not (isinstance(models, list) and all(isinstance(model, dict) for model in models)):
        raise by_hand
    same = [number for number, model in enumerate(models) if _identity(model) == _identity(table)]
    if same == [0]:
        return False
    lines = text.splitlines(keepends=True)
    line_break = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    if same:
        block = _cut_model(lines, same[0])
        intended = [models[same[0]], *(model for number, model in enumerate(models) if number != same[0])]
    else:
        block = [line + line_break for line in _block(table)]
        intended = [dict(table), *models]
    _put_first(lines, block, line_break)
    new = "".join(lines)
    try:
        after = tomllib.loads(new.removeprefix("\ufeff").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError:
        after = {}
    if after != {**before, "model": intended}:
        raise by_hand
    _replace(path, new.encode())
    return True


def _block(table: Table) -> list[str]:
    # A JSON string is a TOML string, except for DEL, which JSON does not escape.
    values = {name: json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f") for name, value in table.items()}
    return ["[[model]]", *(f"{name} = {value}" for name, value in values.items())]


def _cut_model(lines: list[str], number: int) -> list[str]:
    """Remove the lines of the model with this number from `lines`, and return them."""
    begin = [index for index, line in enumerate(lines) if _MODEL_HEADER.match(line)][number : number + 1]
    if not begin:
        return []
    end = next((i for i in range(begin[0] + 1, len(lines)) if _HEADER.match(lines[i])), len(lines))
    end = _above_comments(lines, end, begin[0] + 1) if end < len(lines) else end
    first = _above_comments(lines, begin[0], 0)
    block = lines[first:end]
    del lines[first:end]
    return block


def _put_first(lines: list[str], block: list[str], line_break: str) -> None:
    """Insert `block` before the first model and the comment above it, or at the end."""
    at = next((index for index, line in enumerate(lines) if _MODEL_HEADER.match(line)), len(lines))
    is_last = at == len(lines)
    at = at if is_last else _above_comments(lines, at, 0)
    for part in (lines, block):
        if part and not part[-1].endswith("\n"):
            part[-1] += line_break
    if is_last and lines and lines[-1].strip():
        block = [line_break, *block]
    elif not is_last and block[-1:] and block[-1].strip():
        block = [*block, line_break]
    lines[at:at] = block


def _above_comments(lines: list[str], at: int, lowest: int) -> int:
    """The start of the comment lines right above line `at`, which belong to what follows."""
    while at > lowest and lines[at - 1].lstrip().startswith("#"):
        at -= 1
    return at


def _identity(table: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(table.get(name, "") for name in _IDENTITY)


def _replace(path: Path, new: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        shutil.copy2(path, path.with_name(path.name + ".bak"))
    with replacing(path) as file:
        file.write(new)
        if path.exists():
            shutil.copymode(path, file.name)
