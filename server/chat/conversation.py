"""Conversational question answering: from a question or command to a stored reply with checked citations.

Owns the pipeline: ellipsis resolution, evidence, the "not found" threshold, a model's or an extractive answer, and the
stored turn. A question is stored before it is answered, and a partial answer every second, so that a killed server
loses no turn. Knows no protocol and no terminal.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...llm import Cancel, TimeLimit
from ...llm.protocol import Message
from ...memory.storage import Turn
from ...memory.strategy import StrategyContext
from ...memory.usage import describe_cost
from ...retrieval.questions import SearchOptions, respelled
from .attribution import attributed
from .commands import (
    COMMANDS,
    SELECTED,
    Command,
    Selection,
    documents_only,
    explain_evidence,
    help_text,
    nothing_text,
    read_command,
    recent_evidence,
    where_evidence,
)
from .confidence_level import confidence_level
from .context import ChatContext
from .ellipsis import resolved
from .evidence import GatherOptions
from .extractive import extractive
from .follow_up_patterns import patterns_for
from .generation import NO_CALLBACKS, AnswerGenerator, GeneratedAnswer, StreamCallbacks
from .history import MOST_TURNS, History, TurnRecorder, answer_text, earlier_turn, relevant_history
from .prompts import NOT_FOUND
from .sources import Sources
from .strategy_cache import StrategyCache
from .subject import QuestionSubject, attached_documents, documents_of_evidence, named_documents
from .values import ConfidenceLevel, EvidenceItem, EvidenceSet, Reply

if TYPE_CHECKING:
    from .strategy_answers import StrategyUse

NOTHING_CITED = "The model cited no lines, and no evidence matches its statements. It was given:"
ATTRIBUTED = "The model cited no lines. These lines match its statements:"

NOT_READ = "A model would read the documents that this question is about."

MOST_LISTED = 6
MOST_PLAIN_NAMES = 2
"""A question with more content words is a description, and none of them is taken as a name."""

_ABOUT_CONVERSATION = re.compile(
    r"\b(?:did|have) (?:i|we|you) (?:just )?(?:ask(?:ed)?|sa(?:y|id)|talk|mention|discuss)"
    r"|\b(?:this|our) conversation\b|\b(?:earlier|so far)\b|\b(?:previous|last|first) (?:question|answer)\b",
    re.IGNORECASE,
)
"""A question about earlier turns, which the repository cannot answer."""


NOT_FULLY_INDEXED = "Indexing is not finished: some files were not searched."
NO_CHAT_MODEL = (
    "No chat model is configured, so answers are lines of the repository. "
    "`weft models` lists models, and `weft models use NAME` selects one."
)


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A question or a command, and how it is to be answered.

    `selection` is a file with the first of its selected lines and the line after the last (0-based). `folder` None asks
    about all folders. A `strategy` of `memory/strategies.py` answers from the documents of the workspace alone. Without
    `remember` nothing is stored, and no earlier turn counts. With `as_written`, no name of an earlier turn
    is inserted into a follow-up question, and no spelling is corrected. `documents` are files of the workspace that the
    question is about.
    """

    question: str
    conversation_id: str = ""
    selection: tuple[Path, int, int] | None = None
    folder: Path | str | None = None
    strategy: str = ""
    remember: bool = True
    as_written: bool = False
    documents: tuple[Path, ...] = ()


