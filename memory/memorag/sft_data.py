"""Training data for a memory model: questions about long texts, and the clues that lead from a question to its answer.

The papers' recipe (spec 4.3): a model writes questions and answers about a text, poor ones are dropped, the same model
writes the clues between question and answer, poor ones are dropped. Any model can be asked. Knows no trainer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...llm.protocol import Cancel, ModelError
from ..metered_model import Call, MeteredModel, UnparsableAnswer
from ..splitters import count_words
from ..templates import fill
from ..words import terms_of
from .clues import each_once, read_clues
from .prompts import PROMPTS, language_of

FEWEST_CLUES = 1
LEAST_SHARE = 0.5
"""Of a clue's terms that stand in the text: with fewer it is made up."""

PAIR_TOKENS, CLUE_TOKENS = 128, 256


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of the data: with the text, the question asks for the clues."""

    context: str
    question: str
    answer: str
    clues: tuple[str, ...]


@dataclass(slots=True)
class SampleCounts:
    """What became of what the model wrote."""

    pairs: int = 0  # that could be read
    poor_pairs: int = 0
    unreadable: int = 0  # texts whose pairs could not be read
    poor_clues: int = 0  # samples without enough clues
    samples: int = 0


def build_samples(
    model: MeteredModel,
    contexts: Iterable[str],
    n_pairs: int = 3,
    counts: SampleCounts | None = None,
    cancel: Cancel | None = None,
) -> Iterator[Sample]:
    """Samples of the texts, one after the other. Texts have to fit the model's window. Raises ModelError."""
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
            if len(clues) < FEWEST_CLUES:
                counts.poor_clues += 1
                continue
            counts.samples += 1
            yield Sample(context, question, answer, clues)


def write_samples(path: Path, samples: Iterable[Sample]) -> int:
    """Write a line of JSON for each as it comes; how many there were."""
    n = 0
    with path.open("w", encoding="utf-8") as file:
        for sample in samples:
            file.write(json.dumps(asdict(sample), ensure_ascii=True) + "\n")
            n += 1
    return n


def read_samples(path: Path) -> Iterator[Sample]:
    """The samples that `write_samples` wrote. Raises ModelError, naming the line, for what is none."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _read_sample(line, f"{path}:{number}")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{path} cannot be read: {error}. Name a file of samples.") from error


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
            f"{place} is no sample ({error!r}). It wants context, question, answer and clues; correct or remove it."
        ) from error


def _pairs(
    model: MeteredModel, context: str, n_pairs: int, counts: SampleCounts, cancel: Cancel
) -> Sequence[tuple[str, str]]:
    """Questions and answers that are worth it. Each question once."""
    prompt = fill(PROMPTS[language_of(context)].pairs, n=str(n_pairs), text=context)
    call = Call.of("questions", prompt, max_new_tokens=PAIR_TOKENS * n_pairs)
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
    """Raises ValueError when there is no list of pairs."""
    if not isinstance(value, list):
        raise ValueError("no list of questions")
    return [
        (str(pair["question"]).strip(), str(pair["answer"]).strip())
        for pair in value
        if isinstance(pair, dict) and {"question", "answer"} <= pair.keys()
    ]


def _is_good(question: str, answer: str, context: str) -> bool:
    """A question of some words, with an answer, that does not hold its answer and is not copied from the text."""
    return (
        count_words(question) > 3
        and bool(answer)
        and answer.casefold() not in question.casefold()
        and question.casefold() not in context.casefold()
    )


def _clues(model: MeteredModel, context: str, question: str, answer: str, cancel: Cancel) -> tuple[str, ...]:
    """Clues whose words stand in the text, each once; none that is only the question or the answer again."""
    template = PROMPTS[language_of(context)].bridge
    prompt = fill(template, text=context, question=question, answer=answer)
    said = model.ask(Call.of("clues", prompt, max_new_tokens=CLUE_TOKENS), cancel)
    words, known = set(terms_of(context)), {question.casefold(), answer.casefold()}
    return tuple(
        clue.text
        for clue in each_once(read_clues(said, "span"))
        if clue.text.casefold() not in known and _share(terms_of(clue.text), words) >= LEAST_SHARE
    )


def _share(terms: Sequence[str], of: set[str]) -> float:
    return sum(term in of for term in terms) / max(1, len(terms))
