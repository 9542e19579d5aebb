"""An extractive mock model: it answers with a sentence of the prompt, in the JSON form that the prompt asks for.

It needs no network. It shows what a strategy costs in calls and tokens where every answer can be read, and nothing
about quality. Texts of a form become the sentence that shares most words with the question, names become capitalised
words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ...errors import ModelError
from ...llm.protocol import Cancel, ChatRequest, CompletionRequest, ModelInfo, Piece, Speed

NAME = "extractive-mock"

_NAMES = ("name", "first", "second", "entities", "aliases")
_FORM = re.compile(r"\{\s*\"[^\n]*\}")
_QUESTION = re.compile(r"^(?:The )?question:\s*(.+)$", re.IGNORECASE | re.MULTILINE)
_ASKED = re.compile(r"^.+\?$", re.MULTILINE)  # of a prompt that does not name its question
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]")


class ExtractiveMock:
    """A CodeModel for chats only. Not local, so that the calls of a stage run in parallel."""

    def __init__(self, context_tokens: int = 4096) -> None:
        self.info = ModelInfo(NAME, "scripted", context_tokens, False, False, local=False, chats=True)
        self.speed = Speed()

    def prepare(self, cancel: Cancel) -> None:
        pass

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None:
        pass

    def count_tokens(self, text: str) -> int:
        # Rounded up, so that a text has no more tokens than its parts together.
        return max(-(-len(text.encode("utf-8", "surrogatepass")) // 4), len(text.split()))

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        raise ModelError(f"{NAME} only chats. Choose another model for completions.")

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        prompt = "\n".join(message.text for message in request.messages if message.role != "assistant")
        sentence, names = _best_sentence(prompt), list(dict.fromkeys(re.findall(r"\b[A-Z][a-z]{2,}\b", prompt)))[-3:]
        form = _form(prompt)
        yield Piece(sentence if form is None else json.dumps(_filled(form, sentence, names), ensure_ascii=False))

    def close(self) -> None:
        pass


def _form(prompt: str) -> Any:
    """The last object in JSON on a line of the prompt; None where there is none."""
    for found in reversed(_FORM.findall(prompt)):
        try:
            return json.loads(found)
        except ValueError:
            continue
    return None


def _filled(form: Any, sentence: str, names: list[str], key: str = "") -> Any:
    if isinstance(form, dict):
        return {name: _filled(value, sentence, names, name) for name, value in form.items()}
    if isinstance(form, list):
        if key.lower() in _NAMES:
            return names
        return [_filled(value, sentence, names, key) for value in form]
    if isinstance(form, str) and key.lower() in _NAMES:
        return names[{"second": 1}.get(key, 0) % len(names)] if names else form
    # A word alone is a choice that the form shows; dots and whole sentences are to be filled.
    return sentence if isinstance(form, str) and (" " in form or not form.strip(".")) else form


def _best_sentence(prompt: str) -> str:
    asked = _QUESTION.findall(prompt) or _ASKED.findall(prompt)
    words = set(re.findall(r"\w+", asked[-1].lower())) if asked else set()
    sentences = [each.strip() for each in _SENTENCE.findall(prompt) if each.strip() not in asked]
    return max(sentences, key=lambda each: len(words & set(re.findall(r"\w+", each.lower()))), default="Nothing.")
