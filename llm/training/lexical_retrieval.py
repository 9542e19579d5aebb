"""Lexical retrieval of fragments for training samples, by shared rare words; oracle fragments.

Owns a simple retrieval for training samples only, and fragments that contain the middle. Another retrieval, such as
Weft's own, can replace it by name, so that this room does not import it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from importlib import import_module
from random import Random

from ..protocol import PromptFragment
from .sources import Document
from .spans import Span

# From a document and its text before the cursor.
Retrieve = Callable[[Document, str], Sequence[PromptFragment]]

FRAGMENT_LINES = 20
STEP_LINES = 10
QUERY_LINES = 20
MAX_FRAGMENTS = 6
MAX_ORACLE_LINES = 4  # before and after the span: longer ones don't fit into prompts of 256 tokens
_MAX_WINDOWS_OF_WORD = 40  # more frequent words are ignored: little information, long lists
_NAME = re.compile(r"[A-Za-z_]\w{2,}")


LEXICAL = f"{__name__}:LexicalRetriever"


def retrieval_named(name: str) -> Callable[[Sequence[Document]], Retrieve]:
    """The factory `MODULE:NAME`, from documents to a `Retrieve`. Raises ValueError when it can't be imported."""
    module, _, attribute = name.partition(":")
    try:
        found: Callable[[Sequence[Document]], Retrieve] = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"{name} can't be imported ({error}). Write MODULE:NAME, as in {LEXICAL}.") from error
    return found


class LexicalRetriever:
    """A `Retrieve` within the document's package. A package is indexed on its first use."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents: dict[str, list[Document]] = defaultdict(list)
        for document in documents:
            self._documents[document.package].append(document)
        self._indexes: dict[str, _PackageIndex] = {}

    def __call__(self, document: Document, before: str) -> Sequence[PromptFragment]:
        if document.package not in self._indexes:
            self._indexes[document.package] = _PackageIndex(self._documents[document.package])
        return self._indexes[document.package].best(document.path, before)


def oracle_fragment(document: Document, span: Span, other_path: str, random: Random) -> PromptFragment:
    """A fragment of `other_path` with the middle and the lines around it; half of them with a renamed identifier.

    Real prompts have no such fragments. They teach a model to copy from fragments early in training.
    """
    first = document.text.count("\n", 0, span.start)
    last = document.text.count("\n", 0, span.end)
    start = max(0, first - random.randint(1, MAX_ORACLE_LINES))
    lines = document.text.split("\n")
    text = "\n".join(lines[start : last + 1 + random.randint(1, MAX_ORACLE_LINES)])
    names = sorted(set(_NAME.findall(text)))
    if len(names) > 1 and random.random() < 0.5:
        old, new = random.sample(names, 2)
        text = re.sub(rf"\b{old}\b", new, text)
    return PromptFragment((other_path,), text, start, 1.0)


class _PackageIndex:
    def __init__(self, documents: Sequence[Document]) -> None:
        self._windows: list[PromptFragment] = []
        self._windows_of: dict[str, list[int]] = defaultdict(list)
        for document in documents:
            lines = document.text.split("\n")
            for start in range(0, max(1, len(lines) - STEP_LINES), STEP_LINES):
                text = "\n".join(lines[start : start + FRAGMENT_LINES])
                for word in set(_NAME.findall(text)):
                    self._windows_of[word].append(len(self._windows))
                self._windows.append(PromptFragment((document.path,), text, start, 0.0))

    def best(self, path: str, before: str) -> list[PromptFragment]:
        scores: Counter[int] = Counter()
        for word in set(_NAME.findall("\n".join(before.split("\n")[-QUERY_LINES:]))):
            numbers = self._windows_of.get(word, [])
            if len(numbers) <= _MAX_WINDOWS_OF_WORD:
                scores.update(numbers)
        ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
        found: list[PromptFragment] = []
        taken: set[tuple[str, int]] = set()
        for number, _ in ranked:
            window = self._windows[number]
            place = (window.paths[0], window.start_line)
            overlaps = {(place[0], place[1] - STEP_LINES), (place[0], place[1] + STEP_LINES)}
            if place[0] != path and taken.isdisjoint(overlaps):
                taken.add(place)
                found.append(window)
            if len(found) == MAX_FRAGMENTS:
                break
        return found
