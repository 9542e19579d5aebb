"""Incremental parsing with tree-sitter: a text gives a `FileGraph`, and an edit of an open buffer a new syntax tree.

Owns line breaks, the choice of the grammar, and incremental parses. Knows one text at a time and no disk.

Lines end at "\\n", "\\r\\n" or a lone "\\r", and at nothing else; a line break at the very end starts no new line.
Every text gives a graph: a part that the grammar cannot parse becomes an ERROR node and a line in `problems`.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, lru_cache

import numpy as np
from tree_sitter import Node, Parser, Point, Tree

from ..languages import LANGUAGES, Language, grammar, language_of
from ..languages.syntax import NodeReader
from .file_graph import FileGraph
from .modules import read_manifest
from .time_limit import CpuTimeLimit, TimeLimitExceeded, TooRiskyToParse
from .walk import Walk, readers_by_kind

SLICE_BYTES = 16384

REQUEST_LIMIT_S = 1.0
"""CPU time for the graph of a text within a request. 1 MB of Python takes half of it."""

SMALL_SAMPLE_BYTES, SAMPLE_BYTES = 2048, 8192
SLOW_SMALL_SAMPLE_S, SLOW_SAMPLE_S = 0.06, 0.04
"""CPU time above which a sample shows a text with superlinear parsing. The larger sample is more sensitive; the smaller
one limits its own cost. In 71 MB of packages and system headers the samples took at most 4.5 and 14 ms; of known
superlinear texts the worst take 180 ms for the small sample, and all others at least 83 ms for the large one.
"""

SAMPLE_ATTEMPTS = 2

MAX_CHECKED_TEXTS = 16

RETRY_SLOW_AFTER_S = 60.0
"""A file whose graph took too long has no syntax for this time, or until half of it is deleted. Otherwise every key
would cost the limit."""


def parse_file(path: str, text: str, language: Language | None = None, n_harmless: int = 0) -> FileGraph:
    """The graph of one file. Never raises, whatever the text: one that takes too long has a graph without syntax.

    `language` None: the language of the path. The first `n_harmless` bytes are known to parse in time.
    """
    language = language or language_of(path)
    if _is_known_slow(path, text):
        return _graph_without_syntax(path, language, _encode(text), (TOO_SLOW,))
    limit = CpuTimeLimit(REQUEST_LIMIT_S, samples=False)
    source = _source(language, text)
    try:
        _check_samples(language, _unchecked_part(path, source, n_harmless))
        _note_checked(path, source)
        return SyntaxTree.parse(path, text, limit, language=language).file_graph(limit)
    except TimeLimitExceeded:
        _note_slow(path, text)
        return _graph_without_syntax(path, language, _encode(text), (TOO_SLOW,))


class SyntaxTree:
    """The syntax tree of an open buffer. Immutable: an edit gives a new one and leaves this one usable."""

    __slots__ = ("_source", "_tree", "language", "path", "text")

    def __init__(self, path: str, text: str, language: Language, source: bytes, tree: Tree | None) -> None:
        self.path = path
        self.text = text
        self.language = language
        self._source = source
        self._tree = tree

    @classmethod
    def parse(
        cls, path: str, text: str, limit: CpuTimeLimit | None = None, *, language: Language | None = None
    ) -> SyntaxTree:
        """Parse from scratch. `language` None: the language of the path. Raises TimeLimitExceeded."""
        language = language or language_of(path)
        source = _source(language, text)
        if limit is not None and limit.samples:
            _check_samples(language, source)
        return cls(path, text, language, source, None if language.grammar is None else _parse(language, source, limit))

    def edited(
        self, new_text: str, limit: CpuTimeLimit | None = None, changed: tuple[int, int, int] | None = None
    ) -> SyntaxTree:
        """The tree of the same file with another text, equal to a parse from scratch.

        `changed` is the range that differs: the offset of its first character, and of its end in the old and in the
        new text. None compares the texts. Unchanged parts are not parsed again, unless there are errors: the error
        recovery of an incremental parse sometimes differs (in 1 of 1,000 edits that break a file). Raises
        TimeLimitExceeded.
        """
        if self.has_errors:  # an edit rarely mends all of them, and otherwise an incremental parse is in vain
            new = _source(self.language, new_text)
            self._checked_range(new_text, new, limit, changed)
            return SyntaxTree(self.path, new_text, self.language, new, _parse(self.language, new, limit))
        tree = self.reparsed(new_text, limit, changed)
        if tree._tree is not None and tree._tree.root_node.has_error:
            from_scratch = _parse(self.language, tree._source, limit)
            return SyntaxTree(self.path, new_text, self.language, tree._source, from_scratch)
        return tree

    def file_graph(self, limit: CpuTimeLimit | None = None) -> FileGraph:
        """The facts of the file. Raises TimeLimitExceeded."""
        source = self._source
        if self._tree is None:
            manifest, problems = read_manifest(self.path, self.text)
            return _graph_without_syntax(self.path, self.language, source, problems, manifest)
        walk = Walk(source, _readers(self.language.name), limit)
        nodes = walk.run(self._tree.root_node)
        return FileGraph(
            self.path,
            self.language.name,
            _count_lines(source),
            len(source if self.language.source_filter is None else _encode(self.text)),
            nodes,
            definitions=walk.definitions,
            calls=walk.calls,
            imports=walk.imports,
            bindings=walk.bindings,
            problems=walk.problems,
            package=walk.package,
        )

    def walked(self, node: Node) -> Walk:
        """The facts of a node of the tree alone."""
        walk = Walk(self._source, _readers(self.language.name))
        walk.run(node)
        return walk

    @property
    def has_errors(self) -> bool:
        """Whether the grammar could not read all of it; False without a grammar."""
        return self._tree is not None and self._tree.root_node.has_error

    @property
    def root(self) -> Node:
        """The root of the syntax tree. Raises ValueError without a grammar."""
        if self._tree is None:
            raise ValueError(f"no grammar reads {self.path}")
        return self._tree.root_node

    @property
    def source(self) -> bytes:
        """What the grammar reads: the text in UTF-8, blank where the grammar reads nothing."""
        return self._source

    def kinds_at(self, offset: int) -> tuple[str, ...]:
        """The kinds of the nodes that contain the character at an offset, innermost first; empty without a grammar."""
        if self._tree is None:
            return ()
        at = len(_encode(self.text[:offset]))
        # From the root down: `Node.parent` searches from the root, which takes seconds in deeply nested code.
        cursor = self._tree.walk()
        kinds = [self._tree.root_node.type]
        while cursor.goto_first_child_for_byte(at) is not None and (node := cursor.node) and node.start_byte <= at:
            kinds.append(node.type)
        return tuple(reversed(kinds))

    def reparsed(
        self,
        new_text: str,
        limit: CpuTimeLimit | None = None,
        changed: tuple[int, int, int] | None = None,
        source: bytes | None = None,
    ) -> SyntaxTree:
        """The tree of another text, by an incremental parse with the differing part as the only edit.

        Like `edited`, but the recovery of errors may differ from that of a parse from scratch. `source` is what the
        grammar reads of the text, if that is known.
        """
        old, new = self._source, source if source is not None else _source(self.language, new_text)
        if self._tree is None:
            return SyntaxTree(self.path, new_text, self.language, new, None)
        start, old_end, new_end = self._checked_range(new_text, new, limit, changed)
        edited = self._tree.copy()
        edited.edit(
            start_byte=start,
            old_end_byte=old_end,
            new_end_byte=new_end,
            start_point=_point(old, start),
            old_end_point=_point(old, old_end),
            new_end_point=_point(new, new_end),
        )
        return SyntaxTree(self.path, new_text, self.language, new, _parse(self.language, new, limit, edited))

    def _checked_range(
        self, new_text: str, new: bytes, limit: CpuTimeLimit | None, changed: tuple[int, int, int] | None
    ) -> tuple[int, int, int]:
        """The first byte that differs, and its ends in the old and the new source, whose samples were parsed there.

        Raises TooRiskyToParse.
        """
        if changed is None or self.language.is_blanked:  # a tag or a macro changes what is code after it
            start, old_end, new_end = _differing_range(self._source, new)
        else:
            start, old_end, new_end = _byte_range(self.text, self._source, new_text, new, changed)
        if limit is not None and limit.samples:
            beside = SMALL_SAMPLE_BYTES // 2  # one sample for a key; more of a text from its middle is read with errors
            _check_samples(self.language, new[max(0, start - beside) : new_end + beside])
        return start, old_end, new_end


def tree_with(
    path: str,
    prefix: str,
    text: str,
    suffix: str,
    language: Language,
    limit: CpuTimeLimit,
    harmless: bytes | None = None,
) -> SyntaxTree:
    """The syntax tree of a file with a text between `prefix` and `suffix`.

    For several texts at one cursor: of the file's last tree by this function unchanged parts are not parsed again, and
    lines above and below are not filtered again. The recovery of errors may differ from that of a parse from scratch.
    `harmless` is a version of the file, with "\\n" line breaks, that is known to parse in time. Raises
    TimeLimitExceeded; after one that took REQUEST_LIMIT_S the file is not tried again for some time.
    """
    whole, started_s = f"{prefix}{text}{suffix}", time.thread_time()
    if _is_known_slow(path, whole):
        raise TimeLimitExceeded(TOO_SLOW)
    try:
        return _tree_with(path, prefix, text, suffix, whole, language, limit, harmless)
    except TimeLimitExceeded:
        if time.thread_time() - started_s > REQUEST_LIMIT_S:  # within one step, which cannot be interrupted
            _note_slow(path, whole)
        raise


def prepare_tree(tree: SyntaxTree) -> None:
    """Keep the tree of an open file for the first `tree_with`."""
    if tree.path not in _LAST_TREES:
        _keep_tree(tree.path, tree)


def forget_tree(path: str) -> None:
    """Drop the last tree of a file that is closed: it takes some twenty times the memory of its text."""
    with _CHECKED_LOCK:
        _LAST_TREES.pop(path, None)


def _keep_tree(path: str, tree: SyntaxTree) -> None:
    with _CHECKED_LOCK:
        _LAST_TREES[path] = tree
        if len(_LAST_TREES) > MAX_CHECKED_TEXTS:
            del _LAST_TREES[next(iter(_LAST_TREES))]


def _tree_with(
    path: str,
    prefix: str,
    text: str,
    suffix: str,
    whole: str,
    language: Language,
    limit: CpuTimeLimit,
    harmless: bytes | None,
) -> SyntaxTree:
    last = _LAST_TREES.get(path)
    if last is not None and last.language is not language:
        last = None
    if last is not None and last.text == whole:
        return last
    start = prefix.rfind("\n") + 1
    if language.source_filter is None or not start:
        source = _source(language, whole)
    else:
        above, below = _filtered(language, prefix[:start], suffix)
        source = b"".join((above, _source(language, f"{prefix[start:]}{text}"), below))
    if last is not None:
        harmless = last.source
    elif harmless is not None:
        harmless = language.readable(harmless)
        harmless = harmless.replace(b"\n", b"\r\n") if b"\r\n" in source else harmless
    _check_samples(language, _unchecked_part(path, source, harmless=harmless))
    _note_checked(path, source)
    if last is None:
        tree = SyntaxTree(path, whole, language, source, _parse(language, source, limit))
    else:
        tree = last.reparsed(whole, limit, source=source)
    _keep_tree(path, tree)
    return tree


def is_blanked(language: Language, prefix: str, suffix: str) -> bool:
    """Whether the grammar does not read the code above a cursor, as in a branch that the preprocessor leaves out."""
    start = prefix.rfind("\n") + 1
    line = prefix[:start].rstrip()
    line = line[line.rfind("\n") + 1 :].strip()
    if not line or line.startswith(("#", "//", "/*", "*")):
        return False
    above, _ = _filtered(language, prefix[:start], suffix)
    end = len(_encode(prefix[:start].rstrip()))
    return not above[end - len(_encode(line)) : end].strip()


@lru_cache(maxsize=4)
def _filtered(language: Language, above: str, below: str) -> tuple[bytes, bytes]:
    """What the grammar reads of two parts of a file."""
    source, n_above = _source(language, above + below), len(_encode(above))
    return source[:n_above], source[n_above:]


TOO_SLOW = "the grammar took too long and was stopped"

_CHECKED_LOCK = threading.Lock()
_LAST_TREES: dict[str, SyntaxTree] = {}
"""By path, the last tree of `tree_with`."""

_CHECKED: dict[str, bytes] = {}
"""By path, the last source that `parse_file` found harmless: of the next one only what changed is sampled."""

_SLOW: dict[str, tuple[float, int]] = {}
"""By path: until when on the monotonic clock, and how long the text was. One entry for each file whose graph ever took
too long, which are few."""


def _graph_without_syntax(
    path: str, language: Language, source: bytes, problems: tuple[str, ...] = (), manifest: str = ""
) -> FileGraph:
    """One node that is the whole text."""
    n_lines = _count_lines(source)
    nodes = np.array([[-1], [0], [n_lines], [len(source)], [0]], np.int32)
    return FileGraph(path, language.name, n_lines, len(source), nodes, problems=problems, manifest=manifest)


def _count_lines(source: bytes) -> int:
    return source.count(b"\n") + (1 if source and not source.endswith(b"\n") else 0)


def _encode(text: str) -> bytes:
    # A lone surrogate has no UTF-8. Grammars end a row at "\n", not at a lone "\r"; both are one byte.
    source = text.encode("utf-8", "replace")
    return re.sub(rb"\r(?!\n)", b"\n", source) if b"\r" in source else source


def _source(language: Language, text: str) -> bytes:
    return language.readable(_encode(text))


def _parse(language: Language, source: bytes, limit: CpuTimeLimit | None = None, old_tree: Tree | None = None) -> Tree:
    # A parse of all bytes at once holds the interpreter lock until its end, 50 ms for 20,000 lines. Reading slices
    # lets other threads run, at no measurable cost.
    def read(at: int, point: Point) -> bytes:
        return source[at : at + SLICE_BYTES]

    def check(offset: int, has_error: bool) -> bool:
        if limit is not None:
            limit.check()
        return False

    parser = Parser(grammar(language.name))
    if old_tree is None:
        return parser.parse(read, progress_callback=check)
    return parser.parse(read, old_tree, progress_callback=check)


def _check_samples(language: Language, source: bytes) -> None:
    """Raises TooRiskyToParse for a text of which a small sample takes too long to parse.

    Nested ambiguity costs tree-sitter the square of its depth, in time and in memory, within one step that cannot be
    interrupted: 8 KB of `x=>` as Java take 4 s and 2.3 GB. A sample reveals this early.
    """
    if language.grammar is None:
        return
    parser = Parser(grammar(language.name))
    for start in range(0, len(source), SAMPLE_BYTES):
        sample = source[start : start + SAMPLE_BYTES]
        small = (sample[at : at + SMALL_SAMPLE_BYTES] for at in range(0, len(sample), SMALL_SAMPLE_BYTES))
        if any(_is_slow(parser, each, SLOW_SMALL_SAMPLE_S) for each in small):
            raise TooRiskyToParse("takes its grammar too long")
        if len(sample) > SMALL_SAMPLE_BYTES and _is_slow(parser, sample, SLOW_SAMPLE_S):
            raise TooRiskyToParse("takes its grammar too long")


def _unchecked_part(path: str, source: bytes, n_harmless: int = 0, harmless: bytes | None = None) -> bytes:
    """The part that differs from the last check of this file, with some text before it: a key costs one sample.

    Where that is shorter, the part that differs from the version `harmless`. None of it is in the first `n_harmless`
    bytes. Empty where only blanks and line breaks differ.
    """
    start, end = n_harmless, len(source)
    for version in (_CHECKED.get(path), harmless):
        if version is not None:
            first, _, last = _differing_range(version, source)
            if last - first < end - start:
                start, end = first, last
    if not source[start:end].strip():
        return b""
    return source[max(0, start - SMALL_SAMPLE_BYTES // 2) : end]


def _is_known_slow(path: str, text: str) -> bool:
    until_s, length = _SLOW.get(path, (0.0, 0))
    return until_s > time.monotonic() and len(text) > length / 2


def _note_slow(path: str, text: str) -> None:
    _SLOW[path] = time.monotonic() + RETRY_SLOW_AFTER_S, len(text)


def _note_checked(path: str, source: bytes) -> None:
    with _CHECKED_LOCK:
        _CHECKED[path] = source
        if len(_CHECKED) > MAX_CHECKED_TEXTS:
            del _CHECKED[next(iter(_CHECKED))]


def _is_slow(parser: Parser, source: bytes, slow_s: float) -> bool:
    """Whether both of two attempts are slow: on a busy machine a single one may be."""
    source += b"\n"  # without it Kotlin's grammar never ends on some texts
    for _ in range(SAMPLE_ATTEMPTS):
        limit = CpuTimeLimit(slow_s)

        def is_over(offset: int, has_error: bool, limit: CpuTimeLimit = limit) -> bool:
            return limit.is_over

        parser.reset()
        # A parse that is stopped raises ValueError. Some texts take Kotlin's grammar minutes, in many steps.
        with suppress(ValueError):
            parser.parse(lambda at, _: source[at:], progress_callback=is_over)
        if not limit.is_over:
            return False
    return True


def _differing_range(old: bytes, new: bytes) -> tuple[int, int, int]:
    """First differing byte, and the ends of the differing part in `old` and in `new`, at whole characters."""
    a, b = np.frombuffer(old, np.uint8), np.frombuffer(new, np.uint8)
    shorter = min(len(a), len(b))
    differs = np.flatnonzero(a[:shorter] != b[:shorter])
    start = int(differs[0]) if len(differs) else shorter
    differs = np.flatnonzero(a[start:][::-1][: shorter - start] != b[start:][::-1][: shorter - start])
    same_tail = int(differs[0]) if len(differs) else shorter - start
    while _inside_character(old, start) or _inside_character(new, start):
        start -= 1
    while same_tail and _inside_character(old, len(old) - same_tail):
        same_tail -= 1
    return start, len(old) - same_tail, len(new) - same_tail


def _byte_range(
    old_text: str, old: bytes, new_text: str, new: bytes, changed: tuple[int, int, int]
) -> tuple[int, int, int]:
    """A changed range of characters in bytes of both sources."""
    start, old_end, new_end = changed
    start = max(0, start - 1)  # whether a "\r" before the range is a line break of its own depends on what follows it
    if len(old) == len(old_text) and len(new) == len(new_text):
        return start, old_end, new_end
    first = len(_encode(new_text[:start]))
    return first, first + len(_encode(old_text[start:old_end])), first + len(_encode(new_text[start:new_end]))


def _inside_character(source: bytes, at: int) -> bool:
    return at < len(source) and source[at] & 0xC0 == 0x80


def _point(source: bytes, at: int) -> Point:
    return Point(source.count(b"\n", 0, at), at - source.rfind(b"\n", 0, at) - 1)


@cache
def _readers(name: str) -> Mapping[int, NodeReader]:
    return readers_by_kind(grammar(name), LANGUAGES[name].readers)
