"""Next edits of lists that go together: where the neighbours of a new item also stand side by side.

A new member of an enumeration, a field, a case, a route, an export or a translation key often belongs into a second
list that has its neighbours. Owns the new items, the words in which other lists may write them, and the new entry: that
of the neighbour under the new name. Knows no language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from ...languages.indentation import indent_of
from ..symbols.occurrences import files_with
from .before import text_before, text_now
from .nearness import by_nearness
from .values import EditedFile, NextEdit, Situation

SAME_FILE, OTHER_FILE = 0.45, 0.4
"""Confidence of an entry by its place: of those in the fitting half of `weft bench next-edit` 3 of 11 were right."""

MAX_ITEMS = 3
"""So many new items are followed."""

MAX_FILES = 20
"""The most other files that are searched for an item, nearest first."""

MAX_BLOCK = 4
"""The most lines of an entry with lines below it, such as a case."""

REGION = 30
"""At most so many lines above and below an entry belong to its list."""


@dataclass(frozen=True, slots=True)
class NewItem:
    """A new name with its neighbour and another one of the same list. `is_below`: it is below the neighbour."""

    name: str
    neighbour: str
    other: str
    is_below: bool
    line: int


def sister_entries(situation: Situation) -> Iterator[NextEdit]:
    """Entries for the new items of the latest edited file."""
    for file in situation.edited[:1]:
        for item in list(new_items(situation, file))[:MAX_ITEMS]:
            yield from _entries(situation, file, item)


def new_items(situation: Situation, file: EditedFile) -> Iterator[NewItem]:
    """The items that the edits added between alike ones: definitions first, then lines."""
    seen: set[str] = set()
    for item in (*_new_definitions(situation, file), *_new_lines(file)):
        if item.name not in seen and item.neighbour != item.name and _is_distinct(item):
            seen.add(item.name)
            yield item


def _new_definitions(situation: Situation, file: EditedFile) -> Iterator[NewItem]:
    before, now = text_before(situation, file), text_now(situation, file)
    if before is None or now is None:
        return
    known = {each.qualified_name for each in before.graph.definitions}
    for new in now.graph.definitions:
        if new.qualified_name in known:
            continue
        alike = [each for each in now.graph.definitions if (each.parent, each.kind) == (new.parent, new.kind)]
        at = alike.index(new)
        above = [each.name for each in alike[:at] if each.qualified_name in known]
        below = [each.name for each in alike[at + 1 :] if each.qualified_name in known]
        yield from _with_neighbours(new.name, above, below, new.header_line)


def _new_lines(file: EditedFile) -> Iterator[NewItem]:
    lines = [file.now.line(number) for number in range(file.now.n_lines)]
    for hunk in file.hunks:
        matcher = SequenceMatcher(None, hunk.before, hunk.after, autojunk=False)
        added = [
            number
            for tag, start, end, at, until in matcher.get_opcodes()
            if tag == "insert" or (tag == "replace" and until - at > end - start)
            for number in range(hunk.start_line + at, hunk.start_line + until)
        ]
        for number in added:
            if len(added) <= MAX_ITEMS and lines[number].strip():
                yield from _item_of_line(lines, number, frozenset(added))


def _item_of_line(lines: Sequence[str], number: int, added: frozenset[int]) -> Iterator[NewItem]:
    shape, words = _shape(lines[number]), _words(lines[number])
    above = _alike(lines, range(number - 1, -1, -1), shape, added)
    below = _alike(lines, range(number + 1, len(lines)), shape, added)
    siblings = [*above, *below]
    if len(siblings) < 2:
        return
    # The first word that tells the lines apart is the name of the item.
    for at, word in enumerate(words):
        others = [_words(line)[at] for line in siblings]
        if word not in others and len(set(others)) == len(others):
            names = [_words(line)[at] for line in above], [_words(line)[at] for line in below]
            yield from _with_neighbours(word, names[0][::-1], names[1], number)
            return


def _alike(lines: Sequence[str], numbers: range, shape: str, added: frozenset[int]) -> list[str]:
    """Up to two lines of the same shape next to a line, nearest first."""
    found: list[str] = []
    for number in numbers:
        if number in added:
            continue
        if _shape(lines[number]) != shape or len(found) == 2:
            break
        found.append(lines[number])
    return found


def _with_neighbours(name: str, above: Sequence[str], below: Sequence[str], line: int) -> Iterator[NewItem]:
    """The item with its neighbour above, else below, and another neighbour."""
    if above and (below or len(above) > 1):
        yield NewItem(name, above[-1], below[0] if below else above[-2], True, line)
    elif len(below) > 1:
        yield NewItem(name, below[0], below[1], False, line)


def _is_distinct(item: NewItem) -> bool:
    """Whether the names are long enough to be found as words."""
    return min(len(item.name), len(item.neighbour), len(item.other)) >= 2


def _entries(situation: Situation, file: EditedFile, item: NewItem) -> Iterator[NextEdit]:
    neighbours, others, names = (_forms(each) for each in (item.neighbour, item.other, item.name))
    index = situation.index
    paths = {path for form in set(neighbours.values()) for path in files_with(index, form)}
    for path in (file.path, *by_nearness(paths - {file.path}, file.path)[:MAX_FILES]):
        edited = situation.edited_by_path.get(path)
        text = edited.now.text if edited is not None else index.texts.get(path, b"").decode("utf-8", "replace")
        lines: list[str] = []
        for style, neighbour in neighbours.items():
            if neighbour not in text or others[style] not in text:
                continue
            lines = lines or [line.rstrip("\r") for line in text.split("\n")]
            yield from _in_lines(file, item, path, lines, neighbour, others[style], names[style])


def _in_lines(
    file: EditedFile, item: NewItem, path: str, lines: Sequence[str], neighbour: str, other: str, name: str
) -> Iterator[NextEdit]:
    """The entries in one file, for one style of writing the names."""
    word, second = _word(neighbour), _word(other)
    own = range(item.line - REGION, item.line + REGION) if path == file.path else range(0)
    confidence = SAME_FILE if path == file.path else OTHER_FILE
    reason = f"`{item.neighbour}` and `{item.other}` stand here side by side, and `{item.name}` is new beside them."
    cause = f"list {file.path} {item.name}"
    for number, line in enumerate(lines):
        if not word.search(line) or (number in own and _shape(line) == _shape(lines[item.line])):
            continue
        if second.search(line):
            at = _in_row(line, neighbour, other, item.is_below)
            if at is not None and not _word(name).search(line):
                start, text = at
                new = text.replace(neighbour, name)
                yield NextEdit("list", path, (number, start), (number, start), "", new, reason, cause, confidence)
            continue
        block = _block(lines, number)
        if block is None or not _has_beside(lines, number, block, second):
            continue
        if any(_word(name).search(each) for each in _around(lines, number)):
            continue
        place = number + block if item.is_below else number
        text = "".join(f"{word.sub(name, each)}\n" for each in lines[number : number + block])
        yield NextEdit("list", path, (place, 0), (place, 0), "", text, reason, cause, confidence)


def _in_row(line: str, neighbour: str, other: str, is_below: bool) -> tuple[int, str] | None:
    """Where an item goes in a list on one line, and its text with the neighbour's name."""
    items = rf"(?P<item>[\"'`]?{re.escape(neighbour)}[\"'`]?)"
    match = re.search(rf"(?<![\w.]){items}(?P<between>\s*[,|]\s*)?(?![\w(.])", line)
    if match is None or not re.search(rf"[,|(\[{{]\s*[\"'`]?{re.escape(other)}[\"'`]?\s*(?:[,|)\]}}]|$)", line):
        return None
    between = re.search(r"\s*[,|]\s*", line[match.start() :]) or re.search(r"\s*[,|]\s*", line)
    sign = between[0] if between else ", "
    if is_below:
        return match.end("item"), f"{sign}{match['item']}"
    return match.start("item"), f"{match['item']}{sign}"


