"""Evidence for a text of the workspace model: where it may end, and its features."""

from __future__ import annotations

import math

import numpy as np
import pytest
from conftest import cursor_in
from hypothesis import given
from hypothesis import strategies as st
from weft.llm.protocol import MatchSupport
from weft.server.completion.evidence import FAMILIES, FEATURES, LEAST_LOG, NEAR_LINES, Cut, cuts_of
from weft.server.completion.place import PLACES, place_of
from weft.server.completion.typed_past import NEW_LINE, LineRecord
from weft.server.completion.values import Written
from weft.server.workspace.text import Cursor

COPIED = MatchSupport(True, 8.0, 3, 0, 16.0, 4.0)


def cuts(
    pieces: list[tuple[str, float]],
    text: str = "<CURSOR>",
    path: str = "a.py",
    family: str = "python",
    support: MatchSupport | None = COPIED,
    record: LineRecord = NEW_LINE,
) -> list[Cut]:
    cursor = cursor_in(path, text)
    written = Written(tuple(pieces), "m", "workspace", family, support=support)
    return cuts_of(written, cursor, place_of(cursor), single_line=True, record=record)


def tokens(text: str) -> list[tuple[str, float]]:
    """Tokens, separated by `|`."""
    return [(token, 0.5) for token in text.split("|")]


def features(cut: Cut) -> dict[str, float]:
    return dict(zip(FEATURES, cut.features.tolist(), strict=True))


def last(text: str, at: str = "<CURSOR>", **options: object) -> dict[str, float]:
    """The features of a whole text."""
    return features(cuts(tokens(text), at, **options)[-1])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("total|(|basket|)", ["total", "total(basket", "total(basket)"]),
        ("self|.|items", ["self", "self.items"]),
        ("a|b", ["ab"]),
        ("total|_|of|(|)", ["total_of", "total_of()"]),
        ("x| |=| |1", ["x =", "x = 1"]),
        ("if| |x|:", ["if", "if x", "if x:"]),
        ("f|(|[|1|,| |2|]|)", ["f([1", "f([1, 2", "f([1, 2]", "f([1, 2])"]),
        ("a|(", ["a("]),
        ("a", ["a"]),
        ("return|\n    |x", ["return", "return\n    x"]),
        ('x| =| "|new|"|;', ["x =", 'x = "new', 'x = "new"', 'x = "new";']),
        ('x| =| f|"|\'|"|;', ["x =", "x = f", 'x = f"\'"', 'x = f"\'";']),
        ('"""|Pay.|"""|\n|x', ['"""', '"""Pay."""', '"""Pay."""\nx']),
        ("core|.|$|Shop|)", ["core", "core.$Shop", "core.$Shop)"]),
    ],
)
def test_a_text_may_end_behind_a_word_or_a_closing_sign(text: str, ends: list[str]) -> None:
    whole = text.replace("|", "")
    assert [whole[: cut.end] for cut in cuts(tokens(text))] == ends


def test_probabilities_are_logarithms_of_the_part_and_of_the_whole() -> None:
    first, second, whole = cuts([("sum", 0.9), ("(", 0.5), ("basket", 0.8), (")", 1.0)])
    found = features(second)
    assert found["text"] == pytest.approx(math.log(0.36))
    assert found["last token"] == pytest.approx(math.log(0.8))
    assert found["least likely token"] == pytest.approx(math.log(0.5))
    assert found["mean token"] == pytest.approx(math.log(0.36) / 3)
    assert [features(cut)["whole text"] for cut in (first, second, whole)] == [pytest.approx(math.log(0.36))] * 3
    assert [features(cut)["is whole"] for cut in (first, second, whole)] == [0, 0, 1]
    assert (found["tokens"], found["characters"]) == (pytest.approx(math.log(3)), pytest.approx(math.log(10)))


def test_improbable_texts_are_alike() -> None:
    (cut,) = cuts([("total", 0.0)])
    assert features(cut)["text"] == features(cut)["whole text"] == LEAST_LOG


def test_shape_of_the_text() -> None:
    assert last("a|\n|b")["line breaks"] == 1
    assert last("a|\n|\n|\n|\n|\n|b")["line breaks"] == 4
    assert (last("total")["ends with a word"], last("total|(|)")["ends with a word"]) == (1, 0)


