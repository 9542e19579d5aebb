"""Answers of a memory strategy from the documents of a workspace alone.

Owns the input of the strategies, and the conversion of their answers to replies with checked citations. Knows no
strategy: any of `memory/strategies.py` works. Strategies and their documents are reused through `strategy_cache.py`.
"""

from __future__ import annotations

from itertools import chain

from ...llm import Cancel, CodeModel, ModelError
from ...memory import Evidence, Item, Question
from ...memory.embedding import EmbedderWrapper
from ...memory.metered_model import MeteredModel
from ...memory.strategies import MEMORY_MODEL_STRATEGIES, STRATEGIES, base_name, strategy_named
from ...memory.strategy import StrategyContext, estimate_tokens
from ...memory.usage import UsageTracker, describe_cost
from ...retrieval.questions import analyse_question, is_document
from ..models.beacon_reader import reader_of
from ..models.embeddings import embedder_of
from .citations import check
from .context import ChatContext
from .evidence import CONTENT_WORD_WEIGHT
from .extractive import extractive
from .generation import AnswerGenerator
from .sources import Sources
from .strategy_cache import LoadedStrategy, StrategyCache
from .values import ConfidenceLevel, EvidenceItem, EvidenceSet, Reply


def check_strategy(name: str) -> None:
    """Raises ValueError for an unknown name or setting, with the known ones."""
    if name not in STRATEGIES:
        strategy_named(name, StrategyContext())


def answer_by_strategy(
    name: str, question: str, source: ChatContext, generator: AnswerGenerator, cache: StrategyCache, cancel: Cancel
) -> Reply:
    """The reply of a strategy; an extractive one where no model answers. The callbacks get the estimated cost first.

    Raises ValueError for an unknown name.
    """
    items = _items(source)
    config, notes = source.config, list[str]()
    embedder, why = embedder_of(config.memory, source.memory, cancel, redact=config.redact)
    set_reader, reader_note = reader_of(config.memory) if base_name(name) in MEMORY_MODEL_STRATEGIES else (None, "")
    with_model = ((metered, set_reader) for metered in generator.metered_models(cancel))
    without: list[tuple[MeteredModel | None, CodeModel | None]] = [(None, set_reader)] if set_reader else []
    asked = Question(question)
    # The last attempt, retrieval alone, needs no model.
    for metered, reader in chain(with_model, without, [(None, None)]):

        def load(answering: MeteredModel | None = metered, reader: CodeModel | None = reader) -> LoadedStrategy:
            usage = UsageTracker() if answering is None else answering.usage
            reading = None if reader is None else MeteredModel(reader, usage=usage)
            count = estimate_tokens if answering is None else answering.model.count_tokens
            slot = EmbedderWrapper(embedder)
            context = StrategyContext(answering, slot, source.memory.cache, count, reading)
            return LoadedStrategy(strategy_named(name, context), slot, answering, reading)

        model = None if metered is None else metered.model
        key = (name, model, reader, source.memory, embedder.name, config.memory, config.chat, config.redact)
        try:
            with cache.borrowed(key, load) as loaded:
                loaded.embedder.inner = embedder  # of this question, with its own cancellation
                loaded.update(items, cancel)
                models = [each.model.info.name for each in (loaded.reading, loaded.answering) if each is not None]
                if models:
                    cost = describe_cost(loaded.strategy.estimate(asked))
                    generator.callbacks.on_note(f"{name} calls {' and '.join(models)}: at most {cost}.")
                answer = loaded.strategy.answer(asked, cancel=cancel)
        except ModelError as error:
            notes.append(str(error))
            continue
        found = tuple(map(_evidence_item, answer.recalled.evidence))
        evidence = EvidenceSet(question, found, 1.0 if found else 0.0, search_terms=_content_words(question))
        if not answer.text:
            reply = extractive(evidence, 0.5)
            text, citations, n_dropped = reply.text, reply.citations, 0
        else:
            checked = check(answer.text, Sources(source.indexes(), evidence.items), evidence)
            text, citations, n_dropped = checked.text, checked.citations, checked.n_dropped
        generator.callbacks.on_text(text)
        shown = tuple(dict.fromkeys(filter(None, (*generator.notes, *notes, *answer.notes, reader_note, why))))
        is_found = bool(evidence.items)
        level: ConfidenceLevel = "sure" if is_found else "not found"
        return Reply(text, citations, evidence, is_found, n_dropped, answer.model, "", answer.cost, shown, level)
    nothing, text = EvidenceSet(question, ()), "No model answered, and no evidence was retrieved."
    return Reply(text, (), nothing, found=False, notes=tuple(notes), level="not found")


def _items(source: ChatContext) -> list[Item]:
    items: list[Item] = []
    for folder, index in source.indexes().items():
        texts = {path: text.decode("utf-8", "replace") for path, text in index.texts.items() if is_document(path)}
        items += [Item(path, text) for path, text in sorted(texts.items())]
        unindexed: dict[str, list[str]] = {}
        for segment in source.documents(folder).files_outside_index():
            lines = unindexed.setdefault(segment.source, [])
            # Padding, so that each line has the number that it has in its file.
            lines += [""] * (segment.first_line - len(lines))
            lines += segment.text.rstrip("\n").split("\n")
        items += [Item(path, "\n".join(lines)) for path, lines in unindexed.items()]
    return items


def _content_words(question: str) -> tuple[str, ...]:
    concepts = analyse_question(question).concepts
    return tuple(concept.word for concept in concepts if concept.weight >= CONTENT_WORD_WEIGHT)


def _evidence_item(evidence: Evidence) -> EvidenceItem:
    segment = evidence.segment
    return EvidenceItem(
        "document",
        segment.source,
        segment.first_line,
        segment.end_line,
        segment.text,
        evidence.score,
        evidence.why or "retrieved by the strategy",
        parts=evidence.parts,
    )
