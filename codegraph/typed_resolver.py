"""Name resolution with types: the meaning of a dotted name in a scope, where the source states or implies it.

Owns the rules that languages share: scopes, imports and re-exports, modules, packages and their members, instances of
known classes, elements of collections, inheritance and embedding, constructors, and results of calls one step deep.
`Language` says where languages differ. Static: no code is run. A name without a known value is unknown, and a name from
outside of the repository is known to be outside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..languages import Language, language_named
from .file_graph import ARGUMENT, LAMBDA_OBJECT, RESULT, Definition
from .modules import contains, directory_of, manifest_style, upwards
from .resolver import (
    MAX_CANDIDATES,
    MAX_PLACES,
    NamePart,
    Resolution,
    ResolutionSource,
    Resolver,
    distance,
    parse_dotted,
)
from .symbol_table import (
    DECLARATION,
    FUNCTION_KINDS,
    MODULE,
    NAME_LIST,
    NAMESPACE_KINDS,
    STAR_IMPORTS,
    BoundName,
    Entry,
    ImportedName,
    Lambda,
    SymbolTable,
    global_import_key,
    header_key,
    is_class,
    language_family,
    package_key,
)


class Value(NamedTuple):
    """The abstract value of a name: a definition and its role."""

    kind: int
    path: str
    name: str  # qualified name in `path`; of a module "", of a package the key to which its names are added
    how: str


MODULE_VALUE, CLASS_VALUE, FUNCTION_VALUE, INSTANCE_VALUE, SUPER_VALUE, OUTSIDE_VALUE = range(6)
COLLECTION_VALUE, METHOD_VALUE = range(6, 8)
"""Kinds of values. `super` has the class in whose methods it stands. A collection has elements of the class; a method
of a collection returns one of them, or all for the `how` "typed local"."""

_OUTSIDE = Value(OUTSIDE_VALUE, "", "", "")

ELEMENTS = "[]"
"""The end of the type text of a collection."""

DEFAULT_EXPORT = "default"

MAX_IMPLEMENTATIONS = 20
"""A method with more candidates for its implementation has none."""

_CALLABLE = frozenset({MODULE_VALUE, CLASS_VALUE, FUNCTION_VALUE})

MAX_PARTS = 60
"""Places of one type that are read."""

MIN_TYPED_NAME = 3
"""Characters; a shorter name of a variable says nothing about its type."""

_OBJECT_KINDS = (INSTANCE_VALUE, CLASS_VALUE)
_FINAL_KINDS = frozenset({"enum", "struct", "union"})
_INCLUDE_STEPS = 3
"""Steps of includes that say which of several definitions of a name a file means."""

INTERFACE_KINDS = frozenset({"interface", "trait"})
_CONSTRUCTOR_KINDS = frozenset({"constructor", DECLARATION})
"""Kinds of a member with the name of its class."""


class MethodResolutionOrder(NamedTuple):
    """A class and its bases in the order of attribute lookup; `complete` when no base is unknown or from outside."""

    classes: tuple[tuple[str, str], ...]  # path, qualified name
    complete: bool
    n_parts: int = 1  # the first classes are parts of the class itself


class TypedResolver(Resolver):
    """Resolves names over the files of one snapshot whose languages have types."""

    def __init__(self, source: ResolutionSource) -> None:
        super().__init__(source)
        self._nearest: dict[
            tuple[str, str], tuple[str, str]
        ] = {}  # file and key -> file and name, of a package's names

    # Calls

    def targets(self, path: str, within: str, callee: str, line: int) -> tuple[Resolution, ...]:
        """The targets of a call of `callee` in a scope (a qualified name, "" for the module)."""
        symbols = self.symbols(path)
        if symbols is None:
            return ()
        parts = parse_dotted(callee)
        last = parts[-1].name
        rules = language_named(symbols.language)
        if len(parts) == 1:
            found = self.read(path, within, parts, line, is_called=True)
            is_object = found is not None and found.kind == INSTANCE_VALUE and found.how != "self"
            if found is not None and is_object and rules.call_method and rules.has_implicit_object:
                found = self._function_behind(path, within, last, line, found)
            if found is None and self._may_be_global(path, within, last, rules):
                around = self.object_around(path, within) if rules.has_mixins else None
                below = self._below(around, last) if around is not None else ()
                if around is not None and not (symbols.is_function(within) and self._is_in_class(path, around.name)):
                    around = None  # blocks of a class body, and modules, may run for another object
                if below or rules.global_kinds:
                    return below or self._global(path, symbols.language, last, rules)
                found_by_name = self._reached_by_name(path, last, around)
                return tuple(target for target in found_by_name if self._is_known_in(path, target))
            if found is not None and found.kind not in _CALLABLE and rules.has_fields_apart:
                found = self.attribute(path, last)  # `let app: App = app()` calls no variable
            if found is not None and found.kind == INSTANCE_VALUE and rules.has_implicit_object:
                found = self._type_of_name(path, within, last, found)
            return self._called(found)
        receiver = self.read(path, within, parts[:-1], line)
        if receiver is None and rules.has_typed_names:
            receiver = self._named_like_type(path, within, parts[-2], last)
        if receiver is not None and receiver.kind == FUNCTION_VALUE and rules.has_bare_calls:
            receiver = self.result(receiver)
        found = None if receiver is None else self.member(receiver, last, is_called=True)
        if rules.module_separator and (found is None or found.kind == OUTSIDE_VALUE):
            found = self._path(path, within, parts) or found
        if receiver is not None and found is not None and (receiver.kind, found.kind) == (CLASS_VALUE, INSTANCE_VALUE):
            # A variant of an enum is called.
            return self._called(receiver) if receiver[1:3] == found[1:3] else ()
        if rules.has_traits_in_scope and (found is None or found.kind == OUTSIDE_VALUE):
            is_value = self._is_value(path, within, parts[:-1])
            by_trait = self._trait_method(path, last) if is_value and last not in rules.builtin_names else None
            if by_trait is not None or receiver is not None:
                return (by_trait,) if by_trait is not None else ()
        elif rules.has_extensions and (found is None or found.kind == OUTSIDE_VALUE):
            imported = self._imported_extension(path, last)
            if imported is not None:
                return self._called(imported)
            extensions = self._extensions_by_name(path, last, receiver.name if receiver is not None else "")
            if found is not None or (extensions and rules.declares_all):
                return tuple(Resolution(each.path, each.name, "unique name") for each in extensions)
        if found is None and last not in rules.builtin_names:
            return self._by_member_name(path, receiver, last, rules)
        targets = self._called(self._after(found, parts[-1].operations))
        if rules.has_traits_in_scope and receiver is not None and self._is_final(receiver):
            return tuple(target for target in targets if target.how != "implementation")
        return targets

    def _function_behind(self, path: str, within: str, name: str, line: int, variable: Value) -> Value | None:
        """What a call of the name of a variable means: a function of the same name, if its value cannot be called."""
        symbols = self.symbols(path)
        if symbols is None or not within or self._called(variable):
            return variable
        scope = within
        while scope and f"{scope}.{name}" not in symbols.entries:
            scope = scope.rpartition(".")[0]
        return self.name(path, scope.rpartition(".")[0], name, line) if scope else variable

    def _by_member_name(self, path: str, receiver: Value | None, name: str, rules: Language) -> tuple[Resolution, ...]:
        """The few members of this name, for a receiver that is unknown or may have members that no source states."""
        if receiver is not None and receiver.how == "self" and rules.has_mixins:
            below = self._below(receiver, name)
            if below:
                return below
        if receiver is not None and rules.has_mixins:
            is_object = receiver.kind in _OBJECT_KINDS and not self._has_attribute(receiver, name)
            return self._reached_by_name(path, name, receiver) if is_object else ()
        if receiver is not None and not self._is_open(receiver):
            return ()
        found = [target for target in self.by_name(rules.name, name, near=path) if "." in target.qualified_name]
        if len(found) > 1 and rules.has_extensions:
            found = self._bodies(found)
        if rules.declares_all and (receiver is not None or len(found) > 1):
            return ()
        if rules.has_traits_in_scope:  # methods from outside have any name: the type must be one that the file names
            return tuple(found) if len(found) == 1 and self._is_bound(path, MODULE, _owner_name(found[0])) else ()
        # In a language without types a single word is too common to mean each of several methods.
        return tuple(found) if len(found) == 1 or "_" in name or not rules.has_mixins else ()

    def _reached_by_name(self, path: str, name: str, own: Value | None) -> tuple[Resolution, ...]:
        """The only definition of this name, or the few that objects of several classes may have.

        `own`: the object that has the method, if it is known; it has no methods of unrelated classes.
        """
        rules = self._rules(path)
        found = self.by_name(rules.name, name, near=path)
        if not rules.has_mixins:
            return tuple(found) if len(found) == 1 else ()
        is_specific = "_" in name
        if len(found) > 1 or (own is not None and (not is_specific or self.mro(own.path, own.name).complete)):
            found = [each for each in found if not self._is_in_class(each.path, each.qualified_name.rpartition(".")[0])]
        if len(found) == 1:
            return (found[0]._replace(how="unique name"),)
        return tuple(found) if own is not None and is_specific else ()

    def _is_in_class(self, path: str, owner: str) -> bool:
        """Whether members of this owner belong to objects of one class, and not of all that include a module."""
        header = self._header(path, owner) if owner else None
        return header is not None and header.kind not in NAMESPACE_KINDS

    def _has_attribute(self, receiver: Value, name: str) -> bool:
        """Whether a class has an attribute of this name whose value is unknown."""
        for path, owner in self.mro(receiver.path, receiver.name).classes:
            symbols = self.symbols(path)
            self.dependencies.add((path, f"{owner}.{name}"))
            if symbols is not None and f"{owner}.{name}" in symbols.entries:
                return True
        return False

    def _below(self, around: Value, name: str) -> tuple[Resolution, ...]:
        """The methods of this name of classes that extend or include the class of a value."""
        key = (around.path, around.name, "below", name)
        return self.memoised(self.shared, key, self._read_below, around.path, around.name, name) or ()

    def _read_below(self, path: str, owner: str, name: str) -> tuple[Resolution, ...]:
        symbols = self.symbols(path)
        assert symbols is not None
        wanted = self.identity(path, owner)
        waiting, seen = [owner.rpartition(".")[2]], {owner.rpartition(".")[2]}
        found: dict[Resolution, None] = {}
        while waiting and len(seen) <= MAX_IMPLEMENTATIONS:
            places = self._places(f"{language_family(symbols.language)}\0:{waiting.pop()}", path)
            for other, below in places if len(places) <= MAX_IMPLEMENTATIONS else ():
                if not any(self.identity(*each) == wanted for each in self.mro(other, below).classes):
                    continue
                member = self.member(Value(INSTANCE_VALUE, other, below, "implementation"), name)
                if member is not None and member.kind == FUNCTION_VALUE:
                    found[Resolution(member.path, member.name, "implementation")] = None
                last = below.rpartition(".")[2]
                if last not in seen:
                    seen.add(last)
                    waiting.append(last)
        return tuple(found)[:MAX_CANDIDATES]

    def _named_like_type(self, path: str, within: str, part: NamePart, wanted: str) -> Value | None:
        """An object of the class that has the name of a variable, `LineItem` of `line_item`, and this member."""
        words = part.name.lstrip("@").split("_")
        if part.operations or len(part.name) < MIN_TYPED_NAME or not part.name[-1].isalnum():
            return None
        name = "".join(word[:1].upper() + word[1:] for word in words)
        value = self.name(path, within, name, is_type=True)
        if value is None:
            target = self.unique(self._rules(path).name, name, near=path)
            value = self.attribute(target.path, target.qualified_name) if target is not None else None
        if value is None or value.kind != CLASS_VALUE:
            return None
        value = value._replace(kind=INSTANCE_VALUE, how="same name")
        member = self.member(value, wanted)
        return value if member is not None and member.kind == FUNCTION_VALUE else None

    def _may_be_global(self, path: str, within: str, name: str, rules: Language) -> bool:
        """Whether a name may come from elsewhere without an import of its own in this file."""
        if rules.shares_directory or self._is_bound(path, within, name):
            return False  # all names of a package are known
        return rules.has_globals or self._has_outside_stars(path)

    def _bodies(self, targets: list[Resolution]) -> list[Resolution]:
        """The targets; a method that is declared at one place and defined at another counts once."""
        found = dict.fromkeys(self._with_body(Value(FUNCTION_VALUE, *target[:2], "")) for target in targets)
        how = "same name" if len(found) > 1 else "unique name"
        return [Resolution(each.path, each.name, how) for each in found]

    def _is_known_in(self, path: str, target: Resolution) -> bool:
        """Whether a plain name in a file can mean a definition; a method needs an object where they have no other use."""
        rules, symbols = self._rules(target.path), self.symbols(target.path)
        definition = self._header(target.path, target.qualified_name)
        if definition is not None and symbols is not None and path != target.path and symbols.is_hidden(definition):
            return False
        is_method = definition is not None and definition.kind in ("method", DECLARATION)
        return rules.has_mixins or not (rules.has_implicit_object and is_method)

    def _global(self, path: str, language: str, name: str, rules: Language) -> tuple[Resolution, ...]:
        """The definition of a name that all files know: the only one, or the nearest where their kinds are limited."""
        if not rules.global_kinds:
            target = self.unique(language, name)
            return () if target is None else (target,)
        kinds = rules.global_kinds.split()
        for target in self.by_name(language, name, near=path):
            definition = self._header(target.path, target.qualified_name)
            if definition is not None and definition.kind in kinds:
                return (target,)
        return ()

    def _is_final(self, receiver: Value) -> bool:
        """Whether the type of the receiver has no subtypes."""
        definition = self._header(receiver.path, receiver.name) if receiver.kind == INSTANCE_VALUE else None
        return definition is not None and definition.kind in _FINAL_KINDS

    def _is_value(self, path: str, within: str, parts: tuple[NamePart, ...]) -> bool:
        """Whether an expression is a value, and no path to a module or a type."""
        head, symbols = parts[0].name, self.symbols(path)
        if any(part.operations for part in parts) or head in ("?", *self._rules(path).own_object.split()):
            return True
        while within and symbols is not None:
            self.dependencies.add((path, f"{within}.{head}"))
            if any(isinstance(entry, BoundName) for entry in symbols.entries.get(f"{within}.{head}", ())):
                return True
            within = within.rpartition(".")[0]
        return False

    def _trait_method(self, path: str, name: str) -> Resolution | None:
        """The method of a trait that the file imports or defines: only these are known for a type without a member."""
        for trait_path, trait in self.memoised(self.shared, (path, "traits"), self._traits_in_scope, path) or ():
            found = self.attribute(trait_path, f"{trait}.{name}")
            if found is not None and found.kind == FUNCTION_VALUE:
                return Resolution(found.path, found.name, "trait")
        return None

    def _traits_in_scope(self, path: str) -> tuple[tuple[str, str], ...]:
        found: dict[tuple[str, str], None] = {}
        for source in (path, *(module for module, direct in self.star_sources(path) if direct)):
            symbols = self.symbols(source)
            self.dependencies.add((source, NAME_LIST))
            for key, entries in symbols.entries.items() if symbols is not None else ():
                for entry in entries if key != STAR_IMPORTS else ():
                    value: Value | None = None
                    if isinstance(entry, ImportedName) and (entry.name or entry.local_name)[:1].isupper():
                        value = self._imported(source, entry)
                    elif isinstance(entry, Definition) and entry.kind in INTERFACE_KINDS:
                        value = Value(CLASS_VALUE, source, key, "same file")
                    definition = self._header(value.path, value.name) if value and value.kind == CLASS_VALUE else None
                    if value is not None and definition is not None and definition.kind in INTERFACE_KINDS:
                        found.update(dict.fromkeys(self.mro(value.path, value.name).classes))
        return tuple(found)

    def _implementations(self, method: Value) -> tuple[Resolution, ...]:
        """The methods that implement a method of an interface, nearest to it first."""
        owner, _, name = method.name.rpartition(".")
        interface = self._header(method.path, owner) if owner else None
        if interface is None or interface.kind not in INTERFACE_KINDS:
            return ()
        key = (method.path, method.name, "implementations")
        return self.memoised(self.shared, key, self._implementing, method.path, owner, name) or ()

    def _implementing(self, path: str, interface: str, name: str) -> tuple[Resolution, ...]:
        symbols = self.symbols(path)
        assert symbols is not None
        is_implicit = language_named(symbols.language).has_method_sets
        last = name if is_implicit else interface.rpartition(".")[2]
        key = f"{language_family(symbols.language)}\0{'.' if is_implicit else ':'}{last}"
        self.dependencies.add((key,))
        places = [place.partition("\0")[::2] for place in self._source.definitions_named(key)]
        if len(places) > MAX_IMPLEMENTATIONS:
            return ()
        wanted = self.method_names(path, interface) if is_implicit else set()
        wanted_type, own = self.identity(path, interface), (path, f"{interface}.{name}")
        found: list[Resolution] = []
        for other, qualified in sorted(places, key=lambda place: distance(path, place[0])):
            owner = qualified.rpartition(".")[0] if is_implicit else qualified
            if (other, owner) == (path, interface) or len(found) == MAX_CANDIDATES:
                continue
            value = Value(INSTANCE_VALUE, other, owner, "implementation")
            if is_implicit:
                fits = all(self.member(value, method) is not None for method in wanted)
            else:
                fits = any(self.identity(*each) == wanted_type for each in self.mro(other, owner).classes)
            member = self.member(value, name) if fits else None
            own = (path, f"{interface}.{name}")
            if member is not None and member.kind == FUNCTION_VALUE and (member.path, member.name) != own:
                found.append(Resolution(member.path, member.name, "implementation"))
        return tuple(dict.fromkeys(found))

    def _is_open(self, receiver: Value) -> bool:
        """Whether a missing member may still be defined in the repository: a mix-in calls methods of its subclasses."""
        return receiver.kind in _OBJECT_KINDS and self.mro(receiver.path, receiver.name).complete

    def _called(self, value: Value | None) -> tuple[Resolution, ...]:
        """The targets of a call of the value: of a class, the class and its own or inherited constructor."""
        if value is None:
            return ()
        if value.kind == FUNCTION_VALUE:
            body = self._with_body(value)
            return (Resolution(body.path, body.name, body.how), *self._implementations(body))
        if value.kind == MODULE_VALUE:
            return self._called(self._default_export(value))
        if value.kind == SUPER_VALUE:
            classes, _, n_parts = self.mro(value.path, value.name)
            above = classes[n_parts : n_parts + 1]
            return self._called(Value(CLASS_VALUE, *above[0], "super")) if above else ()
        rules = self._rules(value.path)
        if value.kind == CLASS_VALUE:
            symbols = self.symbols(value.path)
            if symbols is not None and rules.declares_all and symbols.is_foreign_part(value.name):
                return ()  # an extension of a type from outside
            if rules.package_style == "declared" and self._is_namespace(value.path, value.name):
                return ()
            return (Resolution(value.path, value.name, value.how), *self._constructors(value, rules))
        if value.kind == INSTANCE_VALUE and value.how == "self" and rules.has_implicit_object:
            return self._constructors(value, rules)
        if value.kind == INSTANCE_VALUE and rules.call_method:
            found = self.member(value, rules.call_method)
            if found is not None and found.kind == FUNCTION_VALUE:
                return (Resolution(found.path, found.name, found.how),)
        return ()

    def _with_body(self, function: Value) -> Value:
        """The function with a body that a function without one declares; itself without such a function."""
        symbols = self.symbols(function.path)
        self.dependencies.add((function.path, function.name))
        definition = symbols.definition(function.name) if symbols is not None else None
        if definition is None or definition.kind != DECLARATION:
            return function
        key = (function.path, function.name, "body")
        found = self.memoised(self.shared, key, self._find_body, function.path, function.name)
        return function if found is None else found._replace(how=function.how)

    def _find_body(self, path: str, key: str) -> Value | None:
        owner, _, name = key.rpartition(".")
        return self.extension(path, ((path, owner),), name) if owner else None

    def _constructors(self, value: Value, rules: Language) -> tuple[Resolution, ...]:
        """The constructor of a class, its own or an inherited one."""
        if rules.constructor:
            found = self.member(value, rules.constructor)
            if found is not None and found.kind == FUNCTION_VALUE:
                return (Resolution(found.path, found.name, "constructor"),)
        name = value.name.rpartition(".")[2]
        if rules.package_style == "declared":
            classes, _, n_parts = self.mro(value.path, value.name)
            for path, owner in classes[:n_parts]:
                symbols = self.symbols(path)
                self.dependencies.add((path, f"{owner}.{name}"))
                found_here = symbols.definition(f"{owner}.{name}") if symbols is not None else None
                if found_here is not None and found_here.kind in _CONSTRUCTOR_KINDS:
                    body = self._with_body(Value(FUNCTION_VALUE, path, f"{owner}.{name}", ""))
                    return (Resolution(body.path, body.name, "constructor"),)
        return ()

    # Names

    def read(
        self,
        path: str,
        within: str,
        parts: tuple[NamePart, ...],
        line: int | None = None,
        *,
        is_type: bool = False,
        is_called: bool = False,
    ) -> Value | None:
        """The value of a dotted expression in a scope (a qualified name); None when it is unknown.

        `is_type`: the expression is a type, so its first name is none of an object where the language separates them.
        `is_called`: the expression is called, so it is no module, and a plain name is none of a variable where the
        language separates them.
        """
        head, operations = parts[0]
        if head == "?":
            return None
        rules = self._rules(path)
        if head == rules.super_word and within != MODULE and (operations or not rules.super_is_called):
            value = self._super(path, within)
            operations = operations[1:] if rules.super_is_called else operations
        else:
            is_head_called = operations.startswith("(") or (is_called and len(parts) == 1)
            value = self.name(path, within, head, line, is_type=is_type, is_called=is_head_called)
            if value is None and rules.module_separator and (parts[1:] or not is_called):
                value = self._module_at(path, head, "") if not self._is_bound(path, within, head) else None
            if value is not None and value.kind == INSTANCE_VALUE and is_head_called and rules.has_implicit_object:
                value = self._type_of_name(path, within, head, value)
        value = self._after(value, operations)
        for at, (name, operations) in enumerate(parts[1:], start=2):
            if value is None and not rules.has_extensions:
                break
            is_method = operations.startswith("(") or (is_called and at == len(parts) and not operations)
            head, around = name, value
            value = None if around is None else self.member(around, name, is_called=is_method)
            if (
                rules.has_extensions
                and not rules.has_traits_in_scope
                and (value is None or value.kind == OUTSIDE_VALUE)
            ):
                value = self._imported_extension(path, name) or value
                if value is not None and value.kind == OUTSIDE_VALUE and operations[:1] == "(":
                    extensions = self._extensions_by_name(path, name, around.name if around is not None else "")
                    value = extensions[0] if len(extensions) == 1 else value
            if value is None:
                break
            if operations[:1] == "(" and around is not None and self._returns_receiver(value):
                value, operations = around._replace(kind=INSTANCE_VALUE, how="returned type"), operations[1:]
            value = self._after(value, operations)
        if value is None and rules.shared_names and not is_type and rules.is_shared(head):
            return _OUTSIDE  # the constants of the repository are known
        if rules.module_separator and parts[1:] and (value is None or value.kind == OUTSIDE_VALUE):
            return self._path(path, within, parts) or value
        return value

    def _path(self, path: str, within: str, parts: tuple[NamePart, ...]) -> Value | None:
        """The value of a path whose head is a module or a type, where a variable of that name hides it."""
        head, operations = parts[0]
        if operations or not within or not self._is_value(path, within, parts[:1]):
            return None
        value = self.attribute(path, head)
        if value is None or value.kind not in (MODULE_VALUE, CLASS_VALUE):
            return None
        for name, operations in parts[1:]:
            value = self._after(self.member(value, name, is_called=True), operations) if value is not None else None
        return value

    def _returns_receiver(self, function: Value) -> bool:
        """Whether a method returns the object that it is called of, whatever the class of that object."""
        if function.kind != FUNCTION_VALUE or not self._rules(function.path).receiver_types:
            return False
        definition = self._header(function.path, function.name)
        return definition is not None and definition.returns in self._rules(function.path).receiver_types.split()

    def _type_of_name(self, path: str, within: str, name: str, value: Value) -> Value:
        """The class of this name, where the value of the name is an object that cannot be called."""
        if value.how == "self" or self.result(value) is not None:
            return value
        found = self.name(path, within, name, is_type=True)
        return found if found is not None and found.kind == CLASS_VALUE else value

    def _after(self, value: Value | None, operations: str) -> Value | None:
        """The value after calls "(" and indices "["."""
        for at, operation in enumerate(operations):
            if operation == "(":
                value = self.result(value)
            elif value is not None and value.kind == FUNCTION_VALUE and operations[at + 1 : at + 2] != "(":
                value = self.element(self.result(value))  # a property, whose value is its result
            else:
                value = self.element(value)
        return value

    def name(
        self,
        path: str,
        within: str,
        name: str,
        line: int | None = None,
        *,
        is_type: bool = False,
        is_called: bool = False,
    ) -> Value | None:
        """The value of a plain name: local, enclosing functions and classes, module, package, imports, built-ins."""
        symbols = self.symbols(path)
        if symbols is None:
            return None
        rules = language_named(symbols.language)
        only_types = is_type and rules.has_implicit_object
        is_shared = rules.is_shared(name)
        scope = within
        while scope != MODULE:
            # Members of a class come after those of an object around a lambda in it, local names before them.
            lambda_first = line is not None and symbols.has_lambdas and symbols.is_class(scope)
            if line is not None and lambda_first:
                found = self._member_of_lambda(path, scope, name, symbols, line)
                if found is not None:
                    return found
            # A class body is an enclosing scope of its functions only where its members need no object.
            if rules.has_implicit_object or scope == within or symbols.encloses_functions(scope):
                key = f"{scope}.{name}"
                entries = symbols.entries.get(key)
                self.dependencies.add((path, key))
                if entries is not None and symbols.is_foreign_part(key):
                    entries = None  # members of a type from outside of the scope
                if entries is not None and line is not None and symbols.is_bound_below(scope, key, line):
                    entries = None
                if entries is not None and is_called and rules.has_function_names:
                    entries = tuple(entry for entry in entries if not isinstance(entry, BoundName)) or None
                    value = self._value(path, key, entries[0]) if entries is not None else None
                    if value is not None and not self._is_constructor(value):
                        return value
                elif entries is not None and (not only_types or _may_be_type(entries)):
                    value = self._local(path, key, entries, symbols, line)
                    is_own = value is None and rules.has_fields_apart and _names_itself(name, entries)
                    if not is_own and not self._is_constructor(value):
                        return value
                elif rules.package_style == "declared" or rules.has_extensions:
                    found = self._member_around(path, scope, name, symbols, rules, only_types)
                    if found is not None:
                        return found
            if not is_shared and symbols.is_class(scope):
                break
            if line is not None and symbols.has_lambdas and not lambda_first:
                found = self._member_of_lambda(path, scope, name, symbols, line)
                if found is not None:
                    return found
            scope = scope.rpartition(".")[0]
        if line is not None and symbols.has_lambdas:
            found = self._member_of_lambda(path, MODULE, name, symbols, line)
            if found is not None:
                return found
        if within != MODULE and (name in rules.own_object.split() or name in rules.own_class.split()):
            around = self.object_around(path, within)
            if around is not None:
                return around._replace(kind=CLASS_VALUE) if name in rules.own_class.split() else around
        entries = symbols.entries.get(name)
        if entries is not None and rules.has_block_scopes and len(entries) > 1:
            self.dependencies.add((path, name))
            return self._local(path, name, entries, symbols, line)
        found = self.attribute(path, name)
        if found is None and name in rules.builtin_names and not self._is_bound(path, MODULE, name):
            return _OUTSIDE._replace(name=name)
        if found is None and rules.package_style == "declared":
            found = self._namespace(path, symbols, name)
            if found is None and rules.declares_all and not self._is_bound(path, within, name):
                return _OUTSIDE._replace(name=name)
        return found

    def _member_around(
        self, path: str, scope: str, name: str, symbols: SymbolTable, rules: Language, only_types: bool
    ) -> Value | None:
        """The value of a plain name as a member of a class or namespace around it, which this file does not define."""
        definition = symbols.definition(scope)
        if definition is None:  # the outer part of `namespace a.b {}`
            return self._in_package(path, symbols.package_key, f"{scope}.{name}") if rules.has_outer_packages else None
        if definition.kind in NAMESPACE_KINDS and rules.package_style == "declared":
            found = self._in_package(path, symbols.package_key, f"{scope}.{name}")
            if found is not None or definition.kind == "namespace" or only_types:
                return found
        if not rules.has_implicit_object:
            return None
        if definition.kind not in FUNCTION_KINDS:
            around: Value | None = Value(INSTANCE_VALUE, path, scope, "self")
        elif scope in symbols.extensions:
            around = self._owner(path, scope)
        else:
            return None
        found = self.member(around, name) if around is not None else None
        if found is None or found.kind == OUTSIDE_VALUE or self._is_constructor(found):
            return None
        return found if not only_types or found.kind == CLASS_VALUE else None

    def _member_of_lambda(self, path: str, scope: str, name: str, symbols: SymbolTable, line: int) -> Value | None:
        """The value of a plain name as a member of an object around a lambda."""
        for around in symbols.lambdas_at(scope, line):
            key = f"{scope}.{LAMBDA_OBJECT}"
            self.dependencies.add((path, key))
            given = (path, key, "at", str(around.first_line), around.value.value)
            value = self.memoised(self.local, given, self._read_lambda, path, around)
            if value is None or value.kind not in _OBJECT_KINDS:
                continue
            of_object = (value.path, value.name, "member", name)
            found = self.memoised(self.shared, of_object, self.member, value._replace(how="typed local"), name)
            if found is not None and found.kind != OUTSIDE_VALUE and self._is_visible(symbols, found):
                return found
        return None

    def _is_visible(self, symbols: SymbolTable, value: Value) -> bool:
        """Whether a file that does not name the type of an extension sees it: by its package or by an import."""
        other = self.symbols(value.path)
        extension = other.extensions.get(value.name) if other is not None else None
        if other is None or extension is None or extension.scope or other.package_key == symbols.package_key:
            return True
        package = other.package_key.partition("\0")[2].removesuffix(".")
        imported = (*symbols.entries.get(extension.name, ()), *symbols.entries.get(STAR_IMPORTS, ()))
        return any(isinstance(item, ImportedName) and item.module == package for item in imported)

    def _of_lambda(self, path: str, entry: BoundName, line: int) -> Value | None:
        """The value of a local name that is bound to a member of an object around a lambda at this line."""
        parts = parse_dotted(entry.value)
        symbols = self.symbols(path)
        if symbols is None or entry.how == "annotation" or f"{entry.scope}.{parts[0].name}" in symbols.entries:
            return None
        value = self.read(path, entry.scope, parts, line)
        return self.result(value) if entry.how == "call" else value

    def _read_lambda(self, path: str, around: Lambda) -> Value | None:
        how, text, scope = around.value
        if how == "annotation":
            return self._typed(path, scope, text)
        value = self.read(path, scope, parse_dotted(text), around.first_line - 1)
        return self.result(value) if how == "call" else value

    def _is_constructor(self, value: Value | None) -> bool:
        """Whether a value is a constructor with the name of its class, which plain names do not mean."""
        if value is None or value.kind != FUNCTION_VALUE:
            return False
        owner, _, name = value.name.rpartition(".")
        if owner.rpartition(".")[2] != name:
            return False
        symbols = self.symbols(value.path)
        definition = symbols.definition(value.name) if symbols is not None else None
        return definition is not None and definition.kind in _CONSTRUCTOR_KINDS

    def object_around(self, path: str, within: str) -> Value | None:
        """The object of the class around a scope, which may be defined elsewhere."""
        symbols = self.symbols(path)
        if symbols is None:
            return None
        while within:
            if within in symbols.extensions:
                return self._owner(path, within)
            definition = symbols.definition(within)
            if definition is not None and definition.kind not in FUNCTION_KINDS and definition.kind != "namespace":
                return Value(INSTANCE_VALUE, path, within, "self")
            within = within.rpartition(".")[0]
        return None

    def attribute(self, path: str, key: str) -> Value | None:
        """The value of a qualified name of a file: a name of the module, or "Class.name" in the class itself."""
        symbols = self.symbols(path)
        self.dependencies.add((path, key))
        entries = symbols.entries.get(key) if symbols is not None else None
        if symbols is None:
            return None
        if entries is not None and not symbols.is_foreign_part(key):
            first = entries[0]
            if isinstance(first, Definition):
                return Value(CLASS_VALUE if is_class(first) else FUNCTION_VALUE, path, key, "same file")
            return self.memoised(self.shared, (path, key), self._first, path, key, entries)
        if entries is not None and any(not isinstance(entry, Definition) for entry in entries):
            return self.memoised(self.shared, (path, key), self._first, path, key, entries)
        found = self._from_elsewhere(path, key, symbols)
        if found is None and entries is not None:
            return Value(CLASS_VALUE, path, key, "same file")
        return found

    def _from_elsewhere(self, path: str, key: str, symbols: SymbolTable) -> Value | None:
        """The value of a name that the file does not bind: from its package, those around it, and star imports."""
        rules = language_named(symbols.language)
        owner, _, last = key.rpartition(".")
        if not rules.is_shared(last):
            return None
        is_closed = rules.package_style == "declared" and not (rules.has_open_types or rules.has_extensions)
        if symbols.package_key and not (is_closed and owner and self._is_type(symbols, owner)):
            found = self._in_package(path, symbols.package_key, key)
            if found is not None:
                return found
        if owner:
            # The star imports of an inline module are those of its file.
            is_inline = rules.module_separator and not self._is_type(symbols, owner) and symbols.is_class(owner)
            return self._from_elsewhere(path, key.rpartition(".")[2], symbols) if is_inline else None
        if rules.package_style == "declared":
            family, _, package = symbols.package_key.partition("\0")
            while rules.has_outer_packages and package:
                package = package.rstrip(".").rpartition(".")[0]
                package = package and f"{package}."
                found = self._in_package(path, f"{family}\0{package}", key)
                if found is not None:
                    return found
            return self._from_star(path, key, symbols)
        if self._is_private(symbols, key) or STAR_IMPORTS not in symbols.entries:
            return None
        found = self.memoised(self.shared, (path, key), self._star_imported, path, key)
        if found is None and rules.module_separator:
            return self.memoised(self.shared, (path, key, "star"), self._member_of_stars, path, key)
        return found

    def _member_of_stars(self, path: str, name: str) -> Value | None:
        """The value of a name that a star import of an enum or an inline module brings."""
        symbols = self.symbols(path)
        for item in symbols.entries.get(STAR_IMPORTS, ()) if symbols is not None else ():
            owner = self._module_at(path, item.module, "") if isinstance(item, ImportedName) else None
            found = self.member(owner, name) if owner is not None and owner.kind == CLASS_VALUE else None
            if found is not None and found.kind != OUTSIDE_VALUE:
                return found
        return None

    def _is_type(self, symbols: SymbolTable, name: str) -> bool:
        definition = symbols.definition(name)
        return definition is not None and definition.kind not in NAMESPACE_KINDS

    def _from_star(self, path: str, name: str, symbols: SymbolTable) -> Value | None:
        """The value of a name that a star import of a package or of a class brings."""
        key = (path, STAR_IMPORTS, "declared")
        for around in self.memoised(self.shared, key, self._star_packages, path, symbols) or ():
            is_package = around.kind == MODULE_VALUE
            found = self._in_package(path, around.name, name) if is_package else self.member(around, name)
            if found is not None and found.kind != OUTSIDE_VALUE:
                return found._replace(how="import") if found.kind in (CLASS_VALUE, FUNCTION_VALUE) else found
        return None

    def _global_imports(self, path: str, symbols: SymbolTable) -> tuple[str, ...]:
        """The packages that other files of the project import for all of its files."""
        if not language_named(symbols.language).project_ending:
            return ()
        directory = directory_of(path)
        key = (f"{directory}/", symbols.language, "global imports")
        return self.memoised(self.shared, key, self._find_global_imports, directory, symbols.language) or ()

    def _find_global_imports(self, directory: str, language: str) -> tuple[str, ...]:
        key, ending = global_import_key(language_family(language)), language_named(language).project_ending
        self.dependencies.add((key,))
        places = [place.partition("\0")[::2] for place in self._source.definitions_named(key)]
        project = self._project(directory, ending) if places else ""
        found: dict[str, None] = {}
        for path, module in places:
            self.dependencies.add((path, STAR_IMPORTS))
            other = directory_of(path)
            if contains(other, directory) if manifest_style(path) else self._project(other, ending) == project:
                found[module] = None
        return tuple(found)

    def _project(self, directory: str, ending: str) -> str:
        """The directory of the project that holds a directory; the root without one."""
        found = (above for above in upwards(directory) if self.module("directory", above, ending))
        return next(found, "")

    def _star_packages(self, path: str, symbols: SymbolTable) -> tuple[Value, ...]:
        """The packages and classes of the repository whose names star imports bring into a file."""
        self.dependencies.add((path, STAR_IMPORTS))
        entries = symbols.entries.get(STAR_IMPORTS, ())
        modules = [(item.module, item.level) for item in entries if isinstance(item, ImportedName)]
        modules += [(module, 0) for module in self._global_imports(path, symbols)]
        found = (
            self._declared_around(path, symbols, *module) or self._object_named(path, symbols, module[0])
            for module in dict.fromkeys(modules)
        )
        kinds = (MODULE_VALUE, CLASS_VALUE, INSTANCE_VALUE)
        return tuple(value for value in found if value is not None and value.kind in kinds)

    def _object_named(self, path: str, symbols: SymbolTable, name: str) -> Value | None:
        """The object in a variable of a file whose members an import brings: `import builder._`."""
        if "." in name or not language_named(symbols.language).has_relative_imports:
            return None
        for key, entries in symbols.entries.items():
            if key.rpartition(".")[2] == name and isinstance(entries[0], BoundName):
                value = self._first(path, key, entries)
                return self.result(value) if value is not None and value.kind == FUNCTION_VALUE else value
        return None

    def _declared_around(self, path: str, symbols: SymbolTable, dotted: str, level: int) -> Value | None:
        """The value of a name in an import: a global name, or with a level one in the packages around the import."""
        found = self.imported(path, dotted)
        if found is None and level:
            around = sorted(symbols.namespaces(), key=lambda package: -len(package))
            values = (self.declared(path, f"{package}.{dotted}") for package in around)
            found = next((value for value in values if value is not None), None)
        return found

    def _namespace(self, path: str, symbols: SymbolTable, name: str) -> Value | None:
        """The namespace or package of this name, beginning at the root or in the packages around the file's."""
        family, _, package = symbols.package_key.partition("\0")
        for around in _outwards(package) if self._rules(path).has_outer_packages else ("",):
            key = f"{family}\0{around}{name}/"
            self.dependencies.add((key,))
            if self._source.definitions_named(key):
                return Value(MODULE_VALUE, "", f"{family}\0{around}{name}.", "import")
        return None

    def imported(self, path: str, dotted: str) -> Value | None:
        """The value of the path of an import, a global name; in some languages also in the package of the file."""
        found = self.declared(path, dotted)
        symbols = self.symbols(path)
        if found is None and symbols is not None and language_named(symbols.language).has_relative_imports:
            package = symbols.package_key.partition("\0")[2]
            return self.declared(path, package + dotted) if package else None
        return found

    def declared(self, path: str, dotted: str) -> Value | None:
        """The value of a global name: a definition, a member of one, or a namespace."""
        symbols = self.symbols(path)
        if symbols is None:
            return None
        family = symbols.package_key.partition("\0")[0]
        found = self._in_package(path, f"{family}\0", dotted)
        if found is not None:
            return found
        owner, _, last = dotted.rpartition(".")
        around = self.declared(path, owner) if owner else None
        if around is not None and around.kind == CLASS_VALUE:
            return self.member(around, last)
        key = f"{family}\0{dotted}/"
        self.dependencies.add((key,))
        return Value(MODULE_VALUE, "", key[:-1] + ".", "import") if self._source.definitions_named(key) else None

    def member(self, value: Value, name: str, *, is_called: bool = False) -> Value | None:
        """The value of `value.name`, of a method if it is called and the language has fields of the same name."""
        kind, path = value.kind, value.path
        if kind == OUTSIDE_VALUE:
            return _OUTSIDE
        if kind == MODULE_VALUE:
            return self._module_member(value, name)
        if name.startswith(ARGUMENT):
            if kind == FUNCTION_VALUE:
                return self.attribute(path, f"{value.name}.{name}")
            called = self._called(value)[-1:]  # of a class its constructor
            return self.attribute(called[0].path, f"{called[0].qualified_name}.{name}") if called else None
        if kind == COLLECTION_VALUE:
            return self._collection_method(value, name)
        if kind == FUNCTION_VALUE or (kind == METHOD_VALUE and self._rules(path).has_bare_calls):
            # Treated as a property: its value is its result.
            result = self.result(value)
            if result is None or result.kind == FUNCTION_VALUE:  # a function may return itself
                return None
            return self.member(result, name, is_called=is_called)
        own_how = "class attribute" if kind == CLASS_VALUE and value.how != "self" else value.how
        has_fields_apart = self._rules(path).has_fields_apart and kind == INSTANCE_VALUE
        if kind != SUPER_VALUE and not has_fields_apart:
            found = self._own_member(path, value.name, name, own_how)
            if found is not None:
                return found
        classes, complete, n_parts = self.mro(path, value.name)
        for depth, owner in enumerate(classes[n_parts:] if kind == SUPER_VALUE else classes):
            how = "super" if kind == SUPER_VALUE else "inherited" if depth >= n_parts else own_how
            if owner == (path, value.name) and not has_fields_apart:
                continue
            found = self._own_member(*owner, name, how)
            if has_fields_apart and found is not None and is_called != (found.kind == FUNCTION_VALUE):
                found = None if is_called else self._field(owner[0], f"{owner[1]}.{name}") or found
            if found is not None:
                return found
        if kind == SUPER_VALUE:
            return None if complete else _OUTSIDE
        return self._outside_of_class(value, classes, name)

    def _own_member(self, path: str, owner: str, name: str, how: str) -> Value | None:
        """The value of a name that a class itself has, reached in the given way."""
        found = self.attribute(path, f"{owner}.{name}")
        if found is None or found.kind == OUTSIDE_VALUE:
            return found
        elsewhere = found.path != path and found.how != "same package"
        return found._replace(how="typed attribute" if elsewhere or found.name != f"{owner}.{name}" else how)

    def _field(self, path: str, key: str) -> Value | None:
        """The value of a field, which a method of the same name does not hide."""
        symbols = self.symbols(path)
        entries = symbols.entries.get(key, ()) if symbols is not None else ()
        fields = tuple(entry for entry in entries if isinstance(entry, BoundName))
        return self.memoised(self.shared, (path, key, "field"), self._first, path, key, fields)

    def _outside_of_class(self, value: Value, classes: tuple[tuple[str, str], ...], name: str) -> Value | None:
        """A member that no class of the value has: an extension, the making of an object, an unwrapping."""
        rules = self._rules(value.path)
        if rules.has_extensions:
            found = self.extension(value.path, classes, name)
            if found is not None:
                return found._replace(how=value.how)
        if value.kind == CLASS_VALUE and name in rules.new_method.split():
            return value
        if value.kind == INSTANCE_VALUE and name in rules.identity_methods.split():
            return value._replace(kind=METHOD_VALUE, how="returned type")
        is_known = rules.has_traits_in_scope and value.kind in (CLASS_VALUE, INSTANCE_VALUE)
        return _OUTSIDE if rules.declares_all or is_known else None

    def extension(self, path: str, classes: tuple[tuple[str, str], ...], name: str, of: str = "") -> Value | None:
        """The member of a class that is defined outside of it; the nearest to a file if there are several.

        `of` is `ELEMENTS` for the collections of objects of the class.
        """
        symbols = self.symbols(path)
        if symbols is None:
            return None
        places = self._places(f"{language_family(symbols.language)}\0+{name}", path)
        if not places:
            return None
        types = {self.identity(*each) for each in classes}
        lasts = {owner.rpartition(".")[2] + of for _, owner in classes}
        for other, key in places:
            table = self.symbols(other)
            extension = table.extensions.get(key) if table is not None else None
            if extension is None or extension.owner.rpartition(".")[2] not in lasts:
                continue
            owner = self._owner(other, key)
            if owner is not None and self.identity(owner.path, owner.name) in types:
                return self.attribute(other, key)
        return None

    def _extensions_by_name(self, path: str, name: str, type_name: str = "") -> tuple[Value, ...]:
        """The few extensions of this name of types from outside of the repository; of one type if it is known."""
        rules = self._rules(path)
        places = self._places(f"{language_family(rules.name)}\0+{name}", path)
        places = [place for place in places if self._is_of_outside(*place)]
        if rules.has_extension_packages:
            packages = self._visible_packages(path)
            places = [place for place in places if self._package_around(*place) in packages]
        elif rules.declares_all and (type_name or name in rules.builtin_names):
            places = self._of_outside_type(path, places, type_name, name in rules.builtin_names, rules)
        places = self.distinct(places, path) if len(places) <= MAX_PLACES else places
        values = (self.attribute(*place) for place in places)
        found = dict.fromkeys(value for value in values if value is not None and value.kind == FUNCTION_VALUE)
        return tuple(found) if len(found) <= MAX_CANDIDATES else ()

    def _of_outside_type(
        self, path: str, places: list[tuple[str, str]], type_name: str, is_builtin: bool, rules: Language
    ) -> list[tuple[str, str]]:
        """The extensions of one type from outside of the repository; without any, those of types that it may be."""
        owners = {place: self._outside_owner(path, *place) for place in places}
        exact = [place for place in places if owners[place] == type_name]
        if exact or is_builtin:
            return exact
        is_standard = type_name in rules.builtin_names
        return [
            place for place in places if owners[place] and not (is_standard and owners[place] in rules.builtin_names)
        ]

    def _package_around(self, path: str, key: str) -> str:
        """The package or namespace that holds a member outside of its type."""
        symbols = self.symbols(path)
        self.dependencies.add((path, key))
        extension = symbols.extensions.get(key) if symbols is not None else None
        if symbols is None or extension is None:
            return ""
        return (symbols.package_key.partition("\0")[2] + extension.scope).rstrip(".")

    def _visible_packages(self, path: str) -> frozenset[str]:
        """The packages and namespaces whose names a file can use: its own, those around it, and imported ones."""
        return self.memoised(self.local, (path, "packages"), self._find_visible_packages, path) or frozenset()

    def _find_visible_packages(self, path: str) -> frozenset[str]:
        symbols = self.symbols(path)
        if symbols is None:
            return frozenset()
        self.dependencies.add((path, NAME_LIST))
        found = {"", *symbols.namespaces()}
        for value in self._star_packages(path, symbols):
            if value.kind == MODULE_VALUE:
                found.add(value.name.partition("\0")[2].rstrip("."))
            else:  # a namespace that is a definition, or a class with static members
                name = self.identity(value.path, value.name).partition("\0")[2]
                found |= {name, name.rpartition(".")[0]}
        return frozenset(found)

    def _imported_extension(self, path: str, name: str) -> Value | None:
        """The only extension that an import of this name means, whatever the type that it belongs to."""
        symbols = self.symbols(path)
        if symbols is None or name not in symbols.entries:
            return None
        found: dict[str, Value] = {}
        for item in symbols.entries.get(name, ()):
            if not isinstance(item, ImportedName):
                return None
            for other, key in self._places(f"{language_family(symbols.language)}\0+{item.name}", path):
                table = self.symbols(other)
                extension = table.extensions.get(key) if table is not None else None
                if table is None or extension is None:
                    continue
                package = table.package_key.partition("\0")[2]
                if (package + extension.scope).removesuffix(".") == item.module:
                    self.dependencies.add((other, key))
                    found.setdefault(key, Value(FUNCTION_VALUE, other, key, "import"))
        return next(iter(found.values())) if len(found) == 1 else None

    def distinct(self, places: list[tuple[str, str]], near: str) -> list[tuple[str, str]]:
        found: dict[str, tuple[str, str]] = {}
        for path, name in sorted(places, key=lambda place: distance(near, place[0])):
            symbols = self.symbols(path)
            if symbols is None or language_named(symbols.language).package_style != "declared":
                return places
            # Their places change with the package of the file.
            self.dependencies |= {(symbols.package_key + name,), (symbols.package_key + name.partition(".")[0],)}
            found.setdefault(symbols.package_key + name, (path, name))
        return list(found.values())

    def _outside_owner(self, near: str, path: str, key: str) -> str:
        """The type of an extension as it is written; "" for one in a class of another file, which few files see."""
        symbols = self.symbols(path)
        extension = symbols.extensions.get(key) if symbols is not None else None
        return "" if extension is None or (extension.scope and path != near) else extension.owner

    def _is_of_outside(self, path: str, key: str) -> bool:
        owner = self._owner(path, key)
        symbols = self.symbols(owner.path) if owner is not None else None
        return owner is None or (symbols is not None and symbols.is_foreign_part(owner.name))

    def _places(self, key: str, near: str) -> list[tuple[str, str]]:
        """The definitions under a key, nearest to a file first."""
        self.dependencies.add((key,))
        found = [place.partition("\0")[::2] for place in self._source.definitions_named(key)]
        return sorted(found, key=lambda place: distance(near, place[0]))[:MAX_PARTS]

    def _owner(self, path: str, key: str) -> Value | None:
        """An object of the type to which a member outside of it belongs."""
        return self.memoised(self.shared, (path, key, "owner"), self._read_owner, path, key)

    def _read_owner(self, path: str, key: str) -> Value | None:
        symbols = self.symbols(path)
        self.dependencies.add((path, key))
        extension = symbols.extensions.get(key) if symbols is not None else None
        if extension is None:
            return None
        value = self.read(path, extension.scope, parse_dotted(extension.owner), is_type=True)
        return (
            value._replace(kind=INSTANCE_VALUE, how="self") if value is not None and value.kind == CLASS_VALUE else None
        )

    def identity(self, path: str, name: str) -> str:
        """The same for all parts of one type."""
        symbols = self.symbols(path)
        if symbols is not None and language_named(symbols.language).package_style == "declared":
            return symbols.package_key + name
        return f"{path}\0{name}"

    def result(self, value: Value | None) -> Value | None:
        """The value of a call of `value`."""
        if value is None or value.kind == OUTSIDE_VALUE:
            return value
        if value.kind == CLASS_VALUE:
            return Value(INSTANCE_VALUE, value.path, value.name, "returned type")
        if value.kind == MODULE_VALUE:
            return self.result(self._default_export(value))
        if value.kind == METHOD_VALUE:
            return value._replace(kind=INSTANCE_VALUE if value.how == "returned type" else COLLECTION_VALUE)
        if value.kind == INSTANCE_VALUE:
            call_method = self._rules(value.path).call_method
            call = self.member(value, call_method) if call_method else None
            return None if call is None or call.kind != FUNCTION_VALUE else self.result(call)
        if value.kind != FUNCTION_VALUE:
            return None
        return self.memoised(self.shared, (value.path, value.name, "()"), self._returned, value.path, value.name)

    def element(self, value: Value | None) -> Value | None:
        """The value of an element of `value`; type arguments leave a class or a function as it is."""
        if (
            value is not None
            and value.kind in (FUNCTION_VALUE, METHOD_VALUE)
            and self._rules(value.path).has_bare_calls
        ):
            value = self.result(value)
        if value is None or value.kind in (OUTSIDE_VALUE, CLASS_VALUE, FUNCTION_VALUE):
            return value
        if value.kind == COLLECTION_VALUE:
            return Value(INSTANCE_VALUE, value.path, value.name, "typed local")
        if value.kind != INSTANCE_VALUE:
            return None
        index_method = self._rules(value.path).index_method
        index = self.member(value, index_method) if index_method else None
        if index is not None:
            return self.result(index)
        classes, _, n_parts = self.mro(value.path, value.name)
        for path, name in classes[:n_parts]:
            for base in self._bases(path, name):
                if base.endswith(ELEMENTS):
                    return self.element(self._typed(path, name.rpartition(".")[0], base))
        return value if index_method else None

    def exports(self, module: Value) -> Mapping[str, Value]:
        """The definitions under the public names of a module or a package, its own and imported ones."""
        path = module.path
        if path and not path.endswith("/"):
            return self.memoised(self.shared, (path, NAME_LIST), self._exported, path) or {}
        found: dict[str, Value] = {}
        files: tuple[str, ...] = ()
        if path:
            files = self.module("directory", path.rstrip("/"), "") if module.name else ()
        elif module.name:
            files = tuple(file for file, _ in self._places(f"{module.name[:-1]}/", ""))
        for file in files:
            symbols = self.symbols(file)
            if symbols is not None and module.name.startswith(symbols.package_key):
                inside = module.name.removeprefix(symbols.package_key)
                own = self.memoised(self.shared, (file, "own", inside), self._own_exports, file, inside) or {}
                found.update((name, value._replace(how="module attribute")) for name, value in own.items())
        return found

    def members(self, path: str, name: str) -> list[tuple[str, Definition]]:
        """The definitions directly in a class, with their files: its own, then those that its package adds."""
        symbols = self.symbols(path)
        if symbols is None:
            return []
        found = [(path, member) for member in symbols.members(name)]
        rules = language_named(symbols.language)
        if rules.has_extensions:
            identity, last = self.identity(path, name), name.rpartition(".")[2]
            for other, key in self._places(f"{language_family(symbols.language)}\0&{last}", path):
                table = self.symbols(other)
                if table is not None and key in table.extensions:
                    owner, member = self._owner(other, key), table.definition(key)
                    if member is not None and owner is not None and self.identity(owner.path, owner.name) == identity:
                        found.append((other, member))
        if rules.package_style == "directory":
            key = f"{symbols.package_key}{name}."
            self.dependencies.add((key,))
            for place in self._source.definitions_named(key):
                other = place.partition("\0")[0]
                table = self.symbols(other)
                if table is not None and other != path:
                    found += [(other, member) for member in table.members(name)]
        return found

    def method_names(self, path: str, interface: str) -> set[str]:
        """The methods of an interface with those of embedded ones."""
        classes = self.mro(path, interface).classes
        return {member.name for owner in classes for _, member in self.members(*owner)}

    def mro(self, path: str, name: str) -> MethodResolutionOrder:
        """A class and all its bases, in the order of Python's MRO except in unusual hierarchies."""
        found = self.memoised(self.shared, (path, name, "bases"), self._linearise, path, name)
        return found if found is not None else MethodResolutionOrder(((path, name),), False)

    def _local(
        self, path: str, key: str, entries: tuple[Entry, ...], symbols: SymbolTable, line: int | None
    ) -> Value | None:
        """The value of a local name: the latest assignment before `line`."""
        lines = symbols.lines.get(key)
        given, latest = "", 0
        if lines is not None and language_named(symbols.language).has_function_names:
            variables = [at for at, entry in enumerate(entries) if isinstance(entry, BoundName)]
            if variables:
                entries, lines = tuple(entries[at] for at in variables), tuple(lines[at] for at in variables)
        if lines is not None and line is not None:
            latest = max((at for at in lines if at <= line), default=lines[0])
            entries = tuple(entry for entry, at in zip(entries, lines, strict=True) if at == latest)
            given = str(latest)
        at = latest if given and symbols.has_lambdas else None
        return self.memoised(self.local, (path, key, "at", given), self._first, path, key, entries, at)

    def _first(self, path: str, key: str, entries: tuple[Entry, ...], line: int | None = None) -> Value | None:
        """The value of the first entry that has one in the repository."""
        self.dependencies.add((path, key))
        outside = None
        for entry in entries:
            value = self._value(path, key, entry)
            if line is not None and isinstance(entry, BoundName) and (value is None or value.kind == OUTSIDE_VALUE):
                value = self._of_lambda(path, entry, line) or value
            if value is not None:
                if value.kind != OUTSIDE_VALUE:
                    return value
                outside = value
        return outside

    def _value(self, path: str, key: str, entry: Entry) -> Value | None:
        if isinstance(entry, Definition):
            return Value(CLASS_VALUE if is_class(entry) else FUNCTION_VALUE, path, key, "same file")
        if isinstance(entry, ImportedName):
            return self._imported(path, entry)
        if not entry.value:
            return None
        if entry.how == "annotation":
            return self._typed(path, entry.scope, entry.value)
        scope, parts = entry.scope, parse_dotted(entry.value)
        is_own_name = key == f"{scope}.{parts[0].name}" and (entry.how == "call" or len(parts) > 1)
        if is_own_name and self._rules(path).has_implicit_object:
            scope = scope.rpartition(".")[0]  # `val shop = shop()`, `let shop = shop.copy` read outer names
        if entry.how == "call" and "." in entry.value and self._rules(path).receiver_types:
            value = self.read(path, scope, parse_dotted(f"{entry.value}()"))
        else:
            value = self.read(path, scope, parts, is_called=entry.how == "call")
            if entry.how == "call":
                value = self.result(value)
        return value._replace(how="typed local") if value is not None and value.kind == INSTANCE_VALUE else value

    def _typed(self, path: str, scope: str, type_text: str) -> Value | None:
        """The value of a name with this type: an instance, or a collection for "Shop[]"."""
        is_collection = type_text.endswith(ELEMENTS)
        value = self.read(path, scope, parse_dotted(type_text.removesuffix(ELEMENTS)), is_type=True)
        if is_collection and value is not None and value.kind == OUTSIDE_VALUE:
            return _OUTSIDE
        if value is None or value.kind == OUTSIDE_VALUE or (value.kind == INSTANCE_VALUE and value.how == "self"):
            return value
        if value.kind == CLASS_VALUE:
            return Value(COLLECTION_VALUE if is_collection else INSTANCE_VALUE, value.path, value.name, "typed local")
        return None

    def _imported(self, path: str, item: ImportedName) -> Value | None:
        directory = directory_of(path)
        rules = self._rules(path)
        if rules.package_style == "declared":
            symbols, dotted = self.symbols(path), ".".join(filter(None, (item.module, item.name)))
            value = None if symbols is None else self._declared_around(path, symbols, dotted, item.level)
            if value is None:
                return _OUTSIDE
            return value._replace(how="import") if value.kind in (CLASS_VALUE, FUNCTION_VALUE) else value
        if rules.module_separator:
            return self._module_at(path, item.module, item.name)
        style = rules.module_style
        module = "." * item.level + item.module
        if not item.name and style == "python" and item.local_name == item.module.partition(".")[0]:
            module = item.local_name  # `import a.b` binds a; `import a.b as c` binds a.b.
        found = self.module(style, directory, module)
        if not found:
            return _OUTSIDE
        target = Value(
            MODULE_VALUE, found[0], package_key(rules, found[0], "") if found[0].endswith("/") else "", "import"
        )
        if not item.name:
            return target
        if found[0] == path:  # `from . import name` in a package itself can only import a module
            return self._submodule(path, item.name)
        if item.name == DEFAULT_EXPORT:
            return self._default_export(target) or target
        value = self._module_member(target, item.name)
        return None if value is None else _as_imported(value, found[0], item.name)

    def _module_at(self, path: str, module: str, name: str) -> Value | None:
        """The value of a module path, or of a name in it, where a part may also be a type or an imported name."""
        rules = self._rules(path)
        found = self.module(rules.module_style, path, module)
        if found:
            target: Value | None = Value(MODULE_VALUE, found[0], "", "import")
        else:
            outer, separator, last = module.rpartition(rules.module_separator)
            target = self._module_at(path, outer, last) if separator else self.attribute(path, module) or _OUTSIDE
        if target is None or not name:
            return target
        value = self.member(target, name)
        return value if value is None or not found else _as_imported(value, found[0], name)

    def import_files(self, path: str, item: ImportedName, name: str) -> tuple[str, ...]:
        """The files of the module from which an import takes a name; of a declared package those that define it."""
        rules, symbols = self._rules(path), self.symbols(path)
        if rules.package_style == "declared" and symbols is not None:
            family = symbols.package_key.partition("\0")[0]
            return tuple(place for place, _ in self._places(f"{family}\0{item.module}.{name}", path))
        if rules.module_separator:
            value = self._module_at(path, item.module, "")
            return (value.path,) if value is not None and value.kind == MODULE_VALUE and value.path else ()
        return self.module(rules.module_style, directory_of(path), "." * item.level + item.module)

    def _default_export(self, module: Value) -> Value | None:
        """What `export default` or `module.exports =` gives of a module."""
        if not module.path or module.path.endswith("/"):
            return None
        name = DEFAULT_EXPORT
        if self._rules(module.path).module_separator:  # `pub mod serve; pub use serve::serve;`
            name = re.sub(r"(?:/mod)?\.\w+$", "", module.path).rpartition("/")[2]
        value = self.attribute(module.path, name)
        return None if value is None or value.kind == MODULE_VALUE else _as_imported(value, module.path, value.name)

    def _module_member(self, module: Value, name: str) -> Value | None:
        path = module.path
        if module.name:
            value = self._in_package(path, module.name, name)
            if value is None and not path:
                key = f"{module.name}{name}/"
                self.dependencies.add((key,))
                return module._replace(name=f"{key[:-1]}.") if self._source.definitions_named(key) else None
            return None if value is None else value._replace(how="module attribute")
        if not path.endswith("/"):
            value = self.attribute(path, name)
            if value is not None:
                return value._replace(how="typed attribute" if value.kind == INSTANCE_VALUE else "module attribute")
        return self._submodule(path, name)

    def _in_package(self, path: str, package: str, key: str) -> Value | None:
        """The value of a qualified name of a package, from the file that defines it; the nearest of several."""
        full = package + key
        self.dependencies.add((full,))
        place = self._nearest.get((path, full))
        if place is None:
            places = [place.partition("\0")[::2] for place in self._source.definitions_named(full)]
            place = self._nearest_of(path, places) if places else ("", "")
            if self._rules(path).module_style != "include":  # included files are dependencies of each answer
                self._nearest[path, full] = place
        other, name = place
        if other and self._is_namespace(other, name):
            if self._rules(path).module_style != "include":
                return Value(MODULE_VALUE, "", f"{full}.", "import")
            if path and name == key:
                return Value(CLASS_VALUE, path, key, "same package")  # its names are looked up as the file means them
        value = self.attribute(other, name) if other and place != (path, key) else None
        if value is None or value.kind not in (CLASS_VALUE, FUNCTION_VALUE):
            return value
        return value._replace(how="same package")

    def _nearest_of(self, path: str, places: list[tuple[str, str]]) -> tuple[str, str]:
        """The place of a global name that a file means: an included one, one in a file of its name, a near one."""
        if len(places) == 1 or self._rules(path).package_style != "declared" or self._is_namespace(*places[0]):
            return places[0]
        for steps in range(_INCLUDE_STEPS if self._rules(path).module_style == "include" else 0):
            included = self._included(path, steps)
            found = [place for place in places if place[0] in included]
            if found:
                places = found
                break
        return min(places, key=lambda place: (not _is_named_like(*place), distance(path, place[0])))

    def _is_namespace(self, path: str, name: str) -> bool:
        """Whether a definition is a namespace: all places of one are alike, and they are many."""
        definition = self._header(path, name)
        return definition is not None and definition.kind == "namespace"

    def _included(self, path: str, steps: int) -> Mapping[str, None]:
        """The files that a file includes after so many steps through other files, and the source files of headers."""
        key = (path, STAR_IMPORTS, "files", str(steps))
        return self.memoised(self.shared, key, self._find_included, path, steps) or {}

    def _find_included(self, path: str, steps: int) -> Mapping[str, None]:
        found: dict[str, None] = {}
        for file in list(self._included(path, steps - 1))[:MAX_PARTS] if steps else (path,):
            symbols = self.symbols(file)
            self.dependencies.add((file, STAR_IMPORTS))
            if symbols is not None and (not symbols.is_source or not steps):
                modules = (
                    item.module for item in symbols.entries.get(STAR_IMPORTS, ()) if isinstance(item, ImportedName)
                )
                for module in modules:
                    found.update(dict.fromkeys(self.module("include", directory_of(file), module)))
        return found

    def _collection_method(self, collection: Value, name: str) -> Value:
        rules = self._rules(collection.path)
        if name in rules.element_methods.split():
            return collection._replace(kind=METHOD_VALUE, how="returned type")
        if name in rules.collection_methods.split():
            return collection._replace(kind=METHOD_VALUE, how="typed local")
        if rules.has_extensions:
            classes = self.mro(collection.path, collection.name).classes
            found = self.extension(collection.path, classes, name, of=ELEMENTS)
            if found is not None:
                return found._replace(how=collection.how)
        return _OUTSIDE

    def _submodule(self, path: str, name: str) -> Value | None:
        rules = self._rules(path)
        if rules.module_separator:
            found = self.module(rules.module_style, path, f"self{rules.module_separator}{name}")
            return Value(MODULE_VALUE, found[0], "", "import") if found else None
        if self._rules(path).module_style not in ("python", ""):
            return None
        if not path.endswith(("/", "__init__.py", "__init__.pyi")):
            return None
        found = self.module("python", directory_of(path), f".{name}")
        return Value(MODULE_VALUE, found[0], "", "import") if found else None

    def star_sources(self, path: str) -> tuple[tuple[str, bool], ...]:
        """The files whose public names star imports bring into a module, and whether directly; the first has priority.

        The dependencies of this answer are not added to those of the current lookup: in a package made of star
        imports nearly every name would depend on every file. Snapshots compare these answers instead (`invalidation`).
        """
        if self._rules(path).package_style == "declared":
            return ()
        outer, self.dependencies = self.dependencies, set()
        found = self.memoised(self.shared, (path, STAR_IMPORTS), self._follow_stars, path)
        self.dependencies = outer
        return found or ()

    def _follow_stars(self, path: str) -> tuple[tuple[str, bool], ...]:
        found: dict[str, None] = {}
        pending, direct = [path], None
        while pending:
            module = pending.pop()
            if module in found:
                continue
            found[module] = None
            symbols = self.symbols(module)
            self.dependencies.add((module, STAR_IMPORTS))
            if symbols is not None:
                # The last star import has priority; it is the first to be popped.
                stars = [star for star in self._star_modules(module, symbols) if star]
                pending += stars
                direct = stars if direct is None else direct
        del found[path]
        return tuple((module, module in (direct or ())) for module in found)

    def _star_imported(self, path: str, name: str) -> Value | None:
        self.dependencies.add((path, name))
        for module, direct in self.star_sources(path):
            symbols = self.symbols(module)
            if symbols is not None and name in symbols.entries:
                value = self.attribute(module, name)
                if value is not None and value.kind != OUTSIDE_VALUE:
                    return _as_imported(value, module if direct else "", name)
        return None

    def _star_modules(self, path: str, symbols: SymbolTable) -> list[str]:
        """The files of a module's own star imports, "" for one that is not in the repository."""
        found = []
        for item in symbols.entries.get(STAR_IMPORTS, ()):
            if isinstance(item, ImportedName):
                rules = language_named(symbols.language)
                if rules.module_separator:
                    value = self._module_at(path, item.module, "")
                    found.append(value.path if value is not None and value.kind == MODULE_VALUE else "")
                    continue
                files = self.module(rules.module_style, directory_of(path), "." * item.level + item.module)
                found.append(files[0] if files and not files[0].endswith("/") else "")
        return found

    def _has_outside_stars(self, path: str) -> bool:
        symbols = self.symbols(path)
        if symbols is None or STAR_IMPORTS not in symbols.entries:
            return False
        return self._rules(path).package_style != "declared" and "" in self._star_modules(path, symbols)

    def _exported(self, path: str) -> Mapping[str, Value]:
        found: dict[str, Value] = {}
        sources = [source for source, _ in self.star_sources(path)]
        for module in (*reversed(sources), path):
            self.dependencies.add((module, STAR_IMPORTS))
            found.update(self.memoised(self.shared, (module, "own"), self._own_exports, module) or {})
        return found

    def _own_exports(self, path: str, inside: str = "") -> Mapping[str, Value]:
        """The definitions under the public names of a file, or of a namespace in it ("a.b.")."""
        symbols = self.symbols(path)
        self.dependencies.add((path, NAME_LIST))
        found: dict[str, Value] = {}
        if symbols is None:
            return found
        for key in symbols.entries:
            name = key.removeprefix(inside)
            if inside and name == key:
                continue
            if "." not in name and name != STAR_IMPORTS and not self._is_private(symbols, name):
                value = self.attribute(path, key)
                if value is not None and value.kind in (CLASS_VALUE, FUNCTION_VALUE):
                    found[name] = value
        return found

    def _is_bound(self, path: str, within: str, name: str) -> bool:
        """Whether the file binds the name in this scope or an enclosing one, to a known value or not."""
        symbols = self.symbols(path)
        scope = within
        while symbols is not None:
            key = f"{scope}.{name}" if scope else name
            self.dependencies.add((path, key))
            if key in symbols.entries:
                return True
            if scope == MODULE:
                return False
            scope = scope.rpartition(".")[0]
        return False

    def _returned(self, path: str, name: str) -> Value | None:
        """The result of a call of the function: from its annotation, else from its return statements."""
        symbols, definition = self.symbols(path), self._header(path, name)
        if symbols is None or definition is None:
            return None
        if not definition.returns:
            key = f"{name}.{RESULT}"
            self.dependencies.add((path, key))
            entries = symbols.entries.get(key)
            if entries is not None:
                value = self._first(path, key, entries)
            else:
                value = _OUTSIDE if language_named(symbols.language).declares_all else None
        elif definition.returns in ("Self", "typing.Self", "typing_extensions.Self"):
            around = self.object_around(path, name)
            return None if around is None else around._replace(how="returned type")
        else:
            # A type parameter belongs to the function itself.
            value = self._typed(path, name, definition.returns)
            if value is not None and value.kind == OUTSIDE_VALUE and self._is_type_parameter(path, name, definition):
                return None  # the type arguments of the object decide
        return value if value is None or value.kind == OUTSIDE_VALUE else value._replace(how="returned type")

    def _is_type_parameter(self, path: str, name: str, function: Definition) -> bool:
        """Whether the result of a function is a type parameter of itself or of a class around it."""
        symbols, scope = self.symbols(path), name
        while scope and symbols is not None:
            key = f"{scope}.{function.returns.removesuffix(ELEMENTS)}"
            self.dependencies.add((path, key))
            entries = symbols.entries.get(key)
            if entries is not None:
                return isinstance(entries[0], BoundName) and entries[0].how == "alias"
            scope = scope.rpartition(".")[0]
        return False

    def _header(self, path: str, name: str) -> Definition | None:
        """The definition of a name, for its bases or its return annotation."""
        self.dependencies |= {(path, name), (path, header_key(name))}
        symbols = self.symbols(path)
        return symbols.definition(name) if symbols is not None else None

    def _linearise(self, path: str, name: str) -> MethodResolutionOrder:
        definition, symbols = self._header(path, name), self.symbols(path)
        if definition is None or symbols is None:
            return MethodResolutionOrder(((path, name),), False)
        if symbols.is_foreign_part(name):
            value = self.attribute(path, name)
            if value is not None and value.kind == CLASS_VALUE and (value.path, value.name) != (path, name):
                return self.mro(value.path, value.name)
        if definition.kind == "namespace":  # its names are global
            return MethodResolutionOrder(((path, name),), False)
        parts = self._parts(path, name, symbols)
        found, complete = [*parts], True
        for part_path, part in parts:
            around = part.rpartition(".")[0]
            for base in self._bases(part_path, part):
                if base.endswith(ELEMENTS):  # an iterator has no members of its elements
                    continue
                value = self.read(part_path, around, parse_dotted(base), is_type=True)
                if value is None or value.kind != CLASS_VALUE:
                    complete = complete and base == "object"
                    continue
                above = self.mro(value.path, value.name)
                found.extend(above.classes)
                complete = complete and above.complete
        # A shared base comes after all classes that inherit from it.
        classes = tuple(reversed(dict.fromkeys(reversed(found))))
        return MethodResolutionOrder(classes, complete, len(parts) if len(parts) > 1 else 1)

    def _bases(self, path: str, name: str) -> tuple[str, ...]:
        """The bases that the definitions of a type name in a file."""
        self._header(path, name)
        symbols = self.symbols(path)
        entries = symbols.entries.get(name, ()) if symbols is not None else ()
        return tuple(base for entry in entries if isinstance(entry, Definition) for base in entry.bases)

    def _parts(self, path: str, name: str, symbols: SymbolTable) -> list[tuple[str, str]]:
        """The places of a type: the given one, and others that add members to it."""
        rules = language_named(symbols.language)
        parts = {(path, name): None}
        if rules.has_open_types and symbols.package_key:
            for other, key in self._places(symbols.package_key + name, path):
                table = self.symbols(other)
                if table is not None and table.is_class(key):
                    parts[other, key] = None
        if rules.has_extensions:
            identity, last = self.identity(path, name), name.rpartition(".")[2]
            for other, key in self._places(f"{language_family(symbols.language)}\0&{last}", path):
                table = self.symbols(other)
                if table is None or other == path or not table.is_foreign_part(key):
                    continue
                value = self.attribute(other, key)
                if (
                    value is not None
                    and value.kind == CLASS_VALUE
                    and self.identity(value.path, value.name) == identity
                ):
                    parts[other, key] = None
        return list(parts)

    def _super(self, path: str, within: str) -> Value | None:
        around = self.object_around(path, within)
        return None if around is None else around._replace(kind=SUPER_VALUE, how="super")

    def _rules(self, path: str) -> Language:
        symbols = self.symbols(path)
        return language_named(symbols.language if symbols is not None else "")

    def _is_private(self, symbols: SymbolTable, name: str) -> bool:
        prefix = language_named(symbols.language).private_prefix
        return bool(prefix) and name.startswith(prefix)