def _block(lines: Sequence[str], number: int) -> int | None:
    """The number of lines of an entry that begins at a line; None for a long one."""
    indent = indent_of(lines[number])
    for n in range(1, MAX_BLOCK + 1):
        if number + n >= len(lines) or not lines[number + n].strip() or indent_of(lines[number + n]) <= indent:
            return n
    return None


def _around(lines: Sequence[str], number: int) -> Sequence[str]:
    """The lines of the list around an entry: those that are not indented less, without a gap."""
    indent, first, last = indent_of(lines[number]), number, number + 1
    while first > max(0, number - REGION) and _is_inside(lines[first - 1], indent):
        first -= 1
    while last < min(len(lines), number + REGION) and _is_inside(lines[last], indent):
        last += 1
    return lines[first:last]


def _is_inside(line: str, indent: int) -> bool:
    return bool(line.strip()) and indent_of(line) >= indent


def _has_beside(lines: Sequence[str], number: int, block: int, second: re.Pattern[str]) -> bool:
    """Whether the entry above or below one is of the same shape and has the other name."""
    shape, indent = _shape(lines[number]), indent_of(lines[number])
    numbers = range(number - 1, max(-1, number - 2 * MAX_BLOCK), -1)
    above = next((at for at in numbers if lines[at].strip() and indent_of(lines[at]) <= indent), -1)
    below = number + block
    return any(
        0 <= at < len(lines) and _shape(lines[at]) == shape and second.search(lines[at]) for at in (above, below)
    )


def _shape(line: str) -> str:
    """A line with "w" for each name and number; texts in quotes count by their quotes."""
    return re.sub(r"[\w$]+(?:[-./ ][\w$]+)*(?=[\"'`])|[\w$]+", "w", line.rstrip().rstrip(","))


def _words(line: str) -> list[str]:
    return re.findall(r"[\w$]+(?:[-./ ][\w$]+)*(?=[\"'`])|[\w$]+", line)


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")


def _forms(name: str) -> dict[str, str]:
    """A name in the styles in which lists may write it, each different text once."""
    parts = [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[^\W_]+", name)]
    if not parts:
        return {"as written": name}
    capital = [part.capitalize() for part in parts]
    return {
        "as written": name,
        "snake": "_".join(parts),
        "kebab": "-".join(parts),
        "upper": "_".join(parts).upper(),
        "pascal": "".join(capital),
        "camel": "".join([parts[0], *capital[1:]]),
    }
