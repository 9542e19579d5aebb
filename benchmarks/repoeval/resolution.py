"""Name resolution of calls into other files, from `ast` alone.

Owns the benchmark's name resolution: imports, re-exports, `self`, `super()`, annotated and constructor-assigned names,
inheritance. Deliberately independent of Weft's: shared code would share its mistakes. Knows no task, no sampling.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from .sources import SourceFile

DefinitionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

MAX_IMPORT_CHAIN = 12
MAX_CLASSES_SEARCHED = 40
MIN_UNIQUE_NAME = 6  # a shorter name that the repository defines once is likely an outside name, too


class DefinitionAt(NamedTuple):
    """A definition and its file. `owner` is the class of a method."""

    path: str
    node: DefinitionNode


Found: TypeAlias = DefinitionAt | str | None
"""The meaning of a name: a definition, the file of a module, or unknown."""


class ResolvedCall(NamedTuple):
    """A call whose callee is defined in another file, and how it was found."""

    path: str
    call: ast.Call
    callee: DefinitionAt
    how: str


def calls_into_other_files(sources: Mapping[str, SourceFile]) -> list[ResolvedCall]:
    """Every call of every file that gives tasks and that resolves to a definition in another file."""
    repository = _Repository(sources)
    found: list[ResolvedCall] = []
    for path in sorted(sources):
        if sources[path].gives_tasks:
            found.extend(_calls_of_file(repository, path))
    return found


def method_owners(sources: Mapping[str, SourceFile]) -> dict[int, str]:
    """Name of a method's class, by the `id` of the method's node."""
    owners = {}
    for source in sources.values():
        for node in ast.walk(source.tree) if source.tree else ():
            if isinstance(node, ast.ClassDef):
                owners.update({id(member): node.name for member in node.body if isinstance(member, FunctionNode)})
    return owners


@dataclass(slots=True)
class _Target:
    """A module as an import names it: by file path (relative imports) or by dotted name."""

    is_path: bool
    name: str

    def member(self, name: str) -> _Target:
        separator = "/" if self.is_path else "."
        return _Target(self.is_path, f"{self.name}{separator}{name}" if self.name else name)


@dataclass(slots=True)
class _Symbols:
    """What one file defines at its top level and imports anywhere."""

    definitions: dict[str, DefinitionNode] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)  # local name -> dotted module
    members: dict[str, tuple[_Target, str]] = field(default_factory=dict)  # local name -> module, name there
    stars: list[_Target] = field(default_factory=list)
    is_package: bool = False


class _Repository:
    """The files of one checkout with their symbols, and the questions that resolution asks."""

    def __init__(self, sources: Mapping[str, SourceFile]) -> None:
        self.sources = sources
        self.module_files = _module_files(sources)
        self.symbols = {path: _symbols(source) for path, source in sources.items()}
        self.n_definitions: Counter[str] = Counter()
        self.last_definition: dict[str, DefinitionAt] = {}
        for path, source in sources.items():
            for node in ast.walk(source.tree) if source.tree else ():
                if isinstance(node, DefinitionNode):
                    self.n_definitions[node.name] += 1
                    self.last_definition[node.name] = DefinitionAt(path, node)
        self._known: dict[tuple[str, str], Found] = {}
        self._attributes: dict[int, dict[str, DefinitionAt]] = {}

    def symbol(self, path: str, name: str, chain: int = 0) -> Found:
        """What a name means at the top level of a file."""
        key = (path, name)
        if key not in self._known:
            self._known[key] = None  # what an import cycle finds
            self._known[key] = self._look_up(path, name, chain)
        return self._known[key]

    def expression(self, path: str, node: ast.expr) -> Found:
        """What a chain of names means: modules, classes, functions."""
        if isinstance(node, ast.Name):
            return self.symbol(path, node.id)
        if isinstance(node, ast.Attribute):
            owner = self.expression(path, node.value)
            if isinstance(owner, str):
                return self.symbol(owner, node.attr)
            if owner and isinstance(owner.node, ast.ClassDef):
                return self.method(owner, node.attr)
        return None

    def method(self, owner: DefinitionAt, name: str) -> DefinitionAt | None:
        """The method a class has or inherits; depth first through the bases, as written."""
        return self._method(owner, name, set())

    def inherited_method(self, owner: DefinitionAt, name: str) -> DefinitionAt | None:
        """The method `super()` finds."""
        return self._bases_method(owner, name, {id(owner.node)})

    def annotated_class(self, path: str, annotation: ast.expr | None) -> DefinitionAt | None:
        """The class an annotation names; quotes, Optional and unions are looked through."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = ast.parse(annotation.value, mode="eval").body
            except (SyntaxError, ValueError):
                return None
        if isinstance(annotation, ast.Subscript):
            base = annotation.value
            name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
            return self.annotated_class(path, annotation.slice) if name == "Optional" else None
        if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
            return self.annotated_class(path, annotation.left) or self.annotated_class(path, annotation.right)
        if not isinstance(annotation, ast.Name | ast.Attribute):
            return None
        return _as_class(self.expression(path, annotation))

    def value_class(self, path: str, value: ast.expr | None, known: Mapping[str, DefinitionAt]) -> DefinitionAt | None:
        """The class of a value: a constructor's, a called function's annotated result, a known name's."""
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name | ast.Attribute):
            callee = self.expression(path, value.func)
            if isinstance(callee, DefinitionAt):
                if isinstance(callee.node, ast.ClassDef):
                    return callee
                return self.annotated_class(callee.path, callee.node.returns)
        if isinstance(value, ast.Name):
            return known.get(value.id)
        return None

    def parameter_classes(self, path: str, function: FunctionNode) -> dict[str, DefinitionAt]:
        classes = {}
        for parameter in _plain_parameters(function):
            found = self.annotated_class(path, parameter.annotation)
            if found:
                classes[parameter.arg] = found
        return classes

    def attribute_classes(self, owner: DefinitionAt) -> dict[str, DefinitionAt]:
        """Classes of the attributes that a class annotates or that its methods set on `self`."""
        key = id(owner.node)
        if key in self._attributes:
            return self._attributes[key]
        classes = self._attributes[key] = {}
        for statement in owner.node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                found = self.annotated_class(owner.path, statement.annotation)
                if found:
                    classes.setdefault(statement.target.id, found)
        for method in _methods(owner.node).values():
            parameters = self.parameter_classes(owner.path, method)
            for node in ast.walk(method):
                target, annotation, value = _assignment(node)
                if isinstance(target, ast.Attribute) and _is_self(target.value):
                    found = self.annotated_class(owner.path, annotation)
                    found = found or self.value_class(owner.path, value, parameters)
                    if found:
                        classes.setdefault(target.attr, found)
        return classes

    def _look_up(self, path: str, name: str, chain: int) -> Found:
        if chain > MAX_IMPORT_CHAIN:
            return None
        symbols = self.symbols[path]
        if name in symbols.definitions:
            return DefinitionAt(path, symbols.definitions[name])
        if name in symbols.modules:
            return self.module_files.get(symbols.modules[name])
        if name in symbols.members:
            target, member = symbols.members[name]
            return self._member(path, target, member, chain) or self._file(target.member(member))
        for target in symbols.stars:
            found = self._member(path, target, name, chain)
            if found:
                return found
        if symbols.is_package:
            folder = path.rpartition("/")[0]
            return self._file(_Target(True, folder).member(name))
        return None

    def _member(self, path: str, target: _Target, name: str, chain: int) -> Found:
        file = self._file(target)
        return self.symbol(file, name, chain + 1) if file and file != path else None

    def _file(self, target: _Target) -> str | None:
        if not target.is_path:
            return self.module_files.get(target.name)
        candidates = (f"{target.name}.py", f"{target.name}/__init__.py")
        return next((file for file in candidates if file in self.sources), None)

    def _method(self, owner: DefinitionAt, name: str, seen: set[int]) -> DefinitionAt | None:
        if id(owner.node) in seen or len(seen) > MAX_CLASSES_SEARCHED:
            return None
        seen.add(id(owner.node))
        own = _methods(owner.node).get(name)
        return DefinitionAt(owner.path, own) if own else self._bases_method(owner, name, seen)

    def _bases_method(self, owner: DefinitionAt, name: str, seen: set[int]) -> DefinitionAt | None:
        assert isinstance(owner.node, ast.ClassDef)
        for base in owner.node.bases:
            parent = _as_class(self.expression(owner.path, base.value if isinstance(base, ast.Subscript) else base))
            found = self._method(parent, name, seen) if parent else None
            if found:
                return found
        return None


