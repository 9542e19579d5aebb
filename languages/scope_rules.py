"""Lexical scoping of one language, as kinds of syntax nodes: which nodes are scopes, and which names they declare.

Owns the fields that `codegraph.bound_names` and `codegraph.name_check` read to tell whether a name is bound. Names of a
language without these rules are not checked. Knows no file and no resolved type.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, eq=False, kw_only=True)
class CallRules:
    """How a language writes parameters and arguments, so that a call can be compared with the header of its callee."""

    frame: str  # a function with "%s" for its parameters
    parameters: str  # kinds of the node around the parameters
    rest: str = ""  # kinds of parameters that take any number of arguments, and of arguments that give any number
    keyword_rest: str = ""  # kinds of parameters that take any keyword
    keyword_marks: str = ""  # kinds of marks after which parameters take keywords only
    position_marks: str = ""  # kinds of marks before which parameters take no keyword
    optional: str = ""  # kinds of parameters that a call may leave out, beside those with a value
    calls: str = "call_expression"  # kinds of calls, with the fields `function` and `arguments`
    keyword: str = ""  # kind of an argument with a keyword, whose field `name` has it
    own_parameter: bool = False  # methods declare the object that they are called of as their first parameter
    spreads_results: bool = False  # the results of a call that is the only argument are several arguments
    takes_fewer: bool = False  # a call may leave out any argument
    takes_more: bool = False  # a call may have further arguments
    changing: str = ""  # pattern of a line before a definition that leaves its parameters as they are

    @cached_property
    def call_kinds(self) -> frozenset[str]:
        return frozenset(self.calls.split())

    @cached_property
    def rest_kinds(self) -> frozenset[str]:
        return frozenset(self.rest.split())


@dataclass(frozen=True, eq=False, kw_only=True)
class ScopeRules:
    """How a language binds plain names. Texts list words separated by spaces.

    A child of a node is written as "kind.field", a child without a field as "kind", any child as "kind.*", the first,
    the second and all but the first of the named children as "kind:first", "kind:second" and "kind:later".
    """

    names: str = "identifier"  # kinds of the leaves that are names
    scopes: str = ""  # kinds of nodes that hide the names that are declared in them
    object_scopes: str = ""  # scopes whose names need a receiver in the functions inside of them
    late_scopes: str = ""  # scopes whose names are known above their declaration, as in a comprehension
    own_names: str = "name"  # fields of scopes for names that the scope around declares
    bindings: str = ""  # children that declare a name
    patterns: str = ""  # children of patterns, which declare a name where the pattern does
    declared: str = ""  # kinds of leaves that declare a name everywhere
    imports: str = ""  # kinds of nodes in which every name is declared
    keys: str = ""  # children that are labels, keys, keywords and the like
    ignored: str = ""  # kinds of nodes in which no name is checked
    keyword_arguments: str = ""  # kinds of arguments whose first name is a keyword if "=" follows it
    checked: str = ""  # pattern of the names that are checked, "" for all
    checked_within: str = ""  # kinds of nodes outside of which no name is checked
    has_sigil: bool = False  # "$" belongs to the names of variables and not to the leaf
    open_calls: bool = False  # what is called may come from outside without an import of its own
    open_types: bool = False  # so may a name with a capital, or before "::"
    open_stars: bool = False  # a star import of an unknown package may bring any name
    open_lambdas: str = ""  # kinds of lambdas that may have an object whose members need no receiver
    open_bases: bool = False  # a base class from outside may have members that need no receiver
    open_methods: bool = False  # members that are called may be functions from outside
    open_paths: bool = False  # so may the names after "::"
    has_package_paths: bool = False  # a path that begins with a package needs no import
    open_macros: bool = False  # the arguments of a macro may be any names
    macros: str = ""  # macros that every file knows
    open_files: str = ""  # pattern of paths of files in which any name may come from outside
    is_open: bool = False  # any name may come from outside
    attribute_marks: str = ""  # characters before a name that make it the name of a method: ":name", "@name"
    predefined: str = ""  # names that every file knows, beside those of `builtins`
    member_signs: str = r"(?<!\.)\.|->|::|\?\."  # pattern of the text before the name of a member
    definitions: str = ""  # kinds of nodes with a field `name` of which a scope has at most one of a name
    dynamic_members: str = ""  # members of a class or a module that may give it any other member
    open_members: str = ""  # pattern of members that every object has
    member_kinds: str = ""  # kinds of definitions whose members the source states, "" for none
    targets: str = ""  # children that are targets of assignments
    adds_members: bool = False  # an assignment may add a member to any object
    call_rules: CallRules | None = None
    has_markup: bool = False  # a name after "<" in lower case is that of an element
    outside_names: str = ""  # pattern of names that may come from an import outside of the repository

    @cached_property
    def kinds(self) -> frozenset[str]:
        return frozenset((*self.names.split(), *self.declared.split()))

    @cached_property
    def declared_kinds(self) -> frozenset[str]:
        return frozenset(self.declared.split())

    @cached_property
    def scope_kinds(self) -> frozenset[str]:
        return frozenset((*self.scopes.split(), *self.object_scopes.split()))

    @cached_property
    def object_scope_kinds(self) -> frozenset[str]:
        return frozenset(self.object_scopes.split())

    @cached_property
    def late_scope_kinds(self) -> frozenset[str]:
        return frozenset(self.late_scopes.split())

    @cached_property
    def own_name_fields(self) -> frozenset[str]:
        return frozenset(self.own_names.split())

    @cached_property
    def binding_children(self) -> frozenset[str]:
        return frozenset(self.bindings.split())

    @cached_property
    def pattern_children(self) -> frozenset[str]:
        return frozenset(self.patterns.split())

    @cached_property
    def positional_kinds(self) -> frozenset[str]:
        """The kinds of nodes of which rules distinguish the first child."""
        children = (*self.binding_children, *self.pattern_children, *self.key_children)
        return frozenset(child.partition(":")[0] for child in children if ":" in child)

    @cached_property
    def keyword_argument_kinds(self) -> frozenset[str]:
        return frozenset(self.keyword_arguments.split())

    @cached_property
    def checked_kinds(self) -> frozenset[str]:
        return frozenset(self.checked_within.split())

    @cached_property
    def open_lambda_kinds(self) -> frozenset[str]:
        return frozenset(self.open_lambdas.split())

    @cached_property
    def import_kinds(self) -> frozenset[str]:
        return frozenset(self.imports.split())

    @cached_property
    def key_children(self) -> frozenset[str]:
        return frozenset(self.keys.split())

    @cached_property
    def ignored_kinds(self) -> frozenset[str]:
        return frozenset(self.ignored.split())

    @cached_property
    def target_children(self) -> frozenset[str]:
        return frozenset(self.targets.split())

    @cached_property
    def definition_kinds(self) -> frozenset[str]:
        return frozenset(self.definitions.split())

    @cached_property
    def predefined_names(self) -> frozenset[str]:
        return frozenset(self.predefined.split())
