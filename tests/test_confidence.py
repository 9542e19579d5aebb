"""Confidence: a model's own probabilities, turned into how often such texts are right."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import fmean

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from weft.server.completion.confidence import (
    OWN_PROBABILITY,
    UNFITTED_MARGIN,
    Curve,
    confidence_from,
    confidence_of,
    confident_part,
    curve_for,
    joint_probability,
    min_probability,
)
from weft.server.completion.curves import FITTED, MEASURED_ON
from weft.server.completion.values import Written

HALF_AS_SURE = Curve(0.0, ((0.0, 0.0), (0.5, 0.2), (1.0, 0.5)))
BACKENDS = ("workspace", "transformers")
FAMILIES = ("python", "web", "go", "lua", "")


def written(*pieces: tuple[str, float | None], backend: str = "transformers") -> Written:
    return Written(pieces, "m", backend, "python")


@pytest.mark.parametrize(("probability", "share"), [(0.0, 0.0), (0.25, 0.1), (0.5, 0.2), (0.75, 0.35), (1.0, 0.5)])
def test_a_curve_is_linear_between_its_knots(probability: float, share: float) -> None:
    assert HALF_AS_SURE.share_right(math.log(max(probability, 1e-300)), 1) == pytest.approx(share)


def test_a_curve_is_constant_beyond_its_knots() -> None:
    curve = Curve(0.0, ((0.2, 0.1), (0.8, 0.6)))
    assert (curve.share_right(math.log(0.01), 1), curve.share_right(0.0, 1)) == (0.1, 0.6)


def test_with_a_length_power_of_one_the_length_of_a_text_does_not_matter() -> None:
    curve = Curve(1.0, ((0.0, 0.0), (1.0, 1.0)))
    assert curve.share_right(math.log(0.5) * 7, 7) == pytest.approx(0.5)
    assert curve.min_probability(0.5) == 0


@given(st.floats(0.001, 0.499))
def test_the_least_probability_is_where_a_confidence_is_reached(share: float) -> None:
    assert HALF_AS_SURE.share_right(math.log(HALF_AS_SURE.min_probability(share)), 1) == pytest.approx(share)


def test_what_a_model_never_reaches_needs_certainty_and_what_it_always_has_nothing() -> None:
    assert (HALF_AS_SURE.min_probability(0.6), HALF_AS_SURE.min_probability(0.0)) == (1, 0)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("backend", BACKENDS)
@given(st.floats(1e-9, 1), st.floats(1e-9, 1), st.integers(1, 50))
def test_a_more_probable_text_is_at_least_as_sure(
    backend: str, family: str, first: float, second: float, n_pieces: int
) -> None:
    less, more = (confidence_from(backend, family, math.log(p), n_pieces) for p in sorted((first, second)))
    assert 0 <= less <= more <= 1


@pytest.mark.parametrize("family", FAMILIES)
@given(st.floats(0.01, 1))
def test_the_workspace_model_need_not_write_what_is_not_sure_enough(family: str, confidence: float) -> None:
    least = min_probability("workspace", family, confidence)
    assume(0 < least < 1)
    assert confidence_from("workspace", family, math.log(least), 1) == pytest.approx(confidence)
    assert confidence_from("workspace", family, math.log(least * 0.9), 1) < confidence


def test_fitted_knots_ascend_and_say_where_they_were_measured() -> None:
    assert FITTED.keys() == MEASURED_ON.keys() == {"workspace", "neural"}
    for backend, families in FITTED.items():
        assert families.keys() == MEASURED_ON[backend].keys()
        for _, knots in families.values():
            assert all(x0 < x1 and y0 <= y1 for (x0, y0), (x1, y1) in pairwise(knots))


@given(st.floats(1e-6, 1))
def test_in_a_language_without_a_curve_less_is_shown(probability: float) -> None:
    log = math.log(probability)
    fitted = [confidence_from("workspace", family, log, 1) for family in FITTED["workspace"]]
    expected = max(0, fmean(fitted) - UNFITTED_MARGIN)
    assert confidence_from("workspace", "lua", log, 1) == pytest.approx(expected, abs=0.02)


def test_a_backend_without_curves_and_a_name_of_an_import_line_have_their_own_probability() -> None:
    assert curve_for("transformers", "rust") == curve_for("imports", "python") == OWN_PROBABILITY


def test_a_model_without_probabilities_has_no_confidence() -> None:
    assert confidence_of(written(("total()", None))) is None
    assert confidence_of(written()) is None


def test_pieces_multiply_and_those_without_a_probability_are_left_out() -> None:
    log_probability, n_pieces = joint_probability(written(("to", 0.5), ("tal", None), ("()", 0.5)))
    assert (math.exp(log_probability), n_pieces) == (pytest.approx(0.25), 2)


def test_an_impossible_piece_is_no_error() -> None:
    assert confidence_of(written(("x", 0.0))) == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize("backend", BACKENDS)
def test_of_several_lines_the_sure_ones_are_kept(backend: str) -> None:
    text = written(("a = 1", 1.0), ("\nb = 2", 1.0), ("\nc = 3", 1e-6), backend=backend)
    assert confident_part(text, 0.5).text == "a = 1\nb = 2"


def test_a_piece_that_goes_over_a_line_break_is_cut_there() -> None:
    assert confident_part(written(("f(", 1.0), (")\n", 1.0), ("g()", 1e-9)), 0.5).text == "f()"


def test_no_part_of_a_line_is_sure_on_its_own() -> None:
    assert confident_part(written(("a = ", 1.0), ("1", 1e-9)), 0.5).text == ""


def test_leading_line_breaks_are_no_line() -> None:
    assert confident_part(written(("\n\n", 1.0), ("a", 1e-9)), 0.5).text == ""


def test_without_probabilities_everything_is_kept() -> None:
    assert confident_part(written(("a\nb", None)), 0.9).text == "a\nb"


def test_a_text_without_a_language_has_the_mean_of_the_curves():
    unknown, unfitted = curve_for("workspace", ""), curve_for("workspace", "lua")
    fitted = [curve_for("workspace", family) for family in FITTED["workspace"]]
    for x in (0.2, 0.5, 0.9):
        share = unknown.share_right(math.log(x), 1)
        assert share == pytest.approx(fmean(curve.share_right(math.log(x), 1) for curve in fitted), abs=0.02)
        assert share > unfitted.share_right(math.log(x), 1)
