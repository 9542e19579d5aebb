"""Redaction of secrets in everything that is sent to models and embedding models.

The only place where text is redacted. `models/chain.py` wraps a model behind an address, also on this machine, when it
opens it, so all its callers (completions, warm-up, questions, memory strategies) are covered. Embedding models at a
server are wrapped in the same way. The setting `redact` decides. Knows no prompt format: a request is redacted before
its prompt is built, so that texts which a server only counts or tokenises hold no secret either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...llm import Cancel, CodeModel, CompletionRequest, ModelInfo, Piece
from ...llm.protocol import ChatRequest, ModelWrapper
from ...llm.streaming import closed_at_end, overlap
from ...memory.embedding import EmbedderWrapper, Vectors
from ..secrets import REDACTED, redact


def without_secrets(model: CodeModel, setting: str) -> CodeModel:
    """`model`, wrapped if the setting requires it: with `auto`, if it is behind an address."""
    if setting == "always" or (setting == "auto" and is_behind_address(model.info)):
        return RedactingModel(model)
    return model


def is_behind_address(info: ModelInfo) -> bool:
    """Whether requests to the model leave this process."""
    return info.behind_address or not info.local


class RedactingModel(ModelWrapper):
    """A `CodeModel` that redacts every request to another one, and stops its output before a `REDACTED` marker."""

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None:
        self._model.warm(_redacted(request), cancel)

    def count_tokens(self, text: str) -> int:
        # Some models count tokens at their server.
        return self._model.count_tokens(redact(text))

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        yield from _up_to_marker(self._model.stream(_redacted(request), cancel))

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        messages = tuple(replace(message, text=redact(message.text)) for message in request.messages)
        yield from self._model.chat(replace(request, messages=messages), cancel)


class RedactingEmbedder(EmbedderWrapper):
    """An `Embedder` that redacts every text for another one."""

    def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> Vectors:
        return super().embed([redact(text) for text in texts], are_queries=are_queries)


def redact_around(prefix: str, suffix: str) -> tuple[str, str]:
    """The code before and after a cursor without secrets, with the cursor at the same place.

    Both are redacted as one text: a name in the prefix may mark a value in the suffix as a secret. A secret that
    contains the cursor is removed from both.
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
    """The redacted line, split where `column` is in the original line."""
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
    prompt = tuple(part if part.special else replace(part, text=redact(part.text)) for part in request.prompt)
    return replace(request, prefix=prefix, suffix=suffix, fragments=fragments, prompt=prompt)


def _up_to_marker(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """The pieces before the model repeats the `REDACTED` marker, which must not get into the code."""
    held: list[Piece] = []
    with closed_at_end(pieces) as stream:
        for piece in stream:
            held.append(piece)
            text = "".join(each.text for each in held)
            if (at := text.find(REDACTED)) >= 0:
                if at:
                    yield Piece(text[:at], held[0].probability)
                return
            if not overlap(text, REDACTED):
                yield from held
                held.clear()
        yield from held
