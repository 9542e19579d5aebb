"""What Python source says: definitions, calls, imports, and what names are known to hold.

Owns the readers of Python's syntax nodes and the rules that turn a type expression or a callee into
dotted text. Knows one file at a time: what a dotted text means is for resolution to find out.

The node of a definition is its `function_definition` or `class_definition`, also when it is decorated;
its lines start at the first decorator. Names bound in a class body count as attributes, "self.x".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from tree_sitter import Node

from .facts import MODULE_SCOPE, Binding, Call, Import
from .walk import Reader, Walk, node_lines

# Longer chains of attributes and calls are cut to "?.name": no resolver follows them, and fluent
# code with hundreds of links would cost the square of its length. Lengths are in bytes and characters.
MAX_LINKS = 12
MAX_DOTTED_LENGTH = 200
MAX_TYPE_LENGTH = 400
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*").fullmatch


# Calls


def _read_call(walk: Walk, node: Node, index: int, depth: int, scope: int) -> int:
    function = node.child_by_field_name("function")
    if function is not None:
        callee = _dotted(walk, function)
        if callee and callee != "?":
            walk.calls.append(Call(callee, index, depth, node.start_point[0], scope))
    return scope


def _dotted(walk: Walk, node: Node) -> str:
    """The expression as `Call.callee` writes it; "?" or "" when it ends in no name."""
    if node.end_byte - node.start_byte <= MAX_DOTTED_LENGTH:
        text = walk.text(node)
        if _DOTTED(text):
            return text
    links: list[str] = []
    called = ""
    while len(links) < MAX_LINKS:
        kind = node.type
        if kind == "identifier":
            return ".".join([walk.text(node) + called, *reversed(links)])
        if kind == "attribute":
            name = node.child_by_field_name("attribute")
            below = node.child_by_field_name("object")
            if name is None or below is None:
                break
            links.append(walk.text(name) + called)
            called = ""
        elif kind == "call":
            below = node.child_by_field_name("function")
            called += "()"
        elif kind in ("parenthesized_expression", "await"):
            below = node.named_child(0)
        else:
            break
        if below is None:
            break
        node = below
    return f"?.{links[0]}" if links else "?"


# Definitions


def _read_decorated(walk: Walk, node: Node, index: int, depth: int, scope: int) -> int:
    walk.decorated = (node.end_byte, node.start_point[0])
    return scope


def _read_function(walk: Walk, node: Node, index: int, depth: int, scope: int) -> int:
    name = node.child_by_field_name("name")
    if name is None:
        return scope
    returns = node.child_by_field_name("return_type")
    return walk.define(
        node,
        name,
        _function_kind(walk, scope),
        index,
        depth,
        scope,
        returns=reduce_type(walk.text(returns)) if returns is not None else "",
    )


def _read_class(walk: Walk, node: Node, index: int, depth: int, scope: int) -> int:
    name = node.child_by_field_name("name")
    if name is None:
        return scope
    bases = node.child_by_field_name("superclasses")
    return walk.define(node, name, "class", index, depth, scope, bases=_bases(walk, bases) if bases is not None else ())


def _function_kind(walk: Walk, scope: int) -> str:
    return "method" if scope != MODULE_SCOPE and walk.definitions[scope].kind == "class" else "function"


def _bases(walk: Walk, arguments: Node) -> tuple[str, ...]:
    bases = (base for base in arguments.named_children if base.type not in ("keyword_argument", "comment"))
    return tuple(text for text in (reduce_type(walk.text(base)) for base in bases) if text)


# Imports


def _read_import(walk: Walk, node: Node, index: int, depth: int, scope: int) -> int:
    line = node.start_point[0]
    for name, alias in _imported_names(walk, node):
        walk.imports.append(Import(alias or name.partition(".")[0], name, 0, "", line, scope))
    return scope


def _read_from_import(walk: Walk, node: Node, index: int, depth: int, scope: int) -> int:
    source = node.child_by_field_name("module_name")
    if source is None:
        return scope
    written = _unspaced(walk.text(source))
    module = written.lstrip(".")
    level, line = len(written) - len(module), node.start_point[0]
    if any(child.type == "wildcard_import" for child in node.named_children):
        walk.imports.append(Import("", module, level, "*", line, scope))
    for name, alias in _imported_names(walk, node):
        walk.imports.append(Import(alias or name, module, level, name, line, scope))
    return scope


def _imported_names(walk: Walk, node: Node) -> Iterator[tuple[str, str]]:
    for child in node.children_by_field_name("name"):
        name, alias = child, None
        if child.type == "aliased_import":
            name, alias = child.child_by_field_name("name"), child.child_by_field_name("alias")
        if name is not None and name.start_byte < name.end_byte:
            yield _unspaced(walk.text(name)), walk.text(alias) if alias is not None else ""


def _unspaced(text: str) -> str:
    return text if text.isidentifier() else re.sub(r"[\s\\]+", "", text)


# Bindings


def _read_assignment(walk: Walk, node: Node, index: int, depth: int, scope: int) -> int:
    left = node.child_by_field_name("left")
    if left is not None:
        annotation = node.child_by_field_name("type")
        value = node.child_by_field_name("right")
        if annotation is not None:
            _bind(walk, left, "annotation", reduce_type(walk.text(annotation)), scope)
        elif value is not None:
            for _ in range(MAX_LINKS):  # in a = b = Foo() the part b = Foo() is read on its own as well
                inner = value.child_by_field_name("right") if value.type == "assignment" else None
                if inner is None:
                    break
                value = inner
            _bind_value(walk, left, value, scope)
    return scope


def _read_walrus(walk: Walk, node: Node, index: int, depth: int, scope: int) -> int:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is not None and value is not None:
        _bind_value(walk, name, value, scope)
    return scope


def _read_parameter(walk: Walk, node: Node, index: int, depth: int, scope: int) -> int:
    name, annotation = node.named_child(0), node.child_by_field_name("type")
    if name is not None and annotation is not None and scope != MODULE_SCOPE:
        _bind(walk, name, "annotation", reduce_type(walk.text(annotation)), scope)
    return scope


def _read_with_item(walk: Walk, node: Node, index: int, depth: int, scope: int) -> int:
    pair = _as_pattern(node)
    if pair is not None:
        _bind_value(walk, pair[1], pair[0], scope)
    return scope


def _read_except(walk: Walk, node: Node, index: int, depth: int, scope: int) -> int:
    pair = _as_pattern(node)
    if pair is not None:
        _bind(walk, pair[1], "annotation", reduce_type(walk.text(pair[0])), scope)
    return scope


def _as_pattern(node: Node) -> tuple[Node, Node] | None:
    """The value and the name of `value as name`."""
    pattern = node.named_child(0)
    while pattern is not None and pattern.type == "parenthesized_expression":
        pattern = pattern.named_child(0)
    if pattern is None or pattern.type != "as_pattern":
        return None
    value, alias = pattern.named_child(0), pattern.child_by_field_name("alias")
    name = alias.named_child(0) if alias is not None else None
    return None if value is None or name is None else (value, name)


def _bind_value(walk: Walk, target: Node, value: Node, scope: int) -> None:
    """Note what `target` holds after `target = value`, as far as the value's own form tells."""
    pending = [(target, value)]
    while pending:
        target, value = pending.pop()
        kind, parts = value.type, value.named_children
        if kind == "call":
            function = value.child_by_field_name("function")
            if function is not None:
                _bind(walk, target, "call", _dotted(walk, function), scope)
        elif kind in ("identifier", "attribute"):
            _bind(walk, target, "alias", _dotted(walk, value), scope)
        elif kind in ("await", "parenthesized_expression"):
            pending.extend((target, part) for part in parts[:1])
        elif kind == "conditional_expression":
            # `Store() if store is None else store`: either side may be the one that resolves.
            pending.extend((target, side) for side in (parts[-1], parts[0]))
        elif kind == "boolean_operator":
            operator = value.child_by_field_name("operator")
            either = operator is not None and operator.type == "or"
            pending.extend((target, side) for side in (reversed(parts) if either else parts[-1:]))
        elif kind == "expression_list" and target.type in ("pattern_list", "tuple_pattern"):
            names = target.named_children
            if len(names) == len(parts):
                pending.extend(reversed(list(zip(names, parts, strict=True))))


