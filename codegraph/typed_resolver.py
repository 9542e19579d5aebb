"""Name resolution with types: the meaning of a dotted name in a scope, where the source states or implies it.

Owns the rules that languages share: scopes, imports and re-exports, modules, packages and their members, instances of
known classes, elements of collections, inheritance and embedding, constructors, and results of calls one step deep.
`Language` says where languages differ. Static: no code is run. A name without a known value is unknown, and a name from
outside of the repository is known to be outside.
"""

from __future__ import annotations

from ..languages import Language
from .file_graph import Definition
from .name_lookup import NameLookup
from .resolver import (
    MAX_CANDIDATES,
    NamePart,
    Resolution,
    ResolutionSource,
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
    ImportedName,
    language_family,
)
from .values import (
    CLASS_VALUE,
    CONSTRUCTOR_KINDS,
    FUNCTION_VALUE,
    INSTANCE_VALUE,
    INTERFACE_KINDS,
    MODULE_VALUE,
    OBJECT_KINDS,
    OUTSIDE_VALUE,
    SUPER_VALUE,
    Value,
)

MAX_IMPLEMENTATIONS = 20
"""A method with more candidates for its implementation has none."""

MIN_TYPED_NAME = 3
"""Characters; a shorter name of a variable says nothing about its type."""

_CALLABLE = frozenset({MODULE_VALUE, CLASS_VALUE, FUNCTION_VALUE})
_FINAL_KINDS = frozenset({"enum", "struct", "union"})


