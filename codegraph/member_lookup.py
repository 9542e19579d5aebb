"""Members of classes and objects: inheritance, parts of a type in several files, results of calls, elements.

Owns the order in which classes are searched (the method resolution order), and the values of members.
"""

from __future__ import annotations

from .extension_lookup import ExtensionLookup
from .file_graph import ARGUMENT, RESULT, Definition
from .resolver import parse_dotted
from .symbol_table import (
    BoundName,
    SymbolTable,
    language_family,
)
from .values import (
    CLASS_VALUE,
    COLLECTION_VALUE,
    ELEMENTS,
    FUNCTION_VALUE,
    INSTANCE_VALUE,
    METHOD_VALUE,
    MODULE_VALUE,
    OUTSIDE,
    OUTSIDE_VALUE,
    SUPER_VALUE,
    MethodResolutionOrder,
    Value,
)


class MemberLookup(ExtensionLookup):
    """Lookups of members."""

    def _returns_receiver(self, function: Value) -> bool:
        """Whether a method returns the object that it is called of, whatever the class of that object."""
        if function.kind != FUNCTION_VALUE or not self._rules(function.path).receiver_types:
            return False
        definition = self._header(function.path, function.name)
        return definition is not None and definition.returns in self._rules(function.path).receiver_types.split()

    def member(self, value: Value, name: str, *, is_called: bool = False) -> Value | None:
        """The value of `value.name`, of a method if it is called and the language has fields of the same name."""
        kind, path = value.kind, value.path
        if kind == OUTSIDE_VALUE:
            return None if name.startswith(ARGUMENT) else OUTSIDE  # a function from outside may give any object
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
            return None if complete else OUTSIDE
        return self._outside_of_class(value, classes, name)

    def _own_member(self, path: str, owner: str, name: str, how: str) -> Value | None:
        """The value of a name that a class itself has, reached in the given way."""
        found = self.attribute(path, f"{owner}.{name}")
        if found is None or found.kind == OUTSIDE_VALUE:
            return found
        elsewhere = found.path != path and found.how != "same package"
        return found.reached("typed attribute" if elsewhere or found.name != f"{owner}.{name}" else how)

    def _field(self, path: str, key: str) -> Value | None:
        """The value of a field, which a method of the same name does not hide."""
        symbols = self.symbols(path)
        entries = symbols.entries.get(key, ()) if symbols is not None else ()
        fields = tuple(entry for entry in entries if isinstance(entry, BoundName))
        return self.memoised(self.shared, (path, key, "field"), self._first, path, key, fields)

    def _outside_of_class(self, value: Value, classes: tuple[tuple[str, str], ...], name: str) -> Value | None:
        """A member that no class of the value has: an extension, the making of an object, an unwrapping."""
        rules = self._rules(value.path)
        if value.kind == CLASS_VALUE and rules.package_style == "declared":
            # A namespace may have the name of a class: in PHP `Stmt\Return_` beside `class Stmt`.
            namespace = Value(MODULE_VALUE, "", f"{self.identity(value.path, value.name)}.", value.how)
            found = self._module_member(namespace, name)
            if found is not None and found.kind != OUTSIDE_VALUE:
                return found
        if rules.has_extensions:
            found = self.extension(value.path, classes, name)
            if found is not None:
                return found.reached(value.how)
        if value.kind == CLASS_VALUE and name in rules.new_method.split():
            return value
        if value.kind == INSTANCE_VALUE and name in rules.identity_methods.split():
            return value._replace(kind=METHOD_VALUE, how="returned type")
        is_known = rules.has_traits_in_scope and value.kind in (CLASS_VALUE, INSTANCE_VALUE)
        return OUTSIDE if rules.declares_all or is_known else None

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

    def members(self, path: str, name: str) -> list[tuple[str, Definition]]:
        """The definitions directly in a class, with their files: its own, then those that its package adds."""
        symbols = self.symbols(path)
        if symbols is None:
            return []
        found = [(path, member) for member in symbols.members(name)]
        rules = symbols.rules
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
                return found.reached(collection.how)
        return OUTSIDE

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
                value = OUTSIDE if symbols.rules.declares_all else None
        elif definition.returns in ("Self", "typing.Self", "typing_extensions.Self"):
            around = self.object_around(path, name)
            return None if around is None else around.reached("returned type")
        else:
            # A type parameter belongs to the function itself.
            value = self._typed(path, name, definition.returns)
            if value is not None and value.kind == OUTSIDE_VALUE and self._is_type_parameter(path, name, definition):
                return None  # the type arguments of the object decide
        return value if value is None or value.kind == OUTSIDE_VALUE else value.reached("returned type")

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
        return MethodResolutionOrder(classes, complete, len(parts))

    def _bases(self, path: str, name: str) -> tuple[str, ...]:
        """The bases that the definitions of a type name in a file."""
        self._header(path, name)
        symbols = self.symbols(path)
        entries = symbols.entries.get(name, ()) if symbols is not None else ()
        return tuple(base for entry in entries if isinstance(entry, Definition) for base in entry.bases)

    def _parts(self, path: str, name: str, symbols: SymbolTable) -> list[tuple[str, str]]:
        """The places of a type: the given one, and others that add members to it."""
        rules = symbols.rules
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
