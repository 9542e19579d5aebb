"""Training data of the two stages: fixed-length rows of documents, and conversations about long texts.

Stage 1 (papers' spec 4.3) concatenates documents with BOS and EOS tokens and cuts them into rows of 4,096 to 65,536
tokens. Stage 2 converts samples of `sft_data.py` into the prompts of `backends.py`, for clues and for answers, with a
loss on the last turn only. Knows no model and no dataset files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import TypeVar

import numpy as np

from .....llm.local.tokenizer import HfTokenizer
from .....llm.prompting.chat_template import ChatTokens, load_chat_template, template_in
from .....llm.protocol import Message
from ....prompting import fill
from ...prompts import PROMPTS, language_of
from ...sft_data import Sample
from .dataset import TrainingText, UnusableData

T = TypeVar("T")

SUFFIXES = (".txt", ".md", ".rst", ".jsonl")
"""File types that are read from a folder. A file that is given by name is always read."""


class ModelTokenizer:
    """Tokenizer, end token and chat template of a model directory."""

    def __init__(self, directory: Path) -> None:
        """Raises ModelMissing without a tokenizer, UnusableData without an end token."""
        self.directory = directory
        self.tokenizer = HfTokenizer.open(directory)
        template = template_in(directory)
        self._chat_tokens, self._notes = load_chat_template(tokenizer=self.tokenizer, **template)
        end = self.tokenizer.special(template["end"])
        if end is None:
            end = min(self.tokenizer.ends, default=None)
        if end is None:
            raise UnusableData(f"{directory} has no end token. Set `eos_token` in its tokenizer_config.json.")
        self.end = end

    def conversations(self) -> tuple[ChatTokens, int]:
        """The chat template, and the token that ends a turn of the model. Raises UnusableData."""
        if self._chat_tokens is None:
            why = " ".join(self._notes) or "it has no chat template"
            raise UnusableData(
                f"{self.directory} is not a chat model: {why}. Stage 2 trains a chat model; use one, or put "
                "its template into chat_template.jinja."
            )
        # The last end token of an answered conversation is the one that the template writes after answers.
        probe = self._chat_tokens((Message("user", "a"), Message("assistant", "b")))
        return self._chat_tokens, next((token for token in reversed(probe) if token in self.tokenizer.ends), self.end)


@dataclass(slots=True)
class TextCounts:
    """Counts of read, used and dropped data."""

    read: int = 0  # documents or conversations
    texts: int = 0
    tokens: int = 0
    dropped_tokens: int = 0  # stage 1: remainder at the end
    too_short: int = 0  # stage 2: fits one window, so there is no memory to train
    too_long: int = 0


def read_documents(paths: Iterable[Path]) -> Iterator[str]:
    """Texts of files and folders, in order of file names; a .jsonl file has a `text` in each line.

    Skips blank texts. Raises UnusableData for unreadable files, and if there is no text.
    """
    n = 0
    for path in paths:
        files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES) if path.is_dir() else [path]
        for file in files:
            for text in _texts_of(file):
                if text.strip():
                    n += 1
                    yield text
    if not n:
        named = ", ".join(map(str, paths))
        raise UnusableData(f"There is no text in {named}. Name files, or a folder with {' or '.join(SUFFIXES)} files.")


def rows_of_documents(
    documents: Iterable[str], words: ModelTokenizer, lengths: Sequence[int], counts: TextCounts
) -> Iterator[TrainingText]:
    """Concatenated documents, cut into rows; each length gets about the same share of the tokens.

    A document can continue in the next row. Drops a remainder shorter than the shortest row.
    """
    start = [] if words.tokenizer.start is None else [words.tokenizer.start]
    lengths = sorted(set(lengths))
    used, waiting = dict.fromkeys(lengths, 0), np.zeros(0, np.int32)

    def rows(most: Callable[[], int | None]) -> Iterator[TrainingText]:
        nonlocal waiting
        while (length := most()) is not None and len(waiting) >= length:
            tokens, waiting = waiting[:length], waiting[length:]
            used[length] += length
            counts.texts += 1
            counts.tokens += length
            yield TrainingText(tokens, np.arange(length) > 0)

    for encoded in _encoded(documents, words):
        counts.read += 1
        tokens = [*start, *encoded, words.end]
        waiting = np.concatenate([waiting, np.array(tokens, np.int32)])
        yield from rows(lambda: min(lengths, key=used.__getitem__))
    yield from rows(lambda: max((length for length in lengths if length <= len(waiting)), default=None))
    counts.dropped_tokens = len(waiting)


def texts_of_samples(
    samples: Iterable[Sample],
    words: ModelTokenizer,
    window: int,
    most_tokens: int,
    counts: TextCounts,
    questions: int = 1,
) -> Iterator[TrainingText]:
    """Two conversations of each sample: one asks for its clues, one for its answer.

    With more `questions`, up to that many samples in a row with the same text share one conversation, and each is asked
    for its clues or its answer in turn. Leaves out and counts conversations that fit one window, which train no memory,
    and those longer than `most_tokens`, because truncation could remove the clue. Raises UnusableData if the model has
    no chat template, or with more questions one that changes earlier turns.
    """
    writer = _ConversationWriter(words, questions > 1)
    with ThreadPoolExecutor(os.cpu_count()) as threads:  # the tokenizer computes without the interpreter's lock
        for some in _batches(_conversations(samples, questions), 64):
            for text in threads.map(writer.text, some):
                counts.read += 1
                if len(text.tokens) <= window:
                    counts.too_short += 1
                elif len(text.tokens) > most_tokens:
                    counts.too_long += 1
                else:
                    counts.texts += 1
                    counts.tokens += len(text.tokens)
                    yield text


@dataclass(frozen=True, slots=True)
class TextDialogue:
    """A text, then turns of a prompt and the response to learn."""

    context: str
    turns: tuple[tuple[str, str], ...]


def conversations(samples: Sequence[Sample]) -> Iterator[TextDialogue]:
    """Of samples with the same text: two of a single one, otherwise one that alternates clues and answers."""
    prompts, context = PROMPTS[language_of(samples[0].context)], samples[0].context
    turns = list[tuple[str, str]]()
    for number, sample in enumerate(samples):
        clues = (fill(prompts.spans, question=sample.question), "\n".join(sample.clues))
        answer = (fill(prompts.answer, question=sample.question), sample.answer)
        if len(samples) == 1:
            yield from (TextDialogue(context, (turn,)) for turn in (clues, answer) if turn[1])
        else:
            # Not both of one question: its answer could be read from its clues.
            turns.append(answer if number % 2 or not sample.clues else clues)
    if turns:
        yield TextDialogue(context, tuple(turns))


class _ConversationWriter:
    """The tokens of conversations, in the template of a model."""

    def __init__(self, words: ModelTokenizer, has_turns: bool) -> None:
        self._encode = words.tokenizer.encode
        self._chat_tokens, self._end = words.conversations()
        self._before = len(self._chat_tokens((_STUB[0],))) + len(self._encode(_STUB[1].text)) + 1
        if has_turns:
            self._check(words)

    def text(self, conversation: TextDialogue) -> TrainingText:
        """Thread-safe. Learns the responses alone, each with the end of its turn."""
        tokens, learnt = list[int](), list[bool]()
        for prompt, response in conversation.turns:
            asked = self._next_turn(prompt) if tokens else self._first_turn(conversation.context, prompt)
            written = [*self._encode(response), self._end]
            tokens += [*asked, *written]
            learnt += [False] * len(asked) + [True] * len(written)
        return TrainingText(np.array(tokens, np.int32), np.array(learnt, np.bool_))

    def _first_turn(self, context: str, prompt: str) -> Sequence[int]:
        prompts = PROMPTS[language_of(context)]
        read = (Message("user", fill(prompts.article, article=context)), Message("assistant", prompts.reply))
        return self._chat_tokens((*read, Message("user", prompt)))

    def _next_turn(self, prompt: str) -> Sequence[int]:
        """What the template writes between a response and the next one, without the text before them."""
        return self._chat_tokens((*_STUB, Message("user", prompt)))[self._before :]

    def _check(self, words: ModelTokenizer) -> None:
        asked, answered = self._chat_tokens((_STUB[0],)), self._chat_tokens((*_STUB, _STUB[0]))
        if [*asked, *self._encode(_STUB[1].text), self._end] != list(answered[: self._before]):
            raise UnusableData(
                f"The chat template of {words.directory} changes earlier turns, so a conversation has one question. "
                "Leave `--questions` at 1."
            )


_STUB = (Message("user", "a"), Message("assistant", "b"))


def _conversations(samples: Iterable[Sample], questions: int) -> Iterator[TextDialogue]:
    for _, of_text in groupby(samples, lambda sample: sample.context):
        for some in _batches(of_text, questions):
            yield from conversations(some)


def _batches(values: Iterable[T], n: int) -> Iterator[list[T]]:
    left = iter(values)
    while some := list(islice(left, n)):
        yield some


def _encoded(documents: Iterable[str], words: ModelTokenizer) -> Iterator[list[int]]:
    for some in _batches(documents, 256):
        yield from words.tokenizer.encode_all(some)


def _texts_of(file: Path) -> Iterator[str]:
    try:
        if file.suffix != ".jsonl":
            yield file.read_text("utf-8")
            return
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _text_of(line, f"{file}:{number}")
    except OSError as error:
        raise UnusableData(f"{file} is unreadable: {error.strerror}. Name a file or a folder with texts.") from error
    except UnicodeDecodeError as error:
        raise UnusableData(f"{file} is not UTF-8. Convert it, or leave it out.") from error


def _text_of(line: str, place: str) -> str:
    try:
        return str(json.loads(line)["text"])
    except (ValueError, KeyError, TypeError) as error:
        raise UnusableData(f'{place} is not a line like {{"text": "…"}} ({error!r}). Correct or remove it.') from error
