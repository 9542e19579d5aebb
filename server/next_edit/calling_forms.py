"""Next edits after a function became asynchronous or a property, or ceased to be: `await` and `()` at its uses.

Owns the signs of both in a header, and how a use is rewritten. An `await` is offered inside of asynchronous functions
alone. Knows no parameters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...codegraph.file_graph import MODULE_SCOPE, Definition
from ...codegraph.symbol_table import FUNCTION_KINDS
from ...retrieval.definition_index import NamedDefinition
from ..symbols.occurrences import Occurrence
from ..symbols.symbol import symbol_in
from .before import before_edits, occurrences_of, paired_definitions, text_before, text_now
from .edited_files import replaced_lines
from .lists import arguments_of_name
from .parsed import Parsed
from .values import EditedFile, NextEdit, Origin, Situation

if TYPE_CHECKING:
    from tree_sitter import Node

CONFIDENCE = 0.8
"""Set by hand: the fitting half of `weft bench next-edit` has too few."""


@dataclass(frozen=True)
class Form:
    """How a function is called: awaited, without brackets."""

    is_async: bool
    is_property: bool


@dataclass(frozen=True)
class Reformed:
    """A function whose calls are written in another form now."""

    file: EditedFile
    before: Definition
    now: Definition
    was: Form
    form: Form

    @property
    def sentence(self) -> str:
        name = self.now.name
        if self.was.is_async != self.form.is_async:
            return f"`{name}` is {'asynchronous' if self.form.is_async else 'not asynchronous any more'}."
        return f"`{name}` is a {'property' if self.form.is_property else 'method'} now."


def calling_form_edits(situation: Situation) -> Iterator[NextEdit]:
    """The uses of functions that became asynchronous or a property, or ceased to be."""
    for file in situation.edited[:2]:
        for reformed in reformed_functions(situation, file):
            yield from _edits(situation, reformed)


def reformed_functions(situation: Situation, file: EditedFile) -> Iterator[Reformed]:
    """The functions of an edited file whose header or decorators changed their form."""
    before, now = text_before(situation, file), text_now(situation, file)
    if before is None or now is None or file.path not in situation.index.graph.files:
        return
    edited = replaced_lines(file)
    if not any(_is_touched(each, edited) for each in before.graph.definitions if each.kind in FUNCTION_KINDS):
        return
    n_alike = Counter(each.qualified_name for each in before.graph.definitions)
    for old, new in paired_definitions(before, now):
        # A setter of a property has its name, too.
        if n_alike[old.qualified_name] > 1 or old.kind not in FUNCTION_KINDS:
            continue
        if _header_lines(before, old) == _header_lines(now, new) or _head(before, old) == _head(now, new):
            continue
        was, form = _form(before, old), _form(now, new)
        if was != form:
            yield Reformed(file, old, new, was, form)


def _is_touched(definition: Definition, edited: Sequence[tuple[int, int]]) -> bool:
    """Whether an edit is in the decorators or the header of a definition, or above; `edited` are lines before them."""
    return any(start <= definition.header_line and definition.start_line <= end for start, end in edited)


def _header_lines(text: Parsed, definition: Definition) -> list[bytes]:
    """The lines of the decorators of a definition, and that of its name."""
    return text.lines[definition.start_line : definition.header_line + 1]


def _head(text: Parsed, definition: Definition) -> str:
    """The decorators of a definition and its header up to the name."""
    whole = b"\n".join(_header_lines(text, definition)).decode("utf-8", "replace")
    *above, last = whole.split("\n")
    return "\n".join([*above, re.split(rf"\b{re.escape(definition.name)}\b\s*[(<]", last, maxsplit=1)[0]])


def _form(text: Parsed, definition: Definition) -> Form:
    head = _head(text, definition)
    is_async = re.search(r"(?:^|\s)async\s+(?:def|function|\w*\s*$)|(?:=|:)\s*async\b", head) is not None
    is_property = re.search(r"^\s*@(?:\w+\.)?(?:cached_)?property\s*$", head, re.MULTILINE) is not None
    is_getter = text.tree.language.name != "python" and re.search(r"(?:^|\s)get\s+$", head) is not None
    # An asynchronous generator is iterated and not awaited.
    lines = text.lines[definition.header_line : definition.end_line]
    yields = any(re.search(rb"\byield\b", line) for line in lines) or b"*" in lines[0].split(b"(")[0]
    return Form(is_async and not yields, is_property or is_getter)


def _edits(situation: Situation, reformed: Reformed) -> Iterator[NextEdit]:
    definition, path = reformed.before, reformed.file.path
    before = before_edits(situation)
    around = definition.parent
    if around != MODULE_SCOPE and before.graph.files[path].definitions[around].kind in FUNCTION_KINDS:
        return  # a function inside of a function
    symbol = symbol_in(before.graph, definition.name, [NamedDefinition(path, definition)])
    for _, each in occurrences_of(situation, symbol, path):
        line = before.now(each.path, each.line)
        if not each.is_use or not each.is_resolved or line is None:
            continue
        found = _rewritten(reformed, each)
        if found is None:
            continue
        first, last, new = found
        source = before.texts[each.path]
        if b"\n" in source[first:last]:
            continue
        start = source.rfind(b"\n", 0, first) + 1
        line += source.count(b"\n", 0, first) - each.line
        old = source[first:last].decode("utf-8", "replace")
        at = len(source[start:first].decode("utf-8", "replace"))
        yield NextEdit(
            "consequence",
            each.path,
            (line, at),
            (line, at + len(old)),
            old,
            new,
            reformed.sentence,
            f"form {path} {definition.qualified_name}",
            CONFIDENCE,
            origin=Origin(path, reformed.now.header_line),
            evidence="It is the same symbol, by name resolution.",
        )


def _rewritten(reformed: Reformed, use: Occurrence) -> tuple[int, int, str] | None:
    """The range of bytes of a use to replace, and its new text; None where it stays."""
    arguments = arguments_of_name(use.node) if use.role == "call" else None
    if reformed.was.is_property != reformed.form.is_property:
        if reformed.form.is_property:
            is_empty = arguments is not None and not arguments.named_children
            return (arguments.start_byte, arguments.end_byte, "") if arguments is not None and is_empty else None
        return (use.end, use.end, "()") if use.role in ("read", "argument") else None
    call = None if arguments is None else arguments.parent
    if call is None or call.parent is None:
        return None
    around = call.parent
    if reformed.form.is_async:
        if around.type in _AWAITS or not _is_in_async(call) or _is_scheduled(call):
            return None
        if around.type in _MEMBERS and around.named_child(0) == call:
            return call.start_byte, call.end_byte, f"(await {(call.text or b'').decode('utf-8', 'replace')})"
        return call.start_byte, call.start_byte, "await "
    if around.type not in _AWAITS:
        return None
    outer = around.parent
    is_bracketed = outer is not None and outer.type == "parenthesized_expression"
    if outer is not None and is_bracketed and outer.parent is not None and outer.parent.type in _MEMBERS:
        return outer.start_byte, outer.end_byte, (call.text or b"").decode("utf-8", "replace")
    return around.start_byte, call.start_byte, ""


def _is_in_async(node: Node) -> bool:
    """Whether the innermost function around a node is asynchronous."""
    around = node.parent
    while around is not None and around.type not in _FUNCTIONS:
        around = around.parent
    return around is not None and any(child.type == "async" for child in around.children[:3])


def _is_scheduled(call: Node) -> bool:
    """Whether a call gives its coroutine to a function that awaits it, as `gather(pay())`."""
    around = call.parent
    for _ in range(MAX_LEVELS):
        if around is None or around.type in _FUNCTIONS:
            return False
        function = around.child_by_field_name("function")
        if function is not None and _SCHEDULING.search((function.text or b"").decode("utf-8", "replace")):
            return True
        around = around.parent
    return False


MAX_LEVELS = 6
_AWAITS = frozenset({"await", "await_expression"})
_MEMBERS = frozenset({"attribute", "subscript", "member_expression", "subscript_expression"})
_FUNCTIONS = frozenset(
    {"function_definition", "lambda", "function_declaration", "function_expression", "arrow_function"}
    | {"method_definition", "generator_function_declaration", "generator_function", "function_item"}
)
_SCHEDULING = re.compile(
    r"\b(?:gather|create_task|ensure_future|wait_for|wait|shield|as_completed|run|run_until_complete|start_soon|"
    r"run_coroutine_threadsafe|timeout|all|allSettled|race|any|resolve|then|catch)$"
)
