"""Next edits of imports: the import of a name that is used now, and an import whose name is used no more.

Owns how an import is written: as other files of the repository import the same name, in a list of the file where it has
one of the same module, else on a line of its own. Knows no ranking.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...codegraph.bound_names import word_spans
from ...codegraph.file_graph import MODULE_SCOPE, Import
from ...codegraph.modules import directory_of
from ...codegraph.name_check import name_problems
from ...codegraph.symbol_table import STAR_IMPORTS, ImportedName, language_family
from ...codegraph.typed_resolver import TypedResolver
from ..symbols.occurrences import files_with
from .before import graph_around, text_before, text_now
from .parsed import Parsed
from .values import At, EditedFile, NextEdit, Situation

if TYPE_CHECKING:
    from tree_sitter import Node

LISTED, OWN_LINE, UNUSED = 0.8, 0.65, 0.7
"""Confidence of a name added to a list, of a new import, and of a removal. Set by hand, see `weft bench next-edit`."""

MAX_FILES = 200
"""The most files that are read for how a name is imported."""

MAX_NAMES = 8


@dataclass(frozen=True, slots=True)
class Source:
    """Where a name is imported from, as written in a file of the same folder."""

    module: str
    level: int
    name: str  # "" for the module itself


def import_edits(situation: Situation) -> Iterator[NextEdit]:
    """The imports that the latest edits make necessary or needless."""
    for file in situation.edited[:2]:
        now = text_now(situation, file)
        if now is None:
            continue
        yield from _missing(situation, file, now)
        yield from _unused(situation, file, now)


def _missing(situation: Situation, file: EditedFile, now: Parsed) -> Iterator[NextEdit]:
    for name in unbound_names(situation, file)[:MAX_NAMES]:
        source = _imported_module(situation, file, now, name) or source_of(situation, file, name)
        if source is None:
            continue
        reason = f"`{name}` is used and not imported."
        listed = _list_of(now, source)
        if listed is not None:
            at, text = _listed(now, listed, name)
            yield _insertion(file.path, at, text, reason, name, LISTED)
            continue
        line = _statement(now, source, name)
        if line is not None:
            yield _insertion(file.path, (_place(now, line), 0), f"{line}\n", reason, name, OWN_LINE)


def unbound_names(situation: Situation, file: EditedFile) -> list[str]:
    """The names of changed lines that nothing binds, in order; none that were in the text before."""
    text, index = file.now.text, situation.index
    known, builtins = set(_WORDS.findall(file.before.text)), file.language.builtin_names
    found: dict[str, None] = {}
    for hunk in file.hunks:
        if set(_WORDS.findall("\n".join(hunk.after))) <= known | builtins:
            continue
        start, end = file.now.offset(hunk.start_line, 0), file.now.offset(hunk.end_line, 0)
        if hunk.end_line >= file.now.n_lines:
            end = len(text)
        graph = graph_around(situation, file)
        problems = name_problems(
            graph, file.path, text[:start], text[start:end], text[end:], file.language, None, index.texts
        )
        found |= {each.name: None for each in problems if each.kind == "not bound" and each.name not in known}
    return list(found)


def _imported_module(situation: Situation, file: EditedFile, now: Parsed, name: str) -> Source | None:
    """The module from which the file imports other names already, if it has the name, too."""
    graph = graph_around(situation, file)
    resolver = TypedResolver(graph)
    seen: set[tuple[str, int]] = set()
    for item in now.graph.imports:
        key = item.module, item.level
        if item.name in ("", STAR_IMPORTS) or item.scope != MODULE_SCOPE or key in seen:
            continue
        seen.add(key)
        entry = ImportedName(item.local_name, item.module, item.level, item.name)
        for path in resolver.import_files(now.path, entry, name):
            symbols = graph.symbols(path)
            if symbols is not None and name in symbols.entries:
                return Source(item.module, item.level, name)
    return None


def source_of(situation: Situation, file: EditedFile, name: str) -> Source | None:
    """How other files import a name, most frequently; None if none does, or they disagree."""
    graph = graph_around(situation, file)
    family, directory = language_family(file.language.name), directory_of(file.path)
    counts: Counter[Source] = Counter()
    for path in files_with(situation.index, name, MAX_FILES):
        other = graph.files[path]
        if path == file.path or language_family(other.language) != family:
            continue
        for item in other.imports:
            if item.local_name == name and item.scope == MODULE_SCOPE and item.name in ("", name):
                is_relative = item.level > 0 or item.module.startswith(".")
                if not is_relative or directory_of(path) == directory:
                    counts[Source(item.module, item.level, item.name)] += 1
    (first, n), *others = [*counts.most_common(2), (None, 0)]
    return first if first is not None and n > others[0][1] else None


def _list_of(now: Parsed, source: Source) -> list[Node] | None:
    """The names in an import of the same module at the top level."""
    if not source.name:
        return None
    for item in now.graph.imports:
        if (item.module, item.level) == (source.module, source.level) and item.name and item.scope == MODULE_SCOPE:
            names = _names(_import_node(now, item.line))
            if names:
                return names
    return None


def _listed(now: Parsed, names: Sequence[Node], name: str) -> tuple[At, str]:
    """Where a name is inserted in a list, in order if the list is ordered, and the text to insert."""
    texts = [_text(each) for each in names]
    is_ordered = texts == sorted(texts, key=str.lower) or texts == sorted(texts)
    follower = next((at for at, text in enumerate(texts) if is_ordered and text.lower() > name.lower()), None)
    between = ", "
    if len(names) > 1 and names[0].start_point[0] != names[1].start_point[0]:
        between = ",\n" + " " * names[1].start_point[1]
    if follower is not None:
        node = names[follower]
        return now.at(node.start_point[0], node.start_byte), f"{name}{between}"
    node = names[-1]
    return now.at(node.end_point[0], node.end_byte), f"{between}{name}"


def _statement(now: Parsed, source: Source, name: str) -> str | None:
    """An import of its own; None in languages whose imports are not written here."""
    if now.tree.language.name == "python":
        module = f"{'.' * source.level}{source.module}"
        if not source.name:
            return f"import {module}" if module == name else None
        return f"from {module} import {name}"
    if now.tree.language.name in ("typescript", "tsx", "javascript") and source.name:
        quote = "'" if now.source.count(b"'") > now.source.count(b'"') else '"'
        ending = ";" if b";\n" in now.source else ""
        return f"import {{ {name} }} from {quote}{source.module}{quote}{ending}"
    if now.tree.language.name in ("java", "kotlin") and source.module:
        ending = ";" if now.tree.language.name == "java" else ""
        return f"import {source.module}.{name}{ending}"
    return None


def _place(now: Parsed, statement: str) -> int:
    """The line for a new import: in order of those that begin with the same word, else behind them."""
    nodes = [_import_node(now, item.line) for item in now.graph.imports if item.scope == MODULE_SCOPE]
    lines = sorted({(node.start_point[0], node.end_point[0]) for node in nodes if node is not None})
    if not lines:
        return _first_line(now)
    word = statement.split()[0].encode()
    alike = [each for each in lines if now.lines[each[0]].split()[:1] == [word]]
    texts = [now.lines[start].decode("utf-8", "replace") for start, _ in alike]
    if texts == sorted(texts):
        for text, (start, _) in zip(texts, alike, strict=True):
            if text > statement:
                return start
    return (alike or lines)[-1][1] + 1


def _first_line(now: Parsed) -> int:
    """The line of the first statement that is no comment and no text."""
    for node in now.root.named_children:
        is_text = node.type == "expression_statement" and node.named_child_count == 1 and b'"' in (node.text or b"")[:4]
        if "comment" not in node.type and not is_text:
            return node.start_point[0]
    return 0


def _unused(situation: Situation, file: EditedFile, now: Parsed) -> Iterator[NextEdit]:
    before = text_before(situation, file)
    if before is None or _REEXPORTS.search(file.path):
        return
    imported = Counter(item.local_name for item in now.graph.imports)
    gone = {word for hunk in file.hunks for line in hunk.before for word in _WORDS.findall(line)}
    for item in now.graph.imports:
        name = item.local_name
        if name not in gone or imported[name] > 1 or item.module == "__future__" or item.scope != MODULE_SCOPE:
            continue
        if _n_uses(before, name) == 0 or _n_uses(now, name) > 0:
            continue
        edit = _removal(file.path, now, item, f"`{name}` is not used any more.")
        if edit is not None:
            yield edit


def _n_uses(text: Parsed, name: str) -> int:
    """How many words in the text are the name, beside those in its import."""
    lines = {item.line for item in text.graph.imports if item.local_name == name}
    spans = [node for node in (_import_node(text, line) for line in lines) if node is not None]
    found = word_spans(text.source, name.encode())
    return sum(not any(node.start_byte <= at < node.end_byte for node in spans) for at, _ in found)


def _removal(path: str, now: Parsed, item: Import, reason: str) -> NextEdit | None:
    node = _import_node(now, item.line)
    names = _names(node)
    if node is None:
        return None
    if len(names) <= 1:
        start: At = (node.start_point[0], 0)
        end: At = (node.end_point[0] + 1, 0)
        old = b"\n".join(now.lines[start[0] : end[0]]).decode("utf-8", "replace") + "\n"
        if end[0] >= len(now.lines) or old.strip().count("\n") + 1 != end[0] - start[0]:
            return None
        return NextEdit("import", path, start, end, old, "", reason, f"unused {path} {item.local_name}", UNUSED)
    at = next((number for number, each in enumerate(names) if _local(each) == item.local_name), None)
    if at is None:
        return None
    first, last = (names[at], names[at + 1]) if at + 1 < len(names) else (names[at - 1], names[at])
    begin, finish = (first.start_byte, last.start_byte) if at + 1 < len(names) else (first.end_byte, last.end_byte)
    rows = now.source.count(b"\n", 0, begin), now.source.count(b"\n", 0, finish)
    old = now.source[begin:finish].decode("utf-8", "replace")
    places = now.at(rows[0], begin), now.at(rows[1], finish)
    return NextEdit("import", path, *places, old, "", reason, f"unused {path} {item.local_name}", UNUSED)


def _import_node(text: Parsed, line: int) -> Node | None:
    """The import statement that covers a line."""
    start = text.offset((line, 0))
    indent = len(text.lines[line]) - len(text.lines[line].lstrip())
    node = text.root.descendant_for_byte_range(start + indent, start + indent)
    while node is not None and node.type not in _STATEMENTS:
        node = node.parent
    return node


def _names(node: Node | None) -> list[Node]:
    """The imported names of a statement, in order."""
    if node is None:
        return []
    if node.type == "import_from_statement":
        return node.children_by_field_name("name")
    waiting, found = [node], []
    while waiting:
        each = waiting.pop(0)
        if each.type == "import_specifier":
            found.append(each)
        elif each.type in ("import_statement", "import_clause", "named_imports"):
            waiting += each.named_children
    return found


def _local(node: Node) -> str:
    alias = node.child_by_field_name("alias")
    return _text(node if alias is None else alias)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _insertion(path: str, at: At, text: str, reason: str, name: str, confidence: float) -> NextEdit:
    return NextEdit("import", path, at, at, "", text, reason, f"import {path} {name}", confidence)


_STATEMENTS = frozenset(
    {"import_statement", "import_from_statement", "import_declaration", "import_header", "use_declaration"}
)
_WORDS = re.compile(r"[^\W\d][\w$]*")
_REEXPORTS = re.compile(r"(?:^|/)(?:__init__\.pyi?|index\.[jt]sx?|mod\.rs)$")