@dataclass(frozen=True, slots=True)
class _Scope:
    """The scope of a call: the class around it, names with a known class, and all local names."""

    owner: DefinitionAt | None = None
    classes: Mapping[str, DefinitionAt] = field(default_factory=dict)
    local_names: frozenset[str] = frozenset()


def _calls_of_file(repository: _Repository, path: str) -> Iterator[ResolvedCall]:
    tree = repository.sources[path].tree
    assert tree is not None
    # A stack, not recursion: a sum of a thousand terms is a tree a thousand deep.
    pending: list[tuple[ast.AST, _Scope]] = [(node, _Scope()) for node in reversed(tree.body)]
    while pending:
        node, scope = pending.pop()
        inner = scope
        children: list[ast.AST]
        if isinstance(node, ast.ClassDef):
            inner = _Scope(owner=DefinitionAt(path, node))
            outside = [*node.decorator_list, *node.bases]
            children = list(node.body)
        elif isinstance(node, FunctionNode):
            inner = _function_scope(repository, path, node, scope)
            outside = list(node.decorator_list)
            children = list(node.body)
        else:
            if isinstance(node, ast.Call):
                callee, how = _resolve_call(repository, path, node, scope)
                if callee and callee.path != path:
                    yield ResolvedCall(path, node, callee, how)
            outside = []
            children = list(ast.iter_child_nodes(node))
        pending += [(child, inner) for child in reversed(children)]
        pending += [(child, scope) for child in reversed(outside)]


