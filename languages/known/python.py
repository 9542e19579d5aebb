"""Python.

The node of a definition is its `function_definition` or `class_definition`, also when it is decorated;
its lines start at the first decorator. Names bound in a class body count as attributes, "self.x". A name
that is bound to something unknown (a bare parameter, a loop variable, a literal) is noted as "unknown"
with the value "": it hides the same name of an outer scope.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from itertools import islice, zip_longest
from typing import TYPE_CHECKING

from ..call_syntax import CallSyntax
from ..dotted import class_of_annotation
from ..import_lines import PYTHON_IMPORTS
from ..language import Language
from ..lexer import Lexer, Open, Rule
from ..lexical_rules import GOES_ON, line_comment
from ..scope_rules import CallRules, ScopeRules
from ..syntax import MODULE_SCOPE, NodeReader, ScopedChildren, SyntaxWalk, node_lines, note_error

if TYPE_CHECKING:
    from tree_sitter import Node


# Lexical syntax


def _strings(before: str, interpolation: str) -> tuple[Rule, ...]:
    """Strings with this prefix, in each kind of quotes."""
    rules = []
    for quotes in ('"""', "'''"):
        rules.append(Rule(before + quotes, Open("string", end=quotes, escapes=True, interpolation=interpolation)))
    for quote in "\"'":
        not_inside = rf"{quote}\\\r\n" + (r"\{" if interpolation else "")
        rules.append(Rule(rf"{before}{quote}(?:[^{not_inside}]|\\(?:\r\n|[\s\S]))*{quote}"))
        opens = Open("string", end=quote, lines=False, escapes=True, interpolation=interpolation)
        # One with an interpolation is opened even on a finished line, for the code in it.
        rules.append(Rule(f"{before}{quote}" + ("" if interpolation else GOES_ON), opens))
    return tuple(rules)


_LEXER = Lexer(
    rules=(
        *line_comment("#"),
        *_strings(r"(?<=[fFtT])", "{"),
        *_strings(r"(?<=[fFtT][rR])", "{"),
        *_strings("", ""),
    ),
    signs="#\"'",
    # Not "for", "if", "else", "from" and "async": those may begin a line inside brackets.
    restarts="def|class|return|import|raise|while|try|with|del|assert|pass|break|continue|global|nonlocal|elif|except",
    comment_marks=("#",),
)
_HEADER = re.compile(
    r"\s*(?:(?:async\s+)?(?:def|class|if|elif|else|for|while|with|try|except|finally|match|case)\b|[)\]]).*:\s*(?:#.*)?"
)

# Syntax tree

# Parts that are read of `a or b or c …` and of `a = b = c = …`; real code has two or three.
MAX_ALTERNATIVES = 8

# Calls


def _read_call(walk: SyntaxWalk, node: Node) -> None:
    walk.add_call(node, walk.dotted(node.children[0]))


# Definitions


