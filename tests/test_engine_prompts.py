"""What a model with a prompt to read is given from key to key, how much it may write, and what is done ahead."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft import Config, Workspace
from weft.llm import Cancel, CompletionRequest, ModelConfig, ModelInfo, Piece
from weft.llm.prompting.formats import FIM_FORMATS
from weft.llm.prompting.prompts import build_prompt
from weft.llm.protocol import Speed
from weft.llm.streaming import LastPrompts
from weft.server.completion import Cursor, model_request
from weft.server.completion.debounce import MAX_PAUSE_S, TypingPace, debounce_s, is_promising
from weft.server.completion.prefetch import cursor_after
from weft.server.completion.service import Position
from weft.server.completion.values import Completion, Written
from weft.server.config import CompletionOptions
from weft.server.config.options import model_configs
from weft.server.models.budget import MIN_NEW_TOKENS, new_tokens, prompt_ms
from weft.server.workspace.text import TextLines

WAIT_S = 30
"""Only a test that fails waits this long."""

OPTIONS = CompletionOptions(min_confidence=0.0, debounce_ms=0, deadline_ms=600_000)


class Served:
    """A model behind an address that keeps the prompts it is sent; it writes what `says` makes of a request."""

    def __init__(self, says: Callable[[CompletionRequest], str] = lambda request: "@", name: str = "served") -> None:
        self.info, self.speed, self.says = ModelInfo(name, "test", 4096, True, True, local=False), Speed(), says
        self.prompts: list[str] = []
        self.requests: list[CompletionRequest] = []
        self.asked: queue.Queue[CompletionRequest] = queue.Queue()
        self.may_write = threading.Event()
        self.may_write.set()
        self._last = LastPrompts()

    def prepare(self, cancel: Cancel) -> None: ...

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None: ...

    def close(self) -> None: ...

    def count_tokens(self, text: str) -> int:
        return len(text)

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        prompt = build_prompt(request, FIM_FORMATS["qwen"], len, 3000, self._last.previous_fragments(request))
        self._last.remember(request.path, prompt.fragments)
        self.prompts.append(prompt.text)
        self.requests.append(request)
        self.asked.put(request)
        assert self.may_write.wait(WAIT_S)
        yield Piece(self.says(request), 0.9)


WORDS = ("price", "tax", "total", "refund", "cart", "basket", "owner", "stock", "order", "invoice", "ship", "parcel")
ABOVE = "from prices import price_of\n\n\ndef pay(cart, owner):\n    # the line above\n"
LINE = "    invoice = order_total(cart, tax_of(owner), refund=parcel)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for one, other in pairwise(WORDS):
        (tmp_path / f"{one}.py").write_text(f"def {one}_of({other}):\n    return {other}.{one}({other}_of)\n" * 8)
    (tmp_path / "shop.py").write_text(ABOVE)
    return tmp_path


def typed(folder: Path, model: Served, lines: str = LINE, config: Config | None = None) -> None:
    """Type `lines` into shop.py key by key, with a request at each."""
    config = config or Config(completion=OPTIONS, model=(ModelConfig(backend="none"),))
    with Workspace([folder], config, model=model, cache=False) as workspace:  # type: ignore[arg-type]
        workspace.index()
        for n in range(1, len(lines) + 1):
            text = ABOVE + lines[:n]
            workspace.edit_buffer(folder / "shop.py", text)
            workspace.flush()
            row = text.count("\n")
            workspace.complete(folder / "shop.py", row, len(text), trigger="invoked")


def heads(prompts: list[str], up_to: str = "# the line above\n") -> set[str]:
    return {prompt[: prompt.index(up_to) + len(up_to)] for prompt in prompts}


def test_while_a_line_is_typed_its_prompts_are_the_same_up_to_that_line(folder):
    model = Served()
    typed(folder, model)
    assert len(model.prompts) > 40
    (head,) = heads(model.prompts)
    assert "return" in head  # there are fragments in it


def test_without_prompt_stable_fragments_the_prompts_differ(folder, monkeypatch):
    monkeypatch.setattr(model_request, "STABLE_FRAGMENTS", False)
    model = Served()
    typed(folder, model)
    assert len(heads(model.prompts)) > 1


def test_another_line_another_edit_above_and_another_file_bring_other_fragments(folder):
    model = Served()
    path = folder / "shop.py"

    def shown() -> list[tuple[str, ...]]:
        workspace.flush()
        workspace.complete(path, 99, 0, trigger="invoked")
        return [fragment.paths for fragment in model.requests[-1].fragments]

    config = Config(completion=OPTIONS, model=(ModelConfig(backend="none"),))
    with Workspace([folder], config, model=model, cache=False) as workspace:  # type: ignore[arg-type]
        workspace.index()
        workspace.edit_buffer(path, ABOVE + "    ")
        first = shown()
        workspace.edit_buffer(path, ABOVE + "    zebra_stripes(")
        assert shown() == first
        workspace.edit_buffer(folder / "zebra.py", "def zebra_stripes(animal):\n    return animal.zebra_stripes\n")
        workspace.edit_buffer(path, ABOVE + "    zebra_stripes(p")
        assert ("zebra.py",) in shown()
        before = [fragment.paths for fragment in model.requests[-1].fragments]
        workspace.edit_buffer(path, ABOVE + "    zebra_stripes(parcel)\n    ship(")
        assert shown() != before


def test_warm_up_uses_the_fragments_of_the_later_request(folder):
    warmed: list[CompletionRequest] = []
    model = Served()
    model.warm = lambda request, cancel: warmed.append(request)  # type: ignore[method-assign]
    config = Config(completion=replace(OPTIONS, warm_up="all"), model=(ModelConfig(backend="none"),))
    with Workspace([folder], config, model=model, cache=False) as workspace:  # type: ignore[arg-type]
        workspace.index()
        workspace.edit_buffer(folder / "shop.py", ABOVE + "    inv")
        workspace.completion._warm_up(Position(folder / "shop.py", 5, 7), Cancel())
        workspace.edit_buffer(folder / "shop.py", ABOVE + "    invoice = or")
        workspace.complete(folder / "shop.py", 5, 99)
    assert warmed[0].fragments == model.requests[0].fragments
    assert warmed[0].max_new_tokens == model.requests[0].max_new_tokens


@pytest.mark.parametrize(
    ("decode", "target_ms", "limit", "tokens"),
    [
        (0.0, 1500, 64, 64),  # not measured yet
        (1000.0, 1500, 64, 64),
        (100.0, 1500, 64, 32),  # 50 in half a second
        (100.0, 1500, 20, 20),
        (2.0, 1500, 64, MIN_NEW_TOKENS),
        (2.0, 1500, 8, 8),
        (100.0, 6000, 256, 128),
    ],
)
def test_a_slow_model_gets_fewer_tokens(decode, target_ms, limit, tokens):
    assert new_tokens(Speed(500.0, decode), target_ms, limit) == tokens


@given(st.floats(0, 1e5), st.integers(50, 600_000), st.integers(1, 4096))
def test_the_budget_never_exceeds_the_limit_and_changes_rarely(decode, target_ms, limit):
    tokens = new_tokens(Speed(0.0, decode), target_ms, limit)
    assert 1 <= tokens <= limit
    if decode:
        assert new_tokens(Speed(0.0, decode * 4), target_ms, limit) >= tokens
        assert tokens in (limit, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


def test_the_target_is_the_one_setting_unless_a_model_has_its_own():
    models = (ModelConfig(backend="openai", url="http://127.0.0.1:1"), ModelConfig(backend="ollama", prompt_ms=77))
    first, second = model_configs(Config(completion=CompletionOptions(target_ms=3000), model=models))
    assert (first.prompt_ms, second.prompt_ms) == (prompt_ms(3000), 77) == (2000, 77)


def test_an_invoked_request_gets_the_full_length(folder):
    model = Served()
    model.speed = Speed(100.0, 10.0)
    config = Config(completion=OPTIONS)
    with Workspace([folder], config, model=model, cache=False) as workspace:  # type: ignore[arg-type]
        workspace.index()
        workspace.edit_buffer(folder / "shop.py", ABOVE + "    ")
        workspace.complete(folder / "shop.py", 5, 4)
        workspace.edit_buffer(folder / "shop.py", ABOVE + "    a")
        workspace.complete(folder / "shop.py", 5, 5, trigger="invoked")
    assert [request.max_new_tokens for request in model.requests] == [MIN_NEW_TOKENS, 64]


FILE = ("", "a.py", "")


def pace(*keys_s: float, answers_s: float = 0.0) -> TypingPace:
    made = TypingPace()
    for at_s in keys_s:
        made.key_typed(FILE, at_s)
    if answers_s:
        made.model_answered("slow", answers_s)
    return made


def test_fast_typing_shortens_the_debounce_and_the_setting_bounds_it():
    assert debounce_s(0.1, 0.0, 0.15) == pytest.approx(0.12)
    assert debounce_s(0.5, 0.0, 0.15) == 0.15
    assert debounce_s(0.0, 0.0, 0.15) == 0.15
    assert debounce_s(0.2, 0.19, 0.15) == 0.0  # a quick model may be asked in vain
    assert 0.0 < debounce_s(0.2, 0.3, 0.15) < debounce_s(0.2, 2.0, 0.15)


@given(st.floats(0, 10), st.floats(0, 100), st.floats(0, 10))
def test_the_debounce_is_bounded(between_keys_s, answer_s, max_s):
    assert 0 <= debounce_s(between_keys_s, answer_s, max_s) <= max_s


def test_the_debounce_counts_from_the_last_key():
    typing = pace(10.0, 10.1, 10.2)
    assert typing.wait_until(FILE, 10.2, "slow", 0.15, is_promising=False) == pytest.approx(10.32)
    # Neovim has waited 200 ms by itself.
    assert typing.wait_until(FILE, 10.4, "slow", 0.15, is_promising=False) < 10.4
    assert typing.wait_until(("", "other.py", ""), 10.4, "slow", 0.15, is_promising=False) > 10.4


def test_a_pause_and_another_file_do_not_change_the_typing_pace():
    typing = pace(10.0, 10.1, 10.1 + MAX_PAUSE_S + 1)
    typing.key_typed(("", "other.py", ""), 11.9)
    assert typing.wait_until(FILE, 20.0, "slow", 1.0, is_promising=False) == pytest.approx(20.12)


def test_the_debounce_is_shorter_at_promising_positions():
    typing = pace(10.0, 10.1)
    waits = [typing.wait_until(FILE, 10.1, "slow", 1.0, is_promising=promising) - 10.1 for promising in (True, False)]
    assert waits[0] < waits[1]


@pytest.mark.parametrize(
    ("line", "promising"),
    [
        ("|", True),
        ("    |", True),
        ("self.|", True),
        ("pay(|", True),
        ("pay(|)", False),
        ("na|", False),
        ("a = |", True),
    ],
)
def test_promising_positions(line, promising):
    start, _, rest = line.partition("|")
    assert is_promising(start, rest) is promising


def test_cancellation_ends_the_debounce_and_cached_completions_have_none(folder):
    model = Served(lambda request: "order_total(cart)")
    config = Config(completion=replace(OPTIONS, debounce_ms=10_000), model=(ModelConfig(backend="none"),))
    with Workspace([folder], config, model=model, cache=False) as workspace:  # type: ignore[arg-type]
        workspace.index()
        workspace.edit_buffer(folder / "shop.py", ABOVE + "    invoice ")
        cancel = Cancel()
        threading.Timer(0.05, cancel.cancel).start()
        assert workspace.complete(folder / "shop.py", 5, 99, cancel=cancel).why_empty == "cancelled"
        assert model.requests == []
        assert workspace.complete(folder / "shop.py", 5, 99, trigger="invoked").text == "order_total(cart)"
        assert workspace.complete(folder / "shop.py", 5, 99).source == "cache"


def test_the_cursor_after_a_completion_is_in_the_text_that_contains_it():
    cursor = Cursor("a.py", TextLines("x = f()\n"), 0, 6)
    after = cursor_after(cursor, Completion("a,\n  b)", (0, 6), (0, 7)))
    assert (after.lines.text, after.line, after.character) == ("x = f(a,\n  b)\n", 1, 4)


@pytest.fixture
def prefetching(folder: Path) -> Iterator[tuple[Workspace, Served, Path]]:
    model = Served(lambda request: "order_total(" if request.prefix.endswith("= ") else "cart)")
    options = replace(OPTIONS, prefetch_next=True, warm_up="off")
    config = Config(completion=options, model=(ModelConfig(backend="none"),))
    with Workspace([folder], config, model=model, cache=False) as workspace:  # type: ignore[arg-type]
        workspace.index()
        workspace.edit_buffer(folder / "shop.py", ABOVE + "    invoice = ")
        yield workspace, model, folder / "shop.py"


def ask(workspace: Workspace, path: Path) -> Completion:
    return workspace.complete(path, 5, 999)


def test_the_completion_after_a_shown_one_is_prefetched_between_requests(prefetching, monkeypatch):
    workspace, model, path = prefetching
    first = ask(workspace, path)
    assert first.text == "order_total("
    assert model.asked.get(timeout=WAIT_S)
    cache, is_stored = workspace.completion._engine._cache, threading.Event()
    put = cache.put
    monkeypatch.setattr(cache, "put", lambda entry: (put(entry), is_stored.set()))
    workspace.completion.shown(first.id)
    assert model.asked.get(timeout=WAIT_S).prefix.endswith("invoice = order_total(")
    assert is_stored.wait(WAIT_S)
    workspace.edit_buffer(path, ABOVE + "    invoice = order_total(")
    second = ask(workspace, path)
    assert second.text == "cart)" and len(model.requests) == 2
    assert second.source == "prefetched"


def test_a_request_preempts_prefetching(prefetching):
    workspace, model, path = prefetching
    first = ask(workspace, path)
    assert model.asked.get(timeout=WAIT_S)
    model.may_write.clear()
    workspace.completion.shown(first.id)
    ahead = model.asked.get(timeout=WAIT_S)
    generation = workspace.completion._engine._generations._generations[str(path.parent), "shop.py", ""]
    workspace.edit_buffer(path, ABOVE + "    invoice = z")
    assert generation.cancel.cancelled and ahead.prefix.endswith("order_total(")
    model.may_write.set()


def test_nothing_is_prefetched_unless_it_is_configured(folder):
    model = Served(lambda request: "order_total(cart)")
    config = Config(completion=OPTIONS, model=(ModelConfig(backend="none"),))
    with Workspace([folder], config, model=model, cache=False) as workspace:  # type: ignore[arg-type]
        workspace.index()
        workspace.edit_buffer(folder / "shop.py", ABOVE + "    invoice = ")
        workspace.completion.shown(ask(workspace, folder / "shop.py").id)
        assert workspace._idle._pending is None and workspace._idle._thread is None


def several(folder: Path, n: int, *says: str) -> list[Completion]:
    models = [Served(lambda request, text=text: text, f"model {i}") for i, text in enumerate(says)]
    config = Config(completion=OPTIONS, model=(ModelConfig(backend="none"),))
    with Workspace([folder], config, model=models[0], cache=False) as workspace:  # type: ignore[arg-type]
        workspace.index()
        entries: Any = workspace._models.chain._entries
        entries += [type(entries[0])(None, model, "ready") for model in models[1:]]
        text = ABOVE + "    invoice = price_of("
        workspace.edit_buffer(folder / "shop.py", text)
        return workspace.complete_several(folder / "shop.py", 5, 999, n)


def test_candidates_are_different_texts_of_different_models(folder):
    found = several(folder, 3, "cart)", "cart)", "owner)")
    assert [completion.text for completion in found[:2]] == ["cart)", "owner)"]
    assert found[1].model == "model 2"
    assert len({completion.id for completion in found}) == len(found) <= 3


def test_no_more_candidates_are_generated_than_requested(folder):
    assert [completion.text for completion in several(folder, 1, "cart)", "owner)")] == ["cart)"]


def test_without_any_completion_there_is_one_empty_candidate(folder):
    (empty,) = several(folder, 3, "")
    assert empty.text == "" and empty.why_empty


def test_a_text_is_cut_between_and_within_pieces():
    written = Written((("ab", 0.5), ("cd", 0.25), ("e", None)), "m", "test", cut_by_limit=True)
    assert written.cut(3).pieces == (("ab", 0.5), ("c", 0.25)) and not written.cut(3).cut_by_limit
    assert written.after(3).pieces == (("d", 0.25), ("e", None)) and written.after(3).cut_by_limit
    assert (written.cut(0).text, written.after(9).text, written.cut(99), written.after(0)) == ("", "", written, written)


@given(st.lists(st.text(max_size=4), max_size=6), st.integers(0, 30))
def test_a_beginning_and_its_rest_are_the_whole(texts, n):
    written = Written(tuple((text, 0.5) for text in texts))
    assert written.cut(n).text + written.after(n).text == written.text
    assert len(written.cut(n).text) == min(n, len(written.text))