def _function_scope(repository: _Repository, path: str, node: FunctionNode, around: _Scope) -> _Scope:
    arguments = node.args
    names = set(around.local_names) | {parameter.arg for parameter in _plain_parameters(node)}
    names |= {extra.arg for extra in (arguments.vararg, arguments.kwarg) if extra}
    classes = {**around.classes, **repository.parameter_classes(path, node)}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            names.add(inner.id)
        elif isinstance(inner, ast.Assign | ast.AnnAssign):
            target, annotation, value = _assignment(inner)
            if isinstance(target, ast.Name):
                found = (
                    repository.annotated_class(path, annotation)
                    if annotation
                    else repository.value_class(path, value, classes)
                )
                if found:
                    classes.setdefault(target.id, found)
        elif isinstance(inner, ast.With | ast.AsyncWith):
            for item in inner.items:
                found = repository.value_class(path, item.context_expr, classes)
                if found and isinstance(item.optional_vars, ast.Name):
                    classes.setdefault(item.optional_vars.id, found)
    return _Scope(around.owner, classes, frozenset(names))


def _resolve_call(repository: _Repository, path: str, call: ast.Call, scope: _Scope) -> tuple[DefinitionAt | None, str]:
    """The definition a call means, and how it was found; None when it is a module or unknown."""
    if isinstance(call.func, ast.Name):
        name = call.func.id
        return (None if name in scope.local_names else _as_definition(repository.symbol(path, name))), "import"
    if not isinstance(call.func, ast.Attribute):
        return None, ""
    found, how = _resolve_attribute(repository, path, call.func, scope)
    if found is None and _is_telling(call.func.attr) and repository.n_definitions[call.func.attr] == 1:
        return repository.last_definition[call.func.attr], "unique_name"
    return _as_definition(found), how


