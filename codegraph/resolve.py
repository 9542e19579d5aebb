"""What does a dotted name mean, seen from a scope of a file?

Owns the rules of Python's names across files, plain ones for the other languages, and the record of what
an answer depends on. Knows the tables of each file (`symbols`) and the paths (`modules`); it holds no
snapshot of its own and reads no text.

Every answer says how it was found, in one of the words of `HOW`. A name with several definitions is never
guessed: either an import, a receiver or a scope leads to one of them, or the name is unique in the repository.
"""

from __future__ import annotations

import builtins
import io
from collections.abc import Callable, Iterator, Mapping, Set
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, TypeVar

from .facts import MODULE_SCOPE, Call, Definition, FileGraph
from .modules import ModuleQuestion, directory_of
from .symbols import LISTING, MODULE, STARS, Entry, Imported, Symbols, family, header_key, is_class

if TYPE_CHECKING:
    from .graph import CodeGraph

HOW = (
    "same file",  # a definition of this file, by its plain name
    "import",  # imported from the file that defines it
    "re-export",  # imported from a file that imports it itself
    "module attribute",  # module.name
    "class attribute",  # Class.name
    "self",  # self.name or cls.name, in the class itself
    "inherited",  # found in a base class of the receiver's class
    "super",  # super().name
    "typed local",  # the receiver is a variable with an annotation or a known value
    "typed attribute",  # the receiver is an attribute with an annotation or a known value
    "returned type",  # the receiver is the result of a call
    "constructor",  # the __init__ of a class that is called
    "same package",  # defined in another file of the directory (Go, Java, C#)
    "unique name",  # the only definition of that name in the repository
)
"""The ways a name is resolved, most certain first."""

MIN_UNIQUE_LENGTH = 4
_BUILTIN_TYPES = (str, bytes, list, dict, set, tuple, int, float, type, object, BaseException, io.TextIOWrapper)
_EVERYDAY_VERBS = """
    apply build call check clean clear config create data debug delete execute exit fetch filter find forward
    from_dict generate handle info init initialize load load_state_dict log main make merge name next parse
    post predict print process push reduce register remove render report request reset resolve result run save
    send setup shape show size start state_dict status step stop submit summary test to_dict train transform
    unregister validate values warn warning
"""
EVERYDAY_NAMES = frozenset(_EVERYDAY_VERBS.split()).union(*(dir(kind) for kind in _BUILTIN_TYPES))
"""Names that are too common to be guessed from: methods of the built-in types, and everyday verbs."""

_BUILTIN_NAMES = frozenset(dir(builtins))
# Chains of names longer than this are left unresolved; real code needs a handful of steps.
_MAX_STEPS = 40


class Target(NamedTuple):
    """A definition that a name leads to."""

    path: str
    qualified_name: str
    how: str  # one of HOW


def resolve(graph: CodeGraph, path: str, scope: int, dotted: str, line: int | None = None) -> tuple[Target, ...]:
    """The definitions that `dotted` stands for in a scope of `path` (a definition's index, or MODULE_SCOPE).

    A variable or attribute whose type is known gives its class. `line` chooses among several values of a
    local variable. () when the name is unknown, leads out of the repository, or could be several things.
    """
    symbols = graph.symbols(path)
    if symbols is None or not dotted:
        return ()
    within = MODULE if scope == MODULE_SCOPE else symbols.scopes[scope]
    resolver = Resolver(graph)
    if symbols.language != "python":
        return resolver.plain_targets(path, within, dotted)
    found = resolver.read(path, within, parse_dotted(dotted), line)
    if found is None or found.kind in (OUTSIDE_VALUE, MODULE_VALUE):
        return ()
    return (Target(found.path, found.name, found.how),)


class Value(NamedTuple):
    """What a name stands for: the definition it leads to, and in which role."""

    kind: int
    path: str
    name: str  # qualified name in `path`; "" for a module
    how: str


MODULE_VALUE, CLASS_VALUE, FUNCTION_VALUE, INSTANCE_VALUE, SUPER_VALUE, OUTSIDE_VALUE = range(6)
_OUTSIDE = Value(OUTSIDE_VALUE, "", "", "")


class Part(NamedTuple):
    """One name of a dotted text, and how many times it is called there: `Shop().pay` is Shop once, pay not."""

    name: str
    n_calls: int


