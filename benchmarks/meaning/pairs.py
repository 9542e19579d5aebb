"""Pairs of a sentence and the code that it describes: documented definitions, and the headings of documents.

Owns the choice of the files and what counts as a description. Knows no vectors.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...codegraph import Definition, parse_file
from ...languages import language_of
from ...retrieval.questions import is_document, is_test
from ...server.config import IndexOptions
from ...server.workspace.files import Membership, SourceText, read_source
from ..scorer.samples import MAX_FILE_BYTES, VENDORED

MOST_LINES_OF_TREE = 60_000
LEAST_WORDS, MOST_WORDS = 3, 50
MOST_CODE_LINES = 40
SEED = 0

_COMMENT = re.compile(r"^\s*(?:///?!?|/\*\*?|\*/?|#+!?(?!\[)|--|\"\"\"|''')\s?(.*?)(?:\*/|\"\"\"|''')?\s*$")
_QUOTES = ('"""', "'''")
_END_OF_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z@<`])")
_MARKUP = re.compile(r"<[^>\n]{1,40}>|\{@\w+\s+([^}]*)\}|:\w+:`([^`]*)`|https?://\S+")
_TAG = re.compile(r"^\s*(?:@\w|:param|:return|Args:|Parameters|Returns:|Example|-{3,}|={3,}|TODO|FIXME|noqa|eslint)")


@dataclass(frozen=True, slots=True)
class Pair:
    """A description, the definition's name with the names around it, its path, and its lines without the description."""

    description: str
    name: str
    path: str
    code: str


def read_pairs(tree: Path, most_lines: int = MOST_LINES_OF_TREE) -> Iterator[Pair]:
    """The pairs of random files of a tree, up to a number of lines."""
    options = IndexOptions(max_file_bytes=MAX_FILE_BYTES)
    found = [
        each
        for each in Membership(tree, options).walk()
        if each.size <= MAX_FILE_BYTES and VENDORED.isdisjoint(each.path.split("/")[:-1]) and not is_test(each.path)
    ]
    found.sort(key=lambda each: each.path)
    random.Random(f"{SEED}:{tree.name}").shuffle(found)
    n_lines = 0
    for each in found:
        if n_lines >= most_lines:
            return
        language = language_of(each.path)
        if is_document(each.path) or not language.readers:
            continue
        source = read_source(tree, each, options)
        if isinstance(source, SourceText):
            text = source.text.replace("\r\n", "\n")
            n_lines += text.count("\n")
            yield from pairs_of(each.path, text)


def pairs_of(path: str, text: str) -> Iterator[Pair]:
    """The documented definitions of one file."""
    lines = text.split("\n")
    for definition in parse_file(path, text).definitions:
        found = _documented(lines, definition)
        if found is not None:
            description, code = found
            yield Pair(description, definition.qualified_name, path, "\n".join(code[:MOST_CODE_LINES]))


def _documented(lines: Sequence[str], definition: Definition) -> tuple[str, list[str]] | None:
    body = list(lines[definition.header_line : definition.end_line])
    first = next((n for n, line in enumerate(body[1:9], 1) if line.lstrip().startswith(_QUOTES)), 0)
    if first and all(
        not line.strip() or line.rstrip()[-1] in "(,:)[{" or n == 0 for n, line in enumerate(body[:first])
    ):
        quote = body[first].lstrip()[:3]
        is_short = body[first].count(quote) > 1
        last = first if is_short else next((n for n in range(first + 1, len(body)) if quote in body[n]), first)
        written, code = body[first : last + 1], [*body[:first], *body[last + 1 :]]
    else:
        start = definition.start_line
        while start and _COMMENT.match(lines[start - 1]) and lines[start - 1].strip():
            start -= 1
        written, code = list(lines[start : definition.start_line]), body
    description = _first_sentence(written)
    n_words = len(description.split())
    return (description, code) if LEAST_WORDS <= n_words <= MOST_WORDS and len(code) > 1 else None


def _first_sentence(written: Sequence[str]) -> str:
    said: list[str] = []
    for line in written:
        match = _COMMENT.match(line)
        words = (match[1] if match else line).strip()
        if _TAG.match(words) or (said and not words):
            break
        if words:
            said.append(words)
    text = _MARKUP.sub(lambda match: match[1] or match[2] or " ", " ".join(said))
    return _END_OF_SENTENCE.split(text.strip(), maxsplit=1)[0]
