"""Expressions of Ruby as dotted text, and what is known of their values.

Owns the translation of expression nodes to `Binding` values, and the calls that are written as a bare name. A name
without arguments is a variable if the scope binds it above, else a call. Instance variables are "self.@x", so that they
differ from the methods of the same name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..dotted import MAX_LINKS
from ..nodes import first_child
from ..syntax import MODULE_SCOPE, SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node

FUNCTION_KINDS = frozenset({"function", "method"})

# Parts that are read of `a || b || c …`; real code has two or three.
MAX_SIDES = 12
# Scopes that are searched for the class around a position.
MAX_LEVELS = 32

KERNEL = (
    "__callee__ __dir__ __method__ abort alias_method at_exit attr_accessor attr_reader attr_writer autoload"
    " binding block_given? caller caller_locations catch class_eval class_exec const_get const_set define_method"
    " exit extend fail format freeze gem gets include instance_eval instance_exec instance_variable_get"
    " instance_variable_set lambda load local_variables loop module_eval module_function p pp print printf private"
    " private_class_method private_constant proc protected public public_class_method public_send putc puts raise"
    " rand refine require require_relative select singleton_class sleep sprintf srand super system throw trap"
    " using warn"
)
"""Functions of `Kernel` and `Module`, which a bare name means."""

BUILTINS = (
    "Array Class Comparable Complex Data Dir ENV Encoding Enumerable Errno Exception FalseClass Fiber File Float"
    " Hash IO Integer Kernel Marshal Math Method Module Mutex NilClass Numeric Object Proc Process Queue Random"
    " Range Rational Regexp Set Signal String Struct Symbol Thread Time TrueClass abs after all? any? around"
    " before subject bytes bytesize call capitalize ceil center chars chomp chop chr class clear clone close"
    " closed? coerce collect compact compact! compare_by_identity concat const_defined? const_missing constants"
    " count cover? cycle default delete delete! delete_at delete_if detect difference dig divmod downcase"
    " downcase! drop drop_while dup each each_cons each_entry each_key each_line each_pair each_slice each_value"
    " each_with_index each_with_object empty? encode encoding end_with? ensure entries eql? equal? even? except"
    " exclude? extname fetch fetch_values fileno fill filter filter_map find find_all find_index first flat_map"
    " flatten flatten! floor flush force_encoding freeze frozen? getc grep grep_v group_by gsub gsub! has_key?"
    " has_value? hash hex include? index inject insert inspect instance_of? instance_method instance_methods"
    " instance_variable_defined? instance_variables intern intersect? invert is_a? isatty itself join keep_if key"
    " key? keys kind_of? last lazy length lineno lines ljust lock lstrip map map! match match? max max_by member?"
    " members merge merge! message method method_defined? method_missing methods min min_by minmax name new next"
    " nil? none? object_id odd? one? ord pack partition pop positive? pos pred public_method_defined? public_send"
    " puts push read readline readlines readpartial reduce reject reject! remove_const replace respond_to?"
    " respond_to_missing? reverse reverse! reverse_each rewind rindex rjust rotate round rstrip sample scan seek"
    " select select! send set_encoding shift shuffle size slice slice! sort sort! sort_by sort_by! source_location"
    " split start_with? step strip strip! sub sub! subclasses succ sum superclass swapcase sync synchronize take"
    " take_while tally tap tell then times to_a to_ary to_enum to_f to_h to_hash to_i to_int to_io to_path to_proc"
    " to_r to_s to_str to_sym transform_keys transform_values transpose tr truncate try tty? ungetc union uniq"
    " uniq! unlock unpack unshift upcase upto value? values values_at with_index write zero? zip context describe"
    " eq expect it is_expected let attributes body children code config content cookies cookie data desc email env"
    " errors failure flash get group header headers input logger namespace notice output params parent patch path"
    " port post put query request response root save save! session source status success task text title token"
    " type update update! uri url user valid? version "
) + KERNEL
"""Names that every file knows: constants and methods of the core library, and common words of tests and libraries."""

_BUILTIN_NAMES = frozenset(KERNEL.split())

# Methods that give the object itself, or a query of ActiveRecord of the same class.
_IDENTITY_METHODS = frozenset(
    {"clone", "dup", "freeze", "itself", "presence", "reload", "tap"}
    | {"all", "distinct", "eager_load", "includes", "joins", "left_joins", "left_outer_joins", "limit", "offset"}
    | {"order", "preload", "references", "reorder", "unscoped", "where"}
)
# Functions of tests that make an object of the class that a symbol names.
_FACTORIES = frozenset({"build", "build_stubbed", "create"})
# Class methods of ActiveRecord and similar libraries that give an object of the class.
FINDERS = frozenset(
    {"build", "create", "create!", "find", "find_by", "find_by!", "find_or_create_by", "find_or_create_by!"}
    | {"find_or_initialize_by", "first", "first!", "instance", "last", "last!", "take"}
)

Meaning = tuple[str, str]
"""`how` and `value` of a binding."""


def class_around(walk: SyntaxWalk) -> int:
    """The class or module around the present position, MODULE_SCOPE for none."""
    scope = walk.scope
    for _ in range(MAX_LEVELS):
        if scope == MODULE_SCOPE or walk.definitions[scope].kind not in FUNCTION_KINDS:
            return scope
        scope = walk.definitions[scope].parent
    return MODULE_SCOPE


def attribute_name(walk: SyntaxWalk, variable: Node) -> str:
    """The name of an instance or class variable as an attribute of `self`; outside of classes, the plain name."""
    name = walk.text(variable)
    return name if class_around(walk) == MODULE_SCOPE else f"self.{name}"


def expression_text(walk: SyntaxWalk, node: Node | None) -> str:
    """The dotted text of an expression as `SyntaxWalk.dotted`; "" or "?.name" when it has no such form.

    A link has "()" when it has arguments, and for each `new`: `shop.cart.pay` does not show which names are calls.
    """
    links = ""
    for _ in range(MAX_LINKS):
        if node is None:
            break
        kind = node.type
        if kind in ("identifier", "constant"):
            return walk.text(node) + links
        if kind == "self":
            return f"self{links.removeprefix('.new()')}"
        if kind in ("instance_variable", "class_variable"):
            return attribute_name(walk, node) + links
        if kind == "call":
            receiver, method = node.child_by_field_name("receiver"), node.child_by_field_name("method")
            if method is None:
                break
            name = walk.text(method)
            if name in _OWN_CLASS and receiver is not None and receiver.type == "self":
                return f"self{links.removeprefix('.new()')}"
            if method.type == "super":
                return f"super.{own_name(walk)}(){links}"
            has_arguments = node.child_by_field_name("arguments") is not None
            if receiver is None:
                return f"self{links}" if name == "new" else f"{name}{'()' if has_arguments else ''}{links}"
            if name not in _IDENTITY_METHODS:
                links = f".{name}{'()' if has_arguments or name == 'new' else ''}{links}"
            node = receiver
        elif kind == "scope_resolution":
            scope, name_node = node.child_by_field_name("scope"), node.child_by_field_name("name")
            if name_node is None:
                break
            if scope is None:
                return walk.text(name_node) + links
            links = f".{walk.text(name_node)}{links}"
            node = scope
        elif kind == "element_reference":
            links = f"[]{links}"
            node = node.child_by_field_name("object")
        elif kind == "parenthesized_statements" and node.named_child_count == 1:
            node = first_child(node)
        elif kind == "super":
            return f"super.{own_name(walk)}(){links}"
        else:
            break
    return f"?.{links.rpartition('.')[2]}" if "." in links else ""


_OWN_CLASS = frozenset({"class", "itself", "singleton_class"})


def own_name(walk: SyntaxWalk) -> str:
    """The name of the method around the present position, "" for none."""
    scope = walk.scope
    return walk.definitions[scope].name if scope != MODULE_SCOPE else ""


# Values


def sides(value: Node | None) -> Iterator[Node]:
    """The possible values of an expression: both sides of `||` and of conditions, the last statement of a block."""
    waiting = [value]
    for _ in range(MAX_SIDES):
        value = waiting.pop() if waiting else None
        if value is None:
            continue
        kind = value.type
        if kind in ("assignment", "operator_assignment"):
            waiting.append(value.child_by_field_name("right"))
        elif kind == "binary":
            operator = value.child_by_field_name("operator")
            word = operator.type if operator is not None else ""
            if word in ("||", "or", "&&", "and"):
                waiting.append(value.child_by_field_name("right"))
                if word in ("||", "or"):
                    waiting.append(value.child_by_field_name("left"))
        elif kind in ("conditional", "if", "unless", "elsif"):
            waiting += [value.child_by_field_name("alternative"), value.child_by_field_name("consequence")]
        elif kind in _STATEMENTS:
            waiting.append(last_statement(value))
        elif kind in ("return", "if_modifier", "unless_modifier", "rescue_modifier"):
            waiting.append(value.child_by_field_name("body") or first_child(value))
        else:
            yield value


_STATEMENTS = frozenset(
    {"argument_list", "begin", "block_body", "body_statement", "else", "parenthesized_statements", "then"}
)


def last_statement(block: Node) -> Node | None:
    """The last statement of a block, whose value is the value of the block; None for several values."""
    if block.type == "argument_list" and block.named_child_count != 1:
        return None
    for at in range(block.named_child_count - 1, -1, -1):
        last = block.named_child(at)
        if last is not None and last.type not in ("comment", "rescue", "ensure", "else", "heredoc_body"):
            return last
    return None


def meanings(walk: SyntaxWalk, value: Node | None) -> list[Meaning]:
    """What is known of the value of an expression, one entry for each possible value that is known."""
    if value is None:
        return []
    kind = value.type
    if kind in _LITERALS:
        return []
    found = [meaning for side in sides(value) for meaning in _meanings_of(walk, side)]
    return [each for each in dict.fromkeys(found) if each[1] and not each[1].startswith("?")]


_LITERALS = frozenset({"array", "false", "float", "hash", "integer", "nil", "simple_symbol", "string", "true"})
_NAMES = frozenset(
    {"class_variable", "constant", "element_reference", "identifier", "instance_variable", "scope_resolution"}
    | {"self", "super"}
)


def _meanings_of(walk: SyntaxWalk, value: Node) -> list[Meaning]:
    kind = value.type
    if kind in _NAMES:
        return [("alias", expression_text(walk, value))]
    if kind != "call":
        return []
    text = expression_text(walk, value)
    if text.removesuffix("()") in _FACTORIES and (made := _made_by_factory(walk, value)):
        return made
    receiver, _, name = text.rpartition(".")
    if name == "new()":
        return [("call", receiver)] if receiver not in _MAKERS else []
    name = name.removesuffix("()")
    if name.endswith("?") or name in _PLAIN_RESULTS:
        return []
    if name in FINDERS and receiver[:1].isupper():
        # The class itself may define a method of that name.
        return [("call", f"{receiver}.{name}"), ("call", receiver)]
    if text.endswith("()"):
        return [("call", text.removesuffix("()"))]
    return [("alias", text)]


def class_name(name: str) -> str:
    """The class that a name means by convention: LineItem for line_item."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def _made_by_factory(walk: SyntaxWalk, call: Node) -> list[Meaning]:
    """`create(:line_item)` is an object of LineItem."""
    arguments = call.child_by_field_name("arguments")
    symbol = first_child(arguments) if arguments is not None else None
    is_symbol = symbol is not None and symbol.type == "simple_symbol"
    return [("annotation", class_name(walk.text(symbol)[1:]))] if is_symbol and symbol is not None else []


