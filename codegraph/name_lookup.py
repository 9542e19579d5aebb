"""Names in scopes: locals, enclosing functions and classes, the object around a method or a lambda, and dotted names.

Owns the order of the scopes and the values of bindings.
"""

from __future__ import annotations

from ..languages import Language
from .file_graph import ARGUMENT, LAMBDA_OBJECT, Definition
from .member_lookup import MemberLookup
from .resolver import NamePart, parse_dotted
from .symbol_table import (
    FUNCTION_KINDS,
    MODULE,
    NAMESPACE_KINDS,
    STAR_IMPORTS,
    BoundName,
    Entry,
    ImportedName,
    Lambda,
    SymbolTable,
    is_class,
)
from .values import (
    CLASS_VALUE,
    COLLECTION_VALUE,
    CONSTRUCTOR_KINDS,
    ELEMENTS,
    FUNCTION_VALUE,
    INSTANCE_VALUE,
    MODULE_VALUE,
    OBJECT_KINDS,
    OUTSIDE,
    OUTSIDE_VALUE,
    SUPER_VALUE,
    Value,
)


class NameLookup(MemberLookup):
    """Lookups of plain and dotted names."""

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
        # A variable in the tokens of a macro is bound nowhere.
        return not parts[1:] and not self._is_bound(path, MODULE, head)

    def read(
        self,
        path: str,
        within: str,
        parts: tuple[NamePart, ...],
        line: float | None = None,
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
                gives = at < len(parts) and parts[at].name.startswith(ARGUMENT)
                if value is not None and value.kind == OUTSIDE_VALUE and (operations[:1] == "(" or gives):
                    extensions = self._extensions_by_name(path, name, around.name if around is not None else "")
                    value = extensions[0] if len(extensions) == 1 else value
            if value is None:
                break
            if operations[:1] == "(" and around is not None and self._returns_receiver(value):
                value, operations = around._replace(kind=INSTANCE_VALUE, how="returned type"), operations[1:]
            value = self._after(value, operations)
        if value is None and rules.shared_names and not is_type and rules.is_shared(head):
            return OUTSIDE  # the constants of the repository are known
        if rules.module_separator and parts[1:] and (value is None or value.kind == OUTSIDE_VALUE):
            return self._path(path, within, parts, is_called=is_called) or value
        return value

    def _path(self, path: str, within: str, parts: tuple[NamePart, ...], *, is_called: bool) -> Value | None:
        """The value of a path whose head is a module or a type, where a variable of that name hides it.

        What follows the head must be a function or a type: `shop.till` is a field of the variable.
        """
        head, operations = parts[0]
        name, called = parts[1]
        is_item = name[:1].isupper() or called.startswith("(") or (is_called and len(parts) == 2)
        if operations or not is_item or not within or not self._is_value(path, within, parts[:1]):
            return None
        value = self.attribute(path, head)
        if value is None or value.kind not in (MODULE_VALUE, CLASS_VALUE):
            return None
        for name, operations in parts[1:]:
            value = self._after(self.member(value, name, is_called=True), operations) if value is not None else None
        return value

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
        line: float | None = None,
        *,
        is_type: bool = False,
        is_called: bool = False,
    ) -> Value | None:
        """The value of a plain name: local, enclosing functions and classes, module, package, imports, built-ins."""
        symbols = self.symbols(path)
        if symbols is None:
            return None
        rules = symbols.rules
        only_types = is_type and rules.has_implicit_object
        is_shared = rules.is_shared(name)
        scope = within
        while scope != MODULE:
            # Members of a class come after those of an object around a lambda in it, local names before them.
            lambda_first = symbols.has_lambdas and symbols.is_class(scope)
            if lambda_first and line is not None:
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
                if entries is not None and is_type and rules.has_fields_apart and not _may_be_type(entries):
                    entries = None  # a variant of an enum may have the name of its payload's type
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
        if within != MODULE and name in rules.own_names:
            around = self.object_around(path, within)
            if around is not None:
                return around._replace(kind=CLASS_VALUE) if name in rules.own_class.split() else around
        entries = symbols.entries.get(name)
        if entries is not None and rules.has_block_scopes and len(entries) > 1:
            self.dependencies.add((path, name))
            return self._local(path, name, entries, symbols, line)
        found = self.attribute(path, name)
        if found is None and name in rules.builtin_names and not self._is_bound(path, MODULE, name):
            return OUTSIDE._replace(name=name)
        if found is None and rules.package_style == "declared":
            found = self._namespace(path, symbols, name)
            if found is None and rules.declares_all and not self._is_bound(path, within, name):
                return OUTSIDE._replace(name=name)
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

    def _member_of_lambda(self, path: str, scope: str, name: str, symbols: SymbolTable, line: float) -> Value | None:
        """The value of a plain name as a member of an object around a lambda."""
        for around in symbols.lambdas_at(scope, line):
            key = f"{scope}.{LAMBDA_OBJECT}"
            self.dependencies.add((path, key))
            given = (path, key, "at", str(around.first_line), around.value.value)
            value = self.memoised(self.local, given, self._read_lambda, path, around)
            if value is None or value.kind not in OBJECT_KINDS:
                continue
            of_object = (value.path, value.name, "member", name)
            found = self.memoised(self.shared, of_object, self.member, value.reached("typed local"), name)
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

    def _of_lambda(self, path: str, entry: BoundName, line: float) -> Value | None:
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
        # Between two lines: a lambda that ends on the line above is not around this one.
        value = self.read(path, scope, parse_dotted(text), around.first_line - 0.5)
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
        return definition is not None and definition.kind in CONSTRUCTOR_KINDS

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

    def _local(
        self, path: str, key: str, entries: tuple[Entry, ...], symbols: SymbolTable, line: float | None
    ) -> Value | None:
        """The value of a local name: the latest assignment before `line`."""
        lines = symbols.lines.get(key)
        given, latest = "", 0
        if lines is not None and symbols.rules.has_function_names:
            variables = [at for at, entry in enumerate(entries) if isinstance(entry, BoundName)]
            if variables:
                entries, lines = tuple(entries[at] for at in variables), tuple(lines[at] for at in variables)
        if lines is not None and line is not None:
            latest = max((at for at in lines if at <= line), default=lines[0])
            entries = tuple(entry for entry, at in zip(entries, lines, strict=True) if at == latest)
            given = str(latest)
        at = latest if given and symbols.has_lambdas else None
        return self.memoised(self.local, (path, key, "at", given), self._first, path, key, entries, at)

    def _first(self, path: str, key: str, entries: tuple[Entry, ...], line: float | None = None) -> Value | None:
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
        names_itself = key == f"{scope}.{parts[0].name}" and (entry.how == "call" or len(parts) > 1)
        if names_itself and self._rules(path).has_implicit_object:
            scope = scope.rpartition(".")[0]  # `val shop = shop()`, `let shop = shop.copy` read outer names
        if entry.how == "call" and "." in entry.value and self._rules(path).receiver_types:
            value = self.read(path, scope, parse_dotted(f"{entry.value}()"))
        else:
            value = self.read(path, scope, parts, is_called=entry.how == "call")
            if entry.how == "call":
                value = self.result(value)
        return value.reached("typed local") if value is not None and value.kind == INSTANCE_VALUE else value

    def _typed(self, path: str, scope: str, type_text: str) -> Value | None:
        """The value of a name with this type: an instance, or a collection for "Shop[]"."""
        is_collection = type_text.endswith(ELEMENTS)
        value = self.read(path, scope, parse_dotted(type_text.removesuffix(ELEMENTS)), is_type=True)
        if is_collection and value is not None and value.kind == OUTSIDE_VALUE:
            return OUTSIDE
        if value is None or value.kind == OUTSIDE_VALUE or (value.kind == INSTANCE_VALUE and value.how == "self"):
            return value
        if value.kind == CLASS_VALUE:
            return Value(COLLECTION_VALUE if is_collection else INSTANCE_VALUE, value.path, value.name, "typed local")
        return None

    def _super(self, path: str, within: str) -> Value | None:
        around = self.object_around(path, within)
        return None if around is None else around._replace(kind=SUPER_VALUE, how="super")


def _may_be_type(entries: tuple[Entry, ...]) -> bool:
    """Whether a name may mean a type: of an object and a type of one name, the type is meant in a type.

    Type parameters and other names of types are aliases.
    """
    return any(e.how == "alias" if isinstance(e, BoundName) else not _is_function(e) for e in entries)


def _names_itself(name: str, entries: tuple[Entry, ...]) -> bool:
    """Whether a value of a variable begins with the name of the variable, which means an outer name there."""
    return any(isinstance(entry, BoundName) and parse_dotted(entry.value)[0].name == name for entry in entries)


def _is_function(entry: Entry) -> bool:
    return isinstance(entry, Definition) and entry.kind in FUNCTION_KINDS
