"""Strategies reuse the documents of earlier questions: what is computed again, what is updated, and what is freed."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.llm import Cancel
from weft.memory import Budget, Item, Question
from weft.memory.baselines import base
from weft.memory.embedding import EmbedderWrapper, HashingEmbedder, Vectors
from weft.memory.embedding_cache import CachingEmbedder
from weft.memory.strategies import STRATEGIES, strategy_named
from weft.memory.strategy import StrategyContext
from weft.server.chat import strategy_cache
from weft.server.chat.strategy_cache import LoadedStrategy, StrategyCache
from weft.server.config import ChatOptions, Config, MemoryOptions
from weft.server.workspace.workspace import Workspace

FILES = """
#- a.py
x = 1
#- docs/guide.md
# Guide

A basket over one hundred euros is ten percent cheaper: that is the discount.
#- docs/opening.md
# Opening hours

The shop opens at nine.
#- docs/zoo.md
# Zoo

Kangaroos eat hay.
"""
CONFIG = Config(memory=MemoryOptions(embeddings="hashing"))
DISCOUNT = "When is a basket cheaper?"
ZOO = "What do kangaroos eat?"


class CountingEmbedder:
    """An embedder with a meaning, by name, that records the texts of segments."""

    name = "counting"
    n_dimensions = HashingEmbedder().n_dimensions

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> Vectors:
        if not are_queries:
            self.embedded += texts
        return HashingEmbedder().embed(texts)


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> CountingEmbedder:
    made = CountingEmbedder()
    monkeypatch.setattr("weft.server.chat.strategy_answers.embedder_of", lambda *_, **__: (made, "counts"))
    return made


@pytest.fixture
def workspace(project: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("WEFT_DATA_DIR", str(tmp_path / "data"))
    folder = project(FILES)
    opened: list[Workspace] = []

    def make(model: Any = None) -> Workspace:
        opened.append(Workspace([folder], CONFIG, model=model, cache=False))
        opened[-1].index()
        return opened[-1]

    yield make
    for each in opened:
        each.close()


@pytest.fixture
def split(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources of the documents that a baseline splits."""
    sources: list[str] = []
    by_tokens = base.by_tokens

    def counted(*given: Any, **options: Any) -> Callable[[Item], Any]:
        splitter = by_tokens(*given, **options)

        def split(item: Item) -> Any:
            sources.append(item.source)
            return splitter(item)

        return split

    monkeypatch.setattr(base, "by_tokens", counted)
    return sources


def edit(workspace: Workspace, path: str, text: str) -> None:
    workspace.open_buffer(Path(workspace.status().folders[0]) / path, text)


# In a workspace


def test_a_second_question_computes_nothing_of_the_documents(workspace, embedder, split):
    shop = workspace()
    first = shop.ask(DISCOUNT, strategy="top_1")
    assert len(split) == len(embedder.embedded) == 3
    second = shop.ask(ZOO, strategy="top_1")
    assert len(split) == len(embedder.embedded) == 3
    assert [reply.evidence.items[0].path for reply in (first, second)] == ["docs/guide.md", "docs/zoo.md"]


def test_after_a_change_only_that_document_is_split_and_embedded(workspace, embedder, split, monkeypatch):
    shop = workspace()
    keeping = CachingEmbedder(embedder, shop.memory.vectors)
    monkeypatch.setattr("weft.server.chat.strategy_answers.embedder_of", lambda *_, **__: (keeping, "counts"))
    shop.ask(DISCOUNT, strategy="top_1")
    split.clear()
    embedder.embedded.clear()
    edit(shop, "docs/guide.md", "# Guide\n\nNothing is ever cheaper, but kangaroos eat grass.\n")
    reply = shop.ask("Do kangaroos eat grass?", strategy="top_1")
    assert reply.evidence.items[0].path == "docs/guide.md" and "grass" in reply.text
    assert split == ["docs/guide.md"]
    assert ["grass" in text for text in embedder.embedded] == [True]


def test_a_document_that_is_gone_is_not_found_any_more(workspace):
    shop = workspace()
    assert shop.ask(ZOO, strategy="top_1").evidence.items[0].path == "docs/zoo.md"
    edit(shop, "docs/zoo.md", "")
    assert "docs/zoo.md" not in {item.path for item in shop.ask(ZOO, strategy="top_max").evidence.items}
    assert "docs/zoo.md" not in {item.path for item in shop.ask(ZOO, strategy="top_1").evidence.items}


def test_each_model_and_each_strategy_has_its_own_documents(workspace, scripted_chat, split):
    model = scripted_chat([("", "Hay (docs/zoo.md:3).")])
    shop = workspace(model)
    for _ in range(2):
        replies = [shop.ask(ZOO, strategy=name) for name in ("top_1", "top_2")]
        assert [reply.model for reply in replies] == ["scripted", "scripted"]
        assert all(reply.cost.n_calls == 1 for reply in replies)  # of this question alone
    assert len(split) == 6


def test_a_question_that_is_stopped_before_it_reads_leaves_nothing_half_read(workspace, split):
    shop = workspace()
    cancel = Cancel()
    cancel.cancel()
    shop.ask(ZOO, strategy="top_1", cancel=cancel)
    assert shop.ask(ZOO, strategy="top_1").evidence.items[0].path == "docs/zoo.md"


