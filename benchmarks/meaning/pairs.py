"""Pairs of a sentence and the code that it describes: documented definitions, and the headings of documents.

Owns the choice of the files and what counts as a description. Knows no vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...codegraph import parse_file
from ...languages import language_of
from ...retrieval.descriptions import documentation_range, first_sentence
from ...retrieval.questions import is_document, is_test
from ...server.config import IndexOptions
from ...server.workspace.files import SourceText, read_source
from ..fit_trees import shuffled_files
from ..scorer.samples import MAX_FILE_BYTES

MOST_LINES_OF_TREE = 400_000
LEAST_WORDS, MOST_WORDS = 3, 50
MOST_CODE_LINES = 40


@dataclass(frozen=True, slots=True)
class Pair:
    """A description, the qualified name of the definition, its path, and its lines without the description."""

    description: str
    name: str
    path: str
    code: str


def read_pairs(tree: Path, most_lines: int = MOST_LINES_OF_TREE) -> Iterator[Pair]:
    """The pairs of random files of a tree, up to a number of lines."""
    options = IndexOptions(max_file_bytes=MAX_FILE_BYTES)
    n_lines = 0
    for each in shuffled_files(tree, options, lambda path: not is_test(path)):
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
    lines, in_body = text.split("\n"), language_of(path).docstring_in_body
    for definition in parse_file(path, text).definitions:
        found = documentation_range(lines, definition, in_body)
        if found is None:
            continue
        start, end = found
        body = range(definition.header_line, definition.end_line)
        code = [lines[number] for number in body if number < len(lines) and not start <= number < end]
        description = first_sentence(lines[start:end])
        if LEAST_WORDS <= len(description.split()) <= MOST_WORDS and len(code) > 1:
            yield Pair(description, definition.qualified_name, path, "\n".join(code[:MOST_CODE_LINES]))
