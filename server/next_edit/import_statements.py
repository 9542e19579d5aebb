"""Import statements as text: the same statement with other names, a new statement, and the line where it belongs.

Owns the forms (lists on one line or one name a line, `import type`, the blocks of Go) and the order of names and of
statements, which is that of the file where it has one. Knows no file but its own, and not where a name comes from.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING

from .parsed import Parsed

if TYPE_CHECKING:
    from tree_sitter import Node

WEB_LANGUAGES = frozenset({"typescript", "tsx", "javascript"})


@dataclass(frozen=True, slots=True)
class Source:
    """Where a name is imported from, as this file writes it.

    `module` has the leading dots of Python. `name` is "" for the module itself and "default" for its default export.
    `is_type`: the import is one of types alone.
    """

    module: str
    name: str
    local: str
    is_type: bool = False

    @property
    def item(self) -> str:
        """The name in a list of names."""
        return self.name if self.local == self.name else f"{self.name} as {self.local}"


@dataclass(frozen=True, slots=True)
class Statement:
    """An import statement, or one line of a Go block. Lines are inclusive; `names` are the nodes of its list."""

    first: int
    last: int
    module: str
    is_type: bool
    is_inner: bool
    names: tuple[Node, ...]
    node: Node


def statements_of(text: Parsed) -> list[Statement]:
    """The imports at the top level, in order, and those that Python imports for types alone (`is_inner`)."""
    return list(_statements(text.root))


def _statements(around: Node, is_inner: bool = False) -> Iterator[Statement]:
    for node in around.named_children:
        if node.type in _STATEMENTS:
            yield from _of_node(node, is_inner)
        elif node.type == "if_statement" and b"TYPE_CHECKING" in (node.text or b"")[:40]:
            body = node.child_by_field_name("consequence")
            if body is not None:
                yield from _statements(body, is_inner=True)


def _of_node(node: Node, is_inner: bool) -> Iterator[Statement]:
    specs = [each for each in _below(node, ("import_spec_list",)) if each.type == "import_spec"]
    if specs:
        for spec in specs:
            yield Statement(spec.start_point[0], spec.end_point[0], _module_of(spec), False, is_inner, (), spec)
        return
    is_type = is_inner or any(child.type == "type" for child in node.children)
    names = tuple(names_of(node))
    yield Statement(node.start_point[0], node.end_point[0], _module_of(node), is_type, is_inner, names, node)


def _module_of(node: Node) -> str:
    if node.type in ("import_from_statement", "future_import_statement"):
        module = node.child_by_field_name("module_name")
        return "__future__" if module is None else text_of(module)
    if node.type == "import_statement" and node.child_by_field_name("name") is not None:
        name = node.child_by_field_name("name")
        return "" if name is None else text_of(name).partition(" as ")[0]
    for each in (node, *node.named_children):
        path = each.child_by_field_name("source") or each.child_by_field_name("path")
        if path is not None:
            return text_of(path).strip("\"'`")
    return next((text_of(each) for each in node.named_children if "identifier" in each.type), "")


def names_of(node: Node | None) -> list[Node]:
    """The imported names of a statement, in order."""
    if node is None:
        return []
    if node.type == "import_from_statement":
        return node.children_by_field_name("name")
    return [each for each in _below(node, ("import_clause", "named_imports")) if each.type == "import_specifier"]


def _below(node: Node, kinds: Sequence[str]) -> Iterator[Node]:
    for each in node.named_children:
        yield each
        if each.type in kinds:
            yield from _below(each, kinds)


def local_name(node: Node) -> str:
    """What a name of a list is called in the file."""
    alias = node.child_by_field_name("alias")
    name = alias or node.child_by_field_name("name") or node
    return text_of(name)


def text_of(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def lines_between(text: Parsed, first: int, end: int) -> list[str]:
    """Some lines of a text, half-open."""
    return [line.decode("utf-8", "replace") for line in text.lines[first:end]]


def lines_of(text: Parsed, statement: Statement) -> list[str]:
    return lines_between(text, statement.first, statement.last + 1)


# The list of a statement


def with_names(text: Parsed, statement: Statement, added: Sequence[str], removed: frozenset[str]) -> list[str] | None:
    """The lines of a statement with more names and without others, by their local names; None in a form not known."""
    if _is_named_and_more(statement) and not [each for each in statement.names if local_name(each) not in removed]:
        return None
    kept = [(text_of(each), each) for each in statement.names if local_name(each) not in removed]
    items: list[tuple[str, Node | None]] = [*kept]
    for item in added:
        items.insert(_position([each for each, _ in items], item, _name_keys(text)), (item, None))
    if not items:
        return []
    if statement.first == statement.last:
        return _on_one_line(text, statement, [each for each, _ in items])
    rows = [each.start_point[0] for each in statement.names]
    has_rows = len(set(rows)) == len(rows) and rows[0] > statement.first and rows[-1] < statement.last
    if not has_rows:
        return None
    return _on_lines(text, statement, items)


def _is_named_and_more(statement: Statement) -> bool:
    """Whether a statement has a default import beside its list."""
    clause = next((each for each in statement.node.named_children if each.type == "import_clause"), None)
    return clause is not None and any(each.type == "identifier" for each in clause.named_children)


def _on_one_line(text: Parsed, statement: Statement, items: Sequence[str]) -> list[str]:
    line = text.lines[statement.first].decode("utf-8", "replace")
    first, last = statement.names[0], statement.names[-1]
    start, end = text.at(statement.first, first.start_byte)[1], text.at(statement.first, last.end_byte)[1]
    whole = f"{line[:start]}{', '.join(items)}{line[end:]}"
    if len(whole) <= width_of(text) or len(items) < len(statement.names):
        return [whole]
    head, tail = line[:start].rstrip(), line[end:]
    indent = " " * (len(line) - len(line.lstrip()))
    step = indent + (_step(text) or "  ")
    if not head.endswith(("(", "{")):
        return [f"{head} (", *(f"{step}{each}," for each in items), f"{indent}){tail}"]
    return [head, *(f"{step}{each}," for each in items), f"{indent}{tail.lstrip().removeprefix(',').lstrip()}"]


def _on_lines(text: Parsed, statement: Statement, items: Sequence[tuple[str, Node | None]]) -> list[str] | None:
    lines = lines_of(text, statement)
    rows = [each.start_point[0] - statement.first for each in statement.names]
    if any(number not in rows for number in range(rows[0], rows[-1])):
        return None  # lines of comments
    known = {each.id: lines[row] for each, row in zip(statement.names, rows, strict=True)}
    indent = lines[rows[0]][: len(lines[rows[0]]) - len(lines[rows[0]].lstrip())]
    has_last = lines[rows[-1]].partition("#")[0].partition("//")[0].rstrip().endswith(",")
    found = [known[node.id] if node is not None else f"{indent}{item}," for item, node in items]
    if not has_last:
        found = [each if each.rstrip().endswith(",") else f"{each}," for each in found]
        found[-1] = found[-1].rstrip().removesuffix(",")
    new = [*lines[: rows[0]], *found, *lines[rows[-1] + 1 :]]
    if text.tree.language.name not in WEB_LANGUAGES or len(items) >= len(statement.names):
        return new
    # A formatter puts a list on one line as soon as it fits.
    joined = f"{lines[0].rstrip()} {', '.join(each for each, _ in items)} {lines[-1].lstrip()}"
    return [joined] if len(joined) <= width_of(text) and not _has_short_lists(text) else new


def _has_short_lists(text: Parsed) -> bool:
    """Whether lists that would fit on one line are on several."""
    several = [each for each in statements_of(text) if each.first < each.last and each.names]
    return any(len(" ".join(map(str.strip, lines_of(text, each)))) <= width_of(text) for each in several)


_WIDTHS = (80, 88, 100, 120)


def width_of(text: Parsed) -> int:
    """The usual limit of lines that nearly all lines of the file keep; that of its formatter at least."""
    least = 88 if text.tree.language.name == "python" else 80
    lengths = [len(line) for line in text.lines]
    n_longer = max(2, len(lengths) // 100)
    return next((each for each in _WIDTHS if each >= least and sum(n > each for n in lengths) <= n_longer), _WIDTHS[-1])


def _step(text: Parsed) -> str:
    """One level of indentation: the least one of the file."""
    found = [line[: len(line) - len(line.lstrip())].decode() for line in text.lines if line[:1] in (b" ", b"\t")]
    return min((each for each in found if len(each) > 1 or each == "\t"), key=len, default="")


# Order

Key = Callable[[str], tuple[object, ...]]


def _position(known: Sequence[str], new: str, keys: Sequence[Key]) -> int:
    """Where a text belongs by the first order that the known ones have; behind all where they have none."""
    for key in keys:
        values = [key(each) for each in known]
        if all(one <= other for one, other in pairwise(values)):
            mine = key(new)
            return next((at for at, value in enumerate(values) if value > mine), len(values))
    return len(known)


def _name_keys(text: Parsed) -> tuple[Key, ...]:
    """The usual orders of names: by kind (CONSTANT, Class, function), by letters alone, by case."""

    def by_kind(item: str) -> tuple[object, ...]:
        name = item.removeprefix("type ")
        return 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2, name

    def by_letters(item: str) -> tuple[object, ...]:
        return (item.removeprefix("type ").lower(),)

    keys: tuple[Key, ...] = by_letters, lambda item: (item.removeprefix("type "),), lambda item: (item,)
    return (by_kind, *keys) if text.tree.language.name == "python" else keys


# New statements


def new_statement(text: Parsed, module: str, sources: Sequence[Source], sample: bytes) -> list[str] | None:
    """The lines of a new import of names of one module; None in languages whose imports are not written here.

    `sample` is the source that tells how quotes and ends of statements are written. A module itself and a default
    export are imported by one statement each, so they are the only source.
    """
    name = text.tree.language.name
    first = sources[0]
    if name == "python":
        if first.name:
            return _listed(text, f"from {module} import ", [each.item for each in sources], "(", ")")
        alias = "" if first.local == module.partition(".")[0] else f" as {first.local}"
        return [f"import {module}{alias}"]
    if name in WEB_LANGUAGES:
        quote, ending = _quote(sample), _ending(sample)
        word = "import type" if all(each.is_type for each in sources) else "import"
        tail = f" from {quote}{module}{quote}{ending}"
        if not first.name or first.name == "default":
            return [f"{word} {first.local if first.name else f'* as {first.local}'}{tail}"]
        return _listed(text, f"{word} {{ ", [each.item for each in sources], "{", f"}}{tail}", before_tail=" ")
    if name == "go":
        return [f'"{module}"']
    if name in ("java", "kotlin") and first.name:
        return [f"import {module}.{first.name}{';' if name == 'java' else ''}"]
    return None


def _listed(text: Parsed, head: str, items: list[str], bracket: str, tail: str, before_tail: str = "") -> list[str]:
    """A statement with a list, on several lines if it does not fit on one."""
    ordered: list[str] = []
    for item in items:
        ordered.insert(_position(ordered, item, _name_keys(text)), item)
    closing = f"{before_tail}{tail}" if before_tail else ""
    whole = f"{head}{', '.join(ordered)}{closing}"
    if len(whole) <= width_of(text):
        return [whole]
    step = _step(text) or "    "
    opened = head.rstrip() if before_tail else f"{head}{bracket}"
    return [opened, *(f"{step}{each}," for each in ordered), tail]


def _quote(source: bytes) -> str:
    return "'" if source.count(b"'") > source.count(b'"') else '"'


def _ending(source: bytes) -> str:
    return ";" if b";\n" in source else ""


@dataclass(frozen=True, slots=True)
class Placed:
    """Lines to insert above a line, which replace `n_removed` lines."""

    line: int
    lines: tuple[str, ...]
    n_removed: int = 0


def placed(text: Parsed, lines: Sequence[str], module: str, is_own: Callable[[str], bool]) -> Placed:
    """Where a new statement belongs: in order in the block of its group, else in a block of its own.

    `is_own` tells of a module as written whether it is one of the repository.
    """
    if text.tree.language.name == "go":
        return _placed_in_go(text, lines, module, is_own)
    known = [each for each in statements_of(text) if not each.is_inner]
    if not known:
        return _placed_first(text, lines)
    new = lines[0]
    is_named = not new.startswith("import ") or text.tree.language.name != "python"
    entry = _Entry(module, is_named, new.startswith("import type"), " ".join(lines))
    entries = [_entry_of(text, each) for each in known]
    group = _group(text, module, is_own)
    groups = [_group(text, each.module, is_own) for each in entries]
    runs = _runs(known)
    own = [run for run in runs if group in [groups[at] for at in run]]
    if own:
        run = _best_run(own, groups, group)
        at = _place_among([entries[each] for each in run], [groups[each] for each in run], entry, group)
        line = known[run[at]].first if at < len(run) else known[run[-1]].last + 1
        return Placed(line, tuple(lines))
    separated = any(len({groups[at] for at in run}) == 1 for run in runs) and len(runs) > 1
    above = [run for run in runs if groups[run[-1]] < group]
    if above:
        line = known[above[-1][-1]].last + 1
        is_apart = separated or text.tree.language.name == "python"
        return Placed(line, ("", *lines) if is_apart else tuple(lines))
    line = known[0].first
    return Placed(line, (*lines, "") if separated or text.tree.language.name == "python" else tuple(lines))


@dataclass(frozen=True, slots=True)
class _Entry:
    """What orders a statement."""

    module: str
    is_named: bool
    is_type: bool
    text: str


def _entry_of(text: Parsed, each: Statement) -> _Entry:
    lines = lines_of(text, each)
    is_named = each.node.type != "import_statement" or text.tree.language.name != "python"
    return _Entry(each.module, is_named, each.is_type, " ".join(lines))


def _runs(known: Sequence[Statement]) -> list[list[int]]:
    """The numbers of statements without a line between."""
    runs: list[list[int]] = []
    for at, each in enumerate(known):
        if runs and each.first <= known[at - 1].last + 1:
            runs[-1].append(at)
        else:
            runs.append([at])
    return runs


def _best_run(runs: Sequence[list[int]], groups: Sequence[int], group: int) -> list[int]:
    """The block that has most statements of a group."""
    return max(runs, key=lambda run: sum(groups[at] == group for at in run))


def _place_among(entries: Sequence[_Entry], groups: Sequence[int], new: _Entry, group: int) -> int:
    """The number of the statement above which a new one belongs, by the order that fits the block best."""
    candidates = [(entry, each) for entry, each in zip(entries, groups, strict=True)]
    best: tuple[int, int] | None = None
    for key in _STATEMENT_KEYS:
        values = [key(entry, each) for entry, each in candidates]
        mine = key(new, group)
        n_wrong = sum(one > other for one, other in pairwise(values))
        if n_wrong > len(values) // 4:
            continue
        # With few statements out of order, the place that fits most of the others.
        misfits = [
            sum(value > mine for value in values[:at]) + sum(value <= mine for value in values[at:])
            for at in range(len(values) + 1)
        ]
        at = min(range(len(misfits)), key=lambda at: (misfits[at], at))
        if best is None or n_wrong < best[0]:
            best = n_wrong, at
    if best is not None:
        return best[1]
    near = [at for at, each in enumerate(groups) if each == group]
    alike = [_n_alike(entries[at].module, new.module) for at in near]
    return near[max(range(len(near)), key=lambda at: (alike[at], at))] + 1


def _n_alike(one: str, other: str) -> int:
    """How many first parts two modules have in common."""
    parts = list(zip(re.split(r"[./]", one), re.split(r"[./]", other), strict=False))
    return next((n for n, (a, b) in enumerate(parts) if a != b), len(parts))


_STATEMENT_KEYS: tuple[Callable[[_Entry, int], tuple[object, ...]], ...] = (
    lambda each, group: (group, each.is_named, _dots(each.module), each.module.lower()),
    lambda each, group: (group, _dots(each.module), each.module.lower()),
    lambda each, group: (not each.is_type, group, _dots(each.module), each.module.lower()),
    lambda each, group: (not each.is_type, each.module.lower()),
    lambda each, group: (each.is_type, each.module.lower()),
    lambda each, group: (each.module.lower(),),
    lambda each, group: (each.text.lower(),),
    lambda each, group: (each.text,),
)
"""The orders of usual formatters: isort's two, by types first, by module, and by the text."""


