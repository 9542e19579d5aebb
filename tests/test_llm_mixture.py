"""A neural model and the workspace model together: lines for choice, how likely each is, and which is taken."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from weft.llm import mixture
from weft.llm.decoding import Spellings
from weft.llm.local_model import LocalModel
from weft.llm.mixture import FEATURES, MixedModel, Rule, Surroundings, features_of
from weft.llm.protocol import Cancel, CodeModel, CompletionRequest, PromptFragment
from weft.llm.scoring import LineEnds, score_lines
from weft.llm.slots import Slots
from weft.llm.workspace_model import WorkspaceModel, tokenise_document

TILL = """\
def pay(basket, rate):
    checked = check(basket, rate)
    return total(checked, rate)
def refund(basket, rate):
    checked = check(basket, rate)
    return total(checked, -rate)
"""
REQUEST = CompletionRequest("here.py", "python", "def lend(basket, rate):\n    checked = check(basket, rate)\n", "")

# Tokens 0 to 7: the last ends all, some hold line breaks.
SPELLED = (b"a", b":", b":\n", b"\n", b"\n    ", b"b", b"ab", b"")
END = 7
same_engine = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)


def ends() -> LineEnds:
    return LineEnds({END}, Spellings(range(END), SPELLED.__getitem__))


def workspace() -> WorkspaceModel:
    return WorkspaceModel.build([tokenise_document("till.py", TILL)], threshold=0.0)


def rule(**weights: float) -> Rule:
    """By the names of features with "_" for " "; what is not given weighs nothing."""
    return Rule.of({name: weights.get(name.replace(" ", "_"), 0.0) for name in FEATURES})


def test_a_line_is_over_with_an_end_or_a_line_break_also_one_that_is_part_of_a_token():
    assert ends().tokens == [3, 4, END]
    assert ends().closing(1) == [2]
    assert ends().closing(0) == []


@same_engine
@given(st.lists(st.integers(0, 7), min_size=1, max_size=9), st.integers(0, 99), st.booleans())
def test_scores_are_what_the_engine_says_token_by_token(toy_engine: Any, prompt: list[int], seed: int, crops: bool):
    lines = [[0, 1], [5], [6, 1, 0]]
    engine = toy_engine(seed=seed, order=None, crops=crops)
    with Slots(engine, 1_000_000).take(prompt, 4, Cancel()) as reader:
        scores = list(score_lines(reader, prompt, lines, ends(), block_tokens=4))

    def share(seen: Sequence[int], *tokens: int) -> float:
        logits = engine._row(list(seen))
        return float(np.exp(logits)[list(tokens)].sum() / np.exp(logits).sum())

    for line, score in zip(lines, scores, strict=True):
        before = math.prod(share([*prompt, *line[:at]], token) for at, token in enumerate(line[:-1]))
        end = share([*prompt, *line], 3, 4, END)
        last = share([*prompt, *line[:-1]], line[-1]) * end
        if line[-1] == 1:  # ":" has a token with the line break in it
            last += share([*prompt, *line[:-1]], 2)
        assert score.log_probability == pytest.approx(math.log(before * last), abs=1e-4)
        assert score.log_end == pytest.approx(math.log(end), abs=1e-4)
        assert score.n_tokens == len(line)


def test_the_prompt_is_read_once_for_all_lines(toy_engine: Any):
    engine = toy_engine()
    with Slots(engine, 1_000_000).take(range(6), 4, Cancel()) as reader:
        list(score_lines(reader, range(6), [[0, 1], [5]], ends(), block_tokens=64))
    assert engine.blocks == [5, 3, 2]


def test_candidates_begin_with_what_would_be_offered_and_none_comes_twice():
    model = workspace()
    found = model.candidates(REQUEST, 5, Cancel())
    texts = [each.text for each in found]
    assert texts[0] == "".join(piece.text for piece in model.stream(REQUEST, Cancel())) == OFFERED
    assert "    return total(basket, rate)" in texts
    assert len(set(texts)) == len(texts)
    likely = [max(each.adapted, each.copied) for each in found]
    assert likely == sorted(likely, reverse=True) and likely[-1] > 0
    assert [each.text for each in model.candidates(REQUEST, 1, Cancel())] == texts[:1]


def test_candidates_of_a_begun_line_are_what_is_missing():
    begun = CompletionRequest("here.py", "python", REQUEST.prefix + "    return tot", "")
    assert workspace().candidates(begun, 2, Cancel())[0].text == "al(checked, rate)"


def test_a_cancelled_search_has_no_candidates():
    cancel = Cancel()
    cancel.cancel()
    assert workspace().candidates(REQUEST, 5, cancel) == []


def test_the_shares_of_all_ways_and_of_none_sum_to_one():
    features = np.zeros((2, len(FEATURES)))
    assert rule().probabilities(features).tolist() == pytest.approx([1 / 3, 1 / 3])
    features[:, 0] = 1, 800
    assert rule(any=1.0).probabilities(features).tolist() == pytest.approx([0.0, 1.0])


def likes(neural: Any, line: str) -> LocalModel:
    """Make the model write `line` behind the prefix, and then its end; anything else is noise to it."""
    wanted = [*(REQUEST.prefix + line).encode(), 256]
    noise = neural.engine._row

    def row(seen: list[int]) -> Any:
        scores = noise(seen)
        if seen == wanted[: len(seen)] and len(seen) < len(wanted):
            scores[wanted[len(seen)]] = 50
        return scores

    neural.engine._row = row
    return neural  # type: ignore[no-any-return]


OFFERED, LIKED = "    return total(checked, rate)", "    return lent"


@pytest.mark.parametrize(
    ("weights", "text"),
    [({"log_adapted": 1.0}, OFFERED), ({"log_neural": 1.0}, LIKED), ({"below_the_best_neural": 1.0}, LIKED)],
)
def test_the_rule_decides_whose_line_is_taken(
    toy_chat_model: Callable[..., LocalModel], monkeypatch: pytest.MonkeyPatch, weights: dict[str, float], text: str
):
    model = MixedModel(workspace(), likes(toy_chat_model(), LIKED))
    assert isinstance(model, CodeModel)
    monkeypatch.setattr(mixture, "fitted_rule", lambda: rule(**weights))
    (piece,) = model.stream(REQUEST, Cancel())
    assert piece.text == text
    ways = model.ways(REQUEST, Cancel())
    assert [(way.text, way.candidate) for way in ways if way.is_written] == [(LIKED, None)]
    assert [way.text for way in ways if way.is_first] == [OFFERED]
    assert piece.probability == pytest.approx(rule(**weights).probabilities(features_of(ways)).max())


def test_a_line_that_both_write_stands_for_choice_once(toy_chat_model: Callable[..., LocalModel]):
    ways = MixedModel(workspace(), likes(toy_chat_model(), OFFERED)).ways(REQUEST, Cancel())
    (both,) = [way for way in ways if way.is_written]
    assert both.text == OFFERED and both.is_first and both.candidate is not None
    assert both.score.log_probability == pytest.approx(0.0, abs=1e-3)
    assert features_of(ways)[ways.index(both), FEATURES.index("written by both")] == 1.0


def test_what_the_neural_model_is_not_sure_of_is_given_up(toy_chat_model: Callable[..., LocalModel]):
    neural: Any = toy_chat_model()
    ways = MixedModel(workspace(), neural).ways(REQUEST, Cancel())
    assert ways and not any(way.is_written for way in ways)
    assert neural.last_report.written_tokens < 4  # of noise over 257 tokens each is unlikely


def test_where_else_a_line_and_its_names_stand_is_known():
    request = replace(REQUEST, fragments=(PromptFragment(("till.py",), f"{OFFERED}\n", 0, 1.0),))
    offered, again = mixture._surroundings(request, [OFFERED, "    checked = check(basket, rate)"])
    # "return" and "total" are not above; "checked" and "rate" are.
    assert offered == Surroundings(is_above=False, in_fragment=True, names_near=0.5, names_above=0.5)
    assert again == Surroundings(is_above=True, in_fragment=False, names_near=1.0, names_above=1.0)


def test_a_cancelled_mixture_says_nothing(toy_chat_model: Callable[..., LocalModel]):
    cancel = Cancel()
    cancel.cancel()
    assert list(MixedModel(workspace(), toy_chat_model()).stream(REQUEST, cancel)) == []


def test_several_lines_are_the_workspace_models(toy_chat_model: Callable[..., LocalModel]):
    several = replace(REQUEST, single_line=False)
    pieces = list(MixedModel(workspace(), toy_chat_model()).stream(several, Cancel()))
    assert pieces == list(workspace().stream(several, Cancel()))
