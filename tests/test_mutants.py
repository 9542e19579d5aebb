"""The list of mutants fits the code, and the tests of the capabilities kill them: here those of the short form."""

import subprocess
import sys
from pathlib import Path

import pytest
from mutation.mutants import read_mutants

TOOL = Path(__file__).parent / "mutation" / "run.py"
MUTANTS = read_mutants()


def test_every_mutant_changes_a_text_that_is_there() -> None:
    """Who changes the place of a mutant changes its row in tests/mutation/."""
    wrong = []
    for mutant in MUTANTS:
        try:
            mutant.source()
        except ValueError as error:
            wrong.append(str(error))
    assert not wrong, "\n".join(wrong)
    assert all(mutant.old != mutant.new for mutant in MUTANTS)


def test_no_mutant_is_listed_twice() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(TOOL), *arguments], capture_output=True, text=True, timeout=600)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the tool forks processes")
def test_the_tests_of_the_rows_kill_the_mutants_of_the_short_form() -> None:
    done = run("--quick")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{sum(mutant.quick for mutant in MUTANTS)} killed, 0 not" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="the tool forks processes")
def test_a_change_without_effect_survives_and_is_reported(tmp_path: Path) -> None:
    """A mutant of a comment: the tool must say that no test failed."""
    script = tmp_path / "survivor.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(TOOL.parent)!r})\n"
        "import run\n"
        "from mutants import Mutant\n"
        "mutant = Mutant(5, 'memory/budgets.py', 'Evidence in prompt order.', 'Evidence.')\n"
        "run.prepare()\n"
        "sys.exit(run.run([mutant], jobs=1, is_checked=False))\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 1 and done.stdout.startswith("survived row 5, memory/budgets.py"), done.stderr