def _dots(module: str) -> int:
    """Relative modules of more levels come first."""
    return -(len(module) - len(module.lstrip("."))) if not module.startswith("./") and "/" not in module else 0


def _group(text: Parsed, module: str, is_own: Callable[[str], bool]) -> int:
    """The usual groups: 0 of the language's future, 1 standard, 2 from outside, 3 own, 4 and more relative."""
    name, first = text.tree.language.name, re.split(r"[./]", module)[0]
    if name == "python":
        if module == "__future__":
            return 0
        if module.startswith("."):
            return 4
        return 1 if first in sys.stdlib_module_names else 3 if is_own(module) else 2
    if name == "go":
        return 1 if "." not in module.partition("/")[0] and not is_own(module) else 3 if is_own(module) else 2
    if module.startswith("node:"):
        return 1
    return 4 if module.startswith("..") else 5 if module.startswith(".") else 2


def _placed_in_go(text: Parsed, lines: Sequence[str], module: str, is_own: Callable[[str], bool]) -> Placed:
    spec = lines[0]
    known = statements_of(text)
    in_block = [each for each in known if each.node.parent is not None and each.node.parent.type == "import_spec_list"]
    if not known:
        package = next((each for each in text.root.named_children if each.type == "package_clause"), None)
        line = 0 if package is None else package.end_point[0] + 1
        return Placed(line, ("", f"import {spec}"))
    if not in_block:
        first = known[0]
        old = lines_of(text, first)[0].removeprefix("import ").strip()
        if len(known) > 1:
            return Placed(first.last + 1, (f"import {spec}",))
        specs = sorted((old, spec), key=lambda each: each.rpartition(" ")[2])
        groups = [_group(text, each.strip('"'), is_own) for each in specs]
        between = [""] if groups[0] != groups[1] else []
        ordered = specs if groups[0] <= groups[1] else specs[::-1]
        inside = [f"\t{ordered[0]}", *between, f"\t{ordered[1]}"]
        return Placed(first.first, ("import (", *inside, ")"), 1)
    runs, group = _runs(in_block), _group(text, module, is_own)
    groups = [_group(text, each.module, is_own) for each in in_block]
    own = [run for run in runs if group in [groups[at] for at in run]]
    if not own and group != 1 and len(runs) > 1:
        own = [runs[-1]]
    if own:
        run = _best_run(own, groups, group)
        at = _position([in_block[each].module for each in run], module, (lambda each: (each,),))
        line = in_block[run[at]].first if at < len(run) else in_block[run[-1]].last + 1
        return Placed(line, (f"\t{spec}",))
    if group == 1:
        return Placed(in_block[0].first, (f"\t{spec}", ""))
    return Placed(in_block[-1].last + 1, ("", f"\t{spec}"))


