"""Explanation of the completion at a cursor: shown or hidden, with the true reason, and where its text comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from weft import Explanation, Workspace
from weft.llm.protocol import Cancel, CompletionRequest, ModelInfo, Piece, Speed
from weft.llm.workspace_model import Origin, Origins
from weft.server.completion.explanation import reasons_of
from weft.server.completion.values import AUTOMATIC, RequestOptions
from weft.server.config import CompletionOptions, Config
from weft.server.output.pages import explanation_page

LINE = "total = sum(item.price for item in basket)"
FILES = {f"part_{n}.py": f"def price_{n}(basket):\n    {LINE}\n    return total\n" for n in range(3)}
CALL = "def pay(basket):\n    total = "


class Scripted:
    """A neural model that writes one text with one probability, and counts its calls."""

    def __init__(self, text: str, probability: float) -> None:
        self.text, self.probability, self.n_calls = text, probability, 0
        self.info, self.speed = ModelInfo("scripted", "test", 4096, True, False, local=True), Speed()

    def prepare(self, cancel: Cancel) -> None: ...

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None: ...

    def close(self) -> None: ...

    def count_tokens(self, text: str) -> int:
        return len(text)

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        self.n_calls += 1
        yield Piece(self.text, self.probability)


def explained(
    folder: Path, text: str, model: Scripted | None = None, by_hand: bool = False, **options: object
) -> tuple[Explanation, list[str]]:
    """The explanation at `<CURSOR>` of new.py, and its page."""
    for name, content in FILES.items():
        (folder / name).write_text(content)
    before, _, after = text.partition("<CURSOR>")
    lines = before.split("\n")
    config = Config(completion=CompletionOptions(debounce_ms=0, **options))  # type: ignore[arg-type]
    with Workspace([folder], config, model=model, cache=False) as workspace:
        workspace.index()
        request = RequestOptions("invoked") if by_hand else AUTOMATIC
        found = workspace.explain(folder / "new.py", len(lines) - 1, len(lines[-1]), request, text=before + after)
        assert workspace.stats.summary().day.n_asked.total() == 0
    return found, [line["text"] for line in explanation_page(found)]


LEAST = Config().completion.min_confidence


def test_a_shown_text_has_its_sources_and_no_fragments(tmp_path, all_sure):
    found, page = explained(tmp_path, CALL)
    assert (found.text, found.why_hidden, found.writer) == (LINE.removeprefix("total = "), "", "workspace")
    assert [source.text.strip() for source in found.sources] == [LINE] * 3
    assert page[0] == "Completion at new.py:2:13"
    assert page[2:5] == [
        f"     | {found.text}",
        "Shown while typing.",
        f"{found.confidence:.0%} sure, shown from {LEAST:.0%} (completion.min_confidence).",
    ]
    assert page[6:9] == ["Comes from:", "  part_0.py:2", f"     | {LINE}"]
    assert "  - 3 places have this text after similar code." in page
    assert not any("fragment" in line.lower() for line in page)


def test_a_hidden_text_has_its_exact_confidence_and_the_threshold(tmp_path, whole_sure):
    shown, _ = explained(tmp_path, CALL, min_confidence=0.3)
    assert shown.why_hidden == ""
    found, page = explained(tmp_path, CALL, min_confidence=0.95)
    assert (found.text, found.confidence, found.sources) == (shown.text, shown.confidence, shown.sources)
    reason = f"low confidence: {shown.confidence:.0%} sure, shown from 95% (completion.min_confidence)"
    assert found.why_hidden == reason
    assert page[3:6] == [
        "Not shown while typing.",
        f"L{reason[1:]}.",
        "Request a completion by hand to insert it.",
    ]


def test_a_rule_that_hides_a_text_is_named(tmp_path):
    found, page = explained(tmp_path, CALL + "sum(item<CURSOR>) + 1", in_strings=False)
    assert found.why_hidden.startswith("code follows the cursor on its line")
    assert "code follows the cursor on its line" in " ".join(page).lower()


def test_without_a_text_the_reason_is_all(tmp_path):
    _, page = explained(tmp_path, CALL + "co<CURSOR>unt")
    assert page[2:] == ["No completion.", "The cursor is inside a word; request a completion by hand."]


@pytest.mark.parametrize(("probability", "least", "is_shown"), [(0.99, 0.3, True), (0.0001, 0.95, False)])
def test_a_neural_model_has_its_confidence_and_the_fragments_of_its_prompt(tmp_path, probability, least, is_shown):
    model = Scripted("count_of(basket)", probability)
    found, page = explained(tmp_path, CALL, model, min_model_probability=least, check_names=False)
    assert (found.text, found.writer, model.n_calls) == ("count_of(basket)", "scripted", 1)
    assert (found.why_hidden == "") == is_shown and ("Shown while typing." in page) == is_shown
    assert is_shown or found.why_hidden.startswith("low confidence: ")
    assert found.sources == () and "The prompt of scripted contains, as far as there is room:" in page
    assert any(line.startswith("1. ") for line in page)


def test_a_neural_model_is_not_called_for_a_text_that_is_not_shown(tmp_path):
    model = Scripted("count", 0.9)
    found, _ = explained(tmp_path, CALL + "co<CURSOR>unt", model)
    assert (found.text, model.n_calls) == ("", 0)
    assert found.why_hidden.startswith("the cursor is inside a word")


def test_an_import_is_based_on_the_files_that_import_it(tmp_path):
    for n in range(2):
        (tmp_path / f"user_{n}.py").write_text("from part_1 import price_1\n\nx = price_1([])\n")
    found, page = explained(tmp_path, "from part_1 import <CURSOR>\n\ny = price_1([])\n")
    assert found.text == "price_1"
    assert found.reasons == (
        "This file uses it and does not import it yet.",
        "Other files import it.",
        "The module exports no other name.",
        "2 places have this text after similar code.",
        "The 4 tokens before it are the same in the most similar of them.",
        "The confidence is that of texts within a line.",
    )
    assert "  - Other files import it." in page and found.sources[0].place.path == "user_0.py"


def test_a_name_that_does_not_fit_is_a_reason_of_a_text_by_hand(tmp_path, all_sure):
    code = CALL.replace("basket", "cart")
    by_hand, page = explained(tmp_path, code, by_hand=True)
    assert page[3].startswith("While typing, only `sum")
    assert by_hand.text == LINE.removeprefix("total = ")
    assert by_hand.reasons[-1] == "`basket` is not bound here, which lowers the confidence."


def test_a_text_by_hand_says_what_is_shown_while_typing():
    texts = Explanation("a.py", 0, 0, "workspace", (), text="sum(basket)", confidence=0.1, shown_instead="sum")
    assert texts.verdict == ("While typing, only `sum` is shown.", "This text: 10% sure.")
    hidden = replace(texts, why_hidden="low confidence: 10% sure, shown from 30%", shown_instead="min(\n    a,\n)")
    assert hidden.verdict == (
        "While typing, `min(` … is shown.",
        "This text: low confidence: 10% sure, shown from 30%.",
    )


def test_a_reason_is_one_line():
    origins = Origins("if sold:\n    return 0", (Origin("a.py", 0, 2),), 1)
    assert reasons_of(origins, "line start")[0] == "1 place has `if sold:` and the next lines after similar code."


def test_a_hidden_text_with_an_unbound_name_is_found_each_time_it_is_asked_for(tmp_path, all_sure):
    for number in range(3):
        code = f"def size_{number}(basket):\n    total = basket.size()\n    return total\n"
        (tmp_path / f"part_{number}.py").write_text(code)
    text = "def pay():\n    total = "
    with Workspace([tmp_path], Config(completion=CompletionOptions(debounce_ms=0)), cache=False) as workspace:
        workspace.index()
        service = workspace.completion

        def complete(trigger):
            request = service.request_at(tmp_path / "new.py", 1, 12, RequestOptions(trigger), text=text)
            return service.complete(request).text

        texts = [complete(trigger) for trigger in ("automatic", "invoked", "invoked", "automatic")]
        assert texts == ["", "basket.size()", "basket.size()", ""]
        assert workspace.explain(tmp_path / "new.py", 1, 12, text=text).text == "basket.size()"


SUGGESTED_PARTS = [
    ((("chain", "filter("),), ("`filter` follows such an expression elsewhere.",)),
    ((("statement", "Mode.FAST"),), ("`Mode.FAST` fits the statement.",)),
    ((), ()),
    ((("member", "evict("),), ("`evict` is a member of the receiver.",)),
    ((("argument", "timeout"),), ("`timeout` fits the called function.",)),
    ((("arguments", "item, rate)"),), ("`item, rate` fits the called function.",)),
    ((("arguments", "f(item))"),), ("`f(item)` fits the called function.",)),
    (
        (("argument", " item"), ("arguments", ", rate)"), ("argument", "item")),
        ("`item` and `rate` fit the called functions.",),
    ),
    (
        (("member", "a"), ("member", "b("), ("member", "c")),
        ("`a`, `b` and `c` are members of their receivers.",),
    ),
    ((("member", "("), ("argument", ")"), ("argument", " ")), ()),
    (
        (("assigned", "limit"), ("member", "total(")),
        ("`total` is a member of the receiver.", "`limit` fits the name that it is for."),
    ),
    (
        (("definition", "def area(self, scale: float) -> float:\n        return"),),
        ("`def area(self, scale: float) -> float: …` fits the definitions around the cursor.",),
    ),
]


@pytest.mark.parametrize(("parts", "sentences"), SUGGESTED_PARTS)
def test_what_the_code_graph_suggests_is_a_sentence_for_each_source(parts, sentences):
    assert reasons_of(Origins(suggested=parts), "mid-line")[1:-1] == sentences


def test_members_and_arguments_of_a_text_are_named(tmp_path):
    """Of the whole word, also when the cursor is inside it, and of the shown text alone."""
    (tmp_path / "cache.py").write_text("class Cache:\n    def evict(self, timeout): ...\n")
    for n in range(3):
        (tmp_path / f"use_{n}.py").write_text("def use(cache, timeout):\n    cache.evict(timeout)\n    return 1\n")
    code = "from cache import Cache\n\ndef clear(cache: Cache, timeout):\n    cache.ev"
    found, page = explained(tmp_path, code, by_hand=True)
    assert found.text == "ict(timeout)"
    sentences = ("`evict` is a member of the receiver.", "`timeout` fits the called function.")
    assert set(sentences) <= set(found.reasons)
    assert all(f"  - {sentence}" in page for sentence in sentences)


def test_without_a_type_nothing_is_said_of_members(tmp_path):
    for n in range(3):
        (tmp_path / f"use_{n}.py").write_text("def use(cache, timeout):\n    cache.evict(timeout)\n    return 1\n")
    found, _ = explained(tmp_path, "def clear(cache, timeout):\n    cache.ev", by_hand=True)
    assert found.text.startswith("ict(")
    assert not any("member of the receiver" in reason for reason in found.reasons)
