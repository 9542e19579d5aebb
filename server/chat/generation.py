"""Answer generation: streams a model's answer, checks its citations, and falls back to the next model.

Owns the steps from evidence to a checked text, and the choice of the model. Knows no stored history and no protocol.
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
from .citations import CheckedAnswer, CheckedStream
from .ellipsis import is_faithful
from .prompts import NOT_FOUND, question_messages, rewrite_prompt
from .sources import Sources
from .support import STOP_WORDS, words_of
from .values import Citation, EvidenceSet

FRAME = 64  # tokens that a chat template may add around a conversation, with a margin
PROMPT_TOKENS = 1500  # the budget for instruction, question and recent turns, in addition to the evidence
REWRITTEN_TOKENS = 60

LOOP_CHARACTERS, SHORTEST_REPEATED, MOST_REPEATS = 3000, 20, 3
"""Loop detection: a sentence of at least 20 characters occurs more than 3 times in the last 3000 characters."""

FEWEST_WORDS, LEAST_SHARED = 8, 0.2
"""An answer of 8 or more words without citations is rejected when less than this share of its words occurs in the
evidence. A relevant answer of a model with 135 M parameters shared 0.37, a hallucinated one of a base model 0.07."""

_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_SENTENCE_SIGNS = frozenset(".!?\n")


@dataclass(frozen=True)
class StreamCallbacks:
    """Callbacks of a streamed answer. They run in the thread that generates it."""

    on_text: Callable[[str], None] = lambda text: None
    on_restart: Callable[[], None] = lambda: None  # the text so far is void: another model starts over
    on_note: Callable[[str], None] = lambda note: None  # before the answer: its cost, a wait
    on_conversation: Callable[[str], None] = lambda id: None  # the id under which the turn is stored, before the answer
    on_citation: Callable[[Citation], None] = lambda citation: None  # before the text that contains it
    on_asked_as: Callable[[str], None] = lambda question: None  # before the answer: `Reply.asked_as`, unless ""

    def emit(self, text: str, citations: Sequence[Citation]) -> None:
        """Citations, then the text that contains them."""
        for citation in citations:
            self.on_citation(citation)
        if text:
            self.on_text(text)


NO_CALLBACKS = StreamCallbacks()


@dataclass(frozen=True, slots=True)
class GeneratedAnswer:
    """A model's checked answer. `is_whole` is False when it was stopped, by a person or by the time limit."""

    checked: CheckedAnswer
    model: str
    cost: Cost
    is_whole: bool = True
    is_stopped: bool = False  # by a person


