"""What agents remember: notes in a conversation of the workspace's memory, and their recall by a strategy.

Owns the conversation of notes, their numbers, the limits of a note, and the choice of the strategy's texts. The
strategies are those of `memory/`: FragRel's chat memory, the graph of QRMeM, the notes of Segment+ and the clues of
MemoRAG. Secrets are removed before a note is stored. People see, search and delete these notes with `weft history`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from itertools import chain

from ...errors import InvalidArgument, ModelError
from ...llm import Cancel
from ...memory import Budget, Evidence, Question
from ...memory.embedding import Embedder, HashingEmbedder
from ...memory.fragrel import RETURNING_CHAT, FragRel
from ...memory.metered_model import MeteredModel
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
    recalled = _recalled(workspace, searched, question, strategy, limit, cancel, with_model)
    entries = list(_entries(recalled.evidence, {turn.number: turn for turn in searched}))[:limit]
    context = "" if recalled.context is None or strategy == "fragrel" else recalled.context
    if context:
        entries.insert(0, Entry("", text="Extracted for the question:", code=context))
    notes = (*recalled.notes, *(() if entries else ("No note matches. Use other words, or leave `question` out.",)))
    if len(turns) > len(searched):
        notes += (f"Only the latest {len(searched):,} notes were searched. Delete old ones with `forget`.",)
    n_found = len(entries) - bool(context)
    return Answer(f"{counted(n_found, 'note')} of {len(turns)} by {strategy}", tuple(entries), notes)


def _recalled(
    workspace: Workspace,
    turns: tuple[Turn, ...],
    question: str,
    strategy: str,
    limit: int,
    cancel: Cancel,
    with_model: bool,
) -> RecallResult:
    """What a strategy recalls, with the first chat model that answers; without `with_model` or any, with none."""
    config, store = workspace.config, workspace.memory
    embedder: Embedder = HashingEmbedder()  # an embedding model may take seconds to load
    models: Iterator[MeteredModel] = iter(())
    if with_model:
        embedder, _ = embedder_of(config.memory, store, cancel, redact=config.redact)
        options = config.chat
        generator = AnswerGenerator(
            workspace.chat.context.models,
            options.answer_tokens,
            options.evidence_tokens,
            call_seconds=options.max_seconds,
        )
        models = generator.metered_models(cancel)
    for model in chain(models, (None,)):
        metered = None if model is None else model.with_cache(store.cache, READING_PURPOSES)
        count = estimate_tokens if model is None else model.count_tokens
        context = StrategyContext(metered, embedder, store.cache, count)
        try:
            return _by_strategy(context, turns, question, strategy, limit, cancel)
        except ModelError:
            if model is None:
                raise
    raise AssertionError("the attempt without a model returns")


def _by_strategy(
    context: StrategyContext, turns: tuple[Turn, ...], question: str, strategy: str, limit: int, cancel: Cancel
) -> RecallResult:
    items = items_of(turns)
    asked, budget = Question(question), Budget(n=limit)
    # The memory behind FragRel's chat: notes have no window of recent turns before it.
    memory = FragRel(context, RETURNING_CHAT.memory) if strategy == "fragrel" else strategy_named(strategy, context)
    memory.remember(items, cancel)
    return memory.recall(asked, budget, cancel)


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