class Classes(NamedTuple):
    """A class and its bases in the order of look-up; `complete` when no base is unknown or from outside."""

    places: tuple[tuple[str, str], ...]
    complete: bool


class Asked:
    """What answers depend on: names of files, modules, and names that have to be unique in the repository."""

    __slots__ = ("_paths", "modules", "names", "unique")

    def __init__(self) -> None:
        self._paths: frozenset[str] | None = None
        self.names: set[tuple[str, str]] = set()
        self.modules: set[ModuleQuestion] = set()
        self.unique: set[str] = set()

    def add(self, other: Asked) -> None:
        self.names |= other.names
        if other.modules:
            self.modules |= other.modules
        if other.unique:
            self.unique |= other.unique

    def paths(self) -> frozenset[str]:
        """The files asked. To be called when nothing more is added."""
        if self._paths is None:
            self._paths = frozenset(path for path, _ in self.names)
        return self._paths


class Remembered(NamedTuple):
    """An answer with its reasons. `height` is the longest chain of answers below it."""

    answer: object
    asked: Asked
    height: int


Key: TypeAlias = tuple[str, ...]


class Memo:
    """Answers that hold as long as nothing they depend on changes. Readers in several threads may share one."""

    __slots__ = ("_answers",)

    def __init__(self, answers: dict[Key, Remembered] | None = None) -> None:
        self._answers = {} if answers is None else answers

    def get(self, key: Key) -> Remembered | None:
        return self._answers.get(key)

    def put(self, key: Key, remembered: Remembered) -> None:
        self._answers[key] = remembered

    def questions(self) -> set[ModuleQuestion]:
        """The modules that the answers depend on."""
        return set().union(*(known.asked.modules for known in list(self._answers.values())))

    def without(self, doubtful: Callable[[Asked], bool]) -> Memo:
        """The answers that do not depend on anything `doubtful`."""
        return Memo({key: known for key, known in list(self._answers.items()) if not doubtful(known.asked)})


class MemoBeside(Memo):
    """The memo of a snapshot in which only `path` differs from another: what does not need that file is shared.

    `new_names` are names of modules that the file has there and not in the other snapshot: star imports may bring
    them to anyone, so answers about such a name are not shared.
    """

    __slots__ = ("_new_names", "_other", "_path")

    def __init__(self, other: Memo, path: str, new_names: Set[str]) -> None:
        super().__init__()
        self._other, self._path, self._new_names = other, path, new_names

    def get(self, key: Key) -> Remembered | None:
        found = self._answers.get(key)
        if found is None:
            found = self._other.get(key)
            if found is not None and not self._is_shared(found.asked):
                return None
        return found

    def put(self, key: Key, remembered: Remembered) -> None:
        if self._is_shared(remembered.asked):
            self._other.put(key, remembered)
        else:
            self._answers[key] = remembered

    def _is_shared(self, asked: Asked) -> bool:
        if self._path in asked.paths():
            return False
        return not self._new_names or not any(name in self._new_names for _, name in asked.names)


class Sources(Protocol):
    """What resolution reads of a snapshot."""

    @property
    def memo(self) -> Memo: ...

    def symbols(self, path: str) -> Symbols | None: ...

    def find_module(self, question: ModuleQuestion) -> tuple[str, ...]: ...

    def places_named(self, key: str) -> tuple[str, ...]: ...


_T = TypeVar("_T")


