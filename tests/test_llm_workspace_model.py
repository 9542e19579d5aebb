"""The workspace model completes what the repository has written before, and nothing it is not sure of."""

from __future__ import annotations

import math
import pickle
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.llm.protocol import Cancel, CodeModel, CompletionRequest, Piece
from weft.llm.workspace_model.model import WorkspaceModel, tokenise_document
from weft.llm.workspace_model.tokens import split_tokens

SHOP = """
    class Shop:
        def pay(self, amount):
            self.ledger.append(amount)
            return self.ledger.total()
    """


def files(**texts: str) -> dict[str, str]:
    """`a__b="…"` is the file a/b.py."""
    return {name.replace("__", "/") + ".py": textwrap.dedent(text).lstrip("\n") for name, text in texts.items()}


def build(texts: dict[str, str], threshold: float = 0.0) -> WorkspaceModel:
    return WorkspaceModel.build([tokenise_document(path, text) for path, text in texts.items()], threshold=threshold)


def complete(model: WorkspaceModel, text: str, path: str = "here.py", **options: object) -> list[Piece]:
    """The pieces at `<CURSOR>` of a dedented text."""
    prefix, _, suffix = textwrap.dedent(text).lstrip("\n").partition("<CURSOR>")
    request = CompletionRequest(path, "python", prefix, suffix, **options)  # type: ignore[arg-type]
    return list(model.stream(request, Cancel()))


def line(model: WorkspaceModel, text: str, path: str = "here.py") -> str:
    """The text at `<CURSOR>`."""
    return "".join(piece.text for piece in complete(model, text, path))


def probability(model: WorkspaceModel, text: str) -> float:
    """The joint probability of the tokens at `<CURSOR>`."""
    return math.prod(piece.probability or 0.0 for piece in complete(model, text))


def check(expected: str, text: str, threshold: float = 0.0, **options: object) -> None:
    """A repository with SHOP completes the line at the cursor as expected."""
    pieces = complete(build(files(lib__shop=SHOP), threshold), text, **options)
    assert "".join(piece.text for piece in pieces) == expected


def test_is_a_code_model():
    assert isinstance(build({}), CodeModel)


def test_a_line_goes_on_as_another_file_wrote_it():
    check(".append(amount)", "def pay(self, amount):\n    self.ledger<CURSOR>")


def test_half_typed_word_is_finished():
    check("ger.append(amount)", "def pay(self, amount):\n    self.led<CURSOR>")


def test_space_before_the_cursor_belongs_to_the_next_word():
    check("self.ledger.total()", "    return <CURSOR>")


def test_cursor_on_an_empty_line_gets_its_indentation():
    check("    def pay(self, amount):", "class Shop:\n<CURSOR>")


def test_indentation_before_the_cursor_is_not_repeated():
    check("def pay(self, amount):", "class Shop:\n    <CURSOR>")


def test_text_after_the_cursor_is_not_repeated():
    check("amount", "    self.ledger.append(<CURSOR>)\n")


def test_quiet_when_the_line_does_not_fit_on_to_what_follows_the_cursor():
    check("", "    self.ledger.append(<CURSOR>] + other\n")


def test_quiet_when_the_next_line_says_it_already():
    check("", "def pay(self, amount):\n    <CURSOR>\n\n    self.ledger.append(amount)\n", threshold=0.2)
    check("", "def pay(self, amount):\n    self.led<CURSOR>\n    self.ledger.append(amount)\n")


def test_several_lines_until_the_block_ends():
    check(
        "self.ledger.append(amount)\n        return self.ledger.total()",
        "class Shop:\n    def pay(self, amount):\n        <CURSOR>",
        single_line=False,
    )


def test_any_line_breaks_in_the_open_file_will_do():
    text = "class Shop:\r\n    def pay(self, amount):\r\n        <CURSOR>\r\n"
    check("self.ledger.append(amount)", text)


def test_stop_text_ends_the_completion():
    check(".append", "def pay(self, amount):\n    self.ledger<CURSOR>", stop=("(",))


def test_lines_below_the_cursor_are_known_too():
    model = build({})
    text = "x = first.<CURSOR>\n\ndef f(first):\n    y = first.second.third\n"
    assert line(model, text) == "second.third"


def test_a_piece_is_a_token_with_its_probability_and_the_first_has_the_support():
    pieces = complete(build(files(a="go = north(1)\n", b="go = south(1)\n")), "go = <CURSOR>")
    assert len(pieces) == 4
    assert "".join(piece.text for piece in pieces) in ("north(1)", "south(1)")
    first, *others = pieces
    assert first.support is not None and first.support.n_exact > 0
    assert [piece.support for piece in others] == [None] * 3
    assert all(0 < (piece.probability or 0) <= 1 for piece in pieces)
    assert (first.probability or 0) < min(piece.probability or 0 for piece in others), "only the name is uncertain"


def test_a_line_ends_where_it_gets_unlikely():
    texts = files(**{f"f{i}": f"first = load()\nresult = compute(first, option_{i})\n" for i in range(6)})
    text = "first = load()\nresult = <CURSOR>"
    whole = line(build(texts), text)
    part = line(build(texts, threshold=0.2), text)
    assert whole.startswith("compute(first, option_")
    assert part and whole.startswith(part) and len(part) < len(whole)
    assert probability(build(texts), text) < 0.2 <= probability(build(texts, threshold=0.2), text)


def test_near_files_come_before_far_ones():
    texts = files(a__near="other = 1\nvalue = load(near)\n", b__far="other = 1\nvalue = load(far)\n")
    for path, expected in (("a/x.py", "near)"), ("b/x.py", "far)")):
        assert line(build(texts), "other = 1\nvalue = load(<CURSOR>", path) == expected


