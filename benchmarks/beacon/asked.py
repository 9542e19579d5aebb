"""Held-out texts with planted facts, as tokens of exactly one length, and the questions about them.

Owns how a text is cut to its length, which facts lie in the compressed part, and the pieces that are searched. Knows no
weights.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

from ...errors import InvalidArgument
from ...llm.local.kv_cache import common_prefix_length
from ...llm.local.prefix_cache import common_prefix_tokens
from ...llm.protocol import Message
from ...llm.training.sources import Document
from ...memory.memorag.beacon.training.data import ModelTokenizer
from ...memory.memorag.clues import Clue, ClueKind, read_clues, search
from ...memory.memorag.prompts import ENGLISH
from ...memory.prompting import fill
from ...memory.scoring import Bm25Index
from ...memory.splitters import by_lines
from ...memory.values import Item, Segment
from .batched import AskedRow
from .planted import EVALUATION, Density, PlantedQuestion, host_texts, joined, plant

QUESTION_ROOM = 160  # tokens of a length that are left for a question and its answer
PIECE_LINES = 20  # of a text that is searched
RETRIEVED_TOKENS = 1024

_TOKENS_PER_JOINT = 2  # that lines may have more between others than alone; an upper estimate
_CHARACTERS_PER_TOKEN = 6  # an upper estimate
_FILLER = 4000  # characters of the host after the last fact, most of which are cut


class ReadingPrompts:
    """The conversation about a text, in tokens: what is read before a question, and the question."""

    def __init__(self, words: ModelTokenizer) -> None:
        self.encode = words.tokenizer.encode
        self.decode = words.tokenizer.decode
        self._chat_tokens, self.end = words.conversations()
        one, other = (self._read(text) for text in ("a", "b"))
        self._n_head = common_prefix_length(one, other)
        self._tail = tuple(reversed(one[::-1][: common_prefix_length(one[::-1], other[::-1])]))
        self._stub = one

    def whole(self, text: str) -> tuple[int, ...]:
        """The tokens before a question about this text."""
        return tuple(self._read(text))

    def cut(self, text: str, n_tokens: int) -> tuple[tuple[int, ...], str]:
        """The same in exactly this number of tokens, and the beginning of the text that it contains."""
        tokens = self._read(text)
        n_kept = n_tokens - len(self._tail)
        if len(tokens) < n_tokens or n_kept <= self._n_head:
            raise InvalidArgument(f"A text of {len(tokens)} tokens cannot be cut to {n_tokens}. Take a longer one.")
        return (*tokens[:n_kept], *self._tail), self.decode(tokens[self._n_head : n_kept])

    def positions(self, text: str, offsets: Sequence[int]) -> dict[int, int]:
        """The positions in the conversation of characters that begin a line of the text, by their offsets."""
        found, position, start = dict[int, int](), self._n_head, 0
        for offset in sorted(set(offsets)):
            position += len(self.encode(text[start:offset]))
            found[offset], start = position, offset
        return found

    def question(self, template: str, question: str, lead: str = "") -> tuple[int, ...]:
        """The tokens after the text: the question, and the beginning of the response."""
        asked = self._chat_tokens((*self._messages("a"), Message("user", fill(template, question=question))))
        return (*asked[len(self._stub) :], *self.encode(lead))

    def _read(self, text: str) -> Sequence[int]:
        return common_prefix_tokens(self._chat_tokens, self._messages(text))

    def _messages(self, text: str) -> tuple[Message, Message]:
        return Message("user", fill(ENGLISH.article, article=text)), Message("assistant", ENGLISH.reply)


@dataclass(frozen=True)
class AskedText:
    """One text that is read, and its questions."""

    text: str
    tokens: tuple[int, ...]  # all that is read before a question
    questions: tuple[PlantedQuestion, ...]
    positions: tuple[int, ...]  # of the line that states the value, in tokens
    found: tuple[str, ...] = ()  # what BM25 retrieves by each question alone

    @cached_property
    def pieces(self) -> Sequence[Segment]:
        """Of `PIECE_LINES` lines each, without overlap."""
        return by_lines(PIECE_LINES, PIECE_LINES, "plain")(Item("text", self.text))

    @cached_property
    def index(self) -> Bm25Index:
        return Bm25Index(self.pieces)

    def retrieved(self, question: str, clues: Sequence[str], prompts: ReadingPrompts) -> str:
        """The best pieces that fit `RETRIEVED_TOKENS`, in the order of the text.

        Found by the question and each line of the clues, merged as MemoRAG does. Without clues the question alone.
        """
        chosen, n_left = list[Segment](), RETRIEVED_TOKENS
        for piece in ranked_pieces(self, [("question", question), *(("span", clue) for clue in clues)]):
            n_left -= len(prompts.encode(piece.text))
            if n_left < 0:
                break
            chosen.append(piece)
        return "\n".join(piece.text for piece in sorted(chosen, key=lambda piece: piece.number))


def ranked_pieces(text: AskedText, queries: Sequence[tuple[ClueKind, str]]) -> list[Segment]:
    """The pieces that BM25 finds, best first; of a clue only what MemoRAG takes for one."""
    clues = [clue for kind, query in queries for clue in _clues(kind, query)]
    found = sorted(search(text.index, clues, len(text.pieces)), key=lambda evidence: -evidence.score)
    return [evidence.segment for evidence in found]


def asked_texts(
    documents: Sequence[Document], prompts: ReadingPrompts, length: int, n_texts: int, density: Density, seed: int
) -> list[AskedText]:
    """Texts of `length - QUESTION_ROOM` tokens each, with the conversation around them. Deterministic."""

    def asked_text(number: int) -> AskedText:
        own_seed = f"beacon asked {length} {number} {seed}"
        host = next(host_texts(documents, Random(own_seed)))
        text = _asked_text(own_seed, host, prompts, length - QUESTION_ROOM, density)
        return replace(text, found=tuple(text.retrieved(asked.question, (), prompts) for asked in text.questions))

    with ThreadPoolExecutor(os.cpu_count()) as threads:  # the tokenizer computes without the interpreter's lock
        return list(threads.map(asked_text, range(n_texts)))


def write_asked(path: Path, texts: Sequence[AskedText]) -> None:
    """One JSON line for each text."""
    lines = (json.dumps(asdict(text)) for text in texts)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_asked(path: Path) -> list[AskedText]:
    """What `write_asked` wrote."""
    return [_read_asked(json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def answer_rows(texts: Sequence[AskedText], prompts: ReadingPrompts) -> list[AskedRow]:
    """Every question, with the beginning of its answer; the value is checked."""
    return [
        AskedRow(row, prompts.question(ENGLISH.answer, asked.question, asked.lead), value_tokens(asked, prompts))
        for row, text in enumerate(texts)
        for asked in text.questions
    ]


def clue_rows(texts: Sequence[AskedText], prompts: ReadingPrompts) -> list[AskedRow]:
    """Every question, for its clues."""
    return [
        AskedRow(row, prompts.question(ENGLISH.spans, asked.question), ())
        for row, text in enumerate(texts)
        for asked in text.questions
    ]


def retrieved_rows(
    texts: Sequence[AskedText], prompts: ReadingPrompts, clues: Sequence[Sequence[str]] | None
) -> list[AskedRow]:
    """Every question after the pieces that are retrieved for it, as rows without a text before them."""
    rows, number = list[AskedRow](), 0
    for text in texts:
        for place, asked in enumerate(text.questions):
            pieces = text.retrieved(asked.question, clues[number], prompts) if clues else text.found[place]
            prompt = (*prompts.whole(pieces), *prompts.question(ENGLISH.answer, asked.question, asked.lead))
            rows.append(AskedRow(number, prompt, value_tokens(asked, prompts)))
            number += 1
    return rows


def value_tokens(asked: PlantedQuestion, prompts: ReadingPrompts) -> tuple[int, ...]:
    return tuple(prompts.encode(f"{asked.lead} {asked.value}")[len(prompts.encode(asked.lead)) :])


def _clues(kind: ClueKind, query: str) -> list[Clue]:
    return [Clue(kind, query)] if kind == "question" else read_clues(query, kind)


def _asked_text(
    seed: str, host: Sequence[Document], prompts: ReadingPrompts, n_tokens: int, density: Density
) -> AskedText:
    facts = plant(Random(seed), "", EVALUATION, density)  # the same sentences as below
    n_around = len(prompts.whole("")) + len(prompts.encode(facts.text))
    n_host = n_tokens - n_around - _TOKENS_PER_JOINT * facts.text.count("\n")
    if n_host < 1:
        raise InvalidArgument(f"{n_tokens} tokens have no room for facts of {n_around}. Ask for fewer.")
    whole = joined(host, n_tokens * _CHARACTERS_PER_TOKEN + _FILLER)
    first = prompts.decode(prompts.encode(whole)[:n_host]).rpartition("\n")[0] + "\n"
    planted = plant(Random(seed), first, EVALUATION, density)
    tokens, text = prompts.cut(planted.text + whole[len(first) :], n_tokens)
    stated = [text.index(f"# {asked.clues[-1]}\n") for asked in planted.questions]
    positions = prompts.positions(text, stated)
    return AskedText(text, tokens, planted.questions, tuple(positions[offset] for offset in stated))


def _read_asked(fields: Mapping[str, Any]) -> AskedText:
    questions = [PlantedQuestion(**asked | {"clues": tuple(asked["clues"])}) for asked in fields["questions"]]
    return AskedText(
        fields["text"],
        tuple(fields["tokens"]),
        tuple(questions),
        tuple(fields["positions"]),
        tuple(fields["found"]),
    )
