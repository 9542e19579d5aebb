"""Answers of memory strategies from documents or from the conversation, alone or as `auto` selects them.

Owns the input of the strategies, the conversion of their answers to replies with checked citations, and the limits of
`auto`. Knows no strategy: any of `memory/strategies.py` works. Strategies and their documents are reused through
`strategy_cache.py`; what they read is stored in the memory of the workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from ...llm import Cancel, CodeModel, ModelError, TimeLimit
from ...memory import Budget, Evidence, Item, Limits, Question, Segment
from ...memory.auto import RETRIEVAL_ONLY, AutoStrategy, CostLimit, Selection
from ...memory.documents.reading import by_headings
from ...memory.embedding import Embedder, EmbedderWrapper
from ...memory.metered_model import MeteredModel
from ...memory.storage import Turn, items_of
from ...memory.strategies import MEMORY_MODEL_STRATEGIES, READING_PURPOSES, STRATEGIES, base_name, strategy_named
from ...memory.strategy import InProcessCache, ResultCache, Strategy, StrategyContext, estimate_tokens
from ...memory.usage import NO_LIMITS, LimitReached, UsageTracker, describe_cost
from ...retrieval.questions import analyse_question
from ..config import ChatOptions
from ..models.beacon_reader import reader_of
from ..models.embeddings import embedder_of
from .citations import check
from .context import ChatContext
from .evidence import CONTENT_WORD_WEIGHT
from .extractive import extractive
from .generation import AnswerGenerator
from .prompts import evidence_text
from .sources import Sources
from .strategy_cache import LoadedStrategy, StrategyCache
from .subject import Document, QuestionSubject, document_items
from .values import ConfidenceLevel, EvidenceItem, EvidenceKind, EvidenceSet, Reply

PIECE_TOKENS = 300  # of the sections that a whole document is shown in, so that lines can be cited

Places = Mapping[str, Document]
"""The folder and path of an item, by its source."""

Make = Callable[[StrategyContext], Strategy]


def check_strategy(name: str) -> None:
    """Raises ValueError for an unknown name or setting, with the known ones."""
    if name not in STRATEGIES:
        strategy_named(name, StrategyContext())


@dataclass(frozen=True)
class StrategyUse:
    """What strategies of one question use. Without `stores`, they read what is stored and store nothing."""

    source: ChatContext
    generator: AnswerGenerator
    cache: StrategyCache
    cancel: Cancel
    stores: bool = True

    def models(self) -> Iterator[MeteredModel]:
        """The available chat models. Of their responses only those that read documents are stored."""
        for metered in self.generator.metered_models(self.cancel):
            yield metered.with_cache(self._results(), READING_PURPOSES)

    def _results(self) -> ResultCache:
        stored = self.source.memory.cache
        return stored if self.stores else ReadThroughCache(stored)

    @contextmanager
    def loaded(
        self, key: object, make: Make, answering: MeteredModel | None, reader: CodeModel | None, embedder: Embedder
    ) -> Iterator[LoadedStrategy]:
        """The strategy that `make` makes, from the cache if there is one of this key for these models and settings."""
        source, config = self.source, self.source.config

        def load() -> LoadedStrategy:
            usage = UsageTracker() if answering is None else answering.usage
            results = self._results()
            reading = None
            if reader is not None:
                reading = MeteredModel(reader, cache=results, usage=usage, cached_purposes=READING_PURPOSES)
            count = estimate_tokens if answering is None else answering.model.count_tokens
            slot = EmbedderWrapper(embedder)
            context = StrategyContext(answering, slot, results, count, reading)
            return LoadedStrategy(make(context), slot, answering, reading)

        model = None if answering is None else answering.model
        settings = (config.memory, config.chat, config.redact, self.stores)
        with self.cache.borrowed((key, model, reader, source.memory, embedder.name, settings), load) as loaded:
            loaded.embedder.inner = embedder  # of this question, with its own cancellation
            yield loaded


class ReadThroughCache:
    """A `ResultCache` that reads another one and writes to the memory of this process."""

    def __init__(self, stored: ResultCache) -> None:
        self._stored, self._own = stored, InProcessCache()

    def get(self, kind: str, key: str) -> object | None:
        found = self._own.get(kind, key)
        return self._stored.get(kind, key) if found is None else found

    def put(self, kind: str, key: str, value: object) -> None:
        self._own.put(kind, key, value)


def answer_by_strategy(name: str, question: str, use: StrategyUse) -> Reply:
    """The reply of a strategy; an extractive one where no model answers. The callbacks get the estimated cost first.

    Raises ValueError for an unknown name.
    """
    source, generator, cancel = use.source, use.generator, use.cancel
    items, places = document_items(source)
    config, notes = source.config, list[str]()
    embedder, why = embedder_of(config.memory, source.memory, cancel, redact=config.redact)
    set_reader, reader_note = reader_of(config.memory) if base_name(name) in MEMORY_MODEL_STRATEGIES else (None, "")
    with_model = ((metered, set_reader) for metered in use.models())
    without: list[tuple[MeteredModel | None, CodeModel | None]] = [(None, set_reader)] if set_reader else []
    asked = Question(question)
    # The last attempt, retrieval alone, needs no model.
    for metered, reader in chain(with_model, without, [(None, None)]):
        try:
            with use.loaded(name, partial(strategy_named, name), metered, reader, embedder) as loaded:
                loaded.limit_question(NO_LIMITS)
                loaded.update(items, cancel)
                if models := loaded.model_names:
                    cost = describe_cost(loaded.strategy.estimate(asked))
                    generator.callbacks.on_note(f"{name} calls {models}: at most {cost}.")
                answer = loaded.strategy.answer(asked, cancel=cancel)
        except ModelError as error:
            notes.append(str(error))
            continue
        evidence = _evidence_set(question, evidence_items(answer.recalled.evidence, places))
        reply = _reply(answer.text, evidence, source)
        generator.callbacks.emit(reply.text, reply.citations)
        shown = tuple(dict.fromkeys(filter(None, (*generator.notes, *notes, *answer.notes, reader_note, why))))
        return replace(reply, model=answer.model, cost=answer.cost, notes=shown, strategy=name)
    nothing, text = EvidenceSet(question, ()), "No model answered, and no evidence was retrieved."
    return Reply(text, (), nothing, found=False, notes=tuple(notes), level="not found")


@dataclass(frozen=True, slots=True)
class AutoResult:
    """What `auto` did: it wrote a `reply`, or it retrieved the `evidence` of an answer. `note` says which and why.

    With neither, `note` is the reason that there is no answer.
    """

    note: str = ""
    strategy: str = ""
    reply: Reply | None = None
    evidence: EvidenceSet | None = None
    evidence_tokens: int = 0


def answer_by_auto(
    subject: QuestionSubject, question: str, found: EvidenceSet, turns: Sequence[Turn], use: StrategyUse
) -> AutoResult:
    """The answer or the evidence that `auto` has for a question about documents, or about the conversation.

    `found` is the evidence without it. A strategy that only retrieves leaves the answer to the caller, who streams it.
    """
    source, cancel, options = use.source, use.cancel, use.source.config.chat
    embedder, _ = embedder_of(source.config.memory, source.memory, cancel, redact=source.config.redact)
    reader, _ = reader_of(source.config.memory)
    if subject.documents:
        wanted = frozenset(subject.documents)
        items, places = document_items(source, lambda document: document in wanted)
    else:
        items, places = items_of(turns), dict[str, Document]()
    limit = CostLimit(options.auto_max_calls, options.auto_max_tokens, options.auto_max_seconds)
    key = ("auto", subject.documents, "" if subject.documents else items[0].source)
    result = AutoResult()
    for metered in use.models():
        try:
            with (
                use.loaded(key, lambda context: AutoStrategy(context, limit), metered, reader, embedder) as loaded,
                TimeLimit(cancel, options.auto_max_seconds) as time_limit,
            ):
                loaded.limit_question(Limits(options.auto_max_calls, options.auto_max_tokens))
                loaded.update(items, time_limit)
                return _AutoQuestion(subject, Question(question), found, places, loaded, use).answer(time_limit)
        except LimitReached as error:
            return AutoResult(f"Reading {subject.description} stopped: {error} {_limits(options)}")
        except ModelError as error:
            use.generator.failed(metered.model, error)
    return result


@dataclass(frozen=True)
class _AutoQuestion:
    """One question for one loaded `AutoStrategy`."""

    subject: QuestionSubject
    question: Question
    found: EvidenceSet
    places: Places
    loaded: LoadedStrategy
    use: StrategyUse

    def answer(self, limit: TimeLimit) -> AutoResult:
        pick, options = self._auto.pick(self.question), self.use.source.config.chat
        about = self.subject.description
        if pick.is_beyond_limit:
            return AutoResult(f"{about} was searched, not read: {pick.reason}. {_limits(options)}")
        if pick.name in RETRIEVAL_ONLY and (retrieved := self._retrieved(pick, limit)) is not None:
            return retrieved
        expected = describe_cost(pick.cost)
        self.use.generator.callbacks.on_note(
            f"`{pick.name}` reads {about} with {self.loaded.model_names}: at most {expected}."
        )
        answer = self._auto.answer(self.question, cancel=limit)
        if limit.is_reached and not answer.text:
            return AutoResult(f"Reading {about} took longer than {options.auto_max_seconds:g} s. {_limits(options)}")
        if not answer.text:
            return AutoResult("" if limit.cancelled else f"`{pick.name}` found no answer in {about}.")
        evidence = _evidence_set(self.question.text, evidence_items(answer.recalled.evidence, self.places))
        # A strategy that answers from notes or summaries has no evidence of its own.
        reply = _reply(answer.text, evidence if evidence.items else self.found, self.use.source)
        note = _note(pick, about)
        notes = (f"{note} Cost: {describe_cost(answer.cost)}.", *answer.notes[1:])  # the first one is auto's own
        return AutoResult(
            note, pick.name, replace(reply, model=answer.model, cost=answer.cost, notes=notes, strategy=pick.name)
        )

    def _retrieved(self, pick: Selection, limit: TimeLimit) -> AutoResult | None:
        """The evidence of a strategy that only retrieves; None if a whole text does not fit with its line numbers."""
        options = self.use.source.config.chat
        is_whole = pick.name == "full_middle"
        budget = Budget() if is_whole else Budget(tokens=options.evidence_tokens)
        recalled = self._auto.recall(self.question, budget, limit)
        items = evidence_items(recalled.evidence, self.places, PIECE_TOKENS if is_whole else None)
        if not items:
            return None
        n_tokens = 0
        if is_whole:
            answering = self.loaded.answering
            assert answering is not None
            n_tokens = sum(answering.count_tokens(evidence_text(n, item)) + 2 for n, item in enumerate(items, 1))
            if not self.use.generator.has_room(answering, n_tokens):
                return None
        # Code may answer too, unless the person chose the documents.
        others = () if self.subject.is_chosen or not self.subject.documents else _other_items(self.found, items)
        evidence = replace(self.found, items=(*items, *others), confidence=1.0 if items else self.found.confidence)
        room = max(n_tokens, options.evidence_tokens)
        return AutoResult(_note(pick, self.subject.description), pick.name, None, evidence, room)

    @property
    def _auto(self) -> AutoStrategy:
        strategy = self.loaded.strategy
        assert isinstance(strategy, AutoStrategy)
        return strategy


def evidence_items(
    evidence: Sequence[Evidence], places: Places, piece_tokens: int | None = None
) -> tuple[EvidenceItem, ...]:
    """The evidence of a strategy as items; with `piece_tokens` long ones are split at headings."""
    found = list[EvidenceItem]()
    for each in evidence:
        for segment in [each.segment] if piece_tokens is None else _pieces(each.segment, piece_tokens):
            folder, path = places.get(segment.source, ("", segment.source))
            is_turn = segment.source not in places and segment.source.startswith("conversation ")
            start, end = segment.first_line, segment.end_line
            if is_turn:
                start, end = segment.number, segment.number + 1
            reason = each.why or "retrieved by the strategy"
            kind: EvidenceKind = "turn" if is_turn else "document"
            found.append(
                EvidenceItem(kind, path, start, end, segment.text, each.score, reason, parts=each.parts, folder=folder)
            )
    return tuple(found)


def _pieces(segment: Segment, piece_tokens: int) -> list[Segment]:
    if segment.source.startswith("conversation "):
        return [segment]
    item = Item(segment.source, segment.text, first_line=segment.first_line)
    return [piece for piece in by_headings(piece_tokens, estimate_tokens)(item) if piece.text.strip()]


def _other_items(found: EvidenceSet, items: Sequence[EvidenceItem]) -> tuple[EvidenceItem, ...]:
    read = {(item.folder, item.path) for item in items}
    return tuple(item for item in found.items if (item.folder, item.path) not in read)


def _reply(text: str, evidence: EvidenceSet, source: ChatContext) -> Reply:
    """The text of a strategy with checked citations; without a text, the best lines of the evidence."""
    is_found = bool(evidence.items)
    level: ConfidenceLevel = "sure" if is_found else "not found"
    if not text:
        extracted = extractive(evidence, 0.5)
        return replace(extracted, evidence=evidence, found=is_found, level=level, notes=())
    checked = check(text, Sources(source.indexes(), evidence.items), evidence)
    return Reply(checked.text, checked.citations, evidence, is_found, checked.n_dropped, level=level)


def _evidence_set(question: str, items: tuple[EvidenceItem, ...]) -> EvidenceSet:
    return EvidenceSet(question, items, 1.0 if items else 0.0, search_terms=_content_words(question))


def _content_words(question: str) -> tuple[str, ...]:
    concepts = analyse_question(question).concepts
    return tuple(concept.word for concept in concepts if concept.weight >= CONTENT_WORD_WEIGHT)


def _note(pick: Selection, about: str) -> str:
    return f"`{pick.name}` answered from {about}, because {pick.reason}."


def _limits(options: ChatOptions) -> str:
    return (
        f"The limits are {options.auto_max_calls} calls, {options.auto_max_tokens:,} tokens and "
        f"{options.auto_max_seconds:g} s (`chat.auto_max_calls`, `chat.auto_max_tokens`, `chat.auto_max_seconds`)."
    )