def test_the_longest_beginning_counts_that_is_likely_enough():
    """Another first token is more likely than the line's fifth one."""
    texts = files(**{f"f{i}": f"first = load()\nresult = compute(first, option_{i})\n" for i in range(6)})
    texts |= files(**{f"g{i}": "first = load()\nresult = other(1)\n" for i in range(3)})
    text = "first = load()\nresult = <CURSOR>"
    first, *others = complete(build(texts, threshold=0.05), text)
    assert (first.text, len(others) >= 3) == ("compute", True)
    assert math.prod(piece.probability or 0 for piece in [first, *others]) > 0.05


def test_a_longer_context_beats_a_more_frequent_one():
    texts = files(a="total = cart.sum()\n" + "total = other.sum(1)\n" * 5)
    assert complete(build(texts), "total = cart.sum(<CURSOR>")[0].text == ")"


def test_indexed_version_of_the_open_file_is_ignored():
    model = build({"here.py": "secret = answer(42)\n"})
    assert complete(model, "secret = <CURSOR>", "here.py") == []
    assert line(model, "secret = <CURSOR>", "there.py") == "answer(42)"


def test_lines_below_the_threshold_are_dropped():
    texts = files(a="go = north(1)\n", b="go = south(2)\n")
    assert complete(build(texts, threshold=0.0), "go = <CURSOR>")
    (below,) = complete(build(texts, threshold=0.9), "go = <CURSOR>")
    assert below.text == "" and 0.0 < below.probability < 0.9
    assert all(piece.text == "" for piece in complete(build({}, threshold=0.9), "# a"))  # only common words


def test_more_matches_make_a_line_more_likely():
    few, many = (build(files(**{f"f{i}": "go = north(1)\n" for i in range(n)})) for n in (1, 5))
    assert 0 < probability(few, "go = <CURSOR>") < probability(many, "go = <CURSOR>") < 1


def test_cancelled_request_says_nothing():
    cancel = Cancel()
    cancel.cancel()
    request = CompletionRequest("x.py", "python", "    return ", "")
    assert list(build(files(lib__shop=SHOP)).stream(request, cancel)) == []


def test_changed_file_counts_as_it_is_now():
    first = build(files(a="go = north(1)\n", b="import stay\n"))
    second = first.with_changes([tokenise_document("a.py", "go = south(2)\n")], ["b.py", "never_seen.py"])
    assert line(second, "go = <CURSOR>") == "south(2)"
    assert complete(second, "import st<CURSOR>") == []
    assert line(first, "go = <CURSOR>") == "north(1)", "the old snapshot stays as it was"
    assert [sum(int(each.live.sum()) for each in model._segments) for model in (second, first)] == [1, 2]


def test_pickled_model_completes_the_same():
    model = build(files(lib__shop=SHOP))
    again = pickle.loads(pickle.dumps(model))
    text = "def pay(self, amount):\n    self.led<CURSOR>"
    assert complete(again, text) == complete(model, text) != []


PARTS = st.sampled_from(["x", " = ", "load(", ")", "\n", "\n    ", "self", ".", "return ", '"', "\t", "é", "😀"])
SOURCE = st.lists(PARTS, max_size=30).map("".join)
EDITS = st.lists(st.tuples(st.sampled_from(["a.py", "d/b.py", "d/c.py", "e.py"]), st.none() | SOURCE), max_size=12)


@settings(max_examples=60, deadline=None)
@given(edits=EDITS, cursor=SOURCE)
def test_any_sequence_of_edits_equals_building_from_scratch(edits: list[tuple[str, str | None]], cursor: str):
    model, texts = build({}), {}
    for path, text in edits:
        if text is None:
            texts.pop(path, None)
            model = model.with_changes([], [path])
        else:
            texts[path] = text
            model = model.with_changes([tokenise_document(path, text)], [])
    scratch = build(texts)
    live, from_scratch = (
        [(path, numbers.tolist()) for each in one._segments for path, numbers in each.live_documents()]
        for one in (model, scratch)
    )
    assert sorted(path for path, _ in live) == sorted(path for path, _ in from_scratch) == sorted(texts)
    assert sum(len(numbers) for _, numbers in live) == sum(len(numbers) for _, numbers in from_scratch)
    got, expected = (complete(one, cursor + "<CURSOR>", "d/here.py") for one in (model, scratch))
    assert [piece.probability for piece in got] == pytest.approx([piece.probability for piece in expected])


@settings(max_examples=100, deadline=None)
@given(prefix=st.text(max_size=60), suffix=st.text(max_size=30), several=st.booleans())
def test_any_text_gets_an_answer(prefix: str, suffix: str, several: bool):
    model = build({"a.py": prefix + suffix, "b.py": suffix + prefix})
    request = CompletionRequest("c.py", "", prefix, suffix, single_line=not several)
    text = "".join(piece.text for piece in model.stream(request, Cancel()))
    assert several or "\n" not in text


@given(st.text(alphabet=st.characters(exclude_characters="\r")))
def test_tokens_joined_give_the_text_back(text: str):
    assert "".join(split_tokens(text)) == text
    document = tokenise_document("a", text)
    assert "".join(document.words[number] for number in document.numbers) == text


@pytest.mark.parametrize("text", ["\ud800 x = \udfff", "\0\0", "x" * 300_000, "(" * 50_000, "a\rb\r\nc", "\t\t\tx"])
def test_bad_text_is_indexed_and_completed(text: str):
    model = build({"bad.py": text, "good.py": "answer = 1\n" * 3})
    assert complete(model, text + "\nanswer = <CURSOR>")[0].text == "1"
