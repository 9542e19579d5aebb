"""JSON-lines cache of rows of earlier runs, and a digest of the code that they depend on.

Owns the form of the files: a line that a killed run tore costs that row alone. Knows no benchmark.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """What is kept; nothing where there is no file."""
    rows = []
    if path.is_file():
        for line in path.read_text(encoding="utf-8").split("\n"):
            with suppress(ValueError):
                rows.append(json.loads(line))
    return rows


def add_rows(path: Path, lines: Iterable[str]) -> None:
    """Write rows, which are JSON already."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", newline="") as file:
        # The line break comes first: it also ends a line that a killed run tore.
        file.write("".join(f"\n{line}" for line in lines))


@lru_cache(maxsize=8)
def code_digest(parts: tuple[str, ...], left_out: Collection[str] = frozenset()) -> str:
    """Of all code in these files and folders of Weft, and the figures beside it; `left_out` are names of files."""
    digest = sha256()
    for part in parts:
        path = _ROOT / part
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            counts = file.suffix in (".py", ".json") and file.name not in left_out
            if counts and "training" not in file.parts:
                digest.update(file.relative_to(_ROOT).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()[:12]
