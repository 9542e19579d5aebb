"""Ignore files with pathological rules: thousands of patterns, and patterns that make matchers backtrack."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

from ...server.config import IndexOptions
from ...server.workspace.files import walk
from .campaign import write_file

N_FILES = 100


def slowest_walks(work: Path, rng: random.Random, n_patterns: int) -> dict[str, float]:
    """Seconds of a walk over 100 files under each kind of rules."""
    seconds: dict[str, float] = {}
    files = [f"src/{_letters(rng, 3)}/{_letters(rng, 8)}{n}.py" for n in range(N_FILES)]
    for number, (name, lines) in enumerate(_rules(rng, n_patterns)):
        folder = work / f"rules-{number}"
        names = ["a" * 240, "/".join(["a"] * 100), "b"] if name.startswith("backtracking") else files
        for each in names:
            write_file(folder / each, "")
        (folder / ".git").mkdir()
        write_file(folder / ".gitignore", "\n".join(lines))
        started_s = time.process_time()
        for _ in walk(folder, IndexOptions()):
            pass
        seconds[name] = round(time.process_time() - started_s, 3)
    return seconds


def _rules(rng: random.Random, n: int) -> Iterator[tuple[str, list[str]]]:
    yield f"{n:,} stars in names", [f"*{_letters(rng, 3)}*{_letters(rng, 3)}*{i}" for i in range(n)]
    yield f"{n:,} stars in paths", [f"src/*{_letters(rng, 3)}/**/{_letters(rng, 2)}*{i}" for i in range(n)]
    yield f"{n:,} single letters", ["*a" + "".join(f"*{_letters(rng, 1)}" for _ in range(5)) + "*x" for _ in range(n)]
    sets = (f"*[{_letters(rng, 3)}]*[{_letters(rng, 3)}]?[a-z]*" for _ in range(n // 2))
    yield f"{n // 2:,} sets", [each + "?" * (i % 9) for i, each in enumerate(sets)]
    bombs = ["*a" * 60 + "b", "**/a/" * 60 + "b", "*/" * 200 + "b", "x/" + "*a*/" * 60 + "**/c", "*?a" * 80 + "b"]
    yield "backtracking", [*bombs, "**/**/" * 100 + "a", "[" * 900, "x" + "*" * 900]


def _letters(rng: random.Random, n: int) -> str:
    return "".join(rng.choices("abcdefgh", k=n))
