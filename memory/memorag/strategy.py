"""MemoRAG as a strategy: clues from a global memory, retrieval with them, then an answer (papers' spec 4).

Owns the steps from question to clues, evidence and answer. `backends` has the memory; an `Indexer` searches. Without a
model the question is the only clue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ...llm.protocol import Cancel
from ..budgets import fit_evidence, room_beside, truncate
from ..embedding_cache import CachingEmbedder
from ..metered_model import Call, MeteredModel
from ..prompting import as_answer, fill
from ..scoring import Indexer, SegmentIndex, indexer
from ..strategy import CANCELLED, StrategyContext
from ..strategy_base import ItemStrategy, SegmentedItems
from ..values import Answer, Budget, Cost, Evidence, Question, RecallResult, Step
from .backends import ANSWER_TOKENS, CLUE_TOKENS, KEY_POINT_TOKENS, PromptedMemory, choose_kind
from .clues import Clue, ClueKind, each_once, from_beginning, read_clues, search
from .gists import GistPlan
from .prompts import PROMPTS, Language, Prompts
from .text import VECTORS, MemorizedText, asked, load_text, memorized_text, save_text

Task = Literal["memorag", "qa", "summarize"]
"""Answer from retrieved evidence, from the memory alone, or summarize the evidence of key points."""


@dataclass(frozen=True, slots=True)
class MemoRAGSettings:
    """Hits for each clue and sizes are those of the published code; the paper prints none.

    Where the defaults differ from `AS_PRINTED`, docs/papers.md has the reason.
    """

    backend: str = ""  # one of `backends.KINDS`; empty selects by model and text
    task: Task = "memorag"  # default for questions without a task
    spans: bool = True
    surrogates: bool = True
    draft: bool = False  # use a draft answer of the memory as a clue and in the final prompt
    hits_per_clue: int = 3
    score: str = "dense_if_semantic"  # of a segment for a clue: one of `SCORERS`
    segment_tokens: int = 512
    answer_tokens: int = 256
    template: str = ""  # final prompt with {context} and {question}; empty uses the default
    language: Language | Literal[""] = ""  # empty detects it
    gists: GistPlan = GistPlan()  # noqa: RUF009 - frozen


AS_PRINTED = MemoRAGSettings(score="dense")
"""Section 2: "the current implementation uses dense retrieval by default"."""

NO_MODEL = "No model is configured, so there are no clues: the question was searched."
NO_CLUE = "The memory generated no clue of more than three words: the question was searched."
JOINED_BY = "\n\n"

PROMPT_TOKENS = 512  # upper bound of a question with its template, for estimates


class MemoRAG(ItemStrategy):
    """MemoRAG as a strategy. All items together are the text; it is read at the first question.

    The memory model of the context has the memory, or its model if there is none. `generator` answers, by default the
    model of the context, without seeing the whole text. `memory` replaces the backend of the settings.
    """

    def __init__(
        self,
        context: StrategyContext,
        settings: MemoRAGSettings | None = None,
        score: Indexer | None = None,
        generator: MeteredModel | None = None,
        memory: PromptedMemory | None = None,
    ) -> None:
        self._settings = settings or MemoRAGSettings()
        super().__init__(context, "memorag", score=score or indexer(self._settings.score, context))
        reads, answers = context.memory_model or context.model, generator or context.model or context.memory_model
        self._model = None if reads is None else reads.for_strategy(self.name)
        self._generator = None if answers is None else answers.for_strategy(self.name)
        self._given_backend = memory
        self._memory = memory
        self._memorized = ""  # key of the text in the memory
        # Replaced whole when the items change, so that a running `recall` keeps a consistent view.
        self._memorized_text: tuple[MemorizedText, SegmentIndex] | None = None

    def memorize(self, cancel: Cancel | None = None) -> PromptedMemory | None:
        """Read the text now instead of at the first question; the same text is read once.

        None without a model, without text, or when cancelled. Raises ModelError.
        """
        cancel = cancel or Cancel()
        with self._lock:
            memorized, _ = self._text_and_index()
            if self._model is None or not memorized.segments or cancel.cancelled:
                return None
            if self._memory is None or self._memorized != memorized.key:
                self.reset()
                self._model.prepare(cancel)
                self._memory = self._given_backend or self._new_memory(memorized)
                self._memory.memorize(memorized.article, memorized.language, cancel)
                self._memorized = "" if cancel.cancelled else memorized.key
            return self._memory if self._memorized else None

    def reset(self) -> None:
        """Free the memory of the model; the next question reads the text again."""
        with self._lock:
            if self._memory is not None:
                self._memory.reset()
            self._memorized = ""

    def recall(self, question: Question, budget: Budget, cancel: Cancel | None = None) -> RecallResult:
        """The segments that the clues retrieve, in document order. Sets `context` if there is a draft answer."""
        cancel = cancel or Cancel()
        memorized, index = self._text_and_index()
        memory = self.memorize(cancel)
        if not memorized.segments or cancel.cancelled:
            return RecallResult(())
        clues, steps = self._clues(question, memory, memorized, cancel)
        found = search(index, clues, self._settings.hits_per_clue) if clues else from_beginning(memorized.segments)
        evidence = fit_evidence(found, budget, self._context.count, "document")
        steps.append(Step("search", {"found": len(found), "shown": [each.segment.place for each in evidence]}))
        draft = next((clue.text for clue in clues if clue.kind == "draft"), "")
        context = _shown(evidence, fill(PROMPTS[memorized.language].draft, answer=draft)) if draft else None
        return RecallResult(evidence, tuple(steps), context)

    def answer(self, question: Question, budget: Budget | None = None, cancel: Cancel | None = None) -> Answer:
        cancel = cancel or Cancel()
        before, generator = self._spent(), self._generator
        if generator is None:
            return Answer("", self.recall(question, budget or Budget(), cancel), self.name, notes=(NO_MODEL,))
        generator.prepare(cancel)
        if self._task(question) == "qa" and (memory := self.memorize(cancel)) is not None:
            memorized, _ = self._text_and_index()
            text = memory.answer(asked(question, memorized.language, self._context.count), cancel)
            recalled = RecallResult((), (Step("memory", {"backend": memory.name, "tokens": memory.n_tokens}),))
            return self._answered_by(as_answer(text, question), recalled, self._model or generator, before, cancel)
        room = self._room(generator, question)
        recalled = self.recall(question, budget or Budget(tokens=room), cancel)
        text = ""
        if not cancel.cancelled:
            context = recalled.context or _shown(recalled.evidence)
            prompt = self._last_prompt(question, truncate(context, room, generator.count_tokens))
            text = generator.ask(Call.of("answer", prompt, self._settings.answer_tokens), cancel)
        return self._answered_by(as_answer(text, question), recalled, generator, before, cancel)

    def estimate(self, question: Question) -> Cost:
        """Reading if the text is not read yet, the clues with the whole memory as prefix, and the answer."""
        memorized, _ = self._text_and_index()
        if self._model is None or self._generator is None or not memorized.segments:
            return Cost()
        settings, task, cost = self._settings, self._task(question), Cost()
        n_text = self._model.count_tokens(memorized.article)
        if self._memorized != memorized.key:
            cost = (self._given_backend or self._new_memory(memorized)).cost_to_memorize(n_text)
        n_asked = min(n_text, self._model.window_tokens) + PROMPT_TOKENS
        if task == "summarize":
            cost += Cost(1, n_asked, KEY_POINT_TOKENS)
        else:
            n_clues = 0 if task == "qa" else settings.spans + settings.surrogates
            n_answers = 1 if task == "qa" else int(settings.draft)
            n_written = n_clues * CLUE_TOKENS + n_answers * ANSWER_TOKENS
            cost += Cost(n_clues + n_answers, (n_clues + n_answers) * n_asked, n_written)
        if task == "qa":
            return cost
        return cost + Cost(1, min(self._generator.window_tokens, n_text + PROMPT_TOKENS), settings.answer_tokens)

    def save(self, folder: Path, cancel: Cancel | None = None) -> None:
        """Write the text, its segments and the memory to a folder for `load`. Raises ModelError."""
        cancel = cancel or Cancel()
        with self._lock:
            memory = self.memorize(cancel)
            if memory is not None:
                memory.save(folder / "memory", cancel)
            if not cancel.cancelled:
                memorized, embedder = self._text_and_index()[0], self._context.embedder
                save_text(folder, memorized, "" if memory is None else memory.name, self._model_name())
                if isinstance(embedder, CachingEmbedder):
                    embedder.save(folder / VECTORS, [segment.text for segment in memorized.segments])

    def load(self, folder: Path, cancel: Cancel | None = None) -> None:
        """Replace everything by what `save` wrote, without reading the text again.

        Raises ModelError if the folder is incomplete or its memory belongs to another model.
        """
        cancel = cancel or Cancel()
        memorized, backend = load_text(folder, self._model_name())
        if isinstance(self._context.embedder, CachingEmbedder):
            self._context.embedder.load(folder / VECTORS)
        with self._lock:
            self.reset()
            if self._model is not None and backend:
                self._memory = self._given_backend or PromptedMemory(backend, self._model, self._settings.gists)
                self._memory.load(folder / "memory", memorized.article, memorized.language, cancel)
                self._memorized = "" if cancel.cancelled else memorized.key
            self._items = SegmentedItems()
            self._items.add(memorized.items)
            self._memorized_text = replace(memorized, items=self._items.items), self._score(memorized.segments)

    # Steps of a question.

    def _clues(
        self, question: Question, memory: PromptedMemory | None, memorized: MemorizedText, cancel: Cancel
    ) -> tuple[list[Clue], list[Step]]:
        """The clues of the memory and the question itself, each once."""
        own = [Clue("question", question.text)] if question.text.strip() else []
        if memory is None:
            return own, [Step("clues", {"note": NO_MODEL})]
        words, asks = asked(question, memorized.language, self._context.count), dict[ClueKind, Callable[[], str]]()
        if self._task(question) == "summarize":
            asks["key point"] = lambda: memory.summarize(cancel)
        else:
            if self._settings.spans:
                asks["span"] = lambda: memory.recall(words, cancel)
            if self._settings.surrogates:
                asks["surrogate"] = lambda: memory.rewrite(words, cancel)
            if self._settings.draft:
                asks["draft"] = lambda: memory.answer(words, cancel)
        assert self._model is not None
        answers = self._model.ask_all(list(asks.values()))
        clues = [clue for kind, said in zip(asks, answers, strict=True) for clue in read_clues(said, kind)]
        about = Step("memory", {"backend": memory.name, "tokens": memory.n_tokens})
        said: dict[str, object] = {kind: [clue.text for clue in clues if clue.kind == kind] for kind in asks}
        step = Step("clues", said if clues or not asks else {**said, "note": NO_CLUE})
        return each_once([*clues, *own]), [about, step]

    def _task(self, question: Question) -> Task:
        return "summarize" if question.task == "summary" else self._settings.task

    def _last_prompt(self, question: Question, context: str) -> str:
        language = self._text_and_index()[0].language
        words: Prompts = PROMPTS[language]
        own = words.summarise if self._task(question) == "summarize" else words.generate
        form = words.forms["choice" if question.choices else "short" if question.task == "short" else ""]
        words_of_question = asked(question, language, self._context.count)
        template = question.template or self._settings.template or own
        return fill(template, context=context, question=words_of_question, form=form).rstrip()

    def _room(self, generator: MeteredModel, question: Question) -> int:
        """Tokens that the context window of the answering model leaves for evidence."""
        frame = generator.count_tokens(self._last_prompt(question, ""))
        return max(1, room_beside(generator.window_tokens, frame, self._settings.answer_tokens))

    def _answered_by(self, text: str, recalled: RecallResult, by: MeteredModel, before: Cost, cancel: Cancel) -> Answer:
        notes = (*recalled.notes, *((CANCELLED,) if cancel.cancelled and not text else ()))
        return Answer(text, recalled, self.name, by.info.name, self._spent() - before, notes)

    # The memorized text.

    def _text_and_index(self) -> tuple[MemorizedText, SegmentIndex]:
        with self._lock:
            items = self._items.items
            if self._memorized_text is None or self._memorized_text[0].items is not items:
                settings = self._settings
                memorized = memorized_text(items, settings.segment_tokens, self._context.count, settings.language)
                self._memorized_text = memorized, self._score(memorized.segments)
            return self._memorized_text

    def _new_memory(self, memorized: MemorizedText) -> PromptedMemory:
        assert self._model is not None
        n_tokens = self._model.count_tokens(memorized.article)
        kind = self._settings.backend or choose_kind(self._model, n_tokens, memorized.language)
        return PromptedMemory(kind, self._model, self._settings.gists, must_cache=bool(self._settings.backend))

    def _model_name(self) -> str:
        return "" if self._model is None else self._model.info.name

    def _spent(self) -> Cost:
        ledgers = {id(each.usage): each.usage for each in (self._model, self._generator) if each is not None}
        return sum((usage.of(self.name) for usage in ledgers.values()), Cost())


def _shown(evidence: Sequence[Evidence], draft: str = "") -> str:
    return JOINED_BY.join([*(each.segment.text.strip() for each in evidence), *([draft] if draft else [])])