class Chat:
    """The conversations of one workspace. Thread-safe: several questions may be answered at once."""

    def __init__(self, context: ChatContext, closed: Cancel | None = None) -> None:
        """`closed` ends every answer."""
        self.context = context
        self._closed = closed or Cancel()
        self._strategies = StrategyCache()

    def ask(
        self, request: ChatRequest, callbacks: StreamCallbacks = NO_CALLBACKS, cancel: Cancel | None = None
    ) -> Reply:
        """The reply to a question or a command. Without a conversation id a new conversation starts.

        The texts that the callbacks get after the last restart are the reply's text. When cancelled, the reply is the
        text so far. Raises NoConversation, StoreError where history cannot be read, and ValueError for a folder outside
        the workspace, for an unknown strategy, and for a selection that no model may be shown.
        """
        cancel = cancel or Cancel()
        forget = self._closed.on_cancel(cancel.cancel)
        try:
            return self._ask(request, callbacks, cancel)
        finally:
            forget()

    def close(self) -> None:
        """Release the strategies and the documents that they hold."""
        self._strategies.clear()

    def _ask(self, asked: ChatRequest, callbacks: StreamCallbacks, cancel: Cancel) -> Reply:
        question, strategy = asked.question, asked.strategy
        selection = None if asked.selection is None else self.context.selection(*asked.selection)
        command = read_command(question)
        if not question.strip() or command.name == "help" or (command.name and command.name not in COMMANDS):
            unknown = command.name if command.name not in ("", "help") else ""
            text = help_text(unknown)
            return _own_reply(text, callbacks, found=not unknown, conversation_id=asked.conversation_id)
        options = self.context.config.chat
        if not options.enabled:
            return _own_reply("Questions are disabled (`chat.enabled`).", callbacks, found=False)
        if command.name == "forget" and not asked.remember:
            # Neither the tools for agents nor `weft explore` may delete what a person has stored.
            return _own_reply("/forget deletes stored conversations; nothing is stored here.", callbacks, found=False)
        if command.name == "forget":
            return self._forget(command.argument, asked.conversation_id, callbacks)
        if strategy:
            from .strategy_answers import check_strategy  # loads all of memory/, which most questions do not need

            check_strategy(strategy)
        with TimeLimit(cancel, options.strategy_max_seconds if strategy else options.max_seconds) as limit:
            if not asked.remember:
                return self._reply(asked, selection, (), TurnRecorder(), callbacks, limit)
            conversations = self.context.memory.conversations
            id = asked.conversation_id or conversations.begin("" if asked.folder is None else str(asked.folder))
            recorder = TurnRecorder(self.context.memory, id, conversations.ask(id, question))
            callbacks.on_conversation(id)
            before = [turn for turn in conversations.turns(id) if turn.number < recorder.number]
            reply = self._reply(asked, selection, before, recorder, callbacks, limit)
            recorder.record(reply, is_whole=not limit.cancelled)
            return reply

    def _reply(
        self,
        request: ChatRequest,
        selection: Selection | None,
        before: Sequence[Turn],
        recorder: TurnRecorder,
        callbacks: StreamCallbacks,
        cancel: Cancel,
    ) -> Reply:
        options = self.context.config.chat
        generator = AnswerGenerator(
            self.context.models,
            options.answer_tokens,
            options.evidence_tokens,
            callbacks,
            recorder.record_partial,
            self.context.wait_for_completions,
            options.max_seconds if request.strategy else math.inf,
        )
        if self.context.is_indexing:
            callbacks.on_note("indexing is not finished; the answer waits for it")
            self.context.wait_for_index(cancel)
        partial = (NOT_FULLY_INDEXED,) if self.context.is_indexing else ()
        command = read_command(request.question)
        is_whole = bool(command.name) or request.as_written
        whole = request.question if is_whole else self._standalone(request.question, before, generator, cancel)
        if request.strategy:
            from .strategy_answers import answer_by_strategy

            asked_as = _reported("" if whole == request.question else whole, callbacks)
            reply = answer_by_strategy(request.strategy, whole, self._strategy_use(request, generator, cancel))
            notes = (*partial, *_time_notes(reply, "chat.strategy_max_seconds", cancel), *reply.notes)
            return replace(reply, conversation_id=recorder.conversation_id, notes=notes, asked_as=asked_as)
        past = relevant_history(before, whole, StrategyContext())
        search_options = SearchOptions(corrects_spelling=not request.as_written)
        evidence = self._gather(whole, command, selection, request.folder, past.items, search_options)
        corrected = respelled(whole, evidence.corrections)
        asked_as = _reported("" if corrected == request.question else corrected, callbacks)
        is_found = evidence.confidence >= options.min_confidence or _is_about_conversation(request.question, before)
        subject = None if command.name or selection else self._subject(request, corrected, evidence, past, before)
        is_found = is_found or (subject is not None and subject.is_chosen)
        # These commands list locations: a model would only delay them.
        asks = is_found and command.name not in ("where", "recent", "doc") and not cancel.cancelled
        by_model = None
        if asks and subject is not None:
            use = self._strategy_use(request, generator, cancel)
            by_model = self._by_memory(subject, evidence, before, past.recent, use)
        if asks and by_model is None:
            by_model = self._by_model(evidence, past.recent, generator, cancel)
        reply = by_model or self._without_model(evidence, request, command, before)
        if by_model is None:
            callbacks.emit(reply.text, reply.citations)
        in_time = _time_notes(reply, "chat.max_seconds", cancel)
        notes = (*partial, *in_time, *generator.notes, *reply.notes, *evidence.notes, *self.context.memory.notes)
        if by_model is None and is_found and not command.name and not before and not generator.notes and not in_time:
            no_model = NO_CHAT_MODEL if subject is None else f"{NO_CHAT_MODEL} {NOT_READ}"
            notes = (*(self.context.models.notes or (no_model,)), *notes)
        notes = tuple(dict.fromkeys(notes))
        return replace(reply, conversation_id=recorder.conversation_id, notes=notes, asked_as=asked_as)

    def _subject(
        self, request: ChatRequest, question: str, evidence: EvidenceSet, past: History, before: Sequence[Turn]
    ) -> QuestionSubject | None:
        """The documents, or the long conversation, that a question is about; None for a question about code."""
        if not self.context.config.chat.auto:
            return None
        if chosen := attached_documents(request.documents, self.context) or named_documents(question, self.context):
            return QuestionSubject(chosen, is_chosen=True)
        if _is_about_conversation(request.question, before):
            return QuestionSubject() if past.items else None
        found = documents_of_evidence(evidence)
        return QuestionSubject(found) if found else None

    def _by_memory(
        self,
        subject: QuestionSubject,
        evidence: EvidenceSet,
        before: Sequence[Turn],
        recent: Sequence[Message],
        use: StrategyUse,
    ) -> Reply | None:
        """The answer that `auto` writes, or that a model writes from the evidence of `auto`; None if there is none."""
        from .strategy_answers import answer_by_auto

        generator = use.generator
        result = answer_by_auto(subject, evidence.question, evidence, before, use)
        if result.reply is not None:
            generator.callbacks.emit(result.reply.text, result.reply.citations)
            return result.reply
        if result.evidence is None:
            generator.notes += [result.note] if result.note else []
            return None
        with_room = replace(generator, evidence_tokens=result.evidence_tokens)
        reply = self._by_model(result.evidence, recent, with_room, use.cancel)
        if reply is None:
            return None
        note = f"{result.note} Cost: {describe_cost(reply.cost)}."
        return replace(reply, notes=(note, *reply.notes), strategy=result.strategy)

    def _strategy_use(self, request: ChatRequest, generator: AnswerGenerator, cancel: Cancel) -> StrategyUse:
        from .strategy_answers import StrategyUse

        stores = request.remember and self.context.config.memory.keep_conversations
        return StrategyUse(self.context, generator, self._strategies, cancel, stores)

    def _by_model(
        self, evidence: EvidenceSet, recent: Sequence[Message], generator: AnswerGenerator, cancel: Cancel
    ) -> Reply | None:
        """The answer of a model; None when no model gives one."""
        sources = Sources(self.context.indexes(), evidence.items)
        written = generator.answer(evidence, recent, sources, cancel)
        found_above = self.context.config.chat.min_confidence
        return None if written is None else _reply_of(written, evidence, sources, generator.callbacks, found_above)

    def _without_model(
        self, evidence: EvidenceSet, request: ChatRequest, command: Command, before: Sequence[Turn]
    ) -> Reply:
        if command.name and not evidence.items:
            text = nothing_text(command, self.context.indexes())
            return Reply(text, (), evidence, found=False, level="not found")
        if not command.name and _is_about_conversation(request.question, before):
            asked = [f"{turn.number + 1}. {turn.question}" for turn in before]
            return Reply("\n".join(("Questions in this conversation:", *asked)), (), evidence)
        return extractive(evidence, self.context.config.chat.min_confidence, self.context.indexes(request.folder))

    def _standalone(self, question: str, before: Sequence[Turn], generator: AnswerGenerator, cancel: Cancel) -> str:
        """The standalone form of a question. A model rewrites it only if the earlier turns have no name to insert."""
        earlier = [turn for turn in before if not read_command(turn.question).name]
        if not earlier:
            return question
        indexes = list(self.context.indexes().values())

        def is_known(name: str) -> bool:
            # A name from outside is known where the repository mentions it.
            last = name.rpartition(".")[2]
            return any(
                index.names.definitions(name)
                or index.names.value_bindings(name)
                or index.lexical.n_postings((last,)).any()
                for index in indexes
            )

        def names_of(text: str) -> list[str]:
            evidence = self.context.gather(text)
            # A plain word is a name where the question has no other content: "what calls pay?"
            is_short = len(evidence.search_terms) <= MOST_PLAIN_NAMES
            known = [word for word in evidence.search_terms if is_short and is_known(word)]
            found = list(dict.fromkeys((*evidence.names, *known)))
            return found if all(any(word in name.lower() for name in found) for word in evidence.search_terms) else []

        turns_before = [*map(earlier_turn, earlier[-MOST_TURNS:])]
        patterns = patterns_for((question, *(turn.question for turn in turns_before)))
        by_rule = resolved(question, turns_before, names_of, is_known, patterns)
        if by_rule.has_name:
            return by_rule.question
        turns = [(turn.question, answer_text(turn)) for turn in before[-2:]]
        by_model = generator.standalone_question(question, turns, cancel)
        generator.notes.clear()  # a model that fails here fails again for the answer, which reports it
        return by_model or by_rule.question

    def _gather(
        self,
        question: str,
        command: Command,
        selection: Selection | None,
        folder: Path | str | None,
        turns: Sequence[EvidenceItem],
        search_options: SearchOptions,
    ) -> EvidenceSet:
        """The evidence for a standalone question or a command."""
        desk = self.context
        if command.name == "where":
            return where_evidence(desk.indexes(), command.argument)
        if command.name == "explain":
            return explain_evidence(desk.indexes(), selection, command.argument)
        if command.name == "recent":
            return recent_evidence(desk.indexes(), desk.recent_edits(), time.monotonic())
        options = GatherOptions(max_tokens=desk.config.chat.evidence_tokens, search=search_options)
        if command.name == "doc":
            # Most results are code, so documents are selected from a larger set.
            wide = replace(options, max_items=60, max_tokens=10 * options.max_tokens)
            return documents_only(desk.gather(f"Which document describes {command.argument}?", folder, options=wide))
        evidence = desk.gather(question, folder, options=options, turns=turns)
        if selection is None:
            return evidence
        # A question with a selection is about the selected lines.
        chosen = [e for e in explain_evidence(desk.indexes(), selection, "").items if e.reason == SELECTED]
        return replace(evidence, items=(*chosen, *evidence.items), confidence=1.0 if chosen else evidence.confidence)

    def _forget(self, argument: str, conversation_id: str, callbacks: StreamCallbacks) -> Reply:
        memory = self.context.memory
        if argument.lower() == "all":
            memory.conversations.delete_all()
            return _own_reply("Deleted all conversations of this workspace.", callbacks)
        if argument:
            return _own_reply("/forget takes no argument, or `all`.", callbacks, found=False)
        if not conversation_id:
            return _own_reply("There is no conversation to delete.", callbacks, found=False)
        memory.conversations.delete(conversation_id)
        return _own_reply("Deleted this conversation.", callbacks)


