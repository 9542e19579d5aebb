"""The root package: what it offers is what it says, and the README's promises hold."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import weft

ROOT = Path(weft.__file__).resolve().parent


def test_every_public_name_is_there():
    for name in weft.__all__:
        assert getattr(weft, name).__name__ == name


def test_the_public_names_are_those_that_have_a_home():
    assert sorted(name for names in weft._HOMES.values() for name in names) == sorted(weft.__all__)


def test_a_wrong_name_is_an_attribute_error():
    assert not hasattr(weft, "Workspaces")


def test_the_readme_example_runs(tmp_path):
    (tmp_path / "price.py").write_text("def total_price(items):\n    return sum(item.price for item in items)\n" * 3)
    (tmp_path / "shop.py").write_text("from price import total_price\n\n\ndef pay(items):\n    return total_\n")
    with weft.Workspace([tmp_path], weft.Config(), cache=False) as workspace:
        workspace.index()
        completion = workspace.complete(tmp_path / "shop.py", line=4, character=17, trigger="invoked")
        assert completion.start == (4, 17)
        assert any("price.py" in place.path for ranked in completion.fragments for place in ranked.fragment.locations)


COMMANDS = {
    "make demo": "test_demo.py",
    ".venv/bin/weft demo": "test_demo.py",
    "weft": "test_overview.py",
    "weft complete path/to/your/file.py:120": "test_cli.py",
    'weft ask "what calls total_price?"': "test_ask_cli.py",
    "weft setup": "test_setup_command.py",
    "weft editors": "test_editors_command.py",
    "weft doctor": "test_cli.py",
    "make test": "runs these tests",
    "make editors-demo": "downloads VS Code; tests/editors/vscode starts the same",
    "make tiny-model test-local": "trains a model; the tests marked local",
    "make test-servers": "builds a server; the tests marked servers",
    "python3 -m venv .venv": "test_packages.py installs",
    ".venv/bin/pip install -c constraints.txt -e .": "distribution/__main__.py installs as it says",
    '.venv/bin/pip install -c constraints.txt -e ".[dev]"': "distribution/__main__.py installs as it says",
    ".venv/bin/python -m pytest -c tests/pytest.ini": "runs these tests",
    "weft retrieve --explain": "test_cli.py",
    "weft bench typed": "test_bench_typed.py",
    "weft mcp": "test_mcp.py",
    "weft explore": "test_explore.py",
}
"""Each command of the README: the test that runs it, or the reason why none does."""


def test_each_command_of_the_readme_is_run_by_a_test_or_has_a_reason():
    text = (ROOT / "README.md").read_text("utf-8")
    shown = re.findall(r"^\$ (.+?)(?: {2,}#.*)?$", text, re.MULTILINE)
    for code in re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)):
        shown += [part for part in code.split(" && ") if re.match(r"(make|weft|python3?|\.venv/bin/\S+) ", part)]
    known = {
        command for command in shown if any(command == each or command.startswith(f"{each} tests") for each in COMMANDS)
    }
    assert len(set(shown)) > 12
    assert set(shown) - known == {'weft ask "Where is the price of a parcel computed?"'}  # a part of the demo's output
    for reason in COMMANDS.values():
        assert not reason.endswith(".py") or (ROOT / "tests" / reason).is_file() or (ROOT / reason).is_file(), reason


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 150


def test_the_figures_of_the_readme_are_those_of_the_committed_result():
    """Saved characters and wrong texts as they are there, and the share of right texts without decimals."""
    rows = table_rows(ROOT / "benchmarks" / "results" / "typed.md")
    results = {cells[0].rpartition("/")[2]: cells for cells in reversed(rows) if len(cells) == 13}
    headline = [
        cells for cells in table_rows(ROOT / "README.md") if cells[0].endswith((" (Python)", " (TypeScript)", " (Go)"))
    ]
    assert len(headline) == 7
    for name, saved, wrong, right in headline:
        cells = results[name.partition(" (")[0]]
        assert (saved, wrong) == (f"{cells[1]} %", cells[4]), name
        assert abs(float(right.removesuffix(" %")) - float(cells[7])) <= 0.5, name


def table_rows(path):
    """The cells of all rows of the Markdown tables in a file."""
    lines = path.read_text("utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


@pytest.mark.slow
def test_the_questions_of_the_documents_are_answered_in_this_repository(tmp_path):
    usage = (ROOT / "docs" / "usage.md").read_text("utf-8")
    questions = re.findall(r'^\$ weft ask ("[^"]+") +#', usage, re.MULTILINE)
    assert len(questions) == 3
    environment = {**_environment(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    for question in questions:
        command = [sys.executable, "-m", "weft", "ask", question.strip('"')]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
        assert done.returncode == 0 and "Not found" not in done.stdout, (question, done.stdout, done.stderr)


def _environment(tmp_path):
    import os

    return {**os.environ, "WEFT_CACHE_DIR": str(tmp_path), "NO_COLOR": "1", "XDG_CONFIG_HOME": str(tmp_path)}