@dataclass
class AnswerGenerator:
    """Asks the models in their order. `record_partial` gets the text so far, so that a killed process loses little.

    `yield_to_completions` is called between two pieces of a local model: completions have priority.
    """

    models: ModelChain
    max_new_tokens: int
    evidence_tokens: int
    callbacks: StreamCallbacks = NO_CALLBACKS
    record_partial: Callable[[Callable[[], str]], None] = lambda text: None
    yield_to_completions: Callable[[Cancel], None] = lambda cancel: None
    call_seconds: float = math.inf  # the time limit of one call
    notes: list[str] = field(default_factory=list)  # why models did not answer

    def answer(
        self, evidence: EvidenceSet, recent: Sequence[Message], sources: Sources, cancel: Cancel
    ) -> GeneratedAnswer | None:
        """The answer of the first model that gives one; None when none does, with the reasons in `notes`."""
        for metered in self.metered_models(cancel):
            stream = CheckedStream(sources, evidence)
            call = self._call(metered, evidence, recent)
            if call is None:
                name, window = metered.model.info.name, metered.window_tokens
                self.notes.append(
                    f"The context window of {name} ({window} tokens) is too small for evidence. Raise `context_tokens`."
                )
                continue
            is_looping = False
            n_cited = 0
            try:
                with closing(self._pieces(metered, call, cancel)) as pieces:
                    for piece in pieces:
                        text = stream.feed(piece)
                        self.callbacks.emit(text, stream.citations[n_cited:])
                        n_cited = len(stream.citations)
                        self.record_partial(stream.text)
                        ends_sentence = not _SENTENCE_SIGNS.isdisjoint(text)
                        if is_looping := ends_sentence and _repeats_itself(stream.end_of_text(LOOP_CHARACTERS)):
                            break
                if not is_looping:
                    text = stream.finish()
                    self.callbacks.emit(text, stream.citations[n_cited:])
            except ModelError as error:
                self.failed(metered.model, error)
                if stream.checked.text:
                    self.callbacks.on_restart()
                continue
            checked = stream.checked
            name, cost = metered.model.info.name, metered.usage.total
            if cancel.is_reached and not checked.text.strip():
                return None
            if cancel.cancelled:
                return GeneratedAnswer(checked, name, cost, is_whole=False, is_stopped=not cancel.is_reached)
            if not checked.text.strip():
                self.notes.append(f"{name} returned an empty answer.")
                continue
            if is_looping:
                self.notes.append(f"{name} repeated itself and was stopped.")
            if not checked.citations and _is_off_topic(checked.text, evidence):
                self.notes.append(f"The answer of {name} is not shown: it shares almost no words with the evidence.")
                self.callbacks.on_restart()
                continue
            self.models.worked(metered.model)
            return GeneratedAnswer(checked, name, cost)
        return None

    def standalone_question(self, question: str, turns: Sequence[tuple[str, str]], cancel: Cancel) -> str:
        """The first available model's rewrite of a follow-up question; "" when it is not faithful."""
        metered = next(self.metered_models(cancel), None)
        if metered is None:
            return ""
        prompt = rewrite_prompt(question, turns)
        call = Call.of("stand alone", prompt, REWRITTEN_TOKENS)
        try:
            written = metered.ask(call, cancel).strip().strip('"')
        except ModelError as error:
            self.failed(metered.model, error)
            return ""
        return written if is_faithful(written, question, [text for pair in turns for text in pair]) else ""

    def metered_models(self, cancel: Cancel) -> Iterator[MeteredModel]:
        """A metered model for each chat model that is available."""
        for model in self.models.usable():
            if cancel.cancelled:
                return
            # No retries: the next model, or an extractive answer, is faster than a server that does not respond.
            metered = MeteredModel(
                model, "chat", pause=lambda cancel, seconds: cancel.cancelled, call_seconds=self.call_seconds
            )
            try:
                metered.prepare(cancel)
            except ModelError as error:
                self.failed(model, error)
                continue
            if model.info.chats:
                yield metered
            elif not cancel.cancelled:
                self.notes.append(
                    f"{model.info.name} is not a chat model. Configure a chat model to get written answers."
                )

    def failed(self, model: CodeModel, error: ModelError) -> None:
        """A call of `model` failed: another one answers, and a note gives the reason."""
        self.models.failed(model, error)
        self.notes.append(str(error))

    def has_room(self, metered: MeteredModel, evidence_tokens: int) -> bool:
        """Whether the context window holds this much evidence beside instruction, question, turns and answer."""
        return evidence_tokens + PROMPT_TOKENS + FRAME + self._most_new(metered) <= metered.window_tokens

    def _most_new(self, metered: MeteredModel) -> int:
        # Of a small window, half is reserved for the answer.
        return min(self.max_new_tokens, metered.window_tokens // 2)

    def _call(self, metered: MeteredModel, evidence: EvidenceSet, recent: Sequence[Message]) -> Call | None:
        """The call; None where the first evidence item does not fit into the context window."""
        model = metered.model
        n_new = self._most_new(metered)
        room = min(metered.window_tokens - n_new - FRAME, self.evidence_tokens + PROMPT_TOKENS)
        messages, n_shown = question_messages(evidence, recent, model.count_tokens, room)
        return Call("answer", messages, n_new, may_be_cut=True) if n_shown else None

    def _pieces(self, metered: MeteredModel, call: Call, cancel: Cancel) -> Generator[str, None, None]:
        with closing(_without_leading_space(metered.stream(call, cancel))) as pieces:
            for piece in pieces:
                yield piece
                if metered.model.info.local:
                    self.yield_to_completions(cancel)


def _repeats_itself(text: str) -> bool:
    """Whether the last sentence of a text is repeated more than `MOST_REPEATS` times."""
    sentences = [part for part in _SENTENCES.split(text) if len(part) >= SHORTEST_REPEATED]
    return bool(sentences) and sentences.count(sentences[-1]) > MOST_REPEATS


def _is_off_topic(text: str, evidence: EvidenceSet) -> bool:
    """Whether an answer shares almost no words with the question and its evidence.

    Only words in Latin letters count: an answer in another script may have the same content.
    """
    words = {word for word in words_of(text) if word.isascii()} - STOP_WORDS
    known = set(words_of("\n".join((evidence.question, NOT_FOUND, *(f"{e.path} {e.text}" for e in evidence.items)))))
    return len(words) >= FEWEST_WORDS and len(words & known) < LEAST_SHARED * len(words)


def _without_leading_space(pieces: Iterator[Piece]) -> Generator[str, None, None]:
    has_started = False
    for piece in pieces:
        text = piece.text if has_started else piece.text.lstrip()
        if has_started := has_started or bool(text):
            yield text
