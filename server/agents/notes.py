"""What agents remember: notes in a conversation of the workspace's memory, and their recall by a strategy.

Owns the conversation of notes, their numbers, the limits of a note, and the choice of the strategy's texts. The
strategies are those of `memory/`: FragRel's chat memory, the graph of QRMeM, the notes of Segment+ and the clues of
MemoRAG. Secrets are removed before a note is stored. People see, search and delete these notes with `weft history`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ...errors import Cancelled, InvalidArgument, ModelError
from ...llm import Cancel, TimeLimit
from ...memory import Budget, Evidence, Question
from ...memory.embedding import HashingEmbedder
from ...memory.fragrel import RETURNING_CHAT, FragRel
from ...memory.storage import Conversation, Turn, items_of
from ...memory.strategies import READING_PURPOSES, strategy_named
from ...memory.strategy import StrategyContext, estimate_tokens
from ...memory.values import RecallResult
from ..chat.generation import AnswerGenerator
from ..models.embeddings import embedder_of
from ..secrets import redact
from ..workspace.workspace import Workspace
from .values import Answer, Entry, counted, shortened

NOTES_ID = "notes-of-agents"
"""The conversation with the notes. A fixed id, because two agents may store their first notes at the same time."""

NOTES_TITLE = "Notes of agents"

MAX_NOTE = 8_000
"""Characters of a note."""

MAX_NOTES = 500
"""Notes that are recalled from, the latest."""

MODEL_WITHIN_S = 50.0
"""A strategy with a model is given up after this time; agents give up on calls after about a minute."""

TOO_SLOW = "The model was too slow: recalled without it. What it has read is stored, so a later call may finish."

EXTRACTING = "segment_plus"
"""The strategy whose answer is one text of the notes that it takes: it takes as many as are asked for."""

MAX_EXTRACTED_TOKENS = 1_500

STRATEGIES = ("fragrel", "qrmem", "segment_plus", "memorag")
CHAT_SEPARATOR = "\nbot: "
NOT_KEPT = "`memory.keep_conversations` is off: the note is kept until the server ends."


def remember(workspace: Workspace, text: str, topic: str, agent: str) -> Answer:
    """Store a note. Raises InvalidArgument for an empty or long one."""
    if not text.strip():
        raise InvalidArgument("The note is empty. Give `text`.")
    if len(text) > MAX_NOTE:
        raise InvalidArgument(f"The note has {len(text):,} characters. Give at most {MAX_NOTE:,}, or several notes.")
    store, now = workspace.memory, time.time()
    store.conversations.add([(Conversation(NOTES_ID, NOTES_TITLE, "", now, now, 0), ())])
    number = store.conversations.ask(NOTES_ID, redact(topic.strip() or "Note"))
    store.conversations.answer(NOTES_ID, number, redact(text.strip()), model=f"agent {agent}".strip())
    kept = () if workspace.config.memory.keep_conversations else (NOT_KEPT,)
    return Answer(f"Remembered as note {number + 1}.", notes=(*store.notes, *kept))


def forget(workspace: Workspace, number: int) -> Answer:
    """Delete a note. Raises InvalidArgument for a number that no note has."""
    turns = {turn.number + 1: turn for turn in workspace.memory.conversations.turns(NOTES_ID)}
    if number not in turns:
        raise InvalidArgument(f"There is no note {number}. Call `recall` without a question for all notes.")
    workspace.memory.conversations.delete_turn(NOTES_ID, number - 1)
    return Answer(f"Deleted note {number}: {shortened(turns[number].answer or '')}")


def recall(
    workspace: Workspace, question: str, strategy: str, limit: int, cancel: Cancel, *, with_model: bool
) -> Answer:
    """The notes that matter for a question, best first; without a question all, the latest first.

    Raises InvalidArgument for an unknown strategy.
    """
    turns = workspace.memory.conversations.turns(NOTES_ID)
    if not turns:
        return Answer("0 notes", notes=("Nothing was remembered in this workspace. Store a note with `remember`.",))
    if not question.strip():
        latest = tuple(_entry(turn, turn.question, turn.answer or "") for turn in reversed(turns))
        return Answer(f"{counted(latest, 'note')}, the latest first", latest)
    searched = turns[-MAX_NOTES:]
    recalled, said = _recalled(workspace, _Asked(searched, question, strategy, limit), cancel, with_model=with_model)
    entries = list(_entries(recalled.evidence, {turn.number: turn for turn in searched}))[:limit]
    context = "" if recalled.context is None or strategy == "fragrel" else recalled.context
    if context:
        # What was extracted whole is not repeated.
        entries = [replace(each, text="") if each.text in context else each for each in entries]
        entries.insert(0, Entry("", text="Extracted for the question:", code=context))
    notes = (
        *said,
        *(() if entries else ("No note matches. Use other words, or leave `question` out.",)),
    )
    if len(turns) > len(searched):
        notes += (f"Only the latest {len(searched):,} notes were searched. Delete old ones with `forget`.",)
    n_found = len(entries) - bool(context)
    return Answer(f"{counted(n_found, 'note')} of {len(turns)} by {strategy}", tuple(entries), notes)


def _recalled(
    workspace: Workspace, asked: _Asked, cancel: Cancel, *, with_model: bool
) -> tuple[RecallResult, tuple[str, ...]]:
    """What a strategy recalls, and what is to be said of it; without a model where none answers."""
    notes: tuple[str, ...] = ()
    if with_model:
        recalled, notes = _with_a_model(workspace, asked, cancel)
        if recalled is not None:
            return recalled, (*recalled.notes, *notes)
    # An embedding model may take seconds to load.
    context = StrategyContext(None, HashingEmbedder(), workspace.memory.cache, estimate_tokens)
    recalled = _by_strategy(context, asked, cancel)
    return recalled, notes or recalled.notes


def _with_a_model(workspace: Workspace, asked: _Asked, cancel: Cancel) -> tuple[RecallResult | None, tuple[str, ...]]:
    """What a strategy recalls with the first chat model that answers; None without one, or where the time is over."""
    store, options = workspace.memory, workspace.config.chat
    models = workspace.chat.context.models
    with TimeLimit(cancel, MODEL_WITHIN_S) as limit:
        embedder, _ = embedder_of(workspace.config.memory, store, limit, redact=workspace.config.redact)
        generator = AnswerGenerator(
            models, options.answer_tokens, options.evidence_tokens, call_seconds=options.max_seconds
        )
        for model in generator.metered_models(limit):
            metered = model.with_cache(store.cache, READING_PURPOSES)
            context = StrategyContext(metered, embedder, store.cache, model.count_tokens)
            try:
                found = _by_strategy(context, asked, limit)
            except ModelError as error:
                generator.failed(model.model, error)
                continue
            except Cancelled:
                break
            return (found, tuple(generator.notes)) if not limit.is_reached else (None, (TOO_SLOW,))
    return None, (*generator.notes, *((TOO_SLOW,) if limit.is_reached else ()))


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is recalled: at most `n` notes for a question."""

    turns: tuple[Turn, ...]
    question: str
    strategy: str
    n: int