def _bind(walk: Walk, target: Node, how: str, value: str, scope: int) -> None:
    if not value or value.startswith("?"):
        return
    line = target.start_point[0]
    if target.type == "identifier":
        name = walk.text(target)
        if scope != MODULE_SCOPE and walk.definitions[scope].kind == "class":
            name = f"self.{name}"
        walk.bindings.append(Binding(scope, name, how, value, line))
    elif target.type == "attribute":
        receiver, _, name = walk.text(target).partition(".")
        owner = _class_of(walk, scope)
        if receiver in ("self", "cls") and name.isidentifier() and owner != MODULE_SCOPE:
            walk.bindings.append(Binding(owner, f"self.{name}", how, value, line))


def _class_of(walk: Walk, scope: int) -> int:
    """The class whose method `scope` is, or is nested in."""
    while scope != MODULE_SCOPE and walk.definitions[scope].kind != "method":
        scope = walk.definitions[scope].parent
    return MODULE_SCOPE if scope == MODULE_SCOPE else walk.definitions[scope].parent


# Type expressions

_GENERIC = re.compile(r"([\w.]+)\[(.*)\]", re.DOTALL).fullmatch
_TRANSPARENT = frozenset(
    ["Optional", "Union", "Type", "type", "Annotated", "Final", "ClassVar", "Required", "NotRequired"]
)


