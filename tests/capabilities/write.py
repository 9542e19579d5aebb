"""Write `docs/capabilities.md`: every capability of the papers, where it is, and the tests that fail without it.

    python tests/capabilities/write.py

`rows.toml` numbers the capabilities; the other files beside it say where each is done. `tests/test_capabilities.py`
holds that what they name exists, and that the document is what this prints.
"""

from __future__ import annotations

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DOCUMENT = ROOT / "docs" / "capabilities.md"

HEAD = """\
# Capabilities

Every capability of the papers that Weft implements, by the numbers of the specification.
Each names where it is done, and the tests that would fail without it.
This page is written by `python tests/capabilities/write.py`; a test holds that the places and the tests exist.
"""


def rows() -> list[dict]:
    """The capabilities in order, each with `done`: a list of what the other files say of it."""
    capabilities = _read(HERE / "rows.toml")
    by_number = {row["number"]: {**row, "done": []} for row in capabilities}
    for path in sorted(HERE.glob("*.toml")):
        if path.name != "rows.toml":
            for entry in _read(path):
                by_number[entry["number"]]["done"].append(entry)
    return list(by_number.values())


def document() -> str:
    lines = [HEAD, "| # | system | capability | values, default first | where | tests |", "|---|---|---|---|---|---|"]
    for row in rows():
        where = "<br>".join(dict.fromkeys(f"`{entry['where']}`" for entry in row["done"] if entry["where"]))
        tests = "<br>".join(dict.fromkeys(f"`{test}`" for entry in row["done"] for test in _short(entry["tests"])))
        notes = " ".join(filter(None, (entry.get("note", "") for entry in row["done"])))
        values = row["values"] + (f" ({notes})" if notes else "")
        lines.append(f"| {row['number']} | {row['system']} | {row['name']} | {values} | {where} | {tests} |")
    return "\n".join(lines) + "\n"


def _short(tests: list[str]) -> list[str]:
    return [test.removeprefix("tests/") for test in tests]


def _read(path: Path) -> list[dict]:
    with path.open("rb") as file:
        return tomllib.load(file)["row"]


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
