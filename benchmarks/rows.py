"""JSON-lines cache of rows of earlier runs, and a digest of the code that they depend on.

Owns the file format: a line that a killed run left incomplete loses that row only. Knows no benchmark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import asdict
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_ROOT = Path(__file__).resolve().parents[1]


T = TypeVar("T", bound="DataclassInstance")


class RowCache(Generic[T]):
    """The rows of a file whose name holds a hash of everything that they depend on."""

    def __init__(self, folder: Path, name: str, depends_on: object, make: Callable[..., T]) -> None:
        self._path = folder / f"{name}-{sha256(repr(depends_on).encode()).hexdigest()[:12]}.jsonl"
        self._make = make

    def rows(self) -> list[T]:
        return [self._make(**row) for row in read_rows(self._path)]

    def add(self, rows: Iterable[T]) -> None:
        add_rows(self._path, (json.dumps(asdict(row), ensure_ascii=False) for row in rows))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file; none where there is no file."""
    rows = []
    if path.is_file():
        for line in path.read_text(encoding="utf-8").split("\n"):
            with suppress(ValueError):
                rows.append(json.loads(line))
    return rows


def add_rows(path: Path, lines: Iterable[str]) -> None:
    """Append rows in JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", newline="") as file:
        # The line break comes first: it also ends a line that a killed run left incomplete.
        file.write("".join(f"\n{line}" for line in lines))


@lru_cache(maxsize=8)
def code_digest(parts: tuple[str, ...], left_out: Collection[str] = frozenset()) -> str:
    """Hash of the code and the JSON data in these files and folders of Weft; `left_out` are names of files."""
    digest = sha256()
    for part in parts:
        path = _ROOT / part
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            counts = file.suffix in (".py", ".json") and file.name not in left_out
            if counts and "training" not in file.parts:
                digest.update(file.relative_to(_ROOT).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()[:12]