def _by_strategy(context: StrategyContext, asked: _Asked, cancel: Cancel) -> RecallResult:
    items, strategy = items_of(asked.turns), asked.strategy
    # The memory behind FragRel's chat: notes have no window of recent turns before it.
    memory = FragRel(context, RETURNING_CHAT.memory) if strategy == "fragrel" else strategy_named(strategy, context)
    memory.remember(items, cancel)
    budget = Budget(n=asked.n, tokens=MAX_EXTRACTED_TOKENS if strategy == EXTRACTING else None)
    return memory.recall(Question(asked.question), budget, cancel)


def _entries(evidence: tuple[Evidence, ...], turns: Mapping[int, Turn]) -> Iterator[Entry]:
    shown = set[str]()
    for each in sorted(evidence, key=lambda item: -item.score):
        text = each.segment.text.removeprefix("user: ")
        if text in shown:
            continue
        shown.add(text)
        topic, found, note = text.partition(CHAT_SEPARATOR)
        yield _entry(turns.get(each.segment.number), topic if found else "", note if found else text)


def _entry(turn: Turn | None, topic: str, text: str) -> Entry:
    """A note with its number and day: "note 3, 2026-11-26 payment: Customers pay first."."""
    when = "" if turn is None else time.strftime(f"note {turn.number + 1}, %Y-%m-%d", time.localtime(turn.asked_at))
    return Entry("", symbol=" ".join(filter(None, (when, topic))), text=text)