class Resolver:
    """Follows names over the files of one snapshot. Serves one thread; make one for each pass."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._symbols_of = sources.symbols
        self._shared = sources.memo
        self._own = Memo()  # answers about locals, of no use to other files
        self.asked = Asked()
        # Answers on the way to the present one, and those that ran into such an answer: a cycle gives
        # nothing, and what ran into it holds for the present question only (see `_remember`).
        self._open: dict[tuple[str, ...], object] = {}
        self._cut = False
        self._depth = 0
        self._height = 0

    # Calls

    def call_targets(self, file: FileGraph) -> Iterator[tuple[int, tuple[Target, ...]]]:
        """The index of each call that resolves, with the definitions it calls."""
        symbols = self._symbols_of(file.path)
        if symbols is None:
            return
        python = symbols.language == "python"
        known: dict[tuple[int, str, int], tuple[Target, ...]] = {}
        several = {key.rpartition(".")[2] for key in symbols.lines}
        for index, call in enumerate(file.calls):
            line = call.line if python and parse_dotted(call.callee)[0].name in several else -1
            key = (call.scope, call.callee, line)
            targets = known.get(key)
            if targets is None:
                within = MODULE if call.scope == MODULE_SCOPE else symbols.scopes[call.scope]
                if python:
                    targets = self._python_targets(file.path, within, call, symbols)
                else:
                    targets = self.plain_targets(file.path, within, call.callee)
                known[key] = targets
            if targets:
                yield index, targets

    def _python_targets(self, path: str, within: str, call: Call, symbols: Symbols) -> tuple[Target, ...]:
        parts = parse_dotted(call.callee)
        last = parts[-1].name
        if len(parts) == 1:
            found = self.read(path, within, parts, call.line)
            if found is None and self._stars_from_outside(path, symbols) and not self._is_bound(path, within, last):
                return self._unique(symbols.language, last, methods_only=False)
            return self._called(found)
        receiver = self.read(path, within, parts[:-1], call.line)
        if receiver is None:
            return self._unique(symbols.language, last, methods_only=True)
        found = self.member(receiver, last)
        if (
            found is None
            and receiver.kind in (INSTANCE_VALUE, CLASS_VALUE)
            and self.classes(receiver.path, receiver.name).complete
        ):
            return self._unique(symbols.language, last, methods_only=True)
        return self._called(found)

    def _called(self, value: Value | None) -> tuple[Target, ...]:
        """What runs when the value is called: a class stands for itself and the __init__ it has or inherits."""
        if value is None:
            return ()
        if value.kind == FUNCTION_VALUE:
            return (Target(value.path, value.name, value.how),)
        if value.kind == CLASS_VALUE:
            itself = Target(value.path, value.name, value.how)
            init = self.member(value, "__init__")
            if init is not None and init.kind == FUNCTION_VALUE:
                return (itself, Target(init.path, init.name, "constructor"))
            return (itself,)
        if value.kind == INSTANCE_VALUE:
            found = self.member(value, "__call__")
            if found is not None and found.kind == FUNCTION_VALUE:
                return (Target(found.path, found.name, found.how),)
        return ()

    def _unique(self, language: str, name: str, *, methods_only: bool) -> tuple[Target, ...]:
        """The definition of a name that only one definition of the repository has."""
        key = unique_key(language, name)
        if key is None:
            return ()
        self.asked.unique.add(key)
        places = self._sources.places_named(key)
        if len(places) != 1:
            return ()
        path, _, qualified_name = places[0].partition("\0")
        if methods_only and "." not in qualified_name:
            return ()
        return (Target(path, qualified_name, "unique name"),)

    # Python's names

    def read(self, path: str, within: str, parts: tuple[Part, ...], line: int | None = None) -> Value | None:
        """The value of a dotted expression in a scope (a qualified name); None when it is unknown."""
        head = parts[0]
        if head.name == "?":
            return None
        if head.name == "super" and head.n_calls:
            value = self._super(path, within)
            calls = head.n_calls - 1
        else:
            value = self.name(path, within, head.name, line)
            calls = head.n_calls
        for _ in range(calls):
            value = self.result(value)
        for part in parts[1:]:
            if value is None:
                return None
            value = self.member(value, part.name)
            for _ in range(part.n_calls):
                value = self.result(value)
        return value

    def name(self, path: str, within: str, name: str, line: int | None = None) -> Value | None:
        """The value of a plain name: local, enclosing functions, module, star imports; built-ins are outside."""
        symbols = self._symbols_of(path)
        if symbols is None:
            return None
        scope = within
        while scope != MODULE:
            # A class body is no scope for the functions in it.
            if scope == within or not symbols.is_class(scope):
                key = f"{scope}.{name}"
                entries = symbols.entries.get(key)
                self.asked.names.add((path, key))
                if entries is not None:
                    return self._local(path, key, entries, symbols, line)
            scope = scope.rpartition(".")[0]
        if name in ("self", "cls") and within != MODULE:
            owner = _enclosing_class(symbols, within)
            if owner:
                return Value(INSTANCE_VALUE if name == "self" else CLASS_VALUE, path, owner, "self")
        found = self.attribute(path, name)
        if found is None and name in _BUILTIN_NAMES and not self._is_bound(path, MODULE, name):
            return _OUTSIDE
        return found

    def attribute(self, path: str, key: str) -> Value | None:
        """The value of a qualified name of a file: a name of the module, or "Class.name" in the class itself."""
        symbols = self._symbols_of(path)
        self.asked.names.add((path, key))
        entries = symbols.entries.get(key) if symbols is not None else None
        if symbols is None:
            return None
        if entries is not None:
            first = entries[0]
            if isinstance(first, Definition):
                return Value(CLASS_VALUE if is_class(first) else FUNCTION_VALUE, path, key, "same file")
            return self._remember(self._shared, (path, key), self._first, path, key, entries)
        if "." in key or key.startswith("_") or STARS not in symbols.entries:
            return None
        return self._remember(self._shared, (path, key), self._starred, path, key)

    def member(self, value: Value, name: str) -> Value | None:
        """The value of `value.name`."""
        kind, path = value.kind, value.path
        if kind == OUTSIDE_VALUE:
            return value
        if kind == MODULE_VALUE:
            return self._module_member(path, name)
        if kind == FUNCTION_VALUE:
            # A property, for all that is known: its value is what it returns.
            result = self.result(value)
            return None if result is None else self.member(result, name)
        places, complete = self.classes(path, value.name)
        for place, (class_path, class_name) in enumerate(places[1:] if kind == SUPER_VALUE else places):
            found = self.attribute(class_path, f"{class_name}.{name}")
            if found is None:
                continue
            if found.kind == OUTSIDE_VALUE:
                return found
            if found.path != class_path or found.name != f"{class_name}.{name}":
                return found._replace(how="typed attribute")
            if kind == SUPER_VALUE:
                how = "super"
            elif place:
                how = "inherited"
            else:
                how = "class attribute" if kind == CLASS_VALUE and value.how != "self" else value.how
            return found._replace(how=how)
        return _OUTSIDE if kind == SUPER_VALUE and not complete else None

    def result(self, value: Value | None) -> Value | None:
        """The value of a call of `value`."""
        if value is None or value.kind == OUTSIDE_VALUE:
            return value
        if value.kind == CLASS_VALUE:
            return Value(INSTANCE_VALUE, value.path, value.name, "returned type")
        if value.kind == INSTANCE_VALUE:
            call = self.member(value, "__call__")
            return None if call is None or call.kind != FUNCTION_VALUE else self.result(call)
        if value.kind != FUNCTION_VALUE:
            return None
        return self._remember(
            self._shared, (value.path, value.name, "()"), lambda: self._returned(value.path, value.name)
        )

    def exports(self, path: str) -> Mapping[str, Value]:
        """The definitions that a module offers by its public names, its own and those it imports."""
        if path.endswith("/"):
            return {}
        return self._remember(self._shared, (path, LISTING), self._exported, path) or {}

    def classes(self, path: str, name: str) -> Classes:
        """A class and all its bases, in Python's order for all but contrived hierarchies."""
        found = self._remember(self._shared, (path, name, "bases"), self._linearised, path, name)
        return found if found is not None else Classes(((path, name),), False)

    def module(self, directory: str, module: str, kind: str = "python") -> tuple[str, ...]:
        """The files of a module as imported in a directory."""
        question = ModuleQuestion(kind, directory, module)
        self.asked.modules.add(question)
        return self._sources.find_module(question)

    def _local(
        self, path: str, key: str, entries: tuple[Entry, ...], symbols: Symbols, line: int | None
    ) -> Value | None:
        """The value of a name of a function: the latest that it was given before `line`."""
        lines = symbols.lines.get(key)
        given = ""
        if lines is not None and line is not None:
            latest = max((at for at in lines if at <= line), default=lines[0])
            entries = tuple(entry for entry, at in zip(entries, lines, strict=True) if at == latest)
            given = str(latest)
        return self._remember(self._own, (path, key, "at", given), self._first, path, key, entries)

    def _first(self, path: str, key: str, entries: tuple[Entry, ...]) -> Value | None:
        """The value of the first entry that has one in the repository."""
        self.asked.names.add((path, key))
        outside = None
        for entry in entries:
            value = self._value(path, key, entry)
            if value is not None:
                if value.kind != OUTSIDE_VALUE:
                    return value
                outside = value
        return outside

    def _value(self, path: str, key: str, entry: Entry) -> Value | None:
        if isinstance(entry, Definition):
            return Value(CLASS_VALUE if is_class(entry) else FUNCTION_VALUE, path, key, "same file")
        if isinstance(entry, Imported):
            return self._imported(path, entry)
        if not entry.value:
            return None
        value = self.read(path, entry.scope, parse_dotted(entry.value))
        if entry.how == "call":
            value = self.result(value)
        elif entry.how == "annotation":
            value = self._instance(value)
        return value._replace(how="typed local") if value is not None and value.kind == INSTANCE_VALUE else value

    def _instance(self, annotated: Value | None) -> Value | None:
        """What a name with this annotation holds."""
        if annotated is None or annotated.kind == OUTSIDE_VALUE:
            return annotated
        if annotated.kind == CLASS_VALUE:
            return Value(INSTANCE_VALUE, annotated.path, annotated.name, "typed local")
        return None

    def _imported(self, path: str, item: Imported) -> Value | None:
        directory = directory_of(path)
        if not item.name:
            # `import a.b` binds a; `import a.b as c` binds a.b.
            top = item.module.partition(".")[0]
            found = self.module(directory, top if item.local_name == top else item.module)
            return Value(MODULE_VALUE, found[0], "", "import") if found else _OUTSIDE
        found = self.module(directory, "." * item.level + item.module)
        if not found:
            return _OUTSIDE
        if found[0] == path:  # `from . import name` in a package itself: only a module can be meant
            return self._submodule(path, item.name)
        value = self._module_member(found[0], item.name)
        return None if value is None else _as_imported(value, found[0], item.name)

    def _module_member(self, path: str, name: str) -> Value | None:
        if not path.endswith("/"):
            value = self.attribute(path, name)
            if value is not None:
                return value._replace(how="typed attribute" if value.kind == INSTANCE_VALUE else "module attribute")
        return self._submodule(path, name)

    def _submodule(self, path: str, name: str) -> Value | None:
        if not path.endswith(("/", "__init__.py", "__init__.pyi")):
            return None
        found = self.module(directory_of(path), f".{name}")
        return Value(MODULE_VALUE, found[0], "", "import") if found else None

    def star_sources(self, path: str) -> tuple[tuple[str, bool], ...]:
        """The files whose public names star imports bring into a module, and whether directly; the first one wins.

        What the answer depends on is not noted with the question at hand: nearly every name of a package built of
        stars would depend on every file of it. Instead a snapshot compares these answers (see `graph`).
        """
        outer, self.asked = self.asked, Asked()
        found = self._remember(self._shared, (path, STARS), self._followed_stars, path)
        self.asked = outer
        return found or ()

    def _followed_stars(self, path: str) -> tuple[tuple[str, bool], ...]:
        found: dict[str, None] = {}
        waiting, direct = [path], None
        while waiting:
            module = waiting.pop()
            if module in found:
                continue
            found[module] = None
            symbols = self._symbols_of(module)
            self.asked.names.add((module, STARS))
            if symbols is not None:
                # The last of several star imports wins; it is also the first to be taken from the end.
                stars = [star for star in self._star_modules(module, symbols) if star]
                waiting += stars
                direct = stars if direct is None else direct
        del found[path]
        return tuple((module, module in (direct or ())) for module in found)

    def _starred(self, path: str, name: str) -> Value | None:
        self.asked.names.add((path, name))
        for module, direct in self.star_sources(path):
            symbols = self._symbols_of(module)
            if symbols is not None and name in symbols.entries:
                value = self.attribute(module, name)
                if value is not None and value.kind != OUTSIDE_VALUE:
                    return _as_imported(value, module if direct else "", name)
        return None

    def _star_modules(self, path: str, symbols: Symbols) -> list[str]:
        """The files of a module's own star imports, "" for one that is not in the repository."""
        found = []
        for item in symbols.entries.get(STARS, ()):
            if isinstance(item, Imported):
                files = self.module(directory_of(path), "." * item.level + item.module)
                found.append(files[0] if files and not files[0].endswith("/") else "")
        return found

    def _stars_from_outside(self, path: str, symbols: Symbols) -> bool:
        return STARS in symbols.entries and "" in self._star_modules(path, symbols)

    def _exported(self, path: str) -> Mapping[str, Value]:
        found: dict[str, Value] = {}
        sources = [source for source, _ in self.star_sources(path)]
        for module in (*reversed(sources), path):
            self.asked.names.add((module, STARS))
            found.update(self._remember(self._shared, (module, "own"), self._own_exports, module) or {})
        return found

    def _own_exports(self, path: str) -> Mapping[str, Value]:
        symbols = self._symbols_of(path)
        self.asked.names.add((path, LISTING))
        found: dict[str, Value] = {}
        for name in symbols.entries if symbols is not None else ():
            if "." not in name and not name.startswith("_") and name != STARS:
                value = self.attribute(path, name)
                if value is not None and value.kind in (CLASS_VALUE, FUNCTION_VALUE):
                    found[name] = value
        return found

    def _is_bound(self, path: str, within: str, name: str) -> bool:
        """Whether the file gives the name a meaning in this scope or around it, known or not."""
        symbols = self._symbols_of(path)
        scope = within
        while symbols is not None:
            key = f"{scope}.{name}" if scope else name
            self.asked.names.add((path, key))
            if key in symbols.entries:
                return True
            if scope == MODULE:
                return False
            scope = scope.rpartition(".")[0]
        return False

    def _returned(self, path: str, name: str) -> Value | None:
        """What a call of the function returns, by its annotation."""
        symbols = self._symbols_of(path)
        self.asked.names |= {(path, name), (path, header_key(name))}
        definition = symbols.definition(name) if symbols is not None else None
        if symbols is None or definition is None or not definition.returns:
            return None
        around = name.rpartition(".")[0]
        if definition.returns in ("Self", "typing.Self", "typing_extensions.Self"):
            owner = _enclosing_class(symbols, around)
            return Value(INSTANCE_VALUE, path, owner, "returned type") if owner else None
        value = self._instance(self.read(path, around, parse_dotted(definition.returns)))
        return value if value is None or value.kind == OUTSIDE_VALUE else value._replace(how="returned type")

    def _linearised(self, path: str, name: str) -> Classes:
        symbols = self._symbols_of(path)
        self.asked.names |= {(path, name), (path, header_key(name))}
        definition = symbols.definition(name) if symbols is not None else None
        if definition is None:
            return Classes(((path, name),), False)
        around = name.rpartition(".")[0]
        found, complete = [(path, name)], True
        for base in definition.bases:
            value = self.read(path, around, parse_dotted(base))
            if value is None or value.kind != CLASS_VALUE:
                complete = complete and base == "object"
                continue
            above = self.classes(value.path, value.name)
            found.extend(above.places)
            complete = complete and above.complete
        # A base that several classes share comes after all of them.
        return Classes(tuple(reversed(dict.fromkeys(reversed(found)))), complete)

    def _super(self, path: str, within: str) -> Value | None:
        symbols = self._symbols_of(path)
        owner = _enclosing_class(symbols, within) if symbols is not None else ""
        return Value(SUPER_VALUE, path, owner, "super") if owner else None

    def _remember(self, memo: Memo, key: Key, compute: Callable[..., _T | None], *arguments: object) -> _T | None:
        """`compute(*arguments)`, or what it gave before.

        An answer that ran into a question still open is kept only until that question is settled, because
        another order of questions can give another answer; so every answer is a function of the snapshot.
        """
        known = memo.get(key)
        if known is not None and self._depth + known.height < _MAX_STEPS:
            self.asked.add(known.asked)
            self._height = max(self._height, known.height)
            return known.answer  # type: ignore[return-value]
        if key in self._open or self._depth >= _MAX_STEPS:
            self._cut = True
            return self._open.get(key)  # type: ignore[return-value]
        outer, outer_cut, outer_height = self.asked, self._cut, self._height
        self.asked, self._cut, self._height = Asked(), False, 0
        self._open[key] = None
        self._depth += 1
        answer = compute(*arguments)
        self._depth -= 1
        height = self._height + 1
        if self._cut:
            self._open[key] = answer
        else:
            del self._open[key]
            memo.put(key, Remembered(answer, self.asked, height))
        outer.add(self.asked)
        self.asked, self._cut, self._height = outer, self._cut or outer_cut, max(outer_height, height)
        if self._depth == 0:
            self._open.clear()
            self._cut = False
            self._height = 0
        return answer

    # Other languages

    def plain_targets(self, path: str, within: str, dotted: str) -> tuple[Target, ...]:
        """Where a call outside Python leads: own class, own file, imported files, own package, unique name."""
        symbols = self._symbols_of(path)
        if symbols is None:
            return ()
        parts = parse_dotted(dotted)
        last = parts[-1].name
        if parts[0].name in ("self", "this", "Self", "static") and len(parts) == 2:
            owner = _enclosing_class(symbols, within) or within.partition(".")[0]
            if f"{owner}.{last}" in symbols.entries and symbols.definition(f"{owner}.{last}"):
                return (Target(path, f"{owner}.{last}", "self"),)
        receiver = parts[-2].name if len(parts) > 1 else ""
        own = self._plain_in([path], receiver, last)
        if own:
            return (Target(path, own[0][1], "same file"),) if len(own) == 1 else ()
        for item in self._plain_imports(path, symbols, parts[0].name):
            files = self._imported_files(path, symbols.language, item)
            wanted = item.name if item.name not in ("", STARS, "default") and len(parts) == 1 else last
            found = self._plain_in(list(files), receiver, wanted)
            if len(found) == 1:
                return (Target(*found[0], "import"),)
        if symbols.language in ("go", "java", "csharp"):
            neighbours = self.module(directory_of(path), "", "directory")
            ending = path.rpartition(".")[2]
            found = self._plain_in([p for p in neighbours if p.endswith(ending) and p != path], receiver, last)
            if len(found) == 1:
                return (Target(*found[0], "same package"),)
        return self._unique(symbols.language, last, methods_only=False)

    def _plain_in(self, paths: list[str], receiver: str, name: str) -> list[tuple[str, str]]:
        """The definitions of a name in some files; those of the receiver's own class if there are any."""
        found = []
        for path in paths:
            symbols = self._symbols_of(path)
            self.asked.names.add((path, f"~{name}"))
            for entry in symbols.entries.get(f"~{name}", ()) if symbols is not None else ():
                if isinstance(entry, Definition):
                    found.append((path, entry.qualified_name))
        owned = [place for place in found if receiver and place[1].endswith(f"{receiver}.{name}")]
        return list(dict.fromkeys(owned or found))

    def _plain_imports(self, path: str, symbols: Symbols, head: str) -> Iterator[Imported]:
        """The imports that may bring the head of a call, the one that names it first."""
        for key in (head, STARS, MODULE):
            self.asked.names.add((path, key))
            for entry in symbols.entries.get(key, ()):
                if isinstance(entry, Imported):
                    yield entry
        if family(symbols.language) == "native":
            for entries in symbols.entries.values():
                for entry in entries:
                    if isinstance(entry, Imported):
                        yield entry

    def _imported_files(self, path: str, language: str, item: Imported) -> tuple[str, ...]:
        kind = {"web": "web", "native": "include", "go": "go"}.get(family(language), "class")
        module = f"{item.module}.{item.name}" if kind == "class" and item.name not in ("", STARS) else item.module
        return self.module(directory_of(path), module, kind)


@lru_cache(maxsize=65536)
def parse_dotted(dotted: str) -> tuple[Part, ...]:
    """The names of a dotted text with their calls."""
    return tuple(Part(text.rstrip("()"), text.count("()")) for text in dotted.split("."))


def unique_key(language: str, name: str) -> str | None:
    """Under what a name is listed for the last resort; None for names that are too short or too common to guess."""
    if len(name) < MIN_UNIQUE_LENGTH or name in EVERYDAY_NAMES:
        return None
    return f"{family(language)} {name}"


def _as_imported(value: Value, module: str, name: str) -> Value:
    if value.kind not in (CLASS_VALUE, FUNCTION_VALUE):
        return value
    return value._replace(how="import" if value.path == module and value.name == name else "re-export")


def _enclosing_class(symbols: Symbols, within: str) -> str:
    """The innermost class around a scope, "" outside of all."""
    while within != MODULE and not symbols.is_class(within):
        within = within.rpartition(".")[0]
    return within
