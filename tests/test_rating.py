"""Rating: the part of a text to show, by confidence and by the names that fit at the cursor."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from weft.retrieval import RetrievalSettings
from weft.server.completion import Cursor
from weft.server.completion.rating import PROBLEM_FACTOR, rate
from weft.server.completion.values import Request, Trigger, Written
from weft.server.config import Config
from weft.server.workspace.analysis import analyse
from weft.server.workspace.snapshot import FolderSnapshot
from weft.server.workspace.text import TextLines

CURSOR = "<CURSOR>"
CODE = f"""
    class Shop:
        def __init__(self, amounts):
            self.amounts = amounts

        def total(self, *, rate=1):
            return rate

    def pay(shop: Shop, orders):
        {CURSOR}
"""


def rated(
    *pieces: tuple[str, float | None], trigger: Trigger = "automatic", code: str = CODE, **options: Any
) -> Written:
    """The rating of a text of a neural model, whose parts are lines with their own probability."""
    code = textwrap.dedent(code).lstrip("\n")
    before, _, after = code.partition(CURSOR)
    lines = TextLines(before + after)
    snapshot = FolderSnapshot.empty(RetrievalSettings()).with_changes([analyse("shop.py", lines.text)])
    config = Config()
    config = replace(config, completion=replace(config.completion, **options))
    cursor = Cursor("shop.py", lines, *lines.position(len(before)), "/w")
    request = Request(snapshot, cast(Any, SimpleNamespace()), cursor, config, trigger=trigger, multi_line=True)
    return rate(request, Written(pieces, "m", "transformers", "python"))


def test_names_that_fit_change_nothing() -> None:
    found = rated(("return shop", 0.9), (".total(rate=2)", 0.8))
    assert (found.text, found.problem, found.confidence) == ("return shop.total(rate=2)", "", pytest.approx(0.72))


def test_a_text_ends_before_the_line_with_a_name_that_is_not_bound() -> None:
    found = rated(("shop.total()", 0.9), ("\n    return invoices", 0.9))
    assert (found.text, found.problem, found.confidence) == ("shop.total()", "", 0.9)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("return invoices", "`invoices` is not bound here"),
        ("return shop.price()", "there is no member `price`"),
        ("return shop.total(tax=1)", "the called function takes no argument `tax`"),
    ],
)
def test_a_first_line_that_does_not_fit_is_hidden_with_the_reason(text: str, problem: str) -> None:
    found = rated((text, 0.9))
    assert (found.text, found.problem) == (text, problem)


def test_a_text_without_probabilities_is_checked_too() -> None:
    assert rated(("return invoices", None)).problem == "`invoices` is not bound here"
    assert rated(("return orders", None)).problem == ""


def test_an_invoked_request_gets_the_whole_text_and_less_confidence() -> None:
    found = rated(("shop.total()", 0.9), ("\n    return invoices", 0.9), trigger="invoked")
    assert found.text == "shop.total()\n    return invoices"
    assert found.confidence == pytest.approx(0.81 * PROBLEM_FACTOR)


def test_the_check_is_a_setting() -> None:
    found = rated(("return invoices", 0.9), check_names=False)
    assert (found.text, found.problem) == ("return invoices", "")


def test_an_unlikely_text_is_not_checked() -> None:
    found = rated(("return invoices", 0.1))
    assert (found.problem, found.confidence) == ("", pytest.approx(0.1))


def test_the_thresholds_of_models_and_of_the_index_differ() -> None:
    request = Request(cast(Any, None), cast(Any, None), cast(Any, None), Config(), trigger="automatic", multi_line=None)
    settings = {backend: request.least_confidence(backend) for backend in ("workspace", "imports", "ollama")}
    options = Config().completion
    assert settings["workspace"] == settings["imports"] == (options.min_confidence, "completion.min_confidence")
    assert settings["ollama"] == (options.min_model_probability, "completion.min_model_probability")
