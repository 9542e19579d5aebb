"""What was written before is shown again where it holds, and nowhere else; a model is not asked twice for one text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft import Config
from weft.codegraph import parse_file
from weft.llm import Cancel, CompletionRequest, ModelConfig, ModelInfo, Piece
from weft.llm.protocol import Speed
from weft.llm.workspace_model.model import WorkspaceModel, tokenise_document
from weft.retrieval import RepositoryIndex, RetrievalSettings
from weft.retrieval.fragments import slice_file
from weft.server.completion import Completion, Cursor, Engine, Request, engine
from weft.server.completion.cache import (
    MAX_ENTRIES,
    CachedCompletion,
    CompletionCache,
    CursorContext,
    IndexChanges,
    Validity,
)
from weft.server.completion.values import Trigger, Written
from weft.server.config import CompletionOptions
from weft.server.models.chain import ModelChain
from weft.server.workspace.snapshot import FolderSnapshot
from weft.server.workspace.text import TextLines

FILE = """\
from price import total_price, discount_of


def pay(items, customer):
    total = total_price(items, discount_of(customer))
    customer.balance -= total
    return total
"""
OPTIONS = CompletionOptions(min_confidence=0.0, min_model_probability=0.0, debounce_ms=0, multi_line="never")
ONLY_THE_MODEL = Config(completion=OPTIONS, model=(ModelConfig(backend="none"),))
EMPTY = FolderSnapshot.empty(RetrievalSettings())


class TrueModel:
    """Writes what truly follows, a few characters at a time, and counts how often it is asked."""

    def __init__(self, truth: str = FILE) -> None:
        self.truth, self.info, self.speed = truth, ModelInfo("true", "test", 4096, True, False, True), Speed()
        self.asked: list[CompletionRequest] = []

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        self.asked.append(request)
        prefix = request.prefix.replace("\r\n", "\n")
        rest = self.truth[len(prefix) :] if self.truth.startswith(prefix) else ""
        for start in range(0, len(rest), 3):
            yield Piece(rest[start : start + 3], 0.9)


class Desk:
    """Somebody types in one file: `text` up to the cursor, `below` it, and an engine that is asked at the cursor."""

    def __init__(self, text: str, below: str = "", *, config: Config = ONLY_THE_MODEL, path: str = "shop.py") -> None:
        self.text, self.below, self.config, self.path = text, below, config, path
        self.model = TrueModel()
        self.models = ModelChain((), self.model)  # type: ignore[arg-type]
        self.engine, self.snapshot = Engine(), EMPTY

    def type(self, text: str) -> None:
        self.text += text
        self.engine.edited(("", self.path, ""), TextLines(self.text + self.below))

    def rub_out(self, n: int) -> None:
        self.text = self.text[:-n] if n else self.text
        self.engine.edited(("", self.path, ""), TextLines(self.text + self.below))

    @property
    def cursor(self) -> Cursor:
        lines = TextLines(self.text + self.below)
        return Cursor(self.path, lines, *lines.position(len(self.text)))

    def ask(self, trigger: Trigger = "automatic", multi_line: bool | None = None) -> Completion:
        request = Request(self.snapshot, self.models, self.cursor, self.config, trigger=trigger, multi_line=multi_line)
        return self.engine.complete(request)

    def fresh(self) -> str:
        """What an engine shows that remembers nothing."""
        other = Desk(self.text, self.below, config=self.config, path=self.path)
        other.snapshot = self.snapshot
        return other.ask().text


def until(text: str) -> str:
    return FILE[: FILE.index(text)]


def test_typing_through_a_cached_text_of_any_length_calls_no_model():
    desk = Desk(until("items, discount"))
    whole = desk.ask()
    assert (whole.text, whole.source) == ("items, discount_of(customer))", "model")
    for n, letter in enumerate(whole.text[: -len("r))")], 1):
        desk.type(letter)
        rest = desk.ask()
        assert (rest.text, rest.source) == (whole.text[n:], "typed-through")
    assert len(desk.model.asked) == 1


def test_a_completion_after_backspace_calls_no_model():
    desk = Desk(until("items, discount"))
    desk.ask()
    desk.type("items")
    desk.rub_out(4)
    assert desk.ask().text == "tems, discount_of(customer))"
    desk.rub_out(1)
    assert (desk.ask().source, len(desk.model.asked)) == ("cache", 1)


def test_a_cached_text_is_valid_again_after_other_text_was_typed_and_deleted():
    desk = Desk(until("items, discount"))
    desk.ask()
    desk.type("x")
    assert desk.ask().text == ""
    desk.rub_out(1)
    assert desk.ask().text == "items, discount_of(customer))"
    desk.type("x")
    assert (desk.ask().why_empty, len(desk.model.asked)) == ("the model generated no text", 2)


def test_accepting_line_by_line_calls_no_model():
    config = replace(ONLY_THE_MODEL, completion=replace(OPTIONS, multi_line="always"))
    desk = Desk(until("    total = "), config=config)
    first = desk.ask().text
    assert first.count("\n") >= 2
    taken, _, rest = first.partition("\n")
    desk.type(taken)
    assert desk.ask().text.strip() == rest.strip()
    desk.type("\n")
    assert desk.ask().text.strip() == rest.strip()
    assert len(desk.model.asked) == 1


def test_windows_line_breaks_are_typed_through():
    config = replace(ONLY_THE_MODEL, completion=replace(OPTIONS, multi_line="always"))
    desk = Desk(until("    total = ").replace("\n", "\r\n"), config=config)
    first = desk.ask().text
    assert "\r\n" in first
    taken, _, rest = first.partition("\r\n")
    desk.type(taken + "\r\n")
    assert (desk.ask().text.strip(), len(desk.model.asked)) == (rest.strip(), 1)


def test_a_bracket_that_the_editor_closes_counts_as_typed():
    desk = Desk(until("(items, discount"))
    assert desk.ask().text == "(items, discount_of(customer))"
    desk.text, desk.below = desk.text + "(", ")"
    answer = desk.ask()
    assert (answer.source, len(desk.model.asked)) == ("typed-through", 1)
    start, end = answer.start[1], answer.end[1]
    assert answer.text + ")"[end - start :] == "items, discount_of(customer))"


def test_another_suffix_or_another_file_misses_the_cache():
    desk = Desk(until("items, discount"))
    desk.ask()
    desk.below = "\nmore = 1\n"
    desk.ask()
    assert len(desk.model.asked) == 2
    desk.path = "other.py"
    desk.ask()
    assert len(desk.model.asked) == 3
    request = Request(EMPTY, desk.models, replace(desk.cursor, folder="elsewhere"), desk.config)
    desk.engine.complete(request)
    assert len(desk.model.asked) == 4


def test_a_change_above_the_cursor_misses_the_cache():
    desk = Desk(until("items, discount"))
    desk.ask()
    desk.text = desk.text.replace("pay", "owe")
    desk.ask()
    desk.text = "import os\n" + desk.text
    desk.ask()
    assert len(desk.model.asked) == 3


def test_a_request_for_several_lines_gets_no_cached_single_line():
    desk = Desk(until("    total = "))
    assert "\n" not in desk.ask("invoked", multi_line=False).text
    assert "\n" in desk.ask("invoked", multi_line=True).text
    assert "\n" not in desk.ask("invoked").text.strip("\n") or len(desk.model.asked) == 2


def test_other_models_and_settings_clear_the_cache():
    desk = Desk(until("items, discount"))
    desk.ask()
    desk.engine.reset()
    desk.ask()
    desk.models = ModelChain((), TrueModel(FILE))  # type: ignore[arg-type]
    desk.models._entries[0].model.info = replace(desk.model.info, name="another")  # type: ignore[union-attr]
    assert desk.ask().model == "another"
    assert len(desk.model.asked) == 2


def test_every_completion_has_an_id_and_its_times():
    desk = Desk(until("items, discount"))
    answers = [desk.ask(), desk.ask(), desk.ask("invoked")]
    assert len({answer.id for answer in answers}) == 3
    assert all("total" in answer.timings_ms for answer in answers)
    assert "retrieval" in answers[0].timings_ms and "retrieval" not in answers[1].timings_ms


def index_of(files: dict[str, str], before: RepositoryIndex | None = None) -> RepositoryIndex:
    parts = [(parse_file(path, text), slice_file(path, text)) for path, text in files.items()]
    return (before or RepositoryIndex()).with_changes(parts)


def snapshot_of(files: dict[str, str], before: FolderSnapshot = EMPTY) -> FolderSnapshot:
    model: WorkspaceModel = before.model.with_changes([tokenise_document(*file) for file in files.items()], ())
    return FolderSnapshot(index_of(files, before.index), model, {})


PRICE = "def total_price(items, discount):\n    return sum(items) - discount\n"
NOISE = "def noise_of(engine):\n    return engine.noise\n"


def test_only_an_edit_of_a_fragment_of_the_prompt_invalidates_an_entry():
    desk = Desk(until("items, discount"))
    desk.snapshot = snapshot_of({"price.py": PRICE, "noise.py": NOISE})
    assert any("def total_price" in fragment.fragment.text for fragment in desk.ask().fragments)
    for files in ({"new.py": "x = 1\n"}, {"price.py": PRICE}, {"price.py": "\n" * 30 + PRICE}):
        desk.snapshot = snapshot_of(files, desk.snapshot)
        assert desk.ask().source == "cache"
    desk.snapshot = snapshot_of({"price.py": PRICE.replace("sum", "max")}, desk.snapshot)
    assert desk.ask().source == "model"


def test_a_change_of_any_other_file_invalidates_entries_of_the_workspace_model():
    config = Config(completion=OPTIONS)
    call = "from price import total_price\n\n\ndef owe(items):\n    return total_price(items, 0)\n"
    desk = Desk(until("items, discount"), config=config)
    desk.models = ModelChain(())
    desk.snapshot = snapshot_of({"price.py": PRICE, "owe.py": call})
    first = desk.ask()
    assert (first.model, first.source) == ("workspace", "model")
    desk.snapshot = snapshot_of({"shop.py": desk.text + first.text[:2]}, desk.snapshot)
    desk.type(first.text[:2])
    assert (desk.ask().text, desk.ask().source) == (first.text[2:], "typed-through")
    desk.snapshot = snapshot_of({"noise.py": NOISE}, desk.snapshot)
    assert desk.ask().source == "model"


def test_a_cached_completion_below_the_threshold_answers_an_invoked_request():
    shy = replace(ONLY_THE_MODEL, completion=replace(OPTIONS, min_model_probability=1.0))
    desk = Desk(until("items, discount"), config=shy)
    automatic = desk.ask()
    assert automatic.text == "" and "low confidence" in automatic.why_empty
    assert desk.ask("invoked").text == "items, discount_of(customer))"
    assert len(desk.model.asked) == 1


def rated_as(monkeypatch: pytest.MonkeyPatch, by_trigger: dict[Trigger, Callable[[Written], Written]]) -> Desk:
    """A desk with the workspace model, whose texts are rated by a function of the trigger."""
    monkeypatch.setattr(engine, "rate", lambda request, written, record=None: by_trigger[request.trigger](written))
    desk = Desk(until("items, discount"), config=Config(completion=replace(OPTIONS, min_confidence=0.3)))
    desk.models = ModelChain(())
    desk.snapshot = snapshot_of({"other.py": FILE.replace("def pay", "def owe"), "price.py": PRICE})
    return desk


def test_a_name_that_does_not_fit_is_the_reason_of_a_repeated_request_too(monkeypatch):
    def with_problem(written: Written) -> Written:
        return replace(written, confidence=0.9, problem="`items` is not bound here")

    desk = rated_as(monkeypatch, {"automatic": with_problem, "invoked": with_problem})
    first, again = desk.ask(), desk.ask()
    assert (first.source, again.source) == ("model", "cache")
    assert first.why_empty.startswith("`items` is not bound here") and first.held_back
    assert (again.why_empty, again.held_back) == (first.why_empty, first.held_back)
    by_hand, again = desk.ask("invoked"), desk.ask("invoked")
    assert again.source == "cache" and again.text == by_hand.text == first.held_back
    assert again.problem == "`items` is not bound here"
    desk.type("i")
    assert desk.ask().source == "model"


def test_an_unsure_text_by_hand_leaves_an_automatic_request_its_own_part(monkeypatch):
    desk = rated_as(
        monkeypatch,
        {
            "automatic": lambda written: replace(written.cut(len("items")), confidence=0.5),
            "invoked": lambda written: replace(written, confidence=0.1),
        },
    )
    assert len(desk.ask("invoked").text) > len("items")
    assert desk.ask().text == "items"


def test_a_text_below_the_threshold_of_one_model_leaves_the_request_to_another():
    config = Config(completion=replace(OPTIONS, min_model_probability=0.05))
    desk = Desk(until("items, discount"), config=config)
    desk.model.stream = lambda request, cancel: iter([Piece("guess)", 0.0001)])  # type: ignore[method-assign]
    other = FILE.replace("def pay", "def owe")
    desk.snapshot = snapshot_of({"other.py": other, "price.py": PRICE})
    assert (desk.ask().model, desk.ask().text) == ("workspace", "items, discount_of(customer))")


def test_the_least_recently_used_entry_is_evicted_first():
    reuse, written = CompletionCache(), Written((("x", 0.9),), "true")
    cursors = [Cursor("a.py", TextLines("y" * n), 0, n) for n in range(MAX_ENTRIES + 2)]
    epoch = reuse.epoch_of("", {})
    validity = Validity(epoch, "true")
    for cursor in cursors:
        reuse.put(CachedCompletion(CursorContext.of(cursor), written, validity, True))
        assert reuse.find(cursors[0], validity, 0.0) is not None
    assert reuse.find(cursors[1], validity, 0.0) is None
    assert reuse.find(cursors[-1], validity, 0.0) is not None


def test_a_large_file_is_compared_near_the_cursor_only():
    text = "line of code\n" * 100_000
    cursor = Cursor("big.py", TextLines(text), 50_000, 4)
    context = CursorContext.of(cursor)
    assert len(context.before) + len(context.after) < 25_000
    typed = TextLines(text[: cursor.offset] + "abc" + text[cursor.offset :])
    assert context.typed_until(Cursor("big.py", typed, 50_000, 7)) == "abc"
    assert "abc" in context.typed_in(typed)
    assert context.typed_until(Cursor("big.py", typed, 50_001, 7)) is None


@pytest.mark.parametrize(
    ("before", "after", "now", "typed"),
    [
        ("a", "z", "ab|z", "b"),
        ("a", "z", "a|z", ""),
        ("a", "z", "ab|y", None),
        ("a", "z", "b|z", None),
        ("ab", "z", "a|z", None),
        ("f", "", "f(|)", "("),
        ("f", "", "f(x|)", "(x"),
        ("f", "", "f([|])", "(["),
        ("f", "", "f(|]", None),
        ("f(", ")", 'f("|")', '"'),
        ("f", "", 'f("|")', '("'),
        ("f", "", "f(x)|)", None),
        ("a", "", "a|\nmore", None),
        ("a", "\nmore", "a|", None),
    ],
)
def test_the_typed_text_is_known_when_nothing_else_changed(before, after, now, typed):
    then = TextLines(before + after)
    context = CursorContext.of(Cursor("a.py", then, *then.position(len(before))))
    start, _, rest = now.partition("|")
    lines = TextLines(start + rest)
    assert context.typed_until(Cursor("a.py", lines, *lines.position(len(start)))) == typed
    if typed is not None:
        assert typed in context.typed_in(lines)


def test_index_changes_are_derived_from_two_snapshots():
    changes, a, b = IndexChanges(), b"a", b"b"
    first = changes.epoch_of({"a.py": a, "b.py": b})
    assert changes.others_unchanged("a.py", first)
    second = changes.epoch_of({"a.py": b"other", "b.py": b})
    assert second > first and changes.others_unchanged("a.py", first) and not changes.others_unchanged("b.py", first)
    changes.epoch_of({"a.py": b"other"})
    assert not changes.others_unchanged("a.py", first) and changes.others_unchanged("b.py", second)
    many = changes.epoch_of({f"{n}.py": b"x" for n in range(1000)})
    assert not changes.others_unchanged("1.py", second) and changes.others_unchanged("1.py", many)


MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("true"), st.integers(1, 12)),
        st.tuples(st.just("wrong"), st.sampled_from(["x", "(", "\n", " ", "é"])),
        st.tuples(st.just("rub out"), st.integers(1, 15)),
        st.tuples(st.just("take"), st.integers(1, 40)),
    ),
    max_size=12,
)


@settings(max_examples=60)
@given(start=st.integers(0, len(FILE) - 1), moves=MOVES, suffix=st.sampled_from(["", "\n", "\n\nmore = 1\n"]))
def test_whatever_is_typed_each_answer_is_a_fresh_one_and_the_model_is_asked_as_seldom_as_can_be(start, moves, suffix):
    desk = Desk(FILE[:start], suffix)
    known: list[tuple[str, str]] = []  # where the model was asked, and what it wrote
    shown = ""
    for what, how in [("true", 0), *moves]:
        if what == "true":
            follows = FILE[len(desk.text) :] if FILE.startswith(desk.text) else "abc"
            desk.type(follows[:how])
        elif what == "rub out":
            desk.rub_out(min(how, len(desk.text)))
        else:
            desk.type(shown[:how] if what == "take" else how)
        n_before = len(desk.model.asked)
        answer = desk.ask()
        shown = answer.text
        assert shown == desk.fresh()
        if any(covers(place, written, desk.text) for place, written in known):
            assert len(desk.model.asked) == n_before
        elif len(desk.model.asked) > n_before:
            known.append((desk.text, line_after(desk.text)))


def line_after(text: str) -> str:
    """What the model writes behind a text that the file begins with."""
    rest = FILE[len(text) :] if FILE.startswith(text) else ""
    n_breaks = len(rest) - len(rest.lstrip("\n"))
    return rest[:n_breaks] + rest[n_breaks:].partition("\n")[0]


def covers(place: str, written: str, text: str) -> bool:
    if text == place:
        return True
    rest = (place + written)[len(text) :]
    return (place + written).startswith(text) and len(text) > len(place) and bool(rest.strip())


def test_the_remainder_of_a_repaired_text_continues_the_displayed_text():
    config = replace(ONLY_THE_MODEL, completion=replace(OPTIONS, multi_line="always"))
    text = "package shop\n\nfunc first() {\n\treturn\n}\n\nfunc second() {\n\treturn\n}\n\nfunc Pay() {"
    desk = Desk(text, config=config, path="shop.go")
    desk.model.truth = text + "\n    first()\n    second()\n}"  # spaces, where the file has tabs
    assert desk.ask().text == "\n\tfirst()\n\tsecond()\n}"
    desk.type("\n\tfirst()")
    rest = desk.ask()
    assert (rest.text, rest.source) == ("\n\tsecond()\n}", "typed-through")
    desk.type("\n\tse")
    assert (desk.ask().text, len(desk.model.asked)) == ("cond()\n}", 1)
