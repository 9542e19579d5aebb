"""The root package: what it offers is what it says, and the README's promises hold."""

import re
import subprocess
import sys
from pathlib import Path

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


def test_the_questions_of_the_readme_are_answered_in_this_repository(tmp_path):
    questions = re.findall(r'^\$ weft ask ("[^"]+") +#', (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    assert len(questions) == 3
    environment = {**_environment(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    for question in questions:
        command = [sys.executable, "-m", "weft", "ask", question.strip('"')]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
        assert done.returncode == 0 and "Not found" not in done.stdout, (question, done.stdout, done.stderr)


def _environment(tmp_path):
    import os

    return {**os.environ, "WEFT_CACHE_DIR": str(tmp_path), "NO_COLOR": "1", "XDG_CONFIG_HOME": str(tmp_path)}