def test_names_that_the_file_lacks() -> None:
    file = "basket = 1\n<CURSOR>\n"
    assert last("basket", file)["names that the file lacks"] == 0
    assert last("total|(|basket|)", file)["names that the file lacks"] == 1
    assert last("a1|(|b1|,| |c1|,| |d1|)", file)["names that the file lacks"] == 3
    first, *_ = cuts(tokens("basket|(|total|)"), file)
    assert features(first)["names that the file lacks"] == 0, "those of a part"


def test_the_place_and_the_family_have_a_feature_each() -> None:
    found = last("1", "def f():\n    return <CURSOR>")
    assert [found[place] for place in PLACES] == [place == "return" for place in PLACES]
    assert [found[family] for family in FAMILIES] == [family == "python" for family in FAMILIES]
    assert not any(last("1", path="a.lua", family="lua")[family] for family in FAMILIES)


def test_the_line_before_the_cursor() -> None:
    found = last("1", "    total = pri<CURSOR>")
    assert (found["characters before"], found["characters of the word"]) == (1.1, 0.75)
    assert last("1", "x " * 100 + "<CURSOR>")["characters before"] == 4


def test_what_a_text_rests_on() -> None:
    found = last("total")
    assert (found["copied"], found["longest exact match"], found["longest kind match"]) == (1, 2, 2)
    assert (found["exact matches"], found["nearest match"]) == (pytest.approx(math.log1p(3) / 2), 0)
    without = last("total", support=None)
    assert (without["copied"], without["longest exact match"], without["nearest match"]) == (0, 0, -0.25)


def test_the_record_of_the_session() -> None:
    found = last("total", record=LineRecord(2, 30, 1, 0.5))
    assert found["requests on the line"] == pytest.approx(math.log1p(2))
    assert (found["same prediction"], found["changed predictions"], found["share right"]) == (2, 0.25, 1.5)


# The same line nearby


def nearness(file: str, text: str = "total|(|basket|)") -> tuple[float, float]:
    found = last(text, file)
    return found["nearness of the same line"], found["same line above both"]


def test_a_line_that_is_the_same_nearby() -> None:
    assert nearness("    total(basket)\n<CURSOR>\n")[0] == pytest.approx(1 / 1.2)
    assert nearness("    <CURSOR>\ntotal(basket)\n")[0] == pytest.approx(1 / 1.2)
    assert nearness("total(other)\n<CURSOR>\n") == (0, 0)
    assert nearness("total(basket)\ntot<CURSOR>\n", "al|(|basket|)")[0] > 0


def test_the_lines_above_both() -> None:
    assert nearness("if a:\n    total(basket)\nif a:\n    <CURSOR>\n")[1] == 1
    assert nearness("if a:\n    total(basket)\nif b:\n    <CURSOR>\n")[1] == 0


def test_the_nearest_of_several_counts() -> None:
    near, far = "total(basket)\n\n<CURSOR>\n", "total(basket)\n" + "\n" * 30 + "<CURSOR>\n"
    assert nearness("total(basket)\n" + near)[0] == nearness(near)[0] > nearness(far)[0] > 0


def test_a_line_far_away_does_not_count() -> None:
    assert nearness("total(basket)\n" + "\n" * NEAR_LINES + "<CURSOR>\n")[0] == 0


def test_a_short_line_does_not_count() -> None:
    assert nearness("}\n<CURSOR>\n", "}") == (0, 0)


# Any text

TEXT = st.text(max_size=30)


@given(
    st.lists(st.tuples(st.text(min_size=1, max_size=8), st.floats(0, 1)), min_size=1, max_size=8),
    TEXT,
    TEXT,
    st.sampled_from(["a.py", "a.go", "a.vue", "a.txt"]),
    st.booleans(),
)
def test_any_text_has_features(
    pieces: list[tuple[str, float]], before: str, after: str, path: str, single_line: bool
) -> None:
    cursor: Cursor = cursor_in(path, before.replace("<", "") + "<CURSOR>" + after)
    written = Written(tuple(pieces), "m", "workspace", "python", support=COPIED)
    found = cuts_of(written, cursor, place_of(cursor), single_line=single_line)
    ends = [cut.end for cut in found]
    assert ends == sorted(set(ends))
    assert ends[-1] == len(written.text)
    assert all(cut.features.shape == (len(FEATURES),) and np.isfinite(cut.features).all() for cut in found)
