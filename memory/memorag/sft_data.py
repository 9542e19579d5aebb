"""SFT data for a memory model: questions about long texts, answers, and the clues between them.

The recipe of the paper (spec 4.3): a model writes question-answer pairs about a text, then the clues of each pair; both
are filtered. Works with any model. Knows no trainer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...errors import ModelError
from ...llm.protocol import Cancel
from ..metered_model import Call, MeteredModel, UnparsableAnswer
from ..prompting import fill
from ..splitters import count_words
from ..words import terms_of
from .clues import each_once, read_clues
from .prompts import PROMPTS, language_of

MIN_SHARE = 0.5  # share of a clue's terms that must occur in the text; otherwise the clue is a hallucination
PAIR_TOKENS, CLUE_TOKENS = 128, 256


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample: with the text, the question asks for the clues."""

    context: str
    question: str
    answer: str
    clues: tuple[str, ...]


@dataclass(slots=True)
class SampleCounts:
    """Counts of generated and filtered samples."""

    pairs: int = 0  # parsable
    poor_pairs: int = 0
    unreadable: int = 0  # texts with unparsable pairs
    poor_clues: int = 0  # samples with too few clues
    samples: int = 0


def build_samples(
    model: MeteredModel,
    contexts: Iterable[str],
    n_pairs: int = 3,
    counts: SampleCounts | None = None,
    cancel: Cancel | None = None,
) -> Iterator[Sample]:
    """Samples of the texts, one by one. Texts must fit the context window. Raises ModelError."""
    counts, cancel = counts if counts is not None else SampleCounts(), cancel or Cancel()
    for context in contexts:
        if cancel.cancelled:
            return
        if not context.strip():
            continue
        pairs = _pairs(model, context, n_pairs, counts, cancel)
        for question, answer in pairs:
            clues = _clues(model, context, question, answer, cancel)
            if cancel.cancelled:
                return
            if not clues:
                counts.poor_clues += 1
                continue
            counts.samples += 1
            yield Sample(context, question, answer, clues)


def write_samples(path: Path, samples: Iterable[Sample]) -> int:
    """Write samples as JSON lines; returns their number."""
    n = 0
    with path.open("w", encoding="utf-8") as file:
        for sample in samples:
            file.write(json.dumps(asdict(sample), ensure_ascii=True) + "\n")
            n += 1
    return n


def read_samples(path: Path) -> Iterator[Sample]:
    """The samples that `write_samples` wrote. Raises ModelError with the line number for an invalid one."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _read_sample(line, f"{path}:{number}")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{path} is unreadable: {error}. Name a file of samples.") from error


def _read_sample(line: str, place: str) -> Sample:
    try:
        fields = json.loads(line)
        context, question, answer = (str(fields[name]) for name in ("context", "question", "answer"))
        clues = fields.get("clues", [])
        if not isinstance(clues, list):
            raise TypeError("clues are a list")
        return Sample(context, question, answer, tuple(map(str, clues)))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            f"{place} is not a sample ({error!r}). It needs context, question, answer and clues; correct or remove it."
        ) from error


def _pairs(
    model: MeteredModel, context: str, n_pairs: int, counts: SampleCounts, cancel: Cancel
) -> Sequence[tuple[str, str]]:
    """The question-answer pairs that pass the filter, each question once."""
    prompt = fill(PROMPTS[language_of(context)].pairs, n=str(n_pairs), text=context)
    call = Call.of("questions", prompt, PAIR_TOKENS * n_pairs)
    try:
        pairs = model.ask_json(call, _read_pairs, cancel)
    except UnparsableAnswer:
        counts.unreadable += not cancel.cancelled
        return []
    counts.pairs += len(pairs)
    good = {question: answer for question, answer in pairs if _is_good(question, answer, context)}
    counts.poor_pairs += len(pairs) - len(good)
    return list(good.items())


def _read_pairs(value: Any) -> list[tuple[str, str]]:
    """Raises ValueError if the value is not a list."""
    if not isinstance(value, list):
        raise ValueError("no list of questions")
    return [
        (str(pair["question"]).strip(), str(pair["answer"]).strip())
        for pair in value
        if isinstance(pair, dict) and {"question", "answer"} <= pair.keys()
    ]


def _is_good(question: str, answer: str, context: str) -> bool:
    """Whether a pair passes: a question of several words that neither contains its answer nor is in the text."""
    return (
        count_words(question) > 3
        and bool(answer)
        and answer.casefold() not in question.casefold()
        and question.casefold() not in context.casefold()
    )


def _clues(model: MeteredModel, context: str, question: str, answer: str, cancel: Cancel) -> tuple[str, ...]:
    """The distinct clues whose words occur in the text, without repetitions of the question or the answer."""
    template = PROMPTS[language_of(context)].bridge
    prompt = fill(template, text=context, question=question, answer=answer)
    said = model.ask(Call.of("clues", prompt, CLUE_TOKENS), cancel)
    words, known = set(terms_of(context)), {question.casefold(), answer.casefold()}
    return tuple(
        clue.text
        for clue in each_once(read_clues(said, "span"))
        if clue.text.casefold() not in known and _share(terms_of(clue.text), words) >= MIN_SHARE
    )


def _share(terms: Sequence[str], of: set[str]) -> float:
    return sum(term in of for term in terms) / max(1, len(terms))
