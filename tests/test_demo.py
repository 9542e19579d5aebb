"""`weft demo`: completions that no line of its project contains, an answer, a next step, and what an edit leads to."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from repository import ROOT
from weft.server.cli import demo, main
from weft.server.config import CompletionOptions

SHOP = ROOT / "examples" / "shop"
LANGUAGES = {".py", ".ts", ".go"}


@pytest.fixture
def run(capsys):
    """`run("--json")`: exit status, stdout, stderr."""

    def command(*arguments: str):
        status = main(["demo", *arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return command


@pytest.fixture
def shop(tmp_path) -> Path:
    """A copy of the project with one half-typed file, which is quick."""
    shutil.copytree(SHOP, tmp_path / "shop")
    for path in demo.HALF_TYPED:
        if path != "backend/shop/suppliers.py":
            (tmp_path / "shop" / path).unlink()
    return tmp_path / "shop"


def edit(shop: Path, text: str) -> None:
    (shop / "backend/shop/suppliers.py").write_text(text, encoding="utf-8")


def test_the_installed_project_shows_what_the_readme_says(run):
    status, out, err = run("--json")
    shown = json.loads(out)
    assert (status, err) == (0, "")
    completions = shown["completions"]
    assert [each["path"] for each in completions] == list(demo.HALF_TYPED) and len(completions) == 5
    assert {Path(each["path"]).suffix for each in completions} == LANGUAGES
    lines = [line for path in SHOP.rglob("*") if path.is_file() for line in path.read_text("utf-8").splitlines()]
    for each in completions:
        added = "".join(each["shown"]).strip()
        assert added and not any(added in line for line in lines), each
        assert min(each["confidence"]) >= CompletionOptions().min_confidence and each["foundIn"] == ""
    assert shown["answer"].startswith("`RateTable.PriceCents` in shipping/rates.go:33")
    assert shown["nextStep"] == demo.NEXT_STEP
    readme = (ROOT / "README.md").read_text("utf-8").partition("$ make demo\n")[2].partition("```")[0]
    written = {each["typed"].lstrip() + "".join(each["shown"]) for each in completions}
    completed = re.findall(r"^\s*\d+ │ (.+)\n +Tab:", readme, re.MULTILINE)
    assert completed and {line.strip() for line in completed} <= written


def test_a_project_is_completed_answered_and_followed_by_a_next_step(run, shop):
    status, out, _ = run(str(shop))
    assert status == 0
    assert "13 │         self._suppliers[supplier.supplier_id] = supplier\n     Tab: `suppliers` + " in out
    assert "% sure; no line of the project contains it." in out
    assert '$ weft ask "Where is the price of a parcel computed?"' in out
    assert "shipping/rates.go:33" in out and out.endswith(f"{demo.NEXT_STEP}\n")


def test_an_edited_file_is_completed_by_its_own_names(run, shop):
    text = (shop / "backend/shop/suppliers.py").read_text("utf-8")
    edit(shop, text.replace("supplier", "vendor").replace("Supplier", "Vendor"))
    status, out, _ = run(str(shop))
    assert status == 0 and "13 │         self._vendors[vendor" in out


def test_where_nothing_is_sure_the_reason_is_said(run, shop):
    edit(shop, "def rebate(percent):\n    factor = 1 - percent / 100\n    zq")
    status, out, _ = run(str(shop))
    assert status == 1
    assert re.search(r"3 │     zq\n +Nothing is shown: .+\.\n", out)


def test_a_completion_that_a_line_contains_is_said_so(run, shop):
    text = (shop / "backend/shop/suppliers.py").read_text("utf-8")
    edit(shop, text.replace("supplier", "customer").replace("Supplier", "Customer"))
    _, out, _ = run(str(shop))
    assert "self._customers[customer.customer_id] = customer" in out
    assert re.search(r"% sure; backend/shop/repository\.py:\d+ contains it\.\n", out)


def test_a_copy_does_not_overwrite_edits(run, tmp_path):
    folder = tmp_path / "my shop"
    status, out, _ = run("--to", str(folder))
    assert status == 0 and f"weft demo {folder}" in out
    changed = folder / "shipping/fleet.go"
    changed.write_text("package shipping\n")
    status, _, err = run("--to", str(folder))
    assert status == 2 and "--force" in err
    assert run("--to", str(folder), "--force")[0] == 0
    assert changed.read_bytes() == (SHOP / "shipping/fleet.go").read_bytes()


def test_another_folder_is_refused_with_the_next_step(run, tmp_path):
    status, _, err = run(str(tmp_path))
    assert status == 2 and "weft demo --to DIR" in err
