"""Models and embedders that are sent no secrets: the one border at which text is redacted.

A model behind an address, this machine's included, is wrapped when it is opened (`models/chain.py`), so that whoever
asks it — completions, read-ahead, questions, the strategies of memory — needs to know nothing of it. So is an embedder
behind an address. The setting `redact` decides. Knows no prompt format: a request is redacted before a prompt is
made of it, so that what a server counts or tokenises holds no secret either.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from ...llm import Cancel, CodeModel, CompletionRequest, ModelInfo, Piece
from ...llm.protocol import ChatRequest, Speed
from ...memory.embedding import Embedder, Vectors
from ..secrets import REDACTED, redact


def without_secrets(model: CodeModel, setting: str) -> CodeModel:
    """`model`, wrapped where the setting wants it: for `auto` when it is behind an address."""
    if setting == "always" or (setting == "auto" and is_behind_address(model.info)):
        return RedactingModel(model)
    return model


def is_behind_address(info: ModelInfo) -> bool:
    """Whether what a model is sent leaves this process."""
    return info.behind_address or not info.local


class RedactingModel:
    """A `CodeModel` over another that gets every text without its secrets, and never writes the mark of one."""

    def __init__(self, model: CodeModel) -> None:
        self._model = model

    @property
    def info(self) -> ModelInfo:
        return self._model.info

    @property
    def speed(self) -> Speed:
        return self._model.speed

    def prepare(self, cancel: Cancel) -> None:
        self._model.prepare(cancel)

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None:
        self._model.warm(_redacted(request), cancel)

    def count_tokens(self, text: str) -> int:
        # Some servers are asked to count.
        return self._model.count_tokens(redact(text))

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        yield from _up_to_mark(self._model.stream(_redacted(request), cancel))

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        messages = tuple(replace(message, text=redact(message.text)) for message in request.messages)
        yield from self._model.chat(replace(request, messages=messages), cancel)

    def close(self) -> None:
        self._model.close()


class RedactingEmbedder:
    """An `Embedder` over another that gets every text without its secrets."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def n_dimensions(self) -> int:
        return self._embedder.n_dimensions

    def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> Vectors:
        return self._embedder.embed([redact(text) for text in texts], are_queries=are_queries)


def redact_around(prefix: str, suffix: str) -> tuple[str, str]:
    """The code before and after a cursor without secrets, with the cursor where it was.

    Both are read as one text: what is a secret at the start of the suffix, a name in the prefix may say. A secret that
    the cursor stands in is taken out of both.
    """
    whole = prefix + suffix
    clean = redact(whole)
    if clean == whole:
        return prefix, suffix
    lines, clean_lines = whole.split("\n"), clean.split("\n")
    number = prefix.count("\n")
    column = len(prefix) - prefix.rfind("\n") - 1
    before, after = _split(lines[number], clean_lines[number], column)
    return "\n".join((*clean_lines[:number], before)), "\n".join((after, *clean_lines[number + 1 :]))


def _split(line: str, clean: str, column: int) -> tuple[str, str]:
    """A line without its secrets, cut where `column` was in the line with them."""
    longest = min(len(line), len(clean))
    n_before = next((n for n in range(longest) if line[n] != clean[n]), longest)
    if column <= n_before:
        return clean[:column], clean[column:]
    n_after = next((n for n in range(longest - n_before) if line[-1 - n] != clean[-1 - n]), longest - n_before)
    if len(line) - column <= n_after:
        at = len(clean) - (len(line) - column)
        return clean[:at], clean[at:]
    return line[:n_before] + REDACTED, clean[len(clean) - n_after :]


def _redacted(request: CompletionRequest) -> CompletionRequest:
    prefix, suffix = redact_around(request.prefix, request.suffix)
    fragments = tuple(replace(fragment, text=redact(fragment.text)) for fragment in request.fragments)
    return replace(request, prefix=prefix, suffix=suffix, fragments=fragments)


def _up_to_mark(pieces: Iterator[Piece]) -> Generator[Piece, None, None]:
    """The pieces before the model repeats the mark that stands for a secret: nobody wants that in their code."""
    held: list[Piece] = []
    with closing(_generator(pieces)) as stream:
        for piece in stream:
            held.append(piece)
            text = "".join(each.text for each in held)
            if (at := text.find(REDACTED)) >= 0:
                if at:
                    yield Piece(text[:at], held[0].probability)
                return
            n_open = _n_begun(text)
            if n_open == 0:
                yield from held
                held.clear()
        yield from held


def _n_begun(text: str) -> int:
    """How many characters at the end of `text` may be the beginning of the mark."""
    return next((n for n in range(min(len(text), len(REDACTED) - 1), 0, -1) if REDACTED.startswith(text[-n:])), 0)


def _generator(pieces: Iterator[Piece]) -> Generator[Piece, Any, None]:
    if isinstance(pieces, Generator):
        return pieces
    return (piece for piece in pieces)
