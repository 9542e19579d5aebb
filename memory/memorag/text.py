"""The items of MemoRAG as one text: article, segments, language, the question with its history, and storage.

Owns the stored folder (manifest.json, items.json, segments.json), its version and its validation. The memory itself is
in a subfolder, and cached vectors of the segments in a file. Knows no model and no index.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

from ...errors import ModelError
from ...llm.disk import read_text, replace_file
from ...llm.private_files import private_folder
from ..budgets import truncate
from ..prompting import fill, with_choices
from ..splitters import by_tokens
from ..values import Item, Question, Segment, content_key
from .prompts import PROMPTS, Language, language_of

HISTORY_TOKENS = 256  # length of the conversation history before a question, from its end


@dataclass(frozen=True)
class MemorizedText:
    """All items at one moment, as one text."""

    items: tuple[Item, ...]
    segments: tuple[Segment, ...]  # in document order
    language: Language

    @cached_property
    def article(self) -> str:
        """The items joined; documents with their names if there are several."""
        sources = list(dict.fromkeys(item.source for item in self.items))
        if len(sources) == 1:
            return "\n".join(item.text for item in self.items)
        parts = []
        for source, items in groupby(self.items, lambda item: item.source):
            parts += [f"[{source}]", *(item.text for item in items), ""]
        return "\n".join(parts)

    @cached_property
    def key(self) -> str:
        """Hash of the text."""
        return content_key(self.article)


def memorized_text(
    items: Sequence[Item], segment_tokens: int, count_tokens: Callable[[str], int], language: Language | str = ""
) -> MemorizedText:
    """The text with segments of whole sentences, numbered by source, without blank ones.

    Turns are split too: the memory reads all items as one text, and segments have one size.
    """
    split, segments = by_tokens(segment_tokens, count_tokens, hard=True), list[Segment]()
    n_of: dict[str, int] = {}
    for item in items:
        for segment in split(item):
            if segment.text.strip():
                number = n_of.get(item.source, 0)
                segments.append(replace(segment, number=number))
                n_of[item.source] = number + 1
    beginning = next((item.text for item in items if item.text.strip()), "")
    found: Language = "zh" if language == "zh" else "en" if language == "en" else language_of(beginning)
    return MemorizedText(tuple(items), tuple(segments), found)


def asked(question: Question, language: Language, count_tokens: Callable[[str], int]) -> str:
    """The question with its choices, after the end of the conversation history."""
    words = with_choices(question)
    if not question.history:
        return words
    said = "\n".join(f"{turn.role}: {turn.text}" for turn in question.history)
    history = truncate(said, HISTORY_TOKENS, count_tokens, "right")
    return fill(PROMPTS[language].history, history=history) + "\n\n" + words


VERSION = 1  # 1: items, segments, language, backend, model, context
MANIFEST, ITEMS, SEGMENTS = "manifest.json", "items.json", "segments.json"
VECTORS = "vectors"


def save_text(folder: Path, memorized: MemorizedText, backend: str, model: str) -> None:
    """Write everything except the memory. The manifest is written last: a folder without it is incomplete."""
    private_folder(folder)
    (folder / MANIFEST).unlink(missing_ok=True)
    _write(folder / ITEMS, [asdict(item) for item in memorized.items])
    _write(folder / SEGMENTS, [asdict(segment) for segment in memorized.segments])
    about = {"version": VERSION, "strategy": "memorag", "backend": backend, "model": model}
    _write(folder / MANIFEST, {**about, "language": memorized.language, "context": memorized.key})


def load_text(folder: Path, model: str) -> tuple[MemorizedText, str]:
    """The saved text and the name of its backend; "" for none. Raises ModelError."""
    try:
        manifest = _read(folder / MANIFEST)
        version, context, backend, made_by = (manifest[name] for name in ("version", "context", "backend", "model"))
        language: Language = "zh" if manifest["language"] == "zh" else "en"
        items = tuple(Item(**item) for item in _read(folder / ITEMS))
        segments = tuple(Segment(**segment) for segment in _read(folder / SEGMENTS))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(f"{folder} is not a complete memory ({error}). Save it again.") from error
    if version != VERSION:
        raise ModelError(
            f"{folder} is memory version {version}; this Weft reads version {VERSION}. Memorize the text again."
        )
    if backend and model and made_by != model:
        raise ModelError(
            f"{folder} is a memory of {made_by}, but the model is {model}. Use that model, or memorize the text again."
        )
    memorized = MemorizedText(items, segments, language)
    if memorized.key != context:
        raise ModelError(f"The text in {folder} changed after it was memorized. Memorize it again.")
    return memorized, str(backend)


def _read(path: Path) -> Any:
    return json.loads(read_text(path))


def _write(path: Path, value: Any) -> None:
    # Lone surrogates are written as escapes.
    replace_file(path, json.dumps(value).encode())
