"""A question that a strategy of the memory room answers, from the documents of a workspace alone.

Owns what the strategies are given and how their answers become replies with checked citations. Knows no strategy: any
of `memory/strategies.py` serves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Protocol

from ...llm import Cancel, CodeModel, ModelError
from ...memory import Evidence, Item, Question
from ...memory.accountant import Accountant, Ledger
from ...memory.ledger import in_words
from ...memory.storage import MemoryStore
from ...memory.strategies import READERS, STRATEGIES, strategy_named
from ...memory.strategy import Kit
from ...retrieval import RepositoryIndex
from ...retrieval.questions import analyse_question, is_document
from ..config import Config
from ..models.beacon_reader import reader_of
from ..models.embeddings import embedder_of
from ..workspace.documents import FolderDocuments
from .citations import check
from .evidence import CARRIES_MEANING
from .extractive import extractive
from .sources import Sources
from .values import Case, Exhibit, Reply
from .writing import AnswerWriter


class Shelf(Protocol):
    """Where documents come from."""

    @property
    def config(self) -> Config: ...

    @property
    def memory(self) -> MemoryStore: ...

    def indexes(self) -> Mapping[str, RepositoryIndex]: ...

    def documents(self, folder: Path | str) -> FolderDocuments: ...


def check_strategy(name: str) -> None:
    """Raises ValueError for a name that is none, with those that are."""
    if name not in STRATEGIES:
        strategy_named(name, Kit())


def by_strategy(name: str, question: str, shelf: Shelf, writer: AnswerWriter, cancel: Cancel) -> Reply:
    """The reply of the strategy of this name; of its evidence alone where no model answers. What it may cost is told
    before. Raises ValueError for an unknown name."""
    items = _items(shelf)
    notes: list[str] = []
    embedder, why = embedder_of(shelf.config.memory, shelf.memory, cancel, redact=shelf.config.redact)
    set_reader, who_reads = reader_of(shelf.config.memory) if name in READERS else (None, "")
    with_model = ((accountant, set_reader) for accountant in writer.accountants(cancel))
    without: list[tuple[Accountant | None, CodeModel | None]] = [(None, set_reader)] if set_reader else []
    # The evidence alone, at the end, needs neither of them.
    for accountant, reader in chain(with_model, without, [(None, None)]):
        ledger = Ledger() if accountant is None else accountant.ledger
        reads = None if reader is None else Accountant(reader, ledger=ledger)
        kit = Kit(accountant, embedder, shelf.memory.kept, reader=reads)
        if accountant is not None:
            kit = replace(kit, count_tokens=accountant.model.count_tokens)
        strategy = strategy_named(name, kit)
        asked = Question(question)
        try:
            strategy.remember(items, cancel)
            if names := [each.model.info.name for each in (reads, accountant) if each is not None]:
                writer.listener.on_note(
                    f"{name} asks {' and '.join(names)}: {in_words(strategy.estimate(asked))} at most."
                )
            answer = strategy.answer(asked, cancel=cancel)
        except ModelError as error:
            notes.append(str(error))
            continue
        exhibits = tuple(map(_exhibit, answer.recalled.evidence))
        case = Case(question, exhibits, 1.0 if exhibits else 0.0, looked_for=_looked_for(question))
        if not answer.text:
            reply = extractive(case, 0.5)
            text, citations, n_dropped = reply.text, reply.citations, 0
        else:
            checked = check(answer.text, Sources(shelf.indexes(), case.exhibits), case)
            text, citations, n_dropped = checked.text, checked.citations, checked.n_dropped
        writer.listener.on_text(text)
        told = tuple(dict.fromkeys(filter(None, (*writer.notes, *notes, *answer.notes, who_reads, why))))
        return Reply(text, citations, case, bool(case.exhibits), n_dropped, answer.model, "", answer.cost, told)
    return Reply(
        "Neither a model nor the evidence could answer.", (), Case(question, ()), found=False, notes=tuple(notes)
    )


def _items(shelf: Shelf) -> list[Item]:
    """Every document of every folder, whole."""
    items: list[Item] = []
    for folder, index in shelf.indexes().items():
        texts = {path: text.decode("utf-8", "replace") for path, text in index.texts.items() if is_document(path)}
        items += [Item(path, text) for path, text in sorted(texts.items())]
        beside: dict[str, list[str]] = {}
        for segment in shelf.documents(folder).files_outside_index():
            lines = beside.setdefault(segment.source, [])
            # So that each stands on the lines that it has in its file.
            lines += [""] * (segment.first_line - len(lines))
            lines += segment.text.rstrip("\n").split("\n")
        items += [Item(path, "\n".join(lines)) for path, lines in beside.items()]
    return items


def _looked_for(question: str) -> tuple[str, ...]:
    """The words of the question that carry meaning: lines that say them are shown."""
    return tuple(concept.word for concept in analyse_question(question).concepts if concept.weight >= CARRIES_MEANING)


def _exhibit(evidence: Evidence) -> Exhibit:
    segment = evidence.segment
    why = evidence.why or "chosen by the strategy"
    return Exhibit(
        "document",
        segment.source,
        segment.first_line,
        segment.end_line,
        segment.text,
        evidence.score,
        why,
        parts=evidence.parts,
    )