@lru_cache(maxsize=4096)
def reduce_type(text: str) -> str:
    """The dotted name of the one class that a type expression speaks of, "" when it speaks of none or of several.

    Quotes, None, `Optional`, `Type` and their like are taken off; the arguments of other generics are dropped.
    """
    text = text.strip() if len(text) <= MAX_TYPE_LENGTH else ""
    while len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]:
        text = text[1:-1].strip()
    if _DOTTED(text):
        return "" if text == "None" else text
    choices = _split_outside_brackets(text, "|")
    if len(choices) == 1:
        generic = _GENERIC(text)
        if generic is None:
            return ""
        head, arguments = generic.groups()
        last = head.rpartition(".")[2]
        if last not in _TRANSPARENT:
            return head if _DOTTED(head) else ""
        choices = _split_outside_brackets(arguments, ",")
        if last == "Annotated":
            del choices[1:]
    names = {reduce_type(choice) for choice in choices if choice.strip() != "None"}
    return names.pop() if len(names) == 1 else ""


def _split_outside_brackets(text: str, separator: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == separator and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return parts


# Broken code


def mend(walk: Walk, node: Node, index: int, depth: int, scope: int) -> list[tuple[Node, int]]:
    """The parts of an ERROR node with their scopes.

    An open bracket at the cursor can flatten every class and function around it into loose tokens.
    Their headers are found again, and what follows belongs to them as long as it is indented deeper.
    """
    parts: list[tuple[Node, int]] = []
    headers: list[tuple[int, int]] = []  # column, definition
    row, column, end_line, brackets = -1, 0, node.start_point[0], 0
    children = node.children
    for child, following in zip(children, [*children[1:], None], strict=True):
        kind = child.type
        is_header = kind in ("def", "class") and following is not None and following.type == "identifier"
        if is_header or kind in _STATEMENTS:
            brackets = 0  # no bracket goes on past a statement: it was never closed
        if child.start_point[0] != row and brackets == 0:
            column = child.start_point[1]
            while headers and column <= headers[-1][0]:
                _end(walk, headers.pop()[1], end_line)
        within = headers[-1][1] if headers else scope
        if child.is_named:
            parts.append((child, within))
        elif is_header and following is not None:
            word = "class" if kind == "class" else _function_kind(walk, within)
            definition = walk.define(child, following, word, index, depth, within)
            headers.append((column, definition))
        elif kind in ("(", "[", "{"):
            brackets += 1
        elif kind in (")", "]", "}"):
            brackets = max(0, brackets - 1)
        row, end_line = child.end_point[0], node_lines(child)[1]
    for _, definition in headers:
        _end(walk, definition, end_line)
    return parts


def _end(walk: Walk, definition: int, line: int) -> None:
    walk.definitions[definition] = walk.definitions[definition]._replace(end_line=line)


_STATEMENTS = frozenset({"function_definition", "class_definition", "decorated_definition", "expression_statement"})

READERS: dict[str, Reader] = {
    "assignment": _read_assignment,
    "call": _read_call,
    "class_definition": _read_class,
    "decorated_definition": _read_decorated,
    "except_clause": _read_except,
    "function_definition": _read_function,
    "import_from_statement": _read_from_import,
    "import_statement": _read_import,
    "named_expression": _read_walrus,
    "typed_default_parameter": _read_parameter,
    "typed_parameter": _read_parameter,
    "with_item": _read_with_item,
}
"""What to do at each kind of node."""
