"""Lexical scoping of one language, as kinds of syntax nodes: which nodes are scopes, and which names they declare.

Owns the fields that `codegraph.bound_names` reads to tell whether a name is bound. A language without these rules has no
such check. Knows no file and no resolved type.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, eq=False, kw_only=True)
class ScopeRules:
    """How a language binds plain names. Texts list words separated by spaces.

    A child of a node is written as "kind.field", a child without a field as "kind", any child as "kind.*".
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
    predefined: str = ""  # names that every file knows, beside those of `builtins`
    member_signs: str = r"(?<!\.)\.|->|::|\?\."  # pattern of the text before the name of a member
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
    def import_kinds(self) -> frozenset[str]:
        return frozenset(self.imports.split())

    @cached_property
    def key_children(self) -> frozenset[str]:
        return frozenset(self.keys.split())

    @cached_property
    def ignored_kinds(self) -> frozenset[str]:
        return frozenset(self.ignored.split())

    @cached_property
    def predefined_names(self) -> frozenset[str]:
        return frozenset(self.predefined.split())
