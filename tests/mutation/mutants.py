"""The list of mutants: one small change of the code each, and the capability whose tests must fail with it.

The files `*.toml` beside this one have a table for each mutant:

    [[mutant]]
    row = 15                          # of docs/capabilities.md: the tests that this row names must fail
    file = "retrieval/fragrel.py"
    old = "options.alpha * scores"    # occurs once in the file
    new = "0.5 * scores"
    quick = true                      # optional: belongs to the short form
    needs = "torch"                   # optional: left out where this module or program is missing
    equivalent = "…"                  # optional: the reason why no test can fail; not run

With `after`, `old` is the first occurrence behind that text.
"""

from __future__ import annotations

import importlib.util
import runpy
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


@dataclass(frozen=True)
class Mutant:
    row: int
    file: str
    old: str
    new: str
    after: str = ""
    quick: bool = False
    needs: str = ""
    equivalent: str = ""

    @property
    def name(self) -> str:
        return f"row {self.row}, {self.file}: {_one_line(self.old)} -> {_one_line(self.new) or 'nothing'}"

    @property
    def module(self) -> str:
        """The name under which the tests import the file."""
        return ".".join(["weft", *Path(self.file).with_suffix("").parts]).removesuffix(".__init__")

    @property
    def can_run(self) -> bool:
        return not self.equivalent and (not self.needs or _is_installed(self.needs))

    def source(self) -> str:
        """The file with the change. Raises ValueError if `old` does not occur exactly once (behind `after`)."""
        text = (ROOT / self.file).read_text(encoding="utf-8")
        before, after, rest = text.partition(self.after) if self.after else ("", "", text)
        found = rest.count(self.old)
        if found == 0 or (found > 1 and not self.after):
            raise ValueError(f"{self.name}: the text occurs {found} times. Correct the row in tests/mutation/.")
        return before + after + rest.replace(self.old, self.new, 1)


def read_mutants() -> list[Mutant]:
    """All mutants, file by file."""
    return [Mutant(**table) for path in sorted(HERE.glob("*.toml")) for table in _read(path)]


def tests_of_rows() -> dict[int, list[tuple[str, str]]]:
    """For each row of docs/capabilities.md, its tests, each with the file that it speaks for."""
    rows: list[dict[str, Any]] = runpy.run_path(str(ROOT / "tests" / "capabilities" / "write.py"))["rows"]()
    return {
        row["number"]: [(done["where"].partition(":")[0], test) for done in row["done"] for test in done["tests"]]
        for row in rows
    }


def tests_of(mutant: Mutant, rows: dict[int, list[tuple[str, str]]]) -> list[str]:
    """The tests of its row, those of its file first."""
    tests = sorted(rows[mutant.row], key=lambda entry: entry[0] != mutant.file)
    return list(dict.fromkeys(test for _, test in tests))


def _read(path: Path) -> list[dict[str, Any]]:
    with path.open("rb") as file:
        tables: list[dict[str, Any]] = tomllib.load(file)["mutant"]
    return tables


def _is_installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None or shutil.which(name) is not None


def _one_line(text: str) -> str:
    return " ".join(text.split())