def _placed_first(text: Parsed, lines: Sequence[str]) -> Placed:
    """Above the first statement that is no text, and above its own comment, with blank lines below."""
    comments: list[Node] = []
    for node in text.root.named_children:
        is_text = node.type == "expression_statement" and node.named_child_count == 1 and b'"' in (node.text or b"")[:4]
        if "comment" in node.type:
            comments.append(node)
            continue
        if is_text or node.type == "package_declaration":
            comments.clear()
            continue
        line = node.start_point[0]
        while comments and comments[-1].end_point[0] + 1 == line and not (comments[-1].text or b"").startswith(b"#!"):
            line = comments.pop().start_point[0]
        is_block = text.tree.language.name == "python" and node.type.endswith("definition")
        return Placed(line, (*lines, "", *([""] if is_block else [])))
    return Placed(0, tuple(lines))


def without(text: Parsed, statement: Statement) -> tuple[int, int]:
    """The lines (half-open) that go with a whole statement: also a block that becomes empty, and its blank line."""
    first, last = statement.first, statement.last
    around = statement.node.parent
    if statement.node.type == "import_spec" and around is not None and around.named_child_count == 1:
        block = around.parent if around.type == "import_spec_list" else around
        if block is not None:
            first, last = block.start_point[0], block.end_point[0]
    above = first == 0 or not text.lines[first - 1].strip()
    below = last + 1 < len(text.lines) - 1 and not text.lines[last + 1].strip()
    lines = {each.first for each in statements_of(text)}
    if above and below and last + 2 in lines:
        return first, last + 2
    return first, last + 1


def changed_runs(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, list[str]]]:
    """The runs of lines that differ: the lines before (half-open), and the new ones."""
    for tag, start, end, at, until in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield start, end, list(new[at:until])


_STATEMENTS = frozenset(
    {"import_statement", "import_from_statement", "future_import_statement", "import_declaration", "import_header"}
    | {"use_declaration", "import"}
)