class TypedResolver(NameLookup):
    """Resolves calls over the files of one snapshot whose languages have types."""

    def __init__(self, source: ResolutionSource) -> None:
        super().__init__(source)
        # By file, receiver and last part: many calls of a file are of the same member. `targets` is part of no other
        # lookup, so its answers follow from the snapshot.
        self._member_calls: dict[tuple[str, Value | None, NamePart], tuple[Resolution, ...]] = {}

    def targets(self, path: str, within: str, callee: str, line: int | None) -> tuple[Resolution, ...]:
        """The targets of a call of `callee` in a scope (a qualified name, "" for the module).

        `line` may be None where the meaning of the first name does not depend on it.
        """
        symbols = self.symbols(path)
        if symbols is None:
            return ()
        parts = parse_dotted(callee)
        last = parts[-1].name
        rules = symbols.rules
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
                    return below or self._global(path, last, rules)
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
        if rules.module_separator or rules.has_traits_in_scope:  # the scope and the text of the receiver count, too
            return self._member_targets(path, within, parts, receiver, rules)
        question = path, receiver, parts[-1]
        found_before = self._member_calls.get(question)
        if found_before is None:
            found_before = self._member_calls[question] = self._member_targets(path, within, parts, receiver, rules)
        return found_before

    def _member_targets(
        self, path: str, within: str, parts: tuple[NamePart, ...], receiver: Value | None, rules: Language
    ) -> tuple[Resolution, ...]:
        """The targets of a call of a member of a value, or of an unknown one, written as `parts` in a scope."""
        last = parts[-1].name
        if receiver is not None and receiver.kind == FUNCTION_VALUE and rules.has_bare_calls:
            receiver = self.result(receiver)
        found = None if receiver is None else self.member(receiver, last, is_called=True)
        if rules.module_separator and (found is None or found.kind == OUTSIDE_VALUE):
            found = self._path(path, within, parts, is_called=True) or found
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

    def _function_behind(self, path: str, within: str, name: str, line: int | None, variable: Value) -> Value | None:
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
            is_object = receiver.kind in OBJECT_KINDS and not self._has_attribute(receiver, name)
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
        return rules.has_globals or self.has_outside_stars(path)

    def _bodies(self, targets: list[Resolution]) -> list[Resolution]:
        """The targets; a method that is declared at one place and defined at another counts once."""
        found = dict.fromkeys(self._with_body(Value(FUNCTION_VALUE, *target[:2], "")) for target in targets)
        how = "same name" if len(found) > 1 else "unique name"
        return [Resolution(each.path, each.name, how) for each in found]

    def _is_known_in(self, path: str, target: Resolution) -> bool:
        """Whether a plain name can mean a definition: no method where plain names mean those of the own object."""
        rules, symbols = self._rules(target.path), self.symbols(target.path)
        definition = self._header(target.path, target.qualified_name)
        if definition is not None and symbols is not None and path != target.path and symbols.is_hidden(definition):
            return False
        is_method = definition is not None and definition.kind in ("method", DECLARATION)
        return rules.has_mixins or not (rules.has_implicit_object and is_method)

    def _global(self, path: str, name: str, rules: Language) -> tuple[Resolution, ...]:
        """The nearest definition of a name of the kinds that all files know."""
        kinds = rules.global_kinds.split()
        for target in self.by_name(rules.name, name, near=path):
            definition = self._header(target.path, target.qualified_name)
            if definition is not None and definition.kind in kinds:
                return (target,)
        return ()

    def _is_final(self, receiver: Value) -> bool:
        """Whether the type of the receiver has no subtypes."""
        definition = self._header(receiver.path, receiver.name) if receiver.kind == INSTANCE_VALUE else None
        return definition is not None and definition.kind in _FINAL_KINDS

    def _trait_method(self, path: str, name: str) -> Resolution | None:
        """The method of a trait that the file imports or defines: only these are known for a type without a member."""
        for source in (path, *(module for module, direct in self.star_sources(path) if direct)):
            for trait_path, trait in self.memoised(self.shared, (source, "traits"), self._traits_of, source) or ():
                found = self.attribute(trait_path, f"{trait}.{name}")
                if found is not None and found.kind == FUNCTION_VALUE:
                    return Resolution(found.path, found.name, "trait")
        return None

    def _traits_of(self, path: str) -> tuple[tuple[str, str], ...]:
        """The traits that a file imports or defines, with those that they extend."""
        symbols = self.symbols(path)
        self.dependencies.add((path, NAME_LIST))
        found: dict[tuple[str, str], None] = {}
        for key, entries in symbols.entries.items() if symbols is not None else ():
            for entry in entries if key != STAR_IMPORTS else ():
                value: Value | None = None
                if isinstance(entry, ImportedName) and (entry.name or entry.local_name)[:1].isupper():
                    value = self._imported(path, entry)
                elif isinstance(entry, Definition) and entry.kind in INTERFACE_KINDS:
                    value = Value(CLASS_VALUE, path, key, "same file")
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
        is_implicit = symbols.rules.has_method_sets
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
        return receiver.kind in OBJECT_KINDS and self.mro(receiver.path, receiver.name).complete

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
            factory = self._factory(value, rules)
            if factory and self._is_interface(value):
                return factory
            return (Resolution(value.path, value.name, value.how), *self._constructors(value, rules), *factory)
        if value.kind == INSTANCE_VALUE and value.how == "self" and rules.has_implicit_object:
            return self._constructors(value, rules)
        if value.kind == INSTANCE_VALUE and rules.call_method:
            found = self.member(value, rules.call_method)
            if found is not None and found.kind == FUNCTION_VALUE:
                return (Resolution(found.path, found.name, found.how),)
        return ()

    def _factory(self, value: Value, rules: Language) -> tuple[Resolution, ...]:
        """The function in another file of the package that has the name of a type, as `fun Shop(): Shop` of Kotlin."""
        if rules.package_style != "declared" or not rules.call_method:
            return ()
        for path, name in self._places(self.identity(value.path, value.name), value.path):
            symbols = self.symbols(path)
            definition = symbols.definition(name) if symbols is not None else None
            self.dependencies.add((path, name))
            if definition is not None and definition.kind in FUNCTION_KINDS:
                return (Resolution(path, name, value.how),)
        return ()

    def _is_interface(self, value: Value) -> bool:
        definition = self._header(value.path, value.name)
        return definition is not None and definition.kind in INTERFACE_KINDS

    def _with_body(self, function: Value) -> Value:
        """The function with a body that a function without one declares; itself without such a function."""
        symbols = self.symbols(function.path)
        self.dependencies.add((function.path, function.name))
        definition = symbols.definition(function.name) if symbols is not None else None
        if definition is None or definition.kind != DECLARATION:
            return function
        key = (function.path, function.name, "body")
        found = self.memoised(self.shared, key, self._find_body, function.path, function.name)
        return function if found is None else found.reached(function.how)

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
                if found_here is not None and found_here.kind in CONSTRUCTOR_KINDS:
                    body = self._with_body(Value(FUNCTION_VALUE, path, f"{owner}.{name}", ""))
                    return (Resolution(body.path, body.name, "constructor"),)
        return ()


def _owner_name(target: Resolution) -> str:
    """The name of the type of a method."""
    return target.qualified_name.rpartition(".")[0].rpartition(".")[2]
