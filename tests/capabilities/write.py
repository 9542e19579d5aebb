"""Generate `docs/capabilities.md`: every capability of the papers, its code, and the tests that fail without it.

    python tests/capabilities/write.py

`rows.toml` numbers the capabilities; the other files beside it name the code of each. `tests/test_capabilities.py`
checks that what they name exists, and that the page is up to date.
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

This page lists every capability of the papers that Weft implements, numbered as in the specification.
Each row names the code that implements the capability, and the tests that fail without it.
`python tests/capabilities/write.py` generates this page; a test checks that the code and the tests exist.
`make mutate` changes the code of each row in some places, one at a time, and reports what the tests do not notice.
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
    lines = [HEAD, "| # | system | capability | values, default first | code | tests |", "|---|---|---|---|---|---|"]
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
