"""A search index of documents that the code index excludes: notebooks and PDF pages.

Owns the index of their segments, in which each line has the number that its segment gives. Knows no question.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ...codegraph import parse_file
from ...memory import Segment
from ...retrieval import RepositoryIndex, slice_file


def index_documents(index: RepositoryIndex, segments: Sequence[Segment]) -> RepositoryIndex:
    """An index of the segments whose sources are not in `index`."""
    return _index_of(tuple(segment for segment in segments if segment.source not in index))


# Consecutive questions search the same documents.
@lru_cache(maxsize=4)
def _index_of(segments: tuple[Segment, ...]) -> RepositoryIndex:
    lines: dict[str, dict[int, str]] = {}
    for segment in segments:
        of_source = lines.setdefault(segment.source, {})
        for number, line in enumerate(segment.text.rstrip("\n").split("\n"), segment.first_line):
            # In some formats several segments share a line.
            of_source[number] = f"{of_source[number]} {line}" if number in of_source else line
    texts = {path: _text(numbered) for path, numbered in lines.items()}
    return RepositoryIndex.build((parse_file(path, text), slice_file(path, text)) for path, text in texts.items())


def _text(numbered: dict[int, str]) -> str:
    return "".join(f"{numbered.get(number, '')}\n" for number in range(max(numbered) + 1))
