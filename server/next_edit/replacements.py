"""Names that the newest edit replaced where they are used, and the next places of their old names.

Owns which replacements count, the search for places in the file, in the other edited files and in near ones, and which
of them cannot be meant: another binding of the name, and places that the user went past. Knows no probability.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, chain, islice
from typing import TYPE_CHECKING

from ...codegraph.bound_names import word_spans
from ...languages.references import is_name, receiver_of, role_of
from .before import before_edits, files_with_word, text_before, text_of
from .edited_files import Substitution, line_tokens, substitutions, word_of
from .nearness import by_nearness
from .parsed import Binding, Parsed
from .token_changes import is_literal
from .values import At, EditedFile, Situation

if TYPE_CHECKING:
    from tree_sitter import Node

N_PLACES = 3
"""So many places of one name are next ones."""

MAX_FILES, MAX_COMMON = 8, 400
"""The most other files that are searched, nearest first; none for a name that more files have."""

MAX_OCCURRENCES = 200
"""So many occurrences of one name are looked at in a file."""

N_CONTEXT = 2
"""Tokens on each side of a name that are compared."""


TEXT = "text"
"""First part of the kind of sites in strings, comments and other text."""

DECLARING = ("declaration", "assignment", "import", "key")
"""Roles of names that follow another name of their role only."""


Context = tuple[tuple[str, ...], tuple[str, ...]]
"""The tokens before a name, nearest first, and those behind it."""


@dataclass(frozen=True, slots=True)
class Site:
    """A use of a name with what surrounds it. `kind` is its role, or the kind of text it is in."""

    path: str
    line: int  # now
    kind: tuple[str, str]
    context: Context
    line_text: str
    binding: Binding | None  # None for a member, a text, and where it is unknown

    @property
    def is_text(self) -> bool:
        return self.kind[0] == TEXT

    def n_alike(self, other: Site) -> int:
        """How many of the surrounding tokens are equal."""
        return _n_alike(self.context, other.context)


@dataclass(frozen=True, slots=True)
class Made:
    """A site that was replaced: as it was before. `is_alone`: nothing else of its line was changed."""

    site: Site
    is_alone: bool
    at: float


@dataclass(frozen=True, slots=True)
class Place(Site):
    """A line with the old name: its first occurrence, and the range of all that are alike."""

    start: int
    end: int
    n: int  # of them
    is_unbound: bool  # the file bound the name before the edits, and does not any more
    is_above: bool  # of all that were replaced in the file


@dataclass(frozen=True)
class Replacement:
    """A name that the newest edit replaced, and all places where this session replaced it by the same other one."""

    old: str
    new: str
    made: tuple[Made, ...]

    @property
    def is_text(self) -> bool:
        return all(each.site.is_text for each in self.made)

    @property
    def is_local(self) -> bool:
        """Whether a scope inside of the file binds the name."""
        return any(each.site.binding is not None and each.site.binding.scope is not None for each in self.made)

    def made_in(self, path: str) -> list[Made]:
        return [each for each in self.made if each.site.path == path]


def replacements(situation: Situation) -> list[Replacement]:
    """What the newest edit replaced, in order of its lines."""
    newest = max((hunk.at for file in situation.edited for hunk in file.hunks), default=0.0)
    found: dict[tuple[str, str], list[Made]] = {}
    for file in situation.edited:
        times = {line: hunk.at for hunk in file.hunks for line in range(hunk.start_line, hunk.end_line)}
        for each in substitutions(file):
            if not (is_literal(each.old) or is_literal(each.new)):
                made = _made(situation, file, each, times[each.now[0]])
                if made is not None:
                    found.setdefault((each.old, each.new), []).append(made)
    return [
        Replacement(old, new, tuple(made))
        for (old, new), made in found.items()
        if any(each.at == newest for each in made)
    ]


def _made(situation: Situation, file: EditedFile, each: Substitution, at: float) -> Made | None:
    before = text_before(situation, file)
    node = None if before is None else _leaf(before, before.offset(each.before), len(each.old))
    if before is None or node is None or (kind := _kind(node)) is None:
        return None
    line = file.before.line(each.before[0])
    site = Site(file.path, each.now[0], kind, _context(line, each.before[1], each.old), line, _binding(before, node))
    return Made(site, word_of(each.old).sub(lambda _: each.new, line) == file.now.line(each.now[0]), at)


def next_places(situation: Situation, replacement: Replacement) -> list[Place]:
    """The next places that still have the old name: below the cursor first, then above it, then in other files."""
    files = chain.from_iterable(_files(situation, replacement))
    found = chain.from_iterable(_places(situation, replacement, path) for path in files)
    return [*islice(found, N_PLACES)]


def _files(situation: Situation, replacement: Replacement) -> Iterator[Sequence[str]]:
    """The files to search, in groups that are made on demand."""
    edited = situation.edited_by_path
    newest = situation.edited[0]
    yield [newest.path]
    if replacement.is_local:
        return
    yield [path for path, file in edited.items() if file is not newest and not replacement.made_in(path)]
    mentioned = files_with_word(situation, replacement.old)
    if len(mentioned) < MAX_COMMON:
        yield by_nearness([path for path in mentioned if path not in edited], newest.path)[:MAX_FILES]


def _places(situation: Situation, replacement: Replacement, path: str) -> Iterator[Place]:
    """The lines of a file with the old name that may be meant, in order of the answer."""
    text = text_of(situation, path)
    if text is None:
        return
    found = _Searched(situation, replacement, text)
    by_line: dict[int, list[tuple[int, int]]] = {}  # offsets in bytes and characters
    for start, at in _positions(text, replacement.old):
        by_line.setdefault(at[0], []).append((start, at[1]))
    passed_lines = found.passed_lines(by_line)
    passed: set[Context] = set()
    for line in passed_lines:
        for start, character in by_line[line]:
            context = _context(found.written(line), character, replacement.old)
            if context not in passed and found.place(start, (line, character)) is not None:
                passed.add(context)
    replaced = {each.site.context for each in replacement.made}
    cursor = situation.line if path == situation.path else -1
    for line in sorted(by_line.keys() - passed_lines, key=lambda line: (line < cursor, abs(line - cursor))):
        place = found.line_place(line, by_line[line])
        if place is not None and not _is_like_passed(place.context, passed, replaced):
            yield place


def _positions(text: Parsed, name: str) -> Iterator[tuple[int, At]]:
    """Where a name is in a text, as an offset in bytes and as a position."""
    line = last = 0
    for start, _ in islice(word_spans(text.source, name.encode()), MAX_OCCURRENCES):
        line, last = line + text.source.count(b"\n", last, start), start
        yield start, text.at(line, start)


class _Searched:
    """A file in which the old name of a replacement is looked for."""

    def __init__(self, situation: Situation, replacement: Replacement, text: Parsed) -> None:
        self._situation, self._replacement, self._text = situation, replacement, text
        self._edited = situation.edited_by_path.get(text.path)
        self._moved = before_edits(situation).moved.get(text.path)
        self._made = replacement.made_in(text.path)
        self._kinds = {each.site.kind for each in replacement.made}

    def written(self, line: int) -> str:
        return self._text.lines[line].decode("utf-8", "replace")

    def passed_lines(self, lines: Iterable[int]) -> set[int]:
        """The lines that the user went past: a place above was replaced, and then one below edited."""
        if self._edited is None or not self._made:
            return set()
        made = sorted((each.site.line, each.at) for each in self._made)
        hunks = sorted((hunk.start_line, hunk.at) for hunk in self._edited.hunks)
        latest = [*accumulate((at for _, at in made), max)]  # of the first ones
        after = [*accumulate((at for _, at in reversed(hunks)), max)]  # of the last ones
        found = set()
        for line in lines:
            n_above = bisect_left(made, (line,))
            n_below = len(hunks) - bisect_left(hunks, (line + 1,))
            if n_above and n_below and after[n_below - 1] >= latest[n_above - 1]:
                found.add(line)
        return found

    def line_place(self, line: int, found: Sequence[tuple[int, int]]) -> Place | None:
        """The first place of a line that may be meant, with those like it; `found` are offsets and characters."""
        first: Place | None = None
        for start, character in found:
            place = self.place(start, (line, character))
            if first is None:
                first = place
            elif place is not None and place.kind == first.kind:
                first = _widened(first, place, self._replacement.old)
        return first

    def place(self, start: int, at: At) -> Place | None:
        """The place at an offset; None if it cannot be meant."""
        replacement, text, made = self._replacement, self._text, self._made
        line, name = at[0], replacement.old
        node = _leaf(text, start, len(name.encode()))
        kind = None if node is None else _kind(node)
        if node is None or kind is None or (self._moved is not None and self._moved.before(line) is None):
            return None  # also the user's own new lines
        if kind not in self._kinds and (not made or replacement.is_text or kind[0] == TEXT or kind[1] in DECLARING):
            return None
        binding, is_unbound = _meaning(self._situation, text, self._edited, node, at)
        if _is_other(binding, kind[0] == TEXT, made or replacement.made):
            return None
        written = self.written(line)
        return Place(
            *(text.path, line, kind, _context(written, at[1], name), written, binding),
            *(at[1], at[1] + len(name), 1, is_unbound, bool(made) and line < made[0].site.line),
        )


def _widened(first: Place, last: Place, name: str) -> Place:
    """The range from one occurrence to another of the line, if all between them are meant, too."""
    n = len(word_of(name).findall(first.line_text[first.start : last.end]))
    return replace(first, end=last.end, n=n) if n == first.n + 1 else first


def _is_like_passed(context: Context, passed: Iterable[Context], replaced: Iterable[Context]) -> bool:
    """Whether what is around a place is more like a place that the user went past than like a replaced one."""
    return max((_n_alike(context, each) for each in passed), default=-1) > max(
        _n_alike(context, each) for each in replaced
    )


def _meaning(
    situation: Situation, text: Parsed, edited: EditedFile | None, node: Node, at: At
) -> tuple[Binding | None, bool]:
    """The binding of a name before the edits of its file, and whether the file does not bind it any more."""
    now = _binding(text, node)
    if edited is None:
        return now, False
    before, line = text_before(situation, edited), before_edits(situation).moved[edited.path].before(at[0])
    own = None if before is None or line is None else before.name_at((line, at[1]))
    old = None if before is None or own is None else _binding(before, own)
    return old, old is not None and now is not None and old.is_bound and not now.is_bound


def _is_other(binding: Binding | None, is_text: bool, made: Sequence[Made]) -> bool:
    """Whether a name means something else than each of those that were replaced, as far as they are plain names.

    A member may follow a name of the whole file, as a field that is renamed with its type, but no local name.
    """
    scopes = {each.site.binding.scope for each in made if each.site.binding is not None}
    if is_text or any(each.site.binding is None for each in made):
        return False
    return scopes != {None} if binding is None else binding.scope not in scopes


def _binding(text: Parsed, node: Node) -> Binding | None:
    """The binding of a plain name; None for others, and where it is unknown."""
    if not is_name(node) or receiver_of(node) is not None:
        return None
    return text.binding_of(node)


def _leaf(text: Parsed, start: int, length: int) -> Node | None:
    """The innermost node around a word."""
    return text.root.descendant_for_byte_range(start, start + max(1, length - 1))


def _kind(node: Node) -> tuple[str, str] | None:
    """The role of a name, or the kind of text around a word; None for a keyword."""
    if is_name(node):
        return "name", role_of(node)
    around = node.parent
    if around is not None and (around.start_byte, around.end_byte) == (node.start_byte, node.end_byte):
        return "type", node.type  # as `any` in TypeScript
    return (TEXT, node.type) if node.is_named else None


@lru_cache(maxsize=4096)
def _context(line: str, character: int, name: str) -> Context:
    left, right = line_tokens(line[:character]), line_tokens(line[character + len(name) :])
    return tuple(each for each, _ in left[: -N_CONTEXT - 1 : -1]), tuple(each for each, _ in right[:N_CONTEXT])


def _n_alike(one: Context, other: Context) -> int:
    """How many of the surrounding tokens are equal."""
    return _n_equal(one[0], other[0]) + _n_equal(one[1], other[1])


def _n_equal(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
