"""The answer that a model writes: streamed, checked sentence by sentence, and given up when the model fails.

Owns the course from a case to a checked text, and which model is asked. Knows no history on disk and no protocol.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from ...llm import Cancel, CodeModel, ModelError
from ...llm.protocol import Message, Piece
from ...memory import Cost
from ...memory.metered_model import Call, MeteredModel
from ..models.chain import ModelChain
from .citations import Checked, CheckedStream
from .ellipsis import is_faithful
from .prompts import NOT_FOUND, question_messages, stand_alone_prompt
from .sources import Sources
from .support import STOP_WORDS, words_of
from .values import Case, Citation

FRAME = 64
"""Tokens that a template may write around a conversation, and a safe distance."""

PROMPT_TOKENS = 1500
"""For instruction, question and the rounds before, beside the evidence."""

REWRITTEN_TOKENS = 60

LOOP_CHARACTERS, SHORTEST_REPEATED, MOST_REPEATS = 3000, 20, 3
"""Small models fall into loops: a sentence of so many characters that came so often in the last part of an answer."""

FEWEST_JUDGED, LEAST_SHARED = 8, 0.2
"""An answer without a citation is judged by its words when it has so many, and given up when it shares fewer. One of a
model of 135 M parameters that spoke of the evidence shared 0.37 of its words, one that a base model dreamt 0.07."""

_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_SENTENCE_SIGNS = frozenset(".!?\n")


@dataclass(frozen=True)
class Listener:
    """Who follows an answer while it is written. Called from the thread that writes it."""

    on_text: Callable[[str], None] = lambda text: None
    on_restart: Callable[[], None] = lambda: None  # what was told so far is void: another model begins anew
    on_note: Callable[[str], None] = lambda note: None  # worth knowing before the answer: what it costs, what is asked
    on_conversation: Callable[[str], None] = lambda id: None  # where the turn is kept, before anything is answered
    on_citation: Callable[[Citation], None] = lambda citation: None  # before the text that it stands in


NOBODY = Listener()


@dataclass(frozen=True, slots=True)
class Written:
    """What a model wrote, checked. `is_whole` is False when it was stopped, by a person or by the time limit."""

    checked: Checked
    model: str
    cost: Cost
    is_whole: bool = True
    is_stopped: bool = False  # by a person


@dataclass
class AnswerWriter:
    """Asks the models in their order. `keep` may take the text so far, often enough that a kill loses little of it.

    `give_way` is called between two pieces of a model on this machine: completions of somebody who types come first.
    """

    models: ModelChain
    max_new_tokens: int
    evidence_tokens: int
    listener: Listener = NOBODY
    keep: Callable[[Callable[[], str]], None] = lambda text: None
    give_way: Callable[[Cancel], None] = lambda cancel: None
    call_seconds: float = math.inf  # the longest time for one call of a model
    notes: list[str] = field(default_factory=list)  # why a model did not answer

    def answer(self, case: Case, recent: Sequence[Message], sources: Sources, cancel: Cancel) -> Written | None:
        """The answer of the first model that gives one; None when none does, and `notes` say why."""
        for metered in self.metered_models(cancel):
            stream = CheckedStream(sources, case)
            call = self._call(metered, case, recent)
            if call is None:
                name, window = metered.info.name, metered.window_tokens
                self.notes.append(f"{name} reads {window} tokens, too few for evidence. Raise its context_tokens.")
                continue
            is_looping = False
            n_cited = 0
            try:
                with closing(self._pieces(metered, call, cancel)) as pieces:
                    for piece in pieces:
                        text = stream.feed(piece)
                        self._tell(text, stream.citations[n_cited:])
                        n_cited = len(stream.citations)
                        self.keep(stream.text)
                        ends_sentence = not _SENTENCE_SIGNS.isdisjoint(text)
                        if is_looping := ends_sentence and _repeats_itself(stream.end_of_text(LOOP_CHARACTERS)):
                            break
                if not is_looping:
                    text = stream.finish()
                    self._tell(text, stream.citations[n_cited:])
            except ModelError as error:
                self._failed(metered.model, error)
                if stream.checked.text:
                    self.listener.on_restart()
                continue
            checked = stream.checked
            name, cost = metered.info.name, metered.usage.total
            if cancel.is_reached and not checked.text.strip():
                return None
            if cancel.cancelled:
                return Written(checked, name, cost, is_whole=False, is_stopped=not cancel.is_reached)
            if not checked.text.strip():
                self.notes.append(f"{name} wrote nothing.")
                continue
            if is_looping:
                self.notes.append(f"{name} said the same again and again, and was stopped.")
            if not checked.citations and _is_beside_the_point(checked.text, case):
                self.notes.append(f"The answer of {name} had nothing to do with the evidence and is not shown.")
                self.listener.on_restart()
                continue
            self.models.worked(metered.model)
            return Written(checked, name, cost)
        return None

    def stands_alone(self, question: str, said: Sequence[tuple[str, str]], cancel: Cancel) -> str:
        """A question without ellipsis, as the first model that is up writes it; "" when that is not faithful."""
        metered = next(self.metered_models(cancel), None)
        if metered is None:
            return ""
        prompt = stand_alone_prompt(question, said)
        call = Call.of("stand alone", prompt, max_new_tokens=REWRITTEN_TOKENS)
        try:
            written = metered.ask(call, cancel).strip().strip('"')
        except ModelError as error:
            self._failed(metered.model, error)
            return ""
        return written if is_faithful(written, question, [text for pair in said for text in pair]) else ""

    def metered_models(self, cancel: Cancel) -> Iterator[MeteredModel]:
        """For each model that holds conversations and is up."""
        for model in self.models.usable():
            if cancel.cancelled:
                return
            # The next model, or the evidence alone, is there sooner than a server that does not answer.
            metered = MeteredModel(
                model, "chat", pause=lambda cancel, seconds: cancel.cancelled, call_seconds=self.call_seconds
            )
            try:
                metered.prepare(cancel)
            except ModelError as error:
                self._failed(model, error)
                continue
            if model.info.chats:
                yield metered
            elif not cancel.cancelled:
                self.notes.append(f"{model.info.name} holds no conversations. Name a model that does, to have answers.")

    def _call(self, metered: MeteredModel, case: Case, recent: Sequence[Message]) -> Call | None:
        """What is asked; None where not even the first piece of evidence fits the model's window."""
        model = metered.model
        # Half of a small window is for the answer.
        n_new = min(self.max_new_tokens, metered.window_tokens // 2)
        room = min(metered.window_tokens - n_new - FRAME, self.evidence_tokens + PROMPT_TOKENS)
        messages, n_shown = question_messages(case, recent, model.count_tokens, room)
        return Call("answer", messages, n_new, may_be_cut=True) if n_shown else None

    def _pieces(self, metered: MeteredModel, call: Call, cancel: Cancel) -> Generator[str, None, None]:
        with closing(_from_first_word(metered.stream(call, cancel))) as pieces:
            for piece in pieces:
                yield piece
                if metered.info.local:
                    self.give_way(cancel)

    def _tell(self, text: str, citations: Sequence[Citation]) -> None:
        for citation in citations:
            self.listener.on_citation(citation)
        if text:
            self.listener.on_text(text)

    def _failed(self, model: CodeModel, error: ModelError) -> None:
        self.models.failed(model, error)
        self.notes.append(str(error))


def _repeats_itself(text: str) -> bool:
    """Whether a text ends with a sentence that it has said before, too often for anything but a loop."""
    said = [part for part in _SENTENCES.split(text) if len(part) >= SHORTEST_REPEATED]
    return bool(said) and said.count(said[-1]) > MOST_REPEATS


def _is_beside_the_point(text: str, case: Case) -> bool:
    """Whether an answer shares next to no words with the question and its evidence.

    Judged of words in Latin letters alone: an answer in another script may speak of the same.
    """
    words = {word for word in words_of(text) if word.isascii()} - STOP_WORDS
    known = set(words_of("\n".join((case.question, NOT_FOUND, *(f"{e.path} {e.text}" for e in case.exhibits)))))
    return len(words) >= FEWEST_JUDGED and len(words & known) < LEAST_SHARED * len(words)


def _from_first_word(pieces: Iterator[Piece]) -> Generator[str, None, None]:
    """The text of an answer without the blanks that it begins with."""
    has_begun = False
    for piece in pieces:
        text = piece.text if has_begun else piece.text.lstrip()
        if has_begun := has_begun or bool(text):
            yield text
