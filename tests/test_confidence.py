"""Confidence: the probability that a part of a text is right, and the longest part that is sure enough."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from conftest import cursor_in, linear_confidence
from hypothesis import given
from hypothesis import strategies as st
from weft.llm.protocol import MatchSupport
from weft.server.completion import confidence
from weft.server.completion.confidence import (
    UNFITTED_MARGIN,
    WEIGHTS_FILE,
    fitted_model,
    joint_probability,
    least_probability,
    rated,
    rated_parts,
)
from weft.server.completion.evidence import FAMILIES, FEATURES
from weft.server.completion.typed_past import LineRecord
from weft.server.completion.values import Written

HERE = cursor_in("shop.py", "def pay(basket):\n    total = <CURSOR>\n")
COPIED = MatchSupport(True, 6.0, 3, 0, 8.0, 4.0)


def written(
    *pieces: tuple[str, float | None], backend: str = "workspace", family: str = "python", cut_by_limit: bool = False
) -> Written:
    support = COPIED if backend == "workspace" else None
    return Written(pieces, "m", backend, family, cut_by_limit=cut_by_limit, support=support)


def rate(text: Written, min_confidence: float = 0.0, record: LineRecord | None = None) -> Written:
    options = {} if record is None else {"record": record}
    return rated(text, HERE, min_confidence, single_line=True, **options)


def parts_of(text: Written) -> list[tuple[str, float]]:
    return [(text.text[: part.end], part.confidence) for part in rated_parts(text, HERE, single_line=True)]


@pytest.fixture
def by_probability(monkeypatch: pytest.MonkeyPatch) -> None:
    """The logit is the logarithm of the joint probability, plus 1."""
    model = linear_confidence(1.0, text=1.0)
    monkeypatch.setattr(confidence, "fitted_model", lambda: model)


def sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


# Models with probabilities of their own


def test_whole_lines_of_a_neural_model_have_their_joint_probability() -> None:
    text = written(("a =", 0.9), (" 1", 0.5), ("\nb", 0.8), (" = 2", 0.5), backend="transformers")
    assert parts_of(text) == [("a = 1", pytest.approx(0.45)), ("a = 1\nb = 2", pytest.approx(0.18))]


def test_no_part_of_a_line_of_a_neural_model_is_shown_on_its_own() -> None:
    text = written(("a = ", 1.0), ("1", 1e-9), backend="transformers")
    assert [part for part, _ in parts_of(text)] == ["a = 1"]
    assert rate(text, 0.5).confidence == pytest.approx(1e-9)


def test_of_several_lines_of_a_neural_model_the_sure_ones_are_kept() -> None:
    text = written(("a = 1", 1.0), ("\nb = 2", 1.0), ("\nc = 3", 1e-6), backend="transformers")
    assert rate(text, 0.5).text == "a = 1\nb = 2"


def test_leading_line_breaks_are_no_line() -> None:
    text = written(("\n", 1.0), ("\n", 1.0), ("a", 1e-9), backend="transformers")
    assert [part for part, _ in parts_of(text)] == ["\n\na"]


def test_an_impossible_piece_is_no_error() -> None:
    for backend in ("transformers", "workspace"):
        assert rate(written(("x()", 0.0), backend=backend)).confidence == pytest.approx(0, abs=0.05)


@pytest.mark.parametrize("backend", ["workspace", "transformers"])
def test_without_probabilities_everything_is_kept_and_nothing_rated(backend: str) -> None:
    for text in (written(("a\nb", None), backend=backend), written(("a", 0.9), ("b", None), backend=backend)):
        assert rate(text, 0.9) == text
        assert parts_of(text) == []
    assert rate(written(backend=backend), 0.9).confidence is None


def test_names_of_import_lines_have_their_measured_share() -> None:
    assert rate(written(("total", 0.92), backend="imports")).confidence == pytest.approx(0.92)


def test_pieces_multiply_and_those_without_a_probability_are_left_out() -> None:
    assert joint_probability(written(("to", 0.5), ("tal", None), ("()", 0.5))) == pytest.approx(0.25)
    assert joint_probability(written(("x", None))) is None
    assert joint_probability(written()) is None


# The workspace model


def test_parts_end_behind_words_and_closing_signs_and_the_last_is_the_whole_text(by_probability: None) -> None:
    text = written(("sum", 0.9), ("(", 0.9), ("basket", 0.5), (")", 0.9), (".", 0.5), ("items", 0.5))
    assert [part for part, _ in parts_of(text)] == ["sum", "sum(basket", "sum(basket)", "sum(basket).items"]


def test_the_longest_sure_part_is_kept(by_probability: None) -> None:
    text = written(("sum", 1.0), ("(", 1.0), ("basket", 0.5), (")", 1.0), (" + tax", 0.01))
    assert rate(text, 0.7).text == "sum"
    assert rate(text, 0.5).text == "sum(basket)"
    assert rate(text, 0.0).text == text.text


def test_a_long_part_may_be_sure_again(monkeypatch: pytest.MonkeyPatch) -> None:
    whole_only = linear_confidence(-3.0, is_whole=6.0)
    monkeypatch.setattr(confidence, "fitted_model", lambda: whole_only)
    text = written(("sum", 0.5), ("(", 0.5), ("basket", 0.5), (")", 0.5))
    assert (rate(text, 0.9).text, rate(text, 0.9).confidence) == ("sum(basket)", pytest.approx(sigmoid(3)))


def test_if_nothing_is_sure_the_likeliest_part_is_rated(by_probability: None) -> None:
    found = rate(written(("sum", 0.5), ("(", 0.5), ("basket", 0.5), (")", 0.5)), 0.9)
    assert (found.text, found.confidence) == ("sum", pytest.approx(sigmoid(math.log(0.5) + 1)))


def test_a_part_is_not_cut_by_a_limit(by_probability: None) -> None:
    text = written(("sum", 1.0), ("(", 1.0), ("basket", 0.01), cut_by_limit=True)
    assert not rate(text, 0.7).cut_by_limit
    assert rate(text, 0.0).cut_by_limit


def test_in_a_family_without_a_feature_less_is_shown(by_probability: None) -> None:
    fitted, other, unknown = (
        rate(written(("total()", 0.8), family=family)).confidence or 0.0 for family in ("python", "lua", "")
    )
    assert other == pytest.approx(fitted - UNFITTED_MARGIN)
    assert unknown == pytest.approx(fitted)
    assert rate(written(("total()", 1e-9), family="lua")).confidence == 0


def test_the_session_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    model = linear_confidence(-2.0, share_right=1.0)
    monkeypatch.setattr(confidence, "fitted_model", lambda: model)
    shares = [rate(written(("total()", 0.8)), record=LineRecord(share_right=share)).confidence for share in (0.1, 0.9)]
    assert shares == [pytest.approx(sigmoid(3 * 0.1 - 2)), pytest.approx(sigmoid(3 * 0.9 - 2))]


def test_hidden_units_bend_the_logit() -> None:
    bent = linear_confidence(0.0)
    n = len(FEATURES)
    hidden = np.zeros((n, 1))
    hidden[FEATURES.index("text"), 0] = 2.0
    bent = type(bent)(np.zeros(n), hidden, np.array([0.5]), np.array([3.0]), 0.25, ())
    row = np.zeros((1, n))
    row[0, FEATURES.index("text")] = -0.5
    assert bent.probabilities(row) == pytest.approx([sigmoid(3 * math.tanh(-0.5) + 0.25)])


# The fitted weights


def test_the_file_has_weights_for_every_feature() -> None:
    content = json.loads(WEIGHTS_FILE.read_text(encoding="utf-8"))
    weights = content["weights"]
    assert set(weights) == {*FEATURES, "bias", "output"}
    assert len({len(values) for values in weights.values()}) == 1
    assert all(math.isfinite(value) for values in weights.values() for value in values)
    assert weights["output"][0] == 0, "the first value of each row belongs to the linear part"


def test_the_least_probability_ascends_with_the_confidence() -> None:
    pairs = fitted_model().least_probability
    assert pairs[0][0] == 0
    assert all(x0 < x1 and 0 <= y0 <= y1 <= 1 for (x0, y0), (x1, y1) in pairwise(pairs))
    least = [least_probability(share / 20) for share in range(21)]
    assert least == sorted(least)


@given(
    st.lists(st.floats(1e-6, 1), min_size=1, max_size=6),
    st.sampled_from([*FAMILIES, "lua", ""]),
    st.floats(0, 1),
    st.booleans(),
)
def test_a_confidence_is_a_probability_and_what_is_kept_begins_the_text(
    shares: list[float], family: str, min_confidence: float, single_line: bool
) -> None:
    pieces = tuple((f"word{number} ", share) for number, share in enumerate(shares))
    text = written(*pieces, family=family)
    found = rated(text, HERE, min_confidence, single_line=single_line)
    assert found.confidence is not None and 0 <= found.confidence <= 1
    assert found.text and text.text.startswith(found.text)
    best = max(part.confidence for part in rated_parts(text, HERE, single_line=single_line))
    assert found.confidence >= min(best, min_confidence)


def test_likelier_tokens_make_a_text_surer_on_average() -> None:
    texts = ("total(basket)", "return amount", "self.items", "None", "shop.pay(amount, rate=1)")

    def mean_confidence(share: float) -> float:
        ratings = []
        for family in FAMILIES:
            for text in texts:
                found = rate(written(*((token, share) for token in text.partition("(") if token), family=family))
                ratings.append(found.confidence or 0.0)
        return sum(ratings) / len(ratings)

    shares = [mean_confidence(share) for share in (0.05, 0.2, 0.5, 0.8, 0.99)]
    assert shares == sorted(shares)
