"""Next edits of lists that go together: where the neighbours of a new or removed item also stand side by side.

A new member of an enumeration, a field, a case, a route, an export or a translation key often belongs into a second
list that has its neighbours in the same order. Owns the items, the words in which other lists may write them, and the
new entry: that of the neighbour under the new name. Knows no language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from ...codegraph.file_graph import MODULE_SCOPE, FileGraph
from ...codegraph.outline import Outline
from ...languages.indentation import indent_of
from .before import files_with_word, text_before, text_now
from .edited_files import hunks_with_lines_before, word_of
from .import_sources import REEXPORTS
from .nearness import by_nearness
from .values import EditedFile, NextEdit, Origin, Situation

SURE, LIKELY, VAGUE = 0.45, 0.4, 0.3
"""Confidence of an entry: of which the text follows from two other neighbours, from one, and of which it does not.
Below the default threshold: of 24 different ones at half of the repositories of `weft bench next-edit` 4 were right."""

MAX_ITEMS = 4
"""So many items are followed."""

MAX_FILES = 20
"""The most other files that are searched for an item, nearest first."""

MAX_BLOCK = 4
"""The most lines of an entry with lines below it, such as a case."""

MAX_AWAY = 2
"""So many neighbours on each side of an item are compared."""


@dataclass(frozen=True, slots=True)
class ListItem:
    """A new or removed name of a list, and its neighbours above and below, nearest first, at most two each.

    `line` is that of the item now, or where it was. `shape` is the form of its line, and tells its own list.
    """

    name: str
    above: tuple[str, ...]
    below: tuple[str, ...]
    line: int
    shape: str
    is_removed: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return self.name, *self.above, *self.below


def sister_entries(situation: Situation) -> Iterator[NextEdit]:
    """Entries for the new items of the latest edited file, and those of removed ones."""
    for file in situation.edited[:1]:
        found: dict[tuple[str, tuple[int, int]], NextEdit] = {}
        for item in list(changed_items(situation, file))[:MAX_ITEMS]:
            own: set[tuple[str, tuple[int, int]]] = set()
            for edit in _entries(situation, file, item):
                key = edit.path, edit.start
                if key in own:
                    continue  # the same in another style of the names
                own.add(key)
                known = found.get(key)
                is_more = known is not None and not (edit.old or known.old) and edit.new not in known.new
                if is_more and known is not None:  # several new items at one place
                    sure = min(known.confidence, edit.confidence)
                    found[key] = replace(known, new=f"{known.new}{edit.new}", confidence=sure)
                else:
                    found.setdefault(key, edit)
        yield from found.values()


def changed_items(situation: Situation, file: EditedFile) -> Iterator[ListItem]:
    """The items that the edits added between alike ones or removed: definitions and values first, then lines."""
    seen: set[str] = set()
    lines = file.lines_now
    for item in (*_new_definitions(situation, file), *_changed_lines(file)):
        if item.name in seen or len(item.above) + len(item.below) < 2 or not _are_alike(item):
            continue
        at = min(item.line, len(lines) - 1)
        if REEXPORTS.search(file.path) or not _is_in_import(lines, at):
            seen.add(item.name)
            yield item


def _new_definitions(situation: Situation, file: EditedFile) -> Iterator[ListItem]:
    before, now = text_before(situation, file), text_now(situation, file)
    if before is None or now is None:
        return
    was, is_now = _declared(before.graph), _declared(now.graph)
    for group, names in is_now.items():
        known = {name for name, _ in was.get(group, ())}
        if not known <= {name for name, _ in names}:
            continue  # one is gone: the new one may be the same under another name
        for at, (name, line) in enumerate(names):
            if name not in known:
                above = [each for each, _ in names[:at][::-1] if each in known][:MAX_AWAY]
                below = [each for each, _ in names[at + 1 :] if each in known][:MAX_AWAY]
                yield ListItem(name, tuple(above), tuple(below), line, _shape(file.now.line(line)))


def _declared(graph: FileGraph | Outline) -> dict[tuple[str, str], list[tuple[str, int]]]:
    """The names of each scope by kind, in order, with their lines; values among them, but no local ones."""
    definitions = graph.definitions
    found: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for each in definitions:
        scope = "" if each.parent == MODULE_SCOPE else definitions[each.parent].qualified_name
        found.setdefault((scope, each.kind), []).append((each.name, each.header_line))
    for binding in graph.bindings:
        name = binding.name.removeprefix("self.")
        is_member = name != binding.name
        if binding.scope != MODULE_SCOPE and not is_member:
            continue
        scope = "" if binding.scope == MODULE_SCOPE else definitions[binding.scope].qualified_name
        known = found.setdefault((scope, "value"), [])
        if name.isidentifier() and name not in [each for each, _ in known]:
            known.append((name, binding.line))
    return found


def _changed_lines(file: EditedFile) -> Iterator[ListItem]:
    """The lines that were added to a list of lines of one form, or removed from it."""
    for hunk, start in hunks_with_lines_before(file):
        # A list may gain a comma behind its last line.
        old, new = ([line.rstrip().removesuffix(",") for line in each] for each in (hunk.before, hunk.after))
        codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if any(tag == "replace" for tag, *_ in codes):
            continue
        for tag, first, end, at, until in codes:
            numbers = (
                range(start + first, start + end)
                if tag == "delete"
                else range(hunk.start_line + at, hunk.start_line + until)
            )
            if tag == "equal" or len(numbers) > MAX_ITEMS:
                continue
            lines = file.lines_before if tag == "delete" else file.lines_now
            for number in numbers:
                item = _item_of_line(lines, number, numbers) if lines[number].strip() else None
                if item is not None:
                    yield item if tag == "insert" else replace(item, is_removed=True, line=hunk.start_line + at)


def _item_of_line(lines: Sequence[str], number: int, changed: range) -> ListItem | None:
    shape, words = _shape(lines[number]), _words(lines[number])
    above = _alike(lines, range(number - 1, -1, -1), shape, changed)
    below = _alike(lines, range(number + 1, len(lines)), shape, changed)
    siblings = [*above, *below]
    if len(siblings) < 2:
        return None
    # The first word that tells the lines apart is the name of the item.
    for at, word in enumerate(words):
        others = [_words(line)[at] for line in siblings]
        if word not in others and len(set(others)) == len(others):
            names = others[: len(above)], others[len(above) :]
            return ListItem(word, tuple(names[0]), tuple(names[1]), number, shape)
    return None


def _alike(lines: Sequence[str], numbers: range, shape: str, changed: range) -> list[str]:
    """Up to two lines of the same shape next to a line, nearest first."""
    found: list[str] = []
    for number in numbers:
        if number in changed:
            continue
        if _shape(lines[number]) != shape or len(found) == MAX_AWAY:
            break
        found.append(lines[number])
    return found


def _are_alike(item: ListItem) -> bool:
    """Whether the names are of one style, and long enough to be found as words."""
    styles = {(_style(name), name.startswith("_")) for name in item.names}
    return min(map(len, item.names)) >= 2 and len(set(item.names)) == len(item.names) and len(styles) == 1


def _style(name: str) -> str:
    return "upper" if name.isupper() else "capital" if name[:1].isupper() else "lower"


def _entries(situation: Situation, file: EditedFile, item: ListItem) -> Iterator[NextEdit]:
    index = situation.index
    near = (item.above or item.below)[0]
    forms = [_forms(each) for each in item.names]
    paths = {path for form in set(_forms(near).values()) for path in files_with_word(situation, form)}
    for path in (file.path, *by_nearness(paths - {file.path}, file.path)[:MAX_FILES]):
        edited = situation.edited_by_path.get(path)
        text = edited.now.text if edited is not None else index.texts.get(path, b"").decode("utf-8", "replace")
        lines: list[str] = []
        seen: set[str] = set()
        for style in forms[0]:
            if any(style not in each for each in forms):
                continue
            name, *others = (each[style] for each in forms)
            if name in seen or any(each not in text for each in others[:1]):
                continue
            seen.add(name)
            lines = lines or [line.rstrip("\r") for line in text.split("\n")]
            styled = replace(
                item, name=name, above=tuple(others[: len(item.above)]), below=tuple(others[len(item.above) :])
            )
            variants = {each[style]: each for each in forms}
            yield from _in_lines(file, item, path, lines, styled, variants)


@dataclass(frozen=True, slots=True)
class _ListEntry:
    """Lines of an entry (half-open), and the name of the list that it has, "" for another one."""

    first: int
    end: int
    name: str


def _in_lines(
    file: EditedFile,
    item: ListItem,
    path: str,
    lines: Sequence[str],
    styled: ListItem,
    variants: Mapping[str, Mapping[str, str]],
) -> Iterator[NextEdit]:
    """The entries in one file, for one style of writing the names; `variants` has the other styles of each."""
    near = (styled.above or styled.below)[0]
    word = word_of(near)
    for number, line in enumerate(lines):
        if not word.search(line) or (path == file.path and _shape(line) == item.shape):
            continue
        if not REEXPORTS.search(path) and _is_in_import(lines, number):
            continue
        row = _in_row(line, styled, _any_of(variants[styled.name]))
        if row is not None:
            start, old, new = row
            yield _edit(file, item, path, (number, start), (number, start + len(old)), old, new, SURE)
            continue
        run = _run(lines, number, styled)
        at = next((at for at, each in enumerate(run) if each.first == number), None)
        if at is None:
            continue
        found = _removed(run, at, styled) if styled.is_removed else _added(lines, run, at, styled, variants)
        if found is not None:
            first, end, new, sure = found
            old = "".join(f"{each}\n" for each in lines[first:end])
            yield _edit(file, item, path, (first, 0), (end, 0), old, new, sure)


def _added(
    lines: Sequence[str],
    run: Sequence[_ListEntry],
    at: int,
    item: ListItem,
    variants: Mapping[str, Mapping[str, str]],
) -> tuple[int, int, str, float] | None:
    """The place and the text of the entry of a new item beside that of its neighbour, and its confidence."""
    names = [each.name for each in run]
    above = [*item.above][::-1]
    first = at - len(above) + 1 if above else at
    wanted = [*above, *item.below]
    fitting = [n for n, name in enumerate(wanted) if 0 <= first + n < len(run) and names[first + n] == name]
    is_between = all(n in fitting for n in _beside(len(above), len(wanted)))
    own = _any_of(variants[item.name])
    is_there = any(own.search(line) for line in lines[run[0].first : run[-1].end])
    if is_there or not is_between or len(fitting) < 2:
        return None
    entry = run[at]
    texts = {
        "".join(_written(line, variants[run[first + n].name], {}) for line in _lines_of(lines, run[first + n]))
        for n in fitting
    }
    place = entry.end if item.above else entry.first
    near, name = variants[entry.name], variants[item.name]
    new = "".join(f"{_written(line, near, name)}\n" for line in _lines_of(lines, entry))
    if len({text.rstrip(",") for text in texts}) > 1:
        return place, place, new, VAGUE
    return place, place, new, SURE if len(fitting) > 2 else LIKELY


def _lines_of(lines: Sequence[str], entry: _ListEntry) -> Sequence[str]:
    return lines[entry.first : entry.end]


def _written(line: str, old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """A line with another name in each style; with the styles themselves where there is none."""
    styles = {text: style for style, text in reversed(list(old.items()))}
    found = "|".join(map(re.escape, sorted(styles, key=len, reverse=True)))
    return re.sub(
        rf"(?<![\w$])(?:{found})(?![\w$])", lambda each: new.get(styles[each[0]], f"#{styles[each[0]]}"), line
    )


def _beside(n_above: int, n: int) -> list[int]:
    """The numbers of the neighbours that must be there: those beside the item, and two at least."""
    if not n_above:
        return [0, 1]
    if n_above == n:
        return [n - 2, n - 1]
    return [n_above - 1, n_above]


def _removed(run: Sequence[_ListEntry], at: int, item: ListItem) -> tuple[int, int, str, float] | None:
    """The entry of a removed item between its neighbours."""
    names = [each.name for each in run]
    own = at + 1 if item.above else at - 1
    if not 0 <= own < len(run) or names[own] != item.name:
        return None
    others = [own - 1 - n for n in range(len(item.above))] + [own + 1 + n for n in range(len(item.below))]
    wanted = [*item.above, *item.below]
    fitting = [n for n, name in zip(others, wanted, strict=True) if 0 <= n < len(run) and names[n] == name]
    if len(fitting) < 2:
        return None
    return run[own].first, run[own].end, "", SURE if len(fitting) > 2 else LIKELY


def _run(lines: Sequence[str], number: int, item: ListItem) -> list[_ListEntry]:
    """The entries around a line that have its form, one after the other, a few on each side."""
    shape, words = _shape(lines[number]), {name: word_of(name) for name in item.names}

    def entry(at: int) -> _ListEntry | None:
        n = _block(lines, at)
        if n is None or _shape(lines[at]) != shape:
            return None
        found = [name for name, word in words.items() if word.search(lines[at])]
        return _ListEntry(at, at + n, found[0] if len(found) == 1 else "")

    own = entry(number)
    if own is None:
        return []
    run, at = [own], own.end
    while len(run) <= 2 * MAX_AWAY and at < len(lines) and (below := entry(at)) is not None:
        run.append(below)
        at = below.end
    for _ in range(2 * MAX_AWAY):
        first = _entry_above(lines, run[0].first)
        above = None if first is None else entry(first)
        if above is None or above.end != run[0].first:
            break
        run.insert(0, above)
    return run


def _entry_above(lines: Sequence[str], number: int) -> int | None:
    """The first line of the entry above a line."""
    indent = indent_of(lines[number])
    for at in range(number - 1, max(-1, number - 1 - MAX_BLOCK), -1):
        if not lines[at].strip():
            return None
        if indent_of(lines[at]) <= indent:
            return at
    return None


def _any_of(forms: Mapping[str, str]) -> re.Pattern[str]:
    """A name in any style."""
    return re.compile(rf"(?<![\w$])(?:{'|'.join(map(re.escape, set(forms.values())))})(?![\w$])")


def _in_row(line: str, item: ListItem, own: re.Pattern[str]) -> tuple[int, str, str] | None:
    """Where an item goes or is in a list on one line: the character, the old and the new text."""
    above, below = [*item.above][::-1], [*item.below]
    names = [*above, *([item.name] if item.is_removed else []), *below]
    known = [name for name in names if word_of(name).search(line)]
    if not item.is_removed and own.search(line):
        return None
    wanted = [names[n] for n in _beside(len(above), len(names))] if not item.is_removed else known
    if len(wanted) < 2 or (item.is_removed and item.name not in wanted):
        return None
    sign = r"\s*[,|]\s*"
    items = [rf"(?P<i{n}>(?P<q{n}>[\"'`]?){re.escape(name)}(?P=q{n}))" for n, name in enumerate(wanted)]
    match = re.search(rf"(?<![\w.]){sign.join(items)}(?![\w(.])", line)
    if match is None:
        return None
    if item.is_removed:
        at = wanted.index(item.name)
        if at:
            return match.end(f"i{at - 1}"), line[match.end(f"i{at - 1}") : match.end(f"i{at}")], ""
        return match.start("i0"), line[match.start("i0") : match.start("i1")], ""
    near = (item.above or item.below)[0]
    at = wanted.index(near)
    between = line[match.end("i0") : match.start("i1")]
    text = match[f"i{at}"].replace(near, item.name)
    if item.above:
        return match.end(f"i{at}"), "", f"{between}{text}"
    return match.start(f"i{at}"), "", f"{text}{between}"


def _edit(
    file: EditedFile,
    item: ListItem,
    path: str,
    start: tuple[int, int],
    end: tuple[int, int],
    old: str,
    new: str,
    confidence: float,
) -> NextEdit:
    others = " and ".join(f"`{name}`" for name in [*item.above[:1], *item.below, *item.above[1:]][:2])
    what = "was removed between them" if item.is_removed else "is new beside them"
    return NextEdit(
        "list",
        path,
        start,
        end,
        old,
        new,
        f"{others} stand here side by side, and `{item.name}` {what}.",
        f"list {file.path} {item.name}",
        confidence,
        origin=Origin(file.path, item.line),
        evidence="The same neighbours stand here in the same order, in lines of one form.",
    )


def _block(lines: Sequence[str], number: int) -> int | None:
    """The number of lines of an entry that begins at a line; None for a long one."""
    indent = indent_of(lines[number])
    for n in range(1, MAX_BLOCK + 1):
        if number + n >= len(lines) or not lines[number + n].strip() or indent_of(lines[number + n]) <= indent:
            return n
    return None


def _is_in_import(lines: Sequence[str], number: int) -> bool:
    """Whether a line is in an import statement: each file imports what it uses itself."""
    if _IMPORT.match(lines[number]):
        return True
    indent = indent_of(lines[number])
    above = (lines[at] for at in range(number - 1, -1, -1) if lines[at].strip() and indent_of(lines[at]) < indent)
    return _IMPORT.match(next(above, "")) is not None


_IMPORT = re.compile(r"\s*(?:import|from)\b")


def _shape(line: str) -> str:
    """A line with "w" for each name and number; texts in quotes count by their quotes."""
    return re.sub(r"[\w$]+(?:[-./ ][\w$]+)*(?=[\"'`])|[\w$]+", "w", line.rstrip().rstrip(","))


def _words(line: str) -> list[str]:
    return re.findall(r"[\w$]+(?:[-./ ][\w$]+)*(?=[\"'`])|[\w$]+", line)


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