def _reply_of(
    written: GeneratedAnswer,
    evidence: EvidenceSet,
    sources: Sources,
    callbacks: StreamCallbacks,
    found_above: float,
) -> Reply:
    """A model's answer as a reply. An answer without citations ends with lines that match it, or with its evidence."""
    checked = written.checked
    found = not checked.text.strip().startswith(NOT_FOUND)
    text, citations, notes = checked.text, checked.citations, []
    if found and not citations and written.is_whole:
        attributions = attributed(text, evidence, sources)
        citations = tuple(each.citation for each in attributions)
        given = [f"- {e.location}: {e.reason}" for e in evidence.items if e.kind != "turn"][:MOST_LISTED]
        matching = [f"- {each.citation.location}: {each.sentence}" for each in attributions]
        tail = "\n".join(("", "", *((ATTRIBUTED, *matching) if matching else (NOTHING_CITED, *given))))
        callbacks.emit(tail, citations)
        text += tail
    if checked.n_dropped:
        notes.append(
            f"Citations removed, as their lines do not exist or do not support the statement: {checked.n_dropped}."
        )
    if checked.n_corrected:
        notes.append(f"Citations moved to the lines that support the statement: {checked.n_corrected}.")
    if checked.unknown_files:
        notes.append(f"The answer names files that are not in the workspace: {', '.join(checked.unknown_files)}.")
    if written.is_stopped:
        notes.append("The answer was stopped.")
    level = confidence_level(evidence, found_above) if found else "not found"
    model, cost = written.model, written.cost
    return Reply(text, citations, evidence, found, checked.n_dropped, model, "", cost, tuple(notes), level)


def _reported(asked_as: str, callbacks: StreamCallbacks) -> str:
    if asked_as:
        callbacks.on_asked_as(asked_as)
    return asked_as


def _time_notes(reply: Reply, setting: str, cancel: Cancel) -> tuple[str, ...]:
    if not cancel.is_reached:
        return ()
    after = f"{cancel.seconds:g} s ({setting})"
    return (f"The answer was cut after {after}." if reply.model else f"No model answered within {after}.",)


def _is_about_conversation(question: str, before: Sequence[Turn]) -> bool:
    return bool(before and _ABOUT_CONVERSATION.search(question))


def _own_reply(text: str, callbacks: StreamCallbacks, *, found: bool = True, conversation_id: str = "") -> Reply:
    callbacks.on_text(text)
    level: ConfidenceLevel = "sure" if found else "not found"
    return Reply(text, (), EvidenceSet("", ()), found, conversation_id=conversation_id, level=level)
