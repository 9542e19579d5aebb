"""Rust."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..call_syntax import CallSyntax
from ..declarations import SyntaxTable, readers_of
from ..dotted import MAX_LINKS
from ..error_nodes import error_reader
from ..import_lines import RUST_IMPORTS
from ..language import Language
from ..lexer import Lexer, Open, Rule
from ..lexical_rules import CHARACTER, SLASH_MARKS, SLASHES, block_comment, line_comment, quoted
from ..nodes import define_named
from ..rust.bindings import (
    bind_bounds,
    bind_closures,
    bind_fields,
    bind_parameters,
    bind_pattern,
    bind_variant,
    read_condition,
    read_constant,
    read_for,
    read_let,
    read_match,
)
from ..rust.errors import RustHeader
from ..rust.types import (
    base_traits,
    implemented,
    module_path,
    named_type,
    path_of,
    path_text,
    type_parameters,
    type_text,
)
from ..rust.values import UNKNOWN, callee_text, known, outer_parameters, set_parameters
from ..scope_rules import ScopeRules
from ..syntax import NodeReader, ScopedChildren, SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node


_LEXER = Lexer(
    rules=(
        *line_comment("//"),
        *block_comment("/*", "*/", nests=True),
        Rule(r'(?:(?<=\br)|(?<=\bbr))(?P<hashes>#*)"', Open("string", end=r'"\g<hashes>')),
        *quoted('"', lines=True),
        CHARACTER,  # any other quote begins the name of a lifetime
    ),
    signs="/#\"'",
    comment_marks=SLASH_MARKS,
)


# Modules and imports


def read_use(walk: SyntaxWalk, node: Node) -> None:
    """`use a::b::{c, d as e, f::*, self};`, each with its whole path."""
    argument = node.child_by_field_name("argument")
    waiting = [("", argument)] if argument is not None else []
    while waiting:
        path, part = waiting.pop(0)
        kind = part.type
        if kind == "scoped_use_list":
            head, inner = part.child_by_field_name("path"), part.child_by_field_name("list")
            path = _joined(path, walk.text(head)) if head is not None else path
            waiting += [(path, child) for child in inner.named_children] if inner is not None else []
        elif kind == "use_list":
            waiting += [(path, child) for child in part.named_children]
        elif kind == "use_wildcard":
            walk.add_import(part, "", module_path(walk, _joined(path, walk.text(part).rstrip("*: "))), "*")
        elif kind == "use_as_clause":
            taken, alias = part.child_by_field_name("path"), part.child_by_field_name("alias")
            if taken is not None and alias is not None:
                _bring_path(walk, part, _joined(path, walk.text(taken)), walk.text(alias))
        elif kind == "self":
            walk.add_import(part, path.rpartition("::")[2], module_path(walk, path), "")
        elif kind in ("identifier", "scoped_identifier", "crate", "super"):
            _bring_path(walk, part, _joined(path, walk.text(part)), "")


def _bring_path(walk: SyntaxWalk, node: Node, path: str, alias: str) -> None:
    path = path.replace("r#", "").removeprefix("::")
    module, _, name = path.rpartition("::")
    if name == "self" or not module or name == "super":  # `use a::b::{self as c}`, `use a;`
        module = module if name == "self" and module else path
        walk.add_import(node, alias or name, module_path(walk, module), "")
    else:
        walk.add_import(node, alias or name, module_path(walk, module), name)


def _joined(path: str, rest: str) -> str:
    return f"{path}::{rest}" if path and rest else path or rest


def _read_module(walk: SyntaxWalk, node: Node) -> None:
    """`mod a {…}` is a definition; `mod a;` brings the module of another file, which `#[path = "…"]` names."""
    name = node.child_by_field_name("name")
    if name is None:
        return
    if node.child_by_field_name("body") is not None:
        define_named(walk, node, name, "module")
        return
    text = walk.text(name).removeprefix("r#")
    module = module_path(walk, f"self::{text}")
    above = node.prev_named_sibling
    while above is not None and above.type == "attribute_item":
        path = _PATH_ATTRIBUTE.match(walk.text(above))
        module = path[1] if path else module
        above = above.prev_named_sibling
    walk.add_import(node, text, module, "")


_PATH_ATTRIBUTE = re.compile(r'#\[path\s*=\s*"([^"]+\.rs)"')


def _read_extern_crate(walk: SyntaxWalk, node: Node) -> None:
    name, alias = node.child_by_field_name("name"), node.child_by_field_name("alias")
    if name is not None:
        walk.add_import(node, walk.text(alias or name), "crate" if name.type == "self" else walk.text(name), "")


# Definitions and calls


def _read_function(walk: SyntaxWalk, node: Node) -> None:
    """`fn pay<T: Shop>(&self, x: T) -> Result<Foo, E>`."""
    name = node.child_by_field_name("name")
    if name is None:
        return
    parameters = type_parameters(walk, node, outer_parameters(walk))
    returns = type_text(walk, node.child_by_field_name("return_type"), parameters)
    define_named(walk, node, name, "function", returns=returns)
    set_parameters(walk, parameters)
    bind_parameters(walk, node.child_by_field_name("parameters"))


def _read_type(kind: str) -> NodeReader:
    """The reader of a struct, an enum, a union, a trait, or the name of another type."""

    def read(walk: SyntaxWalk, node: Node) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None:
            return
        parameters = type_parameters(walk, node, outer_parameters(walk))
        bases: tuple[str, ...] = ()
        if kind == "trait":
            bases = base_traits(walk, node.child_by_field_name("bounds"))
        elif kind == "type":
            text = type_text(walk, node.child_by_field_name("type"), parameters)
            bases = (text,) if text and text != walk.text(name) else ()
        define_named(walk, node, name, kind, bases)
        set_parameters(walk, parameters)
        if kind in ("struct", "union"):
            bind_fields(walk, body)
        elif kind == "enum" and body is not None:
            for variant in body.named_children:
                if variant.type == "enum_variant":
                    bind_variant(walk, variant)

    return read


def _read_impl(walk: SyntaxWalk, node: Node) -> None:
    """An impl block takes the name of its type, so that its functions are "Shop.pay" as well."""
    owner = named_type(walk, node.child_by_field_name("type"))
    if owner:
        parameters = type_parameters(walk, node)
        body = node.child_by_field_name("body")
        bases = implemented(walk, node.child_by_field_name("trait"), body, parameters)
        walk.add_definition(node, owner, "impl", bases=bases)
        set_parameters(walk, parameters)
        bind_bounds(walk, parameters, node)


def _read_call(walk: SyntaxWalk, node: Node) -> None:
    function = node.child_by_field_name("function")
    if function is not None:
        walk.add_call(node, callee_text(walk, function))
        bind_closures(walk, node)


def _read_macro_call(walk: SyntaxWalk, node: Node) -> None:
    name = node.child_by_field_name("macro")
    if name is not None:
        walk.add_call(node, path_text(walk, name))


def _read_attribute(walk: SyntaxWalk, node: Node) -> ScopedChildren:
    """Attributes call nothing."""
    return []


def _read_closure(walk: SyntaxWalk, node: Node) -> None:
    bind_parameters(walk, node.child_by_field_name("parameters"))


# Macros


def _read_token_tree(walk: SyntaxWalk, node: Node) -> None:
    """The arguments of a macro are loose tokens: a name before an opening bracket is taken for a call.

    `let x = f();` and the annotated parameters of a closure, `|x: Shop|`, are bound.
    """
    tokens = node.children
    for at in range(1, len(tokens)):
        kind = tokens[at].type
        if kind == "token_tree":
            if tokens[at - 1].type in _NAME_TOKENS and _opens(walk, tokens[at]):
                _read_loose_call(walk, tokens, at - 1)
        elif kind == "let":
            _read_loose_let(walk, tokens, at + 1)
        elif kind == ":" and tokens[at - 1].type == "identifier":
            first = at - 2 - (tokens[at - 2].type == "mutable_specifier")
            if first >= 0 and tokens[first].type in ("|", ","):
                bind_pattern(walk, tokens[at - 1], known("annotation", _loose_path(walk, tokens, at + 1)))


def _read_loose_call(walk: SyntaxWalk, tokens: list[Node], last: int) -> None:
    text, start = _loose_chain(walk, tokens, last)
    is_whole = not start or tokens[start - 1].type not in (".", "::")
    walk.add_call(tokens[last], text if is_whole else f"?.{walk.text(tokens[last])}")


def _loose_chain(walk: SyntaxWalk, tokens: list[Node], last: int) -> tuple[str, int]:
    """The dotted text of the chain of tokens that ends with this one, and the index of its first token."""
    links, start, is_path = [walk.text(tokens[last])], last, False
    while start >= 2 and tokens[start - 1].type in (".", "::") and len(links) < MAX_LINKS:
        calls, inner = "", start - 2
        while inner and (tokens[inner].type == "?" or _is_called(walk, tokens[inner])):
            calls += "()" if tokens[inner].type == "token_tree" else ""
            inner -= 1
        if tokens[inner].type not in _PATH_TOKENS:
            break
        is_path = tokens[start - 1].type == "::"
        links.append(walk.text(tokens[inner]) + calls)
        start = inner
    if is_path and links[-1] in ("crate", "self", "super"):
        text = "::".join(links[::-1])
        return ("" if "(" in text else path_of(walk, text)), start
    return ".".join(link for link in links[::-1] if link != "await"), start


def _loose_path(walk: SyntaxWalk, tokens: list[Node], first: int) -> str:
    """The type that begins with this token, "" for one with arguments."""
    while first < len(tokens) and tokens[first].type in ("&", "lifetime", "mutable_specifier"):
        first += 1
    last = first
    while last + 2 < len(tokens) and tokens[last + 1].type == "::" and tokens[last + 2].type == "identifier":
        last += 2
    is_name = last < len(tokens) and tokens[last].type in ("identifier", "primitive_type")
    if not is_name or (last + 1 < len(tokens) and tokens[last + 1].type == "<"):
        return ""
    return path_of(walk, "::".join(walk.text(token) for token in tokens[first : last + 1 : 2]))


def _read_loose_let(walk: SyntaxWalk, tokens: list[Node], at: int) -> None:
    at += at < len(tokens) and tokens[at].type == "mutable_specifier"
    if at + 2 >= len(tokens) or tokens[at].type != "identifier":
        return
    value = UNKNOWN
    if tokens[at + 1].type == ":":
        value = known("annotation", _loose_path(walk, tokens, at + 2))
    elif tokens[at + 1].type == "=":
        end = next((n for n in range(at + 2, len(tokens)) if tokens[n].type == ";"), len(tokens))
        last, is_call = end - 1, False
        while last > at + 2 and (tokens[last].type == "?" or _is_called(walk, tokens[last])):
            is_call = is_call or tokens[last].type == "token_tree"
            last -= 1
        if tokens[last].type in _NAME_TOKENS:
            text, start = _loose_chain(walk, tokens, last)
            first = at + 2 + (tokens[at + 2].type == "&") + (tokens[at + 3].type == "mutable_specifier")
            value = known("call" if is_call else "alias", text) if start == first else UNKNOWN
    bind_pattern(walk, tokens[at], value)


def _opens(walk: SyntaxWalk, tree: Node) -> bool:
    return walk.source[tree.start_byte] == ord("(")


def _is_called(walk: SyntaxWalk, token: Node) -> bool:
    return token.type == "token_tree" and _opens(walk, token)


_NAME_TOKENS = frozenset({"identifier", "default", "gen", "union"})
"""A name, and keywords that are names in most places: `Shop::default()`."""

_PATH_TOKENS = _NAME_TOKENS | {"self", "super", "crate"}
_TABLE = SyntaxTable(
    definitions={"macro_definition": "macro"},
    calls={},
    others={
        "ERROR": error_reader("", RustHeader),
        "attribute_item": _read_attribute,
        "call_expression": _read_call,
        "closure_expression": _read_closure,
        "const_item": read_constant,
        "enum_item": _read_type("enum"),
        "extern_crate_declaration": _read_extern_crate,
        "for_expression": read_for,
        "function_item": _read_function,
        "function_signature_item": _read_function,
        "impl_item": _read_impl,
        "inner_attribute_item": _read_attribute,
        "let_condition": read_condition,
        "let_declaration": read_let,
        "macro_invocation": _read_macro_call,
        "match_expression": read_match,
        "mod_item": _read_module,
        "static_item": read_constant,
        "struct_item": _read_type("struct"),
        "token_tree": _read_token_tree,
        "trait_item": _read_type("trait"),
        "type_item": _read_type("type"),
        "union_item": _read_type("union"),
        "use_declaration": read_use,
    },
)

# Types, traits, functions and macros of the prelude, and methods of the standard library's types.
_BUILTINS = (
    "std core alloc str bool char f32 f64 i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize Some None Ok Err"
    " Option Result String Vec Box ToString ToOwned Iterator IntoIterator Extend ExactSizeIterator"
    " DoubleEndedIterator Into From TryFrom TryInto FromIterator AsRef AsMut Default Drop Fn FnMut FnOnce Clone"
    " Copy Send Sync Sized Unpin PartialEq Eq PartialOrd Ord Future IntoFuture drop assert assert_eq assert_ne cfg"
    " column compile_error concat dbg debug_assert debug_assert_eq debug_assert_ne env eprint eprintln file format"
    " format_args include include_bytes include_str line matches module_path option_env panic print println"
    " stringify thread_local todo try unimplemented unreachable vec write writeln all and_then any as_bytes"
    " as_deref as_mut as_ref as_slice as_str await borrow borrow_mut chain chars chunks clone cloned cmp collect"
    " contains contains_key copied count deref deref_mut drain entry enumerate eq err expect extend filter"
    " filter_map find find_map first flat_map flatten flush fmt fold for_each from get get_mut get_or_insert_with"
    " hash insert into into_iter is_empty is_err is_none is_ok is_some is_some_and iter iter_mut join keys last"
    " len lines lock map map_err map_or max max_by min min_by ne next nth ok ok_or ok_or_else or_else or_insert"
    " or_insert_with parse partial_cmp peek pop position push push_str read read_line recv remove repeat replace"
    " resize retain rev send skip sort sort_by sort_by_key split split_at spawn splitn starts_with ends_with"
    " strip_prefix strip_suffix sum swap take to_lowercase to_owned to_string to_uppercase to_vec trim trim_end"
    " trim_start truncate try_from try_into unwrap unwrap_err unwrap_or unwrap_or_default unwrap_or_else values"
    " values_mut with_capacity write_all write_str zip as_path canonicalize display ends_with exists extension"
    " file_name file_stem is_absolute is_dir is_file metadata parent to_path_buf to_str to_string_lossy"
)

_SCOPES = ScopeRules(
    names="identifier type_identifier shorthand_field_identifier",
    scopes="function_item closure_expression block match_arm for_expression if_expression while_expression"
    " struct_item enum_item type_item union_item function_signature_item macro_definition mod_item",
    object_scopes="impl_item trait_item enum_variant_list",
    bindings="parameter.pattern closure_parameters let_declaration.pattern for_expression.pattern"
    " let_condition.pattern match_pattern match_arm.pattern field_pattern.name field_pattern.pattern"
    " function_item.name function_signature_item.name struct_item.name enum_item.name trait_item.name type_item.name"
    " union_item.name mod_item.name const_item.name static_item.name macro_definition.name type_parameter.name"
    " const_parameter.name enum_variant.name associated_type.name lifetime_parameter.name closure_parameters.*"
    " captured_pattern:first extern_crate_declaration.name",
    patterns="tuple_pattern tuple_struct_pattern struct_pattern ref_pattern mut_pattern reference_pattern slice_pattern"
    " or_pattern captured_pattern field_pattern.pattern",
    declared="",
    imports="use_declaration extern_crate_declaration",
    keys="lifetime label type_binding.name attribute",
    ignored="token_tree token_tree_pattern attribute_item inner_attribute_item macro_definition",
    predefined="Self self crate super union auto default std core alloc macro_rules dyn _",
    definitions="struct_item enum_item trait_item",
    open_calls=True,
    open_types=True,
    member_kinds="struct enum trait union",
    member_signs=r"(?<!\.)\.|::|'",
)

_CALL_SYNTAX = CallSyntax(
    has_macros=True,
    modifiers="mut ref",
    field=r"(?:pub(?:\([^)]*\))?\s+)?(?P<name>[^\W\d]\w*)\s*:\s*(?P<type>[^/]+?),?(?:\s*//.*)?",
    has_literals=True,
    has_spaced_literals=True,
    has_references=True,
    has_trailing_comma=True,
    nothing="None",
)

LANGUAGES = (
    Language(
        "rust",
        suffixes="rs",
        lexer=_LEXER,
        comment=SLASHES,
        decorator=r"#\[.*\]",
        blocks="braces",
        member_operators="::",
        grammar=("tree_sitter_rust", "language"),
        readers=readers_of(_TABLE),
        module_style="rust",
        module_separator="::",
        import_lines=RUST_IMPORTS,
        test_path=r"(?:^|/)tests/",
        own_object="self",
        own_class="Self",
        builtins=_BUILTINS,
        call_syntax=_CALL_SYNTAX,
        scope_rules=_SCOPES,
        new_method="default deserialize from from_iter from_str parse parse_from try_from try_parse try_parse_from",
        element_methods=(
            "back back_mut find first first_mut front front_mut get get_mut get_or_insert_with get_unchecked insert"
            " last last_mut max max_by max_by_key min min_by min_by_key next next_back nth or_default or_insert"
            " or_insert_with peek pop pop_back pop_front recv reduce remove rfind swap_remove try_recv"
        ),
        collection_methods=(
            "as_deref as_mut as_mut_slice as_ref as_slice borrow borrow_mut by_ref chain clone cloned collect"
            " context copied cycle drain drain_all entry expect extract_if filter fuse inspect into_inner into_iter"
            " into_values iter iter_mut lock map_err ok ok_or ok_or_else or_else peekable read rev skip skip_while"
            " split_off step_by take take_while to_owned to_vec unwrap unwrap_or unwrap_or_default unwrap_or_else"
            " values values_mut with_context write"
        ),
        identity_methods=(
            "and as_deref as_deref_mut as_mut as_ref borrow borrow_mut by_ref clone cloned context copied deref"
            " deref_mut downgrade expect filter get_mut get_or_init get_or_insert_with inspect into into_boxed"
            " into_inner iter load lock map_err ok ok_or ok_or_else or or_else or_insert_with read replace take"
            " to_owned try_into try_lock unwrap unwrap_or unwrap_or_default unwrap_or_else upgrade with_context"
            " write"
        ),
        has_extensions=True,
        has_fields_apart=True,
        has_traits_in_scope=True,
        has_interfaces=True,
        has_globals=True,
        global_kinds="macro",
    ),
)