@pytest.mark.parametrize("end", ["close", "configure"])
def test_strategies_are_freed_when_the_workspace_closes_or_settings_change(workspace, monkeypatch, end):
    made: list[weakref.ref[Any]] = []

    def named(*given: Any) -> Any:
        strategy = strategy_named(*given)
        made.append(weakref.ref(strategy))
        return strategy

    monkeypatch.setattr("weft.server.chat.strategy_answers.strategy_named", named)
    shop = workspace()
    shop.ask(ZOO, strategy="top_1")
    shop.ask(ZOO, strategy="top_1")
    gc.collect()
    (kept,) = made
    assert kept() is not None
    if end == "close":
        shop.close()
    else:
        shop.configure(replace(CONFIG, chat=ChatOptions(max_seconds=10)))
    gc.collect()
    assert kept() is None


# The update


class Recording:
    """A strategy that records what it is told, and holds documents by the rules of the interface."""

    def __init__(self) -> None:
        self.held: dict[str, list[Item]] = {}
        self.told: list[str] = []

    def remember(self, items: Sequence[Item], cancel: Cancel | None = None) -> None:
        for source in dict.fromkeys(item.source for item in items):
            self.held.pop(source, None)
            self.held[source] = [item for item in items if item.source == source]
            self.told.append(f"+{source}")

    def forget(self, source: str) -> None:
        del self.held[source]
        self.told.append(f"-{source}")


def loaded(strategy: Any = None) -> LoadedStrategy:
    return LoadedStrategy(strategy or Recording(), EmbedderWrapper(HashingEmbedder()))


def test_the_same_documents_are_not_given_again():
    held = loaded()
    for _ in range(2):
        held.update([Item("a", "1"), Item("b", "2")], Cancel())
    assert held.strategy.told == ["+a", "+b"]


DOCUMENTS = st.lists(st.builds(Item, st.sampled_from("abcd"), st.sampled_from(["one two", "three", "four five six"])))


@given(st.lists(DOCUMENTS, max_size=4), st.sampled_from(["top_2", "full_left", "fragrel", "qrmem", "segment_plus"]))
def test_an_updated_strategy_finds_what_a_new_one_does(versions, name):
    held, strategy = loaded(), strategy_named(name, StrategyContext())
    updated = loaded(strategy)
    for version in versions:
        held.update(version, Cancel())
        updated.update(version, Cancel())
    last = versions[-1] if versions else []
    by_source = {item.source: [each for each in last if each.source == item.source] for item in last}
    assert list(held.strategy.held.items()) == list(by_source.items())
    new = strategy_named(name, StrategyContext())
    new.remember(last)
    question = Question("one three five")
    assert strategy.recall(question, Budget()) == new.recall(question, Budget())


def test_every_strategy_can_be_updated():
    for name in STRATEGIES:
        held = loaded(strategy_named(name, StrategyContext()))
        for text in ("A basket is cheap.", "A basket is dear."):
            held.update([Item("a.md", "Nothing."), Item("b.md", text)], Cancel())
        found = [each.segment.text for each in held.strategy.recall(Question("basket"), Budget()).evidence]
        assert not any("cheap" in text for text in found), name


# The cache


def test_a_strategy_in_use_is_not_given_to_a_second_question():
    cache = StrategyCache()
    with cache.borrowed("key", loaded) as first:
        first.update([], Cancel())
        with cache.borrowed("key", loaded) as second:
            assert second is not first
            second.update([], Cancel())
    with cache.borrowed("key", loaded) as again:
        assert again is first


def test_a_strategy_that_was_not_updated_to_the_end_is_dropped():
    cache, cancel = StrategyCache(), Cancel()
    cancel.cancel()
    with cache.borrowed("key", loaded) as first:
        first.update([Item("a", "1")], cancel)
    with cache.borrowed("key", loaded) as second:
        assert second is not first


def test_the_cache_is_bounded_in_number_and_size(monkeypatch):
    def use(cache: StrategyCache, key: str, text: str = "") -> LoadedStrategy:
        with cache.borrowed(key, loaded) as held:
            held.update([Item("a", text)] if text else [], Cancel())
            return held

    cache = StrategyCache()
    first, *_ = [use(cache, str(n)) for n in range(strategy_cache.MOST_STRATEGIES + 1)]
    assert use(cache, "1") is not first and use(cache, "0") is not first
    monkeypatch.setattr(strategy_cache, "MOST_CHARACTERS", 10)
    small, large = use(cache, "small", "12345"), use(cache, "large", "1234567")
    assert use(cache, "large", "1234567") is large and use(cache, "small", "12345") is not small
    assert use(cache, "huge", "1" * 11) is not use(cache, "huge", "1" * 11)


def test_a_strategy_in_use_while_the_cache_is_cleared_is_not_cached_again():
    cache = StrategyCache()
    with cache.borrowed("key", loaded) as first:
        first.update([], Cancel())
        cache.clear()
    with cache.borrowed("key", loaded) as second:
        assert second is not first


def test_the_embedder_of_the_current_question_is_used():
    slot = EmbedderWrapper(HashingEmbedder())
    counting = CountingEmbedder()
    slot.inner = counting
    assert (slot.name, slot.n_dimensions) == (counting.name, counting.n_dimensions)
    assert np.array_equal(slot.embed(["a"]), HashingEmbedder().embed(["a"])) and counting.embedded == ["a"]
