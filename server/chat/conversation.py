"""A question about the repository in, a reply with checked citations out, and both of them remembered.

Owns the course of a question: what it leans on, evidence, the gate of "not found", the answer of a model or the
evidence itself, and what is kept of it. A question is on disk before anything is done about it, and an answer that is
being written every second, so that a server that is killed loses no turn. Knows no protocol and no terminal.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...llm import Cancel, TimeLimit
from ...llm.protocol import Message
from ...memory.storage import Turn
from ...memory.strategy import StrategyContext
from .attribution import attributed, listed
from .commands import (
    COMMANDS,
    Command,
    Selection,
    documents_only,
    explain_case,
    help_text,
    nothing_text,
    read_command,
    recent_case,
    where_case,
)
from .desk import Desk
from .ellipsis import is_elliptical, names_in, resolved
from .evidence import GatherOptions
from .extractive import extractive
from .keeping import Keeper
from .past import past_of, what_was_said
from .prompts import NOT_FOUND
from .sources import Sources
from .values import Case, Citation, Exhibit, Reply
from .writing import NOBODY, AnswerWriter, Listener, Written

NOTHING_CITED = "No line of the repository was cited for this. The evidence that it was written from:"
CITED_FOR_IT = "The model cited no lines. These speak of what it says:"

MOST_LISTED = 6

_OF_THE_CONVERSATION = re.compile(
    r"\b(?:did|have) (?:i|we|you) (?:just )?(?:ask(?:ed)?|sa(?:y|id)|talk|mention|discuss)"
    r"|\b(?:this|our) conversation\b|\b(?:earlier|so far)\b|\b(?:previous|last|first) (?:question|answer)\b",
    re.IGNORECASE,
)
"""A question that the repository cannot answer and what was said before can."""


NOT_ALL_READ = "Files are still being read: not everything was searched."
NO_MODEL_HERE = "No model that holds conversations is configured."


class Chat:
    """The conversations of one workspace. Thread-safe: several questions may be answered at once."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def ask(
        self,
        question: str,
        conversation_id: str = "",
        *,
        selection: Selection | None = None,
        folder: Path | str | None = None,
        strategy: str = "",
        remember: bool = True,
        listener: Listener = NOBODY,
        cancel: Cancel | None = None,
    ) -> Reply:
        """The reply to a question or a command. Without a conversation id a new conversation begins.

        A `strategy` of `memory/strategies.py` answers from the documents of the workspace alone. What the listener is
        told, since its last restart, is the reply's text. Without `remember` nothing is kept, and nothing that was said
        before counts. When cancelled, the reply is what was written so far. Raises
        NoConversation, StoreError where history cannot be read, ValueError for a folder that is none of the
        workspace's and for an unknown strategy.
        """
        cancel = cancel or Cancel()
        command = read_command(question)
        if not question.strip() or command.name == "help" or (command.name and command.name not in COMMANDS):
            unknown = command.name if command.name not in ("", "help") else ""
            return _said(help_text(unknown), listener, found=not unknown, conversation_id=conversation_id)
        if not self._desk.config.chat.enabled:
            return _said("Questions are switched off (chat.enabled).", listener, found=False)
        if command.name == "forget":
            return self._forget(command.argument, conversation_id, listener)
        if strategy:
            from .by_strategy import check_strategy  # the whole room of memory, which most questions do not need

            check_strategy(strategy)
        wanted = _Wanted(question, command, selection, folder, strategy)
        with TimeLimit(cancel, self._most_seconds(strategy)) as limit:
            if not remember:
                return self._reply(wanted, (), Keeper(), listener, limit)
            said = self._desk.memory.conversations
            id = conversation_id or said.begin("" if folder is None else str(folder))
            keeper = Keeper(self._desk.memory, id, said.ask(id, question))
            listener.on_conversation(id)
            before = [turn for turn in said.turns(id) if turn.number < keeper.number]
            reply = self._reply(wanted, before, keeper, listener, limit)
            keeper.keep(reply, is_whole=not limit.cancelled)
            return reply

    def _most_seconds(self, strategy: str) -> float:
        options = self._desk.config.chat
        return options.strategy_max_seconds if strategy else options.max_seconds

    def _reply(
        self, wanted: _Wanted, before: Sequence[Turn], keeper: Keeper, listener: Listener, cancel: Cancel
    ) -> Reply:
        options = self._desk.config.chat
        writer = AnswerWriter(
            self._desk.models,
            options.answer_tokens,
            options.evidence_tokens,
            listener,
            keeper.keep_part,
            self._desk.wait_for_completions,
            options.max_seconds if wanted.strategy else math.inf,
        )
        if self._desk.is_indexing:
            listener.on_note("files are still being read; the answer waits for them")
            self._desk.wait_for_index(cancel)
        partial = (NOT_ALL_READ,) if self._desk.is_indexing else ()
        command = wanted.command.name
        whole = wanted.question if command else self._standing_alone(wanted.question, before, writer, cancel)
        if whole != wanted.question:
            listener.on_note(f"asked as: {whole}")
        if wanted.strategy:
            from .by_strategy import by_strategy

            reply = by_strategy(wanted.strategy, whole, self._desk, writer, cancel)
            notes = (*partial, *_time_notes(reply, "chat.strategy_max_seconds", cancel), *reply.notes)
            return replace(reply, conversation_id=keeper.conversation_id, notes=notes)
        past = past_of(before, whole, StrategyContext())
        case = self._case(wanted, whole, past.exhibits)
        is_found = case.confidence >= options.found_above or _is_of_the_conversation(wanted.question, before)
        # A place is looked up faster than a model can say it.
        asks = is_found and command not in ("where", "recent", "doc") and not cancel.cancelled
        by_model = self._by_model(case, past.recent, writer, listener, cancel) if asks else None
        reply = by_model or self._without_model(case, wanted, before)
        if by_model is None:
            _tell(listener, reply.text, reply.citations)
        in_time = _time_notes(reply, "chat.max_seconds", cancel)
        notes = (*partial, *in_time, *writer.notes, *reply.notes, *case.notes, *self._desk.memory.notes)
        if by_model is None and is_found and not command and not writer.notes and not in_time:
            notes = (*(self._desk.models.notes or (NO_MODEL_HERE,)), *notes)
        return replace(reply, conversation_id=keeper.conversation_id, notes=tuple(dict.fromkeys(notes)))

    def _by_model(
        self, case: Case, recent: Sequence[Message], writer: AnswerWriter, listener: Listener, cancel: Cancel
    ) -> Reply | None:
        """The answer of a model; None when none gives one."""
        sources = Sources(self._desk.indexes(), case.exhibits)
        written = writer.answer(case, recent, sources, cancel)
        return None if written is None else _composed(written, case, sources, listener)

    def _without_model(self, case: Case, wanted: _Wanted, before: Sequence[Turn]) -> Reply:
        if wanted.command.name and not case.exhibits:
            return Reply(nothing_text(wanted.command, self._desk.indexes()), (), case, found=False)
        if not wanted.command.name and _is_of_the_conversation(wanted.question, before):
            asked = [f"{turn.number + 1}. {turn.question}" for turn in before]
            return Reply("\n".join(("Asked so far in this conversation:", *asked)), (), case)
        return extractive(case, self._desk.config.chat.found_above)

    def _standing_alone(self, question: str, before: Sequence[Turn], writer: AnswerWriter, cancel: Cancel) -> str:
        """The question with what it leans on. A model is asked only where no name was said that could be put in."""
        asked = [turn.question for turn in before if not read_command(turn.question).name]
        if not asked or not is_elliptical(question):
            return question
        names = list[str]()

        def names_of(text: str) -> list[str]:
            case, indexes = self._desk.gather(text), self._desk.indexes().values()
            known = [word for word in case.looked_for if any(index.names.definitions(word) for index in indexes)]
            found = list(dict.fromkeys((*case.names, *known)))
            # A plain word is a name where nothing else was asked about: "what calls pay?"
            about = all(any(word in name.lower() for name in found) for word in case.looked_for)
            names[:] = found if about else ()
            return names

        by_rule = resolved(question, asked, names_of)
        if names or any(names_in(text) for text in (*asked[-2:], question)):
            return by_rule
        said = [(turn.question, what_was_said(turn)) for turn in before[-2:]]
        by_model = writer.stands_alone(question, said, cancel)
        writer.notes.clear()  # who fails here is asked for the answer as well, and says why then
        return by_model or by_rule

    def _case(self, wanted: _Wanted, question: str, turns: Sequence[Exhibit]) -> Case:
        """The evidence for a question that stands alone, or for a command."""
        desk, command, selection = self._desk, wanted.command, wanted.selection
        if command.name == "where":
            return where_case(desk.indexes(), command.argument)
        if command.name == "explain":
            return explain_case(desk.indexes(), selection, command.argument)
        if command.name == "recent":
            return recent_case(desk.indexes(), desk.recent_edits(), time.monotonic())
        options = GatherOptions(max_tokens=desk.config.chat.evidence_tokens)
        if command.name == "doc":
            # Most of what is found is code; of a lot the documents are enough.
            wide = replace(options, max_exhibits=60, max_tokens=10 * options.max_tokens)
            return documents_only(
                desk.gather(f"Which document describes {command.argument}?", wanted.folder, options=wide)
            )
        case = desk.gather(question, wanted.folder, options=options, turns=turns)
        if selection is None:
            return case
        # Who selects lines and asks speaks of them.
        chosen = [e for e in explain_case(desk.indexes(), selection, "").exhibits if e.why == "the selected lines"]
        return replace(case, exhibits=(*chosen, *case.exhibits), confidence=1.0 if chosen else case.confidence)

    def _forget(self, argument: str, conversation_id: str, listener: Listener) -> Reply:
        memory = self._desk.memory
        if argument.lower() == "all":
            memory.conversations.delete_all()
            return _said("All conversations of this workspace are forgotten.", listener)
        if argument:
            return _said("/forget takes nothing, or the word all.", listener, found=False)
        if not conversation_id:
            return _said("There is no conversation yet that could be forgotten.", listener, found=False)
        memory.conversations.delete(conversation_id)
        return _said("This conversation is forgotten.", listener)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What was asked for."""

    question: str
    command: Command
    selection: Selection | None
    folder: Path | str | None
    strategy: str


def _composed(written: Written, case: Case, sources: Sources, listener: Listener) -> Reply:
    """A model's answer as a reply. One that cites nothing is shown with the lines that hold what it says, or with what
    it was given."""
    checked = written.checked
    found = not checked.text.strip().startswith(NOT_FOUND)
    text, citations, notes = checked.text, checked.citations, []
    if found and not citations and written.is_whole:
        held = attributed(text, case, sources)
        citations = tuple(each.citation for each in held)
        given = [f"- {e.place}: {e.why}" for e in case.exhibits if e.kind != "turn"][:MOST_LISTED]
        lines = (CITED_FOR_IT, *listed(held)) if held else (NOTHING_CITED, *given)
        tail = "\n".join(("", "", *lines))
        _tell(listener, tail, citations)
        text += tail
    if checked.n_dropped:
        notes.append(f"Citations that did not hold, and are not shown: {checked.n_dropped}.")
    if checked.n_corrected:
        notes.append(f"Citations that pointed beside what they cite, and were put right: {checked.n_corrected}.")
    if checked.unknown_files:
        notes.append(f"No folder holds these files that the answer names: {', '.join(checked.unknown_files)}.")
    if written.is_stopped:
        notes.append("The answer was stopped.")
    return Reply(text, citations, case, found, checked.n_dropped, written.model, "", written.cost, tuple(notes))


def _time_notes(reply: Reply, setting: str, cancel: Cancel) -> tuple[str, ...]:
    """What a person should know when the time of an answer was up."""
    if not cancel.is_reached:
        return ()
    after = f"{cancel.seconds:g} s ({setting})"
    return (f"The answer was cut after {after}." if reply.model else f"No model answered within {after}.",)


def _tell(listener: Listener, text: str, citations: Sequence[Citation]) -> None:
    for citation in citations:
        listener.on_citation(citation)
    listener.on_text(text)


def _is_of_the_conversation(question: str, before: Sequence[Turn]) -> bool:
    return bool(before and _OF_THE_CONVERSATION.search(question))


def _said(text: str, listener: Listener, *, found: bool = True, conversation_id: str = "") -> Reply:
    """What Weft says by itself."""
    listener.on_text(text)
    return Reply(text, (), Case("", ()), found, conversation_id=conversation_id)
