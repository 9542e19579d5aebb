"""MemoRAG's memories on a model in this process: what is read once, kept, given back, saved and loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from weft.errors import ModelError
from weft.llm.local.infilling_chat_model import InfillingChatModel
from weft.llm.local.model import LocalModel, LocalSettings
from weft.llm.protocol import Cancel
from weft.memory import Budget, Item, MeteredModel, Question, StrategyContext
from weft.memory.memorag import GistPlan, MemoRAG, MemoRAGSettings

ALL = Budget()
WHO = Question("Who has the violin?")
STORY = " ".join(f"Shop {i} has a sign with a {thing}." for i, thing in enumerate(("fox", "lamp", "violin") * 12))


Make = Callable[..., LocalModel]


@pytest.fixture
def local(toy_chat_model: Make) -> Make:
    return lambda seed=0, **given: toy_chat_model(seed, **{"context_tokens": 8192, **given})


def memorag(model: Any, text: str = STORY, **settings: Any) -> MemoRAG:
    made = MemoRAG(StrategyContext(MeteredModel(model)), MemoRAGSettings(**{"segment_tokens": 40, **settings}))
    made.remember([Item("shops.txt", text)])
    return made


def backend_of(recalled: Any) -> str:
    return next(step.detail["backend"] for step in recalled.trace if step.name == "memory")


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_text_that_fits_is_read_once_by_a_model_in_this_process(local: Make, wrapped: bool):
    model = local()
    made = memorag(InfillingChatModel(model) if wrapped else model)
    assert backend_of(made.recall(WHO, ALL)) == "kv"
    n_read = len(model.engine.blocks)
    for question in ("Who has the fox?", "And who has the lamp?"):
        made.recall(Question(question), ALL)
    assert max(model.engine.blocks[n_read:]) < len(STORY) / 2


def test_kept_and_sent_whole_the_memory_says_the_same(local: Make):
    kept = memorag(local(), backend="kv", draft=True).recall(WHO, ALL)
    sent = memorag(local(), backend="api_full", draft=True).recall(WHO, ALL)
    assert kept.evidence == sent.evidence
    assert [step for step in kept.trace if step.name == "clues"] == [
        step for step in sent.trace if step.name == "clues"
    ]


def test_an_answer_between_two_questions_does_not_see_the_text_nor_cost_it(local: Make):
    model = local()
    made = memorag(model, answer_tokens=8)
    made.answer(WHO)
    held = max(model.engine.caches, key=len)
    made.answer(Question("Who has the lamp?"))
    assert max(model.engine.caches, key=len) is held


def test_a_text_that_is_too_long_becomes_gists_which_are_kept(local: Make):
    model = local()
    made = memorag(model, STORY * 10, gists=GistPlan(piece_tokens=4000, gist_tokens=20))
    assert backend_of(made.recall(WHO, ALL)) == "lite"
    memory = made.memorize()
    assert memory is not None
    assert len(memory.gists) > 2
    n_read = len(model.engine.blocks)
    made.recall(Question("Who has the fox?"), ALL)
    # Questions of a hundred and more bytes are read, the gists before them are not.
    assert model.last_stats.reused_tokens > memory.n_tokens - 10
    assert len(model.engine.blocks) > n_read


def test_kv_of_a_text_that_is_too_long_names_lite(local: Make):
    with pytest.raises(ModelError, match="memory backend `lite`"):
        memorag(local(), STORY * 10, backend="kv").recall(WHO, ALL)


def test_a_model_that_cannot_keep_is_sent_the_text_unless_kv_was_asked_for(local: Make):
    made = memorag(local(crops=False))
    assert backend_of(made.recall(WHO, ALL)) == "api_full"
    assert backend_of(memorag(local(crops=False), backend="lite").recall(WHO, ALL)) == "lite"
    with pytest.raises(ModelError, match=r"can't cache a prefix.* `api_full`"):
        memorag(local(crops=False), backend="kv").recall(WHO, ALL)


@pytest.mark.parametrize("n_characters", range(7250, 7850, 50))
def test_at_the_edge_of_the_window_a_text_is_kept_or_made_shorter_but_not_refused(local: Make, n_characters: int):
    assert memorag(local(), "A word. " * (n_characters // 8), gists=GistPlan(4000, 20)).recall(WHO, ALL).trace


def test_a_changed_text_takes_the_place_of_the_old_one(local: Make):
    model = local()
    made = memorag(model)
    made.recall(WHO, ALL)
    made.remember([Item("shops.txt", "It has burnt down. " * 60)])
    made.recall(WHO, ALL)
    kept = [slot for slot in model._kv_cache._slots if slot.n_pinned]
    assert len(kept) == 1


def test_reset_gives_the_memory_back_and_the_next_question_reads_again(local: Make):
    model = local()
    made = memorag(model)
    expected = made.recall(WHO, ALL)
    made.reset()
    assert not any(slot.n_pinned for slot in model._kv_cache._slots)
    assert made.recall(WHO, ALL) == expected


def test_reading_that_is_cancelled_leaves_no_memory_and_no_error(local: Make):
    model = local()
    made = memorag(model)
    cancel = Cancel()
    model.engine.before_read = cancel.cancel
    assert made.recall(WHO, ALL, cancel).evidence == ()
    model.engine.before_read = lambda: None
    assert made.recall(WHO, ALL).evidence


def test_saved_and_loaded_nothing_is_read_but_questions(local: Make, tmp_path: Path):
    made = memorag(local())
    expected = made.recall(WHO, ALL)
    made.save(tmp_path)
    other = local()
    n_read = len(other.engine.blocks)
    loaded = MemoRAG(StrategyContext(MeteredModel(other)), MemoRAGSettings(segment_tokens=40))
    loaded.load(tmp_path)
    assert loaded.recall(WHO, ALL) == expected
    assert max(other.engine.blocks[n_read:]) < len(STORY) / 2


def test_a_memory_of_other_weights_is_refused(local: Make, tmp_path: Path):
    memorag(local(seed=1)).save(tmp_path)
    with pytest.raises(ModelError, match="another set of weights"):
        MemoRAG(StrategyContext(MeteredModel(local(seed=2)))).load(tmp_path)


@pytest.fixture(scope="module")
def real(small_chat_model: Path) -> Iterator[LocalModel]:
    pytest.importorskip("torch", reason="needs torch")
    from weft.llm.local.transformers_model import open_transformers

    settings = LocalSettings(context_tokens=2048, prompt_ms=10**9)
    model = open_transformers(small_chat_model, settings=settings, device="cpu", threads=1)
    yield model
    model.close()


VILLAGE = (
    "Marta keeps the bakery on the hill. Every morning she carries bread to the harbour. "
    "Olav repairs boats in the harbour, and his dog is called Pepper. "
    "The school stands behind the church. Its teacher, Ines, plays the violin in the evening. "
    "In the old mill lives nobody, but the children say that an owl does. "
)


@pytest.mark.local
@pytest.mark.slow
def test_every_memory_runs_end_to_end_on_a_real_model(real: LocalModel, tmp_path: Path):
    for backend in ("kv", "lite", "api_full", "api_gist"):
        settings = MemoRAGSettings(
            backend, draft=True, segment_tokens=24, answer_tokens=24, gists=GistPlan(piece_tokens=64, gist_tokens=24)
        )
        made = MemoRAG(StrategyContext(MeteredModel(real), count_tokens=real.count_tokens), settings)
        made.remember([Item("village.txt", VILLAGE)])
        answer = made.answer(Question("Who plays the violin?"))
        assert answer.model  # a model that was trained for a minute may write blanks
        assert any("violin" in each.segment.text for each in answer.recalled.evidence)
        assert answer.cost.n_calls >= 4
        if backend != "kv":
            continue
        made.save(tmp_path / backend)
        loaded = MemoRAG(StrategyContext(MeteredModel(real), count_tokens=real.count_tokens), settings)
        loaded.load(tmp_path / backend)
        again = loaded.answer(Question("Who plays the violin?"))
        assert (again.text, again.recalled) == (answer.text, answer.recalled)
        for each in (made, loaded):
            each.reset()