# Methods of the core library whose result is no object of the repository.
_PLAIN_RESULTS = frozenset(
    {"class", "count", "each", "inspect", "join", "keys", "length", "name", "puts", "raise", "size", "split", "sub"}
    | {"gsub", "to_i", "to_s", "to_sym", "to_a", "to_h", "upcase", "downcase", "strip"}
)
_MAKERS = frozenset({"Class", "Module", "Struct"})


def results(walk: SyntaxWalk, value: Node | None) -> list[Meaning]:
    """The same for the result of a method: a name without arguments may be a variable, an attribute or a call."""
    found: list[Meaning] = []
    for how, text in meanings(walk, value):
        last = text.rpartition(".")[2]
        may_be_call = how == "alias" and text != "self" and last[0] != "@" and not last[0].isupper()
        if may_be_call and not last.endswith("[]"):
            found.append(("call", text))
        found.append((how, text))
    return found


# Calls without arguments


def read_bare_calls(walk: SyntaxWalk, node: Node) -> list[tuple[list[Node], int]]:
    """The calls among the children of a node that are written as a bare name."""
    children = node.named_children
    for child in children:
        add_bare_call(walk, child)
    return [(children, walk.scope)]


def add_bare_call(walk: SyntaxWalk, node: Node) -> None:
    """Add the call that a bare name or `super` makes, unless it is a variable or a function of the core library."""
    kind = node.type
    if kind == "identifier":
        name = walk.text(node)
        if name not in _BUILTIN_NAMES:
            walk.add_bare_call(node, "self.new" if name == "new" else name)
    elif kind == "super":
        walk.add_call(node, f"super.{own_name(walk)}")
