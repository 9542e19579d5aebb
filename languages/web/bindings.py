"""Bindings of TypeScript and JavaScript: parameters, variables, patterns, fields, and what functions return.

Owns the translation of a target and its value or type to `Binding` facts. Knows node kinds of the two grammars, which
share most of them; which nodes are definitions is in `known.javascript`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..dotted import MAX_LINKS
from ..nodes import first_child, unquoted
from ..syntax import MODULE_SCOPE, SyntaxWalk
from .types import COLLECTIONS, MAX_TYPE_LENGTH, UNKNOWN_TYPE, TypeText, type_of

if TYPE_CHECKING:
    from tree_sitter import Node

RESULT = "()"  # `file_graph.RESULT`
MEMBER_KINDS = frozenset({"class", "enum", "interface", "object", "type"})
"""Kinds of definitions that have members and no variables."""

FUNCTION_VALUES = frozenset({"arrow_function", "function_expression", "generator_function"})

# Functions that give back the function that is their first argument, with the same parameters and result.
FUNCTION_WRAPPERS = frozenset(
    {"asyncHandler", "cache", "debounce", "defineComponent", "defineEventHandler", "eventHandler", "forwardRef"}
    | {"memo", "memoize", "observer", "once", "throttle", "useCallback", "useEvent"}
)

# Functions that give back the object that is their first argument.
OBJECT_WRAPPERS = frozenset(
    {"defineComponent", "defineConfig", "extend", "freeze", "markRaw", "reactive", "readonly", "shallowReactive"}
)

# Parts that are read of `a ?? b ?? c …`; real code has two or three, each with one `await` or cast.
MAX_SIDES = 16
# Levels that are read of nested patterns and of wrapped expressions.
MAX_NESTING = 8
# Scopes that are searched for the one around a position.
MAX_LEVELS = 32

# Names


def plain_name(walk: SyntaxWalk, node: Node) -> str:
    """A name as `dotted_name` writes it: without the signs before it."""
    return walk.text(node).lstrip("#$@")


def variable_scope(walk: SyntaxWalk) -> int:
    """The scope of a variable at the present position: in a class or an object, the one around it."""
    scope = walk.scope
    for _ in range(MAX_LEVELS):
        if scope == MODULE_SCOPE or walk.definitions[scope].kind not in MEMBER_KINDS:
            return scope
        scope = walk.definitions[scope].parent
    return MODULE_SCOPE


def class_around(walk: SyntaxWalk) -> int:
    """The class or object that `this` means at the present position, MODULE_SCOPE for none."""
    scope = walk.scope
    for _ in range(MAX_LEVELS):
        if scope == MODULE_SCOPE or walk.definitions[scope].kind in MEMBER_KINDS:
            return scope
        scope = walk.definitions[scope].parent
    return MODULE_SCOPE


def bind(walk: SyntaxWalk, node: Node, how: str, value: str) -> None:
    """Add a binding of the variable that a node names; "unknown" without a value."""
    name = plain_name(walk, node)
    if name:
        known = bool(value) and not value.startswith("?")
        walk.add_binding(variable_scope(walk), name, how if known else "unknown", value if known else "", node)


def bind_member(walk: SyntaxWalk, owner: int, node: Node, how: str, value: str) -> None:
    """Add a binding of a member of a class, an interface or an object, if it is known."""
    name = walk.text(node).strip("#$@\"'")
    if name and value and not value.startswith("?") and owner != MODULE_SCOPE:
        walk.add_binding(owner, f"self.{name}", how, value, node)


def annotated_type(walk: SyntaxWalk, node: Node | None) -> TypeText:
    """The meaning of a type annotation or a type."""
    if node is None or node.end_byte - node.start_byte > MAX_TYPE_LENGTH:
        return UNKNOWN_TYPE
    return type_of(walk.text(node))


# Expressions


def expression_text(walk: SyntaxWalk, node: Node) -> str:
    """The dotted text of an expression as `SyntaxWalk.dotted`, also of long chains, casts and `(a ?? b)`.

    An expression that is cast to a type T is "T()", an instance of it.
    """
    dotted = walk.dotted(node)
    return _links_text(walk, node, dotted) if dotted[:1] in ("", "?") and node.named_child_count else dotted


def _links_text(walk: SyntaxWalk, node: Node, dotted: str) -> str:
    """The same link by link from the end; `dotted` when there is no name at the start."""
    links = ""
    below: Node | None = node
    for _ in range(MAX_LINKS * 2):
        below = next(sides(below), None)
        if below is None:
            break
        kind = below.type
        if kind in ("identifier", "this", "super"):
            text = f"{plain_name(walk, below)}{links}"
            return text if text.count(".") < MAX_LINKS else dotted
        if kind == "member_expression":
            name = below.child_by_field_name("property")
            links = f".{plain_name(walk, name)}{links}" if name is not None else links
            below = below.child_by_field_name("object")
        elif kind == "call_expression":
            links = f"(){links}"
            below = below.child_by_field_name("function")
        elif kind == "new_expression":
            links = f"(){links}"
            below = below.child_by_field_name("constructor")
        elif kind == "subscript_expression":
            links = f"[]{links}"
            below = below.child_by_field_name("object")
        elif kind in ("as_expression", "satisfies_expression") and below.named_child_count == 2:
            how, value = annotated_type(walk, below.named_children[1])
            if how == "annotation" and value != "const" and not value.endswith("[]"):
                return f"{value}(){links}"
            below = first_child(below)
        else:
            break
    return dotted


# Values


def sides(value: Node | None) -> Iterator[Node]:
    """The possible values of an expression: both sides of `??`, `||` and a conditional, the last of `&&`.

    A cast to a type of which nothing is known counts as its expression.
    """
    waiting = [value]
    for _ in range(MAX_SIDES):
        value = waiting.pop() if waiting else None
        if value is None:
            continue
        kind = value.type
        if kind in _TRANSPARENT:
            waiting.append(first_child(value))
        elif kind == "ternary_expression":
            waiting += [value.child_by_field_name("alternative"), value.child_by_field_name("consequence")]
        elif kind == "binary_expression":
            operator = value.child_by_field_name("operator")
            if operator is not None and operator.type in ("??", "||", "&&"):
                waiting.append(value.child_by_field_name("right"))
                if operator.type != "&&":
                    waiting.append(value.child_by_field_name("left"))
        elif kind in ("assignment_expression", "sequence_expression"):
            waiting.append(value.child_by_field_name("right"))
        else:
            yield value


_TRANSPARENT = frozenset({"await_expression", "non_null_expression", "parenthesized_expression"})


def meanings(walk: SyntaxWalk, value: Node | None, depth: int = 0) -> list[TypeText]:
    """What is known of the value of an expression, one entry for each possible value that is known."""
    if value is None or depth > MAX_NESTING:
        return []
    found = [meaning for side in sides(value) for meaning in _meanings_of(walk, side, depth + 1)]
    return [each for each in found if each.value and not each.value.startswith("?")]


def _meanings_of(walk: SyntaxWalk, side: Node, depth: int) -> list[TypeText]:
    kind = side.type
    if kind in ("identifier", "member_expression", "subscript_expression", "this"):
        return [TypeText("alias", expression_text(walk, side))]
    if kind == "call_expression":
        return _called(walk, side, depth)
    if kind == "new_expression":
        constructor = side.child_by_field_name("constructor")
        name = "" if constructor is None else expression_text(walk, constructor)
        if name in COLLECTIONS:
            arguments = side.child_by_field_name("type_arguments")
            return [] if arguments is None else [type_of(f"{name}{walk.text(arguments)}")]
        return [TypeText("call", name)]
    if kind in ("as_expression", "satisfies_expression"):
        expression, *types = side.named_children[:2]
        declared = annotated_type(walk, types[0] if types else None)
        return [declared] if declared.value else meanings(walk, expression, depth) if not _is_any(walk, types) else []
    if kind == "type_assertion" and len(side.named_children) == 2:
        declared = type_of(walk.text(side.named_children[0])[1:-1])
        return [declared] if declared.value else []
    return []


def _is_any(walk: SyntaxWalk, types: list[Node]) -> bool:
    return bool(types) and walk.text(types[0]) in ("any", "unknown", "never")


def _called(walk: SyntaxWalk, call: Node, depth: int) -> list[TypeText]:
    """The meaning of the result of a call; an explicit type argument counts after what is known of the callee."""
    function = call.child_by_field_name("function")
    if function is None:
        return []
    callee = expression_text(walk, function)
    if callee in _COLLECTION_VIEWS:
        viewed = _first_argument(call)
        elements = "" if viewed is None else expression_text(walk, viewed)
        return [TypeText("alias", elements)] if callee != "Object.entries" else []
    if callee in _MEMOS:
        return _results(walk, _first_argument(call), depth)
    found = [TypeText("call", callee)]
    arguments = call.child_by_field_name("type_arguments")
    if arguments is not None and len(arguments.named_children) == 1:
        found.append(annotated_type(walk, arguments.named_children[0]))
    return found


_COLLECTION_VIEWS = frozenset({"Array.from", "Object.entries", "Object.freeze", "Object.values", "structuredClone"})
_MEMOS = frozenset({"React.useMemo", "useMemo"})


def _first_argument(call: Node) -> Node | None:
    arguments = call.child_by_field_name("arguments")
    return first_child(arguments) if arguments is not None else None


def element_of(walk: SyntaxWalk, collection: Node, depth: int = 0) -> str:
    """The elements of a collection as dotted text: "xs[]", also of `Object.values(xs)`; "" when it has no name."""
    if depth > MAX_NESTING:
        return ""
    if collection.type == "call_expression":
        function = collection.child_by_field_name("function")
        callee = "" if function is None else expression_text(walk, function)
        if callee in _COLLECTION_VIEWS:
            viewed = _first_argument(collection)
            return element_of(walk, viewed, depth + 1) if viewed is not None else ""
        head, _, method = callee.rpartition(".")
        if method in ("entries", "values") and head:
            return "" if head.startswith("?") else f"{head}[]"
    for side in sides(collection):
        dotted = expression_text(walk, side)
        if dotted and not dotted.startswith("?"):
            return f"{dotted}[]"
    return ""


def bind_value(walk: SyntaxWalk, target: Node, value: Node | None) -> None:
    """Add the bindings of `target = value`, where the target is a name or a pattern."""
    if target.type == "identifier":
        found = meanings(walk, value)
        for how, text in found:
            bind(walk, target, how, text)
        if not found:
            bind(walk, target, "unknown", "")
    elif target.type == "array_pattern":
        _bind_array(walk, target, value)
    elif target.type == "object_pattern":
        bind_pattern(walk, target, _text_of(meanings(walk, value)))


def _text_of(found: list[TypeText]) -> str:
    """The expression whose members are those of a value: of a call its result, of a type the type itself."""
    if not found:
        return ""
    how, value = found[0]
    return f"{value}()" if how == "call" else value


def _bind_array(walk: SyntaxWalk, pattern: Node, value: Node | None) -> None:
    side = next(sides(value), None)
    parts = pattern.named_children
    if side is not None and side.type == "call_expression":
        function = side.child_by_field_name("function")
        callee = "" if function is None else expression_text(walk, function)
        first = _first_argument(side)
        if callee.rpartition(".")[2] == "useState" and parts:
            types = side.child_by_field_name("type_arguments")
            declared = annotated_type(walk, types.named_children[0]) if types and types.named_children else UNKNOWN_TYPE
            for how, text in ([declared] if declared.value else meanings(walk, first)) or [UNKNOWN_TYPE]:
                bind_pattern(walk, parts[0], text, how)
            for part in parts[1:]:
                bind_pattern(walk, part, "")
            return
        if callee == "Promise.all" and first is not None:
            side = first
    if side is not None and side.type == "array" and not _has_holes(pattern):
        for part, element in zip(parts, side.named_children, strict=False):
            bind_value(walk, part, element)
        for part in parts[side.named_child_count :]:
            bind_pattern(walk, part, "")
        return
    bind_pattern(walk, pattern, _text_of(meanings(walk, value)))


def _has_holes(pattern: Node) -> bool:
    """Whether elements are left out, as in `[, b]`."""
    return sum(child.type == "," for child in pattern.children) >= max(1, pattern.named_child_count)


def bind_pattern(walk: SyntaxWalk, target: Node, value: str, how: str = "alias", depth: int = 0) -> None:
    """Bind the names of a pattern to the parts of a dotted expression or type; "" for an unknown one."""
    kind = target.type
    if kind in ("identifier", "shorthand_property_identifier_pattern"):
        bind(walk, target, how, value)
    elif kind in ("assignment_pattern", "object_assignment_pattern"):
        left, right = target.child_by_field_name("left"), target.child_by_field_name("right")
        if left is not None and not value and left.type == "identifier":
            bind_value(walk, left, right)
        elif left is not None:
            bind_pattern(walk, left, value, how, depth)
    elif kind == "object_pattern" and depth < MAX_NESTING:
        for part in target.named_children:
            _bind_property(walk, part, value, depth + 1)
    elif kind == "array_pattern" and depth < MAX_NESTING:
        for part in target.named_children:
            bind_pattern(walk, part, value and f"{value}[]", "alias", depth + 1)
    elif kind == "rest_pattern":
        for part in target.named_children:
            bind_pattern(walk, part, "", "unknown", depth + 1)


def _bind_property(walk: SyntaxWalk, part: Node, value: str, depth: int) -> None:
    """One part of an object pattern: `a`, `a = 1`, `a: b`, `...rest`."""
    if part.type == "pair_pattern":
        key, target = part.child_by_field_name("key"), part.child_by_field_name("value")
        if target is not None:
            name = plain_name(walk, key) if key is not None and key.type == "property_identifier" else ""
            bind_pattern(walk, target, f"{value}.{name}" if value and name else "", "alias", depth)
        return
    name_node = part.child_by_field_name("left") if part.type == "object_assignment_pattern" else part
    name = plain_name(walk, name_node) if name_node is not None else ""
    bind_pattern(walk, part, f"{value}.{name}" if value and name else "", "alias", depth)


# Functions


def bind_parameters(walk: SyntaxWalk, parameters: Node) -> None:
    """Bind the parameters of a function in the present scope."""
    for parameter in parameters.named_children:
        kind = parameter.type
        if kind in ("required_parameter", "optional_parameter"):
            _bind_typed_parameter(walk, parameter)
        elif kind == "assignment_pattern":
            target, value = parameter.child_by_field_name("left"), parameter.child_by_field_name("right")
            if target is not None and target.type == "identifier":
                bind_value(walk, target, value)
            elif target is not None:
                bind_pattern(walk, target, "")
        else:
            bind_pattern(walk, parameter, "", "unknown")


def _bind_typed_parameter(walk: SyntaxWalk, parameter: Node) -> None:
    """A parameter of TypeScript; one with a modifier is a field of the class too."""
    pattern, annotation = parameter.child_by_field_name("pattern"), parameter.child_by_field_name("type")
    if pattern is None:
        return
    how, value = annotated_type(walk, annotation)
    if pattern.type == "rest_pattern" and pattern.named_children:
        pattern = pattern.named_children[0]
    if pattern.type == "identifier":
        if not value and annotation is None:
            bind_value(walk, pattern, parameter.child_by_field_name("value"))
        else:
            bind(walk, pattern, how, value)
        if parameter.children[0].type in _MODIFIERS and walk.scope != MODULE_SCOPE:
            found = [TypeText(how, value)] if value else meanings(walk, parameter.child_by_field_name("value"))
            for each in found:
                bind_member(walk, walk.definitions[walk.scope].parent, pattern, *each)
    elif pattern.type == "this":
        if value:
            walk.add_binding(variable_scope(walk), "this", how, value, pattern)
    elif pattern.type == "object_pattern" and not value and annotation is not None:
        _bind_inline(walk, pattern, annotation)
    else:
        bind_pattern(walk, pattern, f"{value}()" if how == "call" else value)


_MODIFIERS = frozenset({"accessibility_modifier", "override_modifier", "readonly"})


def _bind_inline(walk: SyntaxWalk, pattern: Node, annotation: Node) -> None:
    """`{a, b: c}: {a: A; b: B}`: each name has the type of its property."""
    types: dict[str, TypeText] = {}
    for declared in annotation.named_children:
        for member in declared.named_children if declared.type == "object_type" else ():
            name = member.child_by_field_name("name") if member.type == "property_signature" else None
            if name is not None:
                types[walk.text(name)] = annotated_type(walk, member.child_by_field_name("type"))
    for part in pattern.named_children:
        key, target = part, part
        if part.type == "pair_pattern":
            key, target = part.child_by_field_name("key") or part, part.child_by_field_name("value") or part
        elif part.type == "object_assignment_pattern":
            key = part.child_by_field_name("left") or part
        how, value = types.get(walk.text(key), UNKNOWN_TYPE)
        if target.type in ("array_pattern", "object_pattern"):
            how = "alias"
        bind_pattern(walk, target, value, how)


def bind_result(walk: SyntaxWalk, function: Node) -> None:
    """Bind what the function of the present scope returns: of an arrow its expression, else the last `return`."""
    for how, value in dict.fromkeys(_results(walk, function)):
        walk.add_binding(walk.scope, RESULT, how, value, function)


def _results(walk: SyntaxWalk, function: Node | None, depth: int = 0) -> list[TypeText]:
    body = function.child_by_field_name("body") if function is not None else None
    if body is None:
        return []
    if body.type != "statement_block":
        return meanings(walk, body, depth)
    for at in range(body.named_child_count - 1, -1, -1):
        last = body.named_child(at)
        if last is None or last.type not in ("comment", "function_declaration"):
            is_return = last is not None and last.type == "return_statement"
            return meanings(walk, first_child(last), depth) if last is not None and is_return else []
    return []


# Callbacks

_ELEMENT_CALLBACKS = {
    **dict.fromkeys(("every", "filter", "find", "findIndex", "findLast", "findLastIndex", "flatMap", "forEach"), (0,)),
    **dict.fromkeys(("map", "some"), (0,)),
    **dict.fromkeys(("sort", "toSorted"), (0, 1)),
    **dict.fromkeys(("reduce", "reduceRight"), (1,)),
}
"""Methods of collections -> which parameters of their callback are elements."""


def bind_callback(walk: SyntaxWalk, receiver: Node, method: str, targets: list[Node]) -> None:
    """Bind the parameters of a callback that are elements of the receiver, or what the awaited receiver gives."""
    positions = (0,) if method == "then" else _ELEMENT_CALLBACKS.get(method, ())
    if not positions or not targets:
        return
    value = expression_text(walk, receiver) if method == "then" else element_of(walk, receiver)
    for at in positions if value and not value.startswith("?") else ():
        if at < len(targets):
            bind_element(walk, targets[at], value)


def callback_targets(arguments: Node) -> list[Node]:
    """The targets of the parameters of the function that is the first argument of a call."""
    callback = first_child(arguments)
    if callback is None or callback.type not in FUNCTION_VALUES:
        return []
    single, parameters = callback.child_by_field_name("parameter"), callback.child_by_field_name("parameters")
    return [single] if single is not None else parameter_targets(parameters) if parameters is not None else []


def parameter_targets(parameters: Node) -> list[Node]:
    """The names and patterns of parameters; a parameter with a type is left as it is, and so is bound by its type."""
    return [
        node.child_by_field_name("pattern") or node
        if node.type in ("required_parameter", "optional_parameter") and node.child_by_field_name("type") is None
        else node
        for node in parameters.named_children
    ]


def has_callback(method: str) -> bool:
    """Whether the first argument of a method with this name is called with an element or a result."""
    return method == "then" or method in _ELEMENT_CALLBACKS


# Statements


def read_for(walk: SyntaxWalk, node: Node) -> None:
    """`for (const x of xs)`: an element; of pairs, `for (const [k, v] of map)`, the second is the element."""
    if node.child_by_field_name("kind") is None:
        return
    target, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    if target is not None and right is not None:
        bind_element(walk, target, element_of(walk, right) if operator is not None and operator.type == "of" else "")


def bind_element(walk: SyntaxWalk, target: Node, element: str) -> None:
    """Bind the target of a loop to an element of a collection."""
    if target.type == "array_pattern" and target.named_child_count == 2 and not _has_holes(target):
        bind_pattern(walk, target.named_children[0], "")
        bind_pattern(walk, target.named_children[1], element)
    else:
        bind_pattern(walk, target, element)


def read_catch(walk: SyntaxWalk, node: Node) -> None:
    """`catch (error)`: an unknown value."""
    parameter = node.child_by_field_name("parameter")
    if parameter is not None:
        bind_pattern(walk, parameter, "", "unknown")


def read_type_parameter(walk: SyntaxWalk, node: Node) -> None:
    """`<T extends Shop>` and `<T = Shop>`: T is treated as Shop."""
    name = node.child_by_field_name("name")
    limit = node.child_by_field_name("constraint") or node.child_by_field_name("value")
    if name is None or limit is None or not limit.named_children:
        return
    bound = annotated_type(walk, limit.named_children[0])
    if bound.how == "annotation" and not bound.value.endswith("[]"):
        walk.add_binding(walk.scope, walk.text(name), "alias", bound.value, node)


def dynamic_import(walk: SyntaxWalk, value: Node) -> str:
    """The module of `import("m")` and `require("m")`, also awaited; "" for anything else."""
    for _ in range(MAX_NESTING):
        if value.type not in _TRANSPARENT or not value.named_children:
            break
        value = value.named_children[0]
    if value.type != "call_expression":
        return ""
    function = value.child_by_field_name("function")
    argument = _first_argument(value)
    if function is None or argument is None or argument.type != "string":
        return ""
    is_import = function.type == "import" or (
        function.end_byte - function.start_byte == 7 and walk.text(function) == "require"
    )
    return unquoted(walk, argument) if is_import else ""