def _may_be_type(entries: tuple[Entry, ...]) -> bool:
    """Whether a name may mean a type: of an object and a type of one name, the type is meant in a type.

    Type parameters and other names of types are aliases.
    """
    return any(e.how == "alias" if isinstance(e, BoundName) else not _is_function(e) for e in entries)


def _is_function(entry: Entry) -> bool:
    return isinstance(entry, Definition) and entry.kind in FUNCTION_KINDS


def _outwards(package: str) -> Iterator[str]:
    """The package "a.b.", those around it, and "" at last."""
    while package:
        yield package
        package = package[:-1].rpartition(".")[0]
        package = package and f"{package}."
    yield ""


def _is_named_like(path: str, name: str) -> bool:
    """Whether a file has the name of a definition, in any style of letters."""
    stem = path.rpartition("/")[2].partition(".")[0]
    return stem.replace("_", "").replace("-", "").lower() == name.rpartition(".")[2].replace("_", "").lower()


def _owner_name(target: Resolution) -> str:
    """The name of the type of a method."""
    return target.qualified_name.rpartition(".")[0].rpartition(".")[2]


def _names_itself(name: str, entries: tuple[Entry, ...]) -> bool:
    """Whether a value of a variable begins with the name of the variable, which means an outer name there."""
    return any(isinstance(entry, BoundName) and parse_dotted(entry.value)[0].name == name for entry in entries)


def _as_imported(value: Value, module: str, name: str) -> Value:
    if value.kind not in (CLASS_VALUE, FUNCTION_VALUE):
        return value
    return value._replace(how="import" if value.path == module and value.name == name else "re-export")
