"""docs/papers.md is true: every difference between a default and its preset has a row, and the page is up to date."""

import re
import runpy
from pathlib import Path

import pytest
import weft
from weft.memory.strategies import SYSTEMS

ROOT = Path(weft.__file__).resolve().parent
WRITER = runpy.run_path(str(ROOT / "tests" / "papers" / "write.py"))
REASONS = WRITER["reasons"]()
PAGE = {system.name: system for system in WRITER["SYSTEMS_OF_PAGE"]}
ROWS = [(name, setting, about) for name, of in REASONS.items() for setting, about in of["settings"].items()]


def differing(name):
    return [setting for setting, _, _ in WRITER["differences"](PAGE[name].default, PAGE[name].as_printed)]


def test_the_document_is_what_the_settings_say():
    assert WRITER["DOCUMENT"].read_text(encoding="utf-8") == WRITER["document"]()


@pytest.mark.parametrize("name", PAGE)
def test_each_differing_setting_has_a_row_and_no_row_is_left_over(name):
    assert sorted(REASONS[name]["settings"]) == sorted(differing(name))
    assert differing(name), "a preset that changes nothing"


def test_reasons_are_of_systems_on_the_page_and_every_system_is_there():
    assert REASONS.keys() == PAGE.keys()
    shown = [(system.default, system.as_printed) for system in PAGE.values()]
    for name, system in SYSTEMS.items():
        plain = name in ("fragrel", "qrmem", "memorag", "segment_plus")
        # The others have the same presets under another relation or navigation.
        assert not plain or (system.default, system.as_printed) in shown, name


@pytest.mark.parametrize(("name", "setting", "about"), ROWS, ids=[f"{name} {setting}" for name, setting, _ in ROWS])
def test_a_measurement_is_in_the_file_that_the_row_names(name, setting, about):
    assert about["paper"] and about["why"]
    if "source" not in about:
        assert "figures" not in about
        return
    text = (ROOT / about["source"]).read_text(encoding="utf-8")
    for line in about["figures"]:
        assert line in text, f"{name} {setting}: {line}"
    # Every number with a decimal in the row is one of the figures.
    figures = " ".join(about["figures"])
    for number in re.findall(r"\d+\.\d", about["measured"]):
        assert number in figures or float(number) <= 1, f"{name} {setting}: {number}"


def test_a_row_without_a_source_says_that_it_is_not_measured():
    text = WRITER["document"]()
    for _, setting, about in ROWS:
        (row,) = {line for line in text.splitlines() if line.startswith(f"| `{setting}` |") and about["why"] in line}
        assert ("| not measured" in row) is ("source" not in about)


def test_differences_of_nested_settings_are_named_with_their_place():
    chat = PAGE["fragrel_chat"]
    assert ("memory.relation.w_rel", "`0.3`", "`0.8`") in list(WRITER["differences"](chat.default, chat.as_printed))