def _read_function(walk: SyntaxWalk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        returns = node.child_by_field_name("return_type")
        _define(walk, node, name, "function", returns=class_of_annotation(walk.text(returns)) if returns else "")


def _read_class(walk: SyntaxWalk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        bases = node.child_by_field_name("superclasses")
        _define(walk, node, name, "class", bases=_bases(walk, bases) if bases else ())


def _define(
    walk: SyntaxWalk, node: Node, name: Node, kind: str, *, bases: tuple[str, ...] = (), returns: str = ""
) -> None:
    around = node.parent
    decorated = around is not None and around.type == "decorated_definition"
    walk.add_definition(
        node,
        walk.text(name),
        kind,
        first_line=around.start_point[0] if around is not None and decorated else None,
        header_line=name.start_point[0],
        bases=bases,
        returns=returns,
    )


def _bases(walk: SyntaxWalk, arguments: Node) -> tuple[str, ...]:
    written = (base for base in arguments.named_children if base.type not in ("keyword_argument", "comment"))
    return tuple(base for base in (class_of_annotation(walk.text(base)) for base in written) if base)


# Imports


def _read_import(walk: SyntaxWalk, node: Node) -> None:
    for name, alias in _imported_names(walk, node):
        walk.add_import(node, alias or name.partition(".")[0], name, "")


def _read_from_import(walk: SyntaxWalk, node: Node) -> None:
    source = node.child_by_field_name("module_name")
    if source is None:
        return
    written = _unspaced(walk.text(source))
    module = written.lstrip(".")
    level = len(written) - len(module)
    if any(child.type == "wildcard_import" for child in node.named_children):
        walk.add_import(node, "", module, "*", level)
    for name, alias in _imported_names(walk, node):
        walk.add_import(node, alias or name, module, name, level)


def _imported_names(walk: SyntaxWalk, node: Node) -> Iterator[tuple[str, str]]:
    """Each imported name with its alias, "" when there is none."""
    for child in node.children_by_field_name("name"):
        name, alias = child, None
        if child.type == "aliased_import":
            name, alias = child.named_children[0], child.child_by_field_name("alias")
        written = _unspaced(walk.text(name))
        if written:
            yield written, walk.text(alias) if alias is not None else ""


def _unspaced(text: str) -> str:
    return text if text.isidentifier() else re.sub(r"[\s\\]+", "", text)


# Bindings


def _read_assignment(walk: SyntaxWalk, node: Node) -> None:
    parts = node.children  # target, ":", annotation, "=", value; an annotation or a value is always there
    if parts[1].type == ":":
        _bind_annotated(walk, parts[0], parts[2])
        return
    value = parts[-1]
    for _ in range(MAX_ALTERNATIVES):  # in a = b = Foo() the part b = Foo() is read on its own as well
        if value.type != "assignment":
            break
        value = value.children[-1]
    _bind_value(walk, parts[0], value)


def _read_walrus(walk: SyntaxWalk, node: Node) -> None:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is not None and value is not None:
        _bind_value(walk, name, value)


def _read_parameters(walk: SyntaxWalk, node: Node) -> None:
    for parameter in node.named_children:
        if parameter.type == "default_parameter":
            parameter = parameter.named_children[0]
        _bind_unknown(walk, parameter)


def _read_typed_parameter(walk: SyntaxWalk, node: Node) -> None:
    annotation, target = node.child_by_field_name("type"), node.named_children[0]
    if annotation is not None and walk.scope != MODULE_SCOPE:
        _bind_annotated(walk, target, annotation)


def _read_for(walk: SyntaxWalk, node: Node) -> None:
    """`for shop in shops` and `[… for shop in shops]`: an element of a collection."""
    target, items = node.child_by_field_name("left"), node.child_by_field_name("right")
    if target is None or items is None:
        return
    elements = _iterated(walk, items)
    if target.type != "identifier" or not elements or not _bind(walk, target, "alias", f"{elements}[]"):
        _bind_unknown(walk, target)


def _iterated(walk: SyntaxWalk, items: Node) -> str:
    """The dotted expression of what a loop iterates over, without functions that keep the elements."""
    for _ in range(MAX_ALTERNATIVES):
        function = items.child_by_field_name("function") if items.type == "call" else None
        arguments = items.child_by_field_name("arguments")
        if function is None or arguments is None or walk.text(function) not in _KEEPS_ELEMENTS:
            break
        if not arguments.named_children:
            return ""
        items = arguments.named_children[0]
    return "" if items.type in _LITERALS else walk.dotted(items)


_KEEPS_ELEMENTS = frozenset({"iter", "list", "reversed", "set", "sorted", "tuple"})
_LITERALS = frozenset({"dictionary", "generator_expression", "list", "list_comprehension", "set", "string", "tuple"})


def _read_with_item(walk: SyntaxWalk, node: Node) -> None:
    for value, target in _as_patterns(node):
        _bind_value(walk, target, value)


def _read_except(walk: SyntaxWalk, node: Node) -> None:
    for value, target in _as_patterns(node):
        _bind_annotated(walk, target, value)


def _as_patterns(node: Node) -> Iterator[tuple[Node, Node]]:
    """Value and target of `value as target`, if that is what the node begins with."""
    parts = node.named_children
    while parts and parts[0].type == "parenthesized_expression":
        parts = parts[0].named_children
    if parts and parts[0].type == "as_pattern":
        alias = parts[0].child_by_field_name("alias")
        if alias is not None and alias.named_children:
            yield parts[0].named_children[0], alias.named_children[0]


def _bind_value(walk: SyntaxWalk, target: Node, value: Node) -> None:
    """Add a binding of `target` for `target = value`, as far as the syntax of the value shows its type."""
    if value.type == "expression_list" and target.type in _PATTERNS:
        targets, values = target.named_children, value.named_children
        if len(targets) == len(values):
            for part, part_value in zip(targets, values, strict=True):
                _bind_value(walk, part, part_value)
            return
    known = False
    for side in islice(_sides(value), MAX_ALTERNATIVES) if value.type in _HAS_SIDES else (value,):
        kind = side.type
        if kind in ("identifier", "attribute"):
            known |= _bind(walk, target, "alias", walk.dotted(side))
        elif kind == "call":
            cast = _type_of_cast(walk, side)
            known |= _bind(walk, target, *(("annotation", cast) if cast else ("call", walk.dotted(side.children[0]))))
        elif kind == "subscript":
            known |= _bind(walk, target, "alias", walk.dotted(side))
        else:
            known |= kind == "none"  # assigned later
    if not known:
        _bind_unknown(walk, target)


def _type_of_cast(walk: SyntaxWalk, call: Node) -> str:
    """The class in `typing.cast(Shop, value)`; "" for another call, and where it is none or several."""
    if walk.dotted(call.children[0]).rpartition(".")[2] != "cast" or len(call.children[-1].named_children) != 2:
        return ""
    name = class_of_annotation(walk.text(call.children[-1].named_children[0]))
    # Other functions of this name have a value first: `cast(Order.price, Integer)` of SQLAlchemy.
    return name if name.rpartition(".")[2][:1].isupper() else ""


def _sides(value: Node) -> Iterator[Node]:
    """The possible values of an expression: both sides of `or` and a conditional, the last of `and`, after `await`."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        kind = value.type
        if kind in ("await", "parenthesized_expression"):
            waiting += value.named_children[:1]
        elif kind == "conditional_expression":
            first, _, *rest = value.named_children
            waiting += [*rest, first]
        elif kind == "boolean_operator":
            left, operator, right = value.children[0], value.children[1], value.children[-1]
            waiting += [right, left] if operator.type == "or" else [right]
        else:
            yield value


_HAS_SIDES = frozenset({"await", "boolean_operator", "conditional_expression", "parenthesized_expression"})


def _bind_annotated(walk: SyntaxWalk, target: Node, annotation: Node) -> None:
    if not _bind(walk, target, "annotation", class_of_annotation(walk.text(annotation))):
        _bind_unknown(walk, target)


def _bind(walk: SyntaxWalk, target: Node, how: str, value: str) -> bool:
    """Note a binding of a name or of an attribute of self; False when the value or the target is not known."""
    if not value or value.startswith("?"):
        return False
    if target.type == "identifier":
        walk.add_binding(walk.scope, _name_in_scope(walk, target), how, value, target)
        return True
    if target.type == "attribute":
        receiver, _, name = walk.text(target).partition(".")
        owner = _class_around(walk)
        if receiver in ("self", "cls") and name.isidentifier() and owner != MODULE_SCOPE:
            walk.add_binding(owner, f"self.{name}", how, value, target)
            return True
    return False


def _bind_unknown(walk: SyntaxWalk, target: Node) -> None:
    waiting = [target]
    while waiting:
        target = waiting.pop()
        kind = target.type
        if kind in _PATTERNS:
            waiting += reversed(target.named_children)
        elif kind == "identifier":
            name = _name_in_scope(walk, target)
            if name not in ("self", "cls"):
                walk.add_binding(walk.scope, name, "unknown", "", target)


def _name_in_scope(walk: SyntaxWalk, target: Node) -> str:
    name = walk.text(target)
    in_class = walk.scope != MODULE_SCOPE and walk.definitions[walk.scope].kind == "class"
    return f"self.{name}" if in_class else name


def _class_around(walk: SyntaxWalk) -> int:
    """The class whose method the present scope is, or is nested in."""
    scope = walk.scope
    while scope != MODULE_SCOPE and walk.definitions[scope].kind != "method":
        scope = walk.definitions[scope].parent
    return MODULE_SCOPE if scope == MODULE_SCOPE else walk.definitions[scope].parent


_PATTERNS = frozenset(
    {"pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern", "dictionary_splat_pattern"}
)

# Broken code


def _recover_definitions(walk: SyntaxWalk, node: Node) -> ScopedChildren:
    """The parts of an ERROR node with their scopes.

    An open bracket at the cursor can flatten every class and function around it into loose tokens.
    The headers are recovered, and their bodies extend as long as the indentation is deeper.
    """
    note_error(walk, node)
    parts: ScopedChildren = []
    outermost = walk.scope
    headers: list[tuple[int, int]] = []  # column, definition
    row, column, end_line, brackets = -1, 0, node.start_point[0], 0
    children = node.children
    for child, *following in zip_longest(children, children[1:], children[2:]):
        kind = child.type
        is_header = kind in ("def", "class") and following[0] is not None and following[0].type == "identifier"
        if is_header or kind in _STATEMENTS:
            brackets = 0  # a statement ends all brackets: they were never closed
        if child.start_point[0] != row and brackets == 0:
            column = child.start_point[1]
            while headers and column <= headers[-1][0]:
                walk.end_definition(headers.pop()[1], end_line)
        walk.scope = headers[-1][1] if headers else outermost
        if child.is_named:
            parts.append(([child], walk.scope))
        elif is_header:
            name, arguments = following
            bases = _bases(walk, arguments) if arguments is not None and arguments.type == "argument_list" else ()
            _define(walk, child, name, "class" if kind == "class" else "function", bases=bases)
            headers.append((column, walk.scope))
        elif kind in ("(", "[", "{"):
            brackets += 1
        elif kind in (")", "]", "}"):
            brackets = max(0, brackets - 1)
        row, end_line = child.end_point[0], node_lines(child)[1]
    for _, definition in headers:
        walk.end_definition(definition, end_line)
    walk.is_unsorted = True
    return parts


_STATEMENTS = frozenset({"function_definition", "class_definition", "decorated_definition", "expression_statement"})

_READERS: dict[str, NodeReader] = {
    "ERROR": _recover_definitions,
    "assignment": _read_assignment,
    "call": _read_call,
    "class_definition": _read_class,
    "except_clause": _read_except,
    "for_in_clause": _read_for,
    "for_statement": _read_for,
    "function_definition": _read_function,
    "import_from_statement": _read_from_import,
    "import_statement": _read_import,
    "named_expression": _read_walrus,
    "parameters": _read_parameters,
    "typed_default_parameter": _read_typed_parameter,
    "typed_parameter": _read_typed_parameter,
    "with_item": _read_with_item,
}

_SCOPES = ScopeRules(
    scopes="function_definition lambda list_comprehension set_comprehension dictionary_comprehension"
    " generator_expression",
    object_scopes="class_definition",
    late_scopes="list_comprehension set_comprehension dictionary_comprehension generator_expression",
    bindings="function_definition.name class_definition.name parameters lambda_parameters default_parameter.name"
    " typed_parameter typed_default_parameter.name assignment.left augmented_assignment.left for_statement.left"
    " for_in_clause.left named_expression.name as_pattern_target type_alias_statement.left type_parameter",
    patterns="pattern_list tuple_pattern list_pattern tuple list list_splat_pattern dictionary_splat_pattern type"
    " generic_type",
    imports="import_statement import_from_statement future_import_statement global_statement nonlocal_statement"
    " case_pattern",
    keys="keyword_argument.name",
    predefined="__file__ __name__ __doc__ __path__ __package__ __spec__ __class__ __all__ __version__ __module__"
    " __qualname__ __annotations__ __dict__ _ reveal_type WindowsError",
    member_signs=r"\.",
    definitions="function_definition class_definition",
    member_kinds="class",
    targets="assignment.left augmented_assignment.left for_statement.left as_pattern_target",
    adds_members=True,
    dynamic_members="__getattr__ __getattribute__ __slots__",
    open_members=r"__\w+__|mro|with_traceback|add_note",
    call_rules=CallRules(
        frame="def f(%s): pass",
        parameters="parameters",
        rest="list_splat_pattern list_splat dictionary_splat",
        keyword_rest="dictionary_splat_pattern",
        keyword_marks="keyword_separator list_splat_pattern",
        position_marks="positional_separator",
        calls="call",
        keyword="keyword_argument",
        own_parameter=True,
        changing=r"@(?:staticmethod|classmethod|(?:abc\.)?abstractmethod|(?:typing\.)?final)\s*(?:#.*)?",
    ),
)

_CALL_SYNTAX = CallSyntax(
    order="name: type",
    keyword_sign="=",
    field=(
        r"(?P<name>[^\W\d]\w*)\s*:\s*(?!(?:typing\.)?ClassVar)(?P<type>[^=#]+?)\s*"
        r"(?:=\s*(?P<default>[^#]+?))?(?:\s*#.*)?"
    ),
    has_field_parameters=True,
    has_trailing_comma=True,
    true_and_false="True False",
    nothing="None",
)

LANGUAGES = (
    Language(
        "python",
        suffixes="py pyi pyw",
        file_names="sconstruct sconscript wscript",
        lexer=_LEXER,
        comment_tokens=("#", '"""', "'''"),
        decorator=r"@[\w.]+(?:\(.*\))?",
        blocks="indentation",
        header=_HEADER,
        clauses={
            **dict.fromkeys(("else", "elif"), "if x: pass\n"),
            **dict.fromkeys(("except", "finally"), "try: pass\n"),
            "case": "match x:\n ",
        },
        docstring_in_body=True,
        grammar=("tree_sitter_python", "language"),
        readers=_READERS,
        module_style="python",
        import_lines=PYTHON_IMPORTS,
        own_object="self",
        own_class="cls",
        super_word="super",
        super_is_called=True,
        constructor="__init__",
        call_method="__call__",
        protocol_base="Protocol",
        private_prefix="_",
        builtins=" ".join(dir(builtins)),
        call_syntax=_CALL_SYNTAX,
        scope_rules=_SCOPES,
        element_methods="get pop popleft setdefault",
        collection_methods="copy difference intersection union values",
    ),
)