def _resolve_attribute(repository: _Repository, path: str, callee: ast.Attribute, scope: _Scope) -> tuple[Found, str]:
    receiver, name = callee.value, callee.attr
    if isinstance(receiver, ast.Name):
        if receiver.id in ("self", "cls") and scope.owner:
            return repository.method(scope.owner, name), "self_base"
        if receiver.id in scope.classes:
            return repository.method(scope.classes[receiver.id], name), "typed_local"
        if receiver.id in scope.local_names:
            return None, "module_attr"
    elif isinstance(receiver, ast.Call):
        if isinstance(receiver.func, ast.Name) and receiver.func.id == "super" and scope.owner:
            return repository.inherited_method(scope.owner, name), "super"
        result = repository.value_class(path, receiver, scope.classes)
        return (repository.method(result, name) if result else None), "ctor_chain"
    elif isinstance(receiver, ast.Attribute) and _is_self(receiver.value) and scope.owner:
        attribute = repository.attribute_classes(scope.owner).get(receiver.attr)
        return (repository.method(attribute, name) if attribute else None), "typed_self_attr"
    return repository.expression(path, callee), "module_attr"


def _module_files(sources: Mapping[str, SourceFile]) -> dict[str, str]:
    """File of every dotted module name: from the checkout's root, from its package's root, and without `src`."""
    packages = {path.rpartition("/")[0] for path in sources if path.endswith("__init__.py")}
    files: dict[str, str] = {}
    for path in sources:
        parts = path.removesuffix(".py").split("/")
        folders = parts[:-1]
        if parts[-1] == "__init__":
            parts = folders
        root = len(folders)
        while root > 0 and "/".join(folders[:root]) in packages:
            root -= 1
        names = [parts, parts[root:]]
        if parts and parts[0] in ("src", "lib", "python"):
            names.append(parts[1:])
        for name in names:
            if name:
                files.setdefault(".".join(name), path)
    return files


def _symbols(source: SourceFile) -> _Symbols:
    symbols = _Symbols(is_package=source.path.rpartition("/")[2] == "__init__.py")
    if source.tree is None:
        return symbols
    _add_definitions(symbols, source.tree.body)
    package = source.path.split("/")[:-1]
    imported: set[str] = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                local = alias.asname or first
                if local not in imported:
                    imported.add(local)
                    symbols.modules[local] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom):
            target = _Target(False, node.module or "")
            if node.level:
                base = package[: len(package) - node.level + 1] if node.level > 1 else package
                target = _Target(True, "/".join([*base, *(node.module or "").split(".")]).strip("/"))
            for alias in node.names:
                local = alias.asname or alias.name
                if alias.name == "*":
                    symbols.stars.append(target)
                elif local not in imported:
                    imported.add(local)
                    symbols.members[local] = (target, alias.name)
    return symbols


def _add_definitions(symbols: _Symbols, body: list[ast.stmt]) -> None:
    for node in body:
        if isinstance(node, DefinitionNode):
            symbols.definitions.setdefault(node.name, node)
        elif isinstance(node, ast.If):
            _add_definitions(symbols, [*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            handlers = [statement for handler in node.handlers for statement in handler.body]
            _add_definitions(symbols, [*node.body, *node.orelse, *node.finalbody, *handlers])
        elif isinstance(node, ast.With):
            _add_definitions(symbols, node.body)


def _assignment(node: ast.AST) -> tuple[ast.expr | None, ast.expr | None, ast.expr | None]:
    """Target, annotation and value of an assignment to one target; all None for anything else."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        return node.targets[0], None, node.value
    if isinstance(node, ast.AnnAssign):
        return node.target, node.annotation, node.value
    return None, None, None


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _plain_parameters(function: FunctionNode) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def _methods(node: DefinitionNode) -> dict[str, FunctionNode]:
    methods: dict[str, FunctionNode] = {}
    for member in node.body:
        if isinstance(member, FunctionNode):
            methods.setdefault(member.name, member)
    return methods


def _as_class(found: Found) -> DefinitionAt | None:
    return found if isinstance(found, DefinitionAt) and isinstance(found.node, ast.ClassDef) else None


def _as_definition(found: Found) -> DefinitionAt | None:
    return found if isinstance(found, DefinitionAt) else None


def _is_telling(name: str) -> bool:
    """Whether a name defined once in the repository can be taken to mean that definition."""
    return len(name) >= MIN_UNIQUE_NAME and name not in _EVERYDAY_NAMES


# Names of builtins and of methods of the builtin types (CPython 3.11) plus method names of everyday
# libraries, if they are long enough to matter. Frozen, so that tasks do not depend on the interpreter.
_EVERYDAY_TEXT = """
ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError
BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError
ConnectionResetError DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError Exception ExceptionGroup
FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError ImportError ImportWarning
IndentationError IndexError InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError
ModuleNotFoundError NameError NotADirectoryError NotImplemented NotImplementedError OSError OverflowError
PendingDeprecationWarning PermissionError ProcessLookupError RecursionError ReferenceError ResourceWarning RuntimeError
RuntimeWarning StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError SystemExit TabError TimeoutError
TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning
UserWarning ValueError Warning ZeroDivisionError __abs__ __add__ __and__ __bool__ __build_class__ __bytes__ __cause__
__ceil__ __class__ __class_getitem__ __contains__ __context__ __copy__ __debug__ __deepcopy__ __del__ __delattr__
__delitem__ __dict__ __dir__ __divmod__ __doc__ __enter__ __eq__ __exit__ __float__ __floor__ __floordiv__ __format__
__ge__ __getattribute__ __getformat__ __getitem__ __getnewargs__ __getstate__ __gt__ __hash__ __iadd__ __iand__
__import__ __imul__ __index__ __init__ __init_subclass__ __int__ __invert__ __ior__ __isub__ __iter__ __ixor__ __le__
__len__ __loader__ __lshift__ __lt__ __mod__ __module__ __mul__ __name__ __ne__ __neg__ __new__ __next__ __or__
__package__ __pos__ __pow__ __radd__ __rand__ __rdivmod__ __reduce__ __reduce_ex__ __repr__ __reversed__ __rfloordiv__
__rlshift__ __rmod__ __rmul__ __ror__ __round__ __rpow__ __rrshift__ __rshift__ __rsub__ __rtruediv__ __rxor__
__setattr__ __setitem__ __setstate__ __sizeof__ __spec__ __str__ __sub__ __subclasshook__ __suppress_context__
__traceback__ __truediv__ __trunc__ __xor__ _checkClosed _checkReadable _checkSeekable _checkWritable add_argument
add_note append append_row as_integer_ratio assert assertEqual backward bit_count bit_length breakpoint bytearray
callable capitalize casefold center classmethod closed compile complex conjugate continue copyright create credits
decode delattr delete denominator detach difference difference_update discard divmod encode encoding endswith enumerate
errors except expandtabs extend fileno filter finally findall finditer format format_map forward from_bytes from_dict
fromhex fromkeys frozenset fullmatch get_logger getattr getbuffer getvalue global globals groupindex groups hasattr
import insert intersection intersection_update is_integer isalnum isalpha isascii isatty isdecimal isdigit isdisjoint
isidentifier isinstance islower isnumeric isprintable isspace issubclass issubset issuperset istitle isupper lambda
license line_buffering locals lstrip maketrans memoryview newlines nonlocal numerator object parameters parse_args
partition pattern permute popitem predict property readable readinto readinto1 readline readlines remove removeprefix
removesuffix replace reshape return reverse reversed rindex rpartition rsplit rstrip scanner search seekable setattr
setdefault sorted splitlines squeeze startswith state_dict staticmethod swapcase symmetric_difference
symmetric_difference_update to_bytes to_dict transform translate truncate unsqueeze update values warning
with_traceback writable writelines zero_grad
"""
_EVERYDAY_NAMES = frozenset(_EVERYDAY_TEXT.split())
