"""Import completion: the exports of the module that an import line names, and the modules that its path can go on to.

Owns the ranking of these names: those that the file uses without a binding, then those that most other files import.
Knows no model and no fragment.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple, TypeVar, cast
from weakref import WeakKeyDictionary

from ..languages import Language, language_named
from ..languages.import_lines import ImportLine, import_line_at
from .file_graph import MODULE_SCOPE, Definition, FileGraph
from .graph import CodeGraph
from .limited_cache import LimitedCache
from .modules import ModuleQuery, directory_of
from .modules.paths import import_endings, normalised
from .symbol_table import NAMESPACE_KINDS, STAR_IMPORTS, ImportedName, SymbolTable, language_family, package_key
from .syntax import parse_file
from .typed_resolver import TypedResolver
from .values import DEFAULT_EXPORT, MODULE_VALUE, Value

MAX_IMPORTERS = 400
"""Files with an import of a module that are counted, nearest first."""

_NEARBY_WEIGHT = 3  # of an import in the same directory

T = TypeVar("T")

MAX_FOUND = 4
"""Searches of all files that are kept for one graph."""

_LAST: WeakKeyDictionary[CodeGraph, dict[tuple[str, ...], tuple[object, ...]]] = WeakKeyDictionary()
"""By graph: what its last searches of all files found."""


class Export(NamedTuple):
    """A name that an import line can name next.

    `definition` None: a variable, a submodule, or a name whose definition is unknown. `n_importers`: files that import
    it from this module. `is_used`: the file reads the name and binds it nowhere.
    """

    name: str
    path: str
    definition: Definition | None
    n_importers: int
    is_used: bool


class ModulePath(NamedTuple):
    """The path of a module that an import line can name. `is_used`: the statement or the file reads a name of it."""

    path: str  # as this file would write it
    n_importers: int
    is_used: bool


def imported_module_at(
    graph: CodeGraph, path: str, language: Language, before: str, after: str
) -> list[tuple[str, Definition]]:
    """The definitions that the module of the import line at the cursor exports, with their files, likeliest first.

    Names that the line imports already are left out. Empty when the cursor is in no import line or in the path of one,
    or when the module is not in the repository.
    """
    line = import_line_at(language.import_lines, before, after)
    found = [] if line is None or line.is_path else exports_at(graph, path, language, line, before, after)
    return [(export.path, export.definition) for export in found if export.definition is not None]


def exports_at(
    graph: CodeGraph, path: str, language: Language, line: ImportLine, before: str, after: str
) -> list[Export]:
    """The names that an import line of a module can name next, likeliest first. Those that it names are left out."""
    if language.package_style == "declared":
        return _declared_exports(graph, path, language, line, before, after)
    files = _module(graph, path, language, line.module)
    if not files or files[0] == path:
        return []
    module = Value(MODULE_VALUE, files[0], package_key(language, files[0], ""), "import")
    definitions = _definitions(graph, module)
    names = dict.fromkeys((*definitions, *_other_names(graph, files[0], language)))
    popularity = _popularity(graph, path, language, files[0], line.module)
    text = f"{before[: line.start]}\n{after[line.length_after :]}"
    used = _unbound_names(path, text, language, names)
    stars = {source for source, _ in TypedResolver(graph).star_sources(files[0])}
    found = []
    for name in names:
        if name.startswith(line.typed) and name not in line.names and name != DEFAULT_EXPORT:
            where, definition = definitions.get(name, (files[0], None))
            # Its own import of the name from elsewhere is rarely an export, except in a package file.
            is_own = where == files[0] or where in stars or popularity[name] > 0 or _is_package_file(files[0])
            found.append(Export(name, where, definition, popularity[name], is_own and name in used))
    # The order of the module breaks ties.
    return sorted(found, key=lambda export: (-export.is_used, -popularity[export.name]))


def module_paths_at(
    graph: CodeGraph, path: str, language: Language, line: ImportLine, before: str, after: str
) -> list[ModulePath]:
    """The module paths that begin with what is typed at the cursor, likeliest first.

    These are paths that other files import, and for a relative path the modules of its directory.
    """
    text = f"{before[: line.start]}\n{after[line.length_after :]}"
    if language.project_ending:
        return _namespaces(graph, path, language, line, text)
    if language.package_style == "declared" and not language.module_style:
        return _declared_paths(graph, path, language, line, text)
    counts, named = _imported_paths(graph, path, language, line), set[str]()
    if line.names:
        for name in line.names:
            for found in _modules_of_name(graph, path, language, name, line.typed):
                counts[found] += 1
                named.add(found)
    elif language.module_style == "include":
        named = {found for found in counts if _last_stem(found) == _last_stem(path)}
    elif language.module_style == "go":
        qualifiers = set(_GO_QUALIFIER.findall(text))
        packages = {found: _package_name(found) for found in counts}
        unbound = _unbound_names(path, text, language, qualifiers.intersection(packages.values()))
        named = {found for found, package in packages.items() if package in unbound}
    present = {item.module for item in _parsed(path, text, language).imports}
    if line.typed in named and line.typed not in present:
        counts = Counter({found: n for found, n in counts.items() if found in named})  # the typed path may be all
    own = {(path,), (f"{directory_of(path)}/",)}  # the module or the package of the file itself
    paths = [
        ModulePath(found, n, found in named)
        for found, n in counts.items()
        if found not in present and found != line.typed and _module(graph, path, language, found) not in own
    ]
    return sorted(paths, key=lambda each: (-each.is_used, -each.n_importers, each.path))


# Declared packages


def _declared_paths(graph: CodeGraph, path: str, language: Language, line: ImportLine, text: str) -> list[ModulePath]:
    """The global names that begin with what is typed: those that other files import, and those of the repository."""
    sign = language.package_sign
    file, typed = _parsed(path, text, language), line.typed.replace(sign, ".")
    counts = _imported_names(graph, path, language, typed)
    for name in _global_names(graph, language, typed):
        counts.setdefault(name, 0)
    present = {f"{item.module}.{item.name}" for item in file.imports}
    package = graph.files[path].package if path in graph.files else file.package
    found = {
        name: n
        for name, n in counts.items()
        if name not in present and name != typed and name.rpartition(".")[0] != package
    }
    read = _unbound_names(path, text, language, {name.rpartition(".")[2] for name in found})
    paths = [ModulePath(name.replace(".", sign), n, name.rpartition(".")[2] in read) for name, n in found.items()]
    return sorted(paths, key=lambda each: (-each.is_used, -each.n_importers, each.path))


def _declared_exports(
    graph: CodeGraph, path: str, language: Language, line: ImportLine, before: str, after: str
) -> list[Export]:
    """The names of a package or a class that an import line can name next."""
    resolver, prefix = TypedResolver(graph), f"{line.module}."
    counts = _imported_names(graph, path, language, prefix + line.typed)
    names = {name.removeprefix(prefix) for name in (*counts, *_global_names(graph, language, prefix + line.typed))}
    text = f"{before[: line.start]}\n{after[line.length_after :]}"
    used = _unbound_names(path, text, language, names)
    found = []
    for name in names - line.names:
        value = resolver.declared(path, prefix + name) if "." not in name and path in graph.files else None
        symbols = graph.symbols(value.path) if value is not None else None
        definition = symbols.definition(value.name) if symbols is not None and value is not None else None
        if "." not in name:
            where = value.path if value is not None else ""
            found.append(Export(name, where, definition, counts[prefix + name], name in used))
    return sorted(found, key=lambda export: (-export.is_used, -export.n_importers, export.name))


def _imported_names(graph: CodeGraph, path: str, language: Language, typed: str) -> Counter[str]:
    """The global names that begin with a text, with the number of files that import them."""
    # Capitals tell types from packages only where packages are written with dots.
    goes_on = _goes_on if language.package_sign == "." else lambda typed, name: name.startswith(typed)
    family, inside = language_family(language.name), typed.rpartition(".")[0]
    found = _found_inside(
        graph, ("imported", family, inside, path), lambda: _imported_inside(graph, path, family, inside)
    )
    return Counter({name: n for name, n in found if goes_on(typed, name)})


def _imported_inside(graph: CodeGraph, path: str, family: str, inside: str) -> tuple[tuple[str, int], ...]:
    """The global names that other files import and that begin with a text, with the number of these files."""
    found: Counter[str] = Counter()
    for other, file in graph.files.items():
        if other != path and language_family(file.language) == family:
            found.update(_imported_from(file._outline, inside))
    return tuple(found.items())


@lru_cache(maxsize=4_096)
def _imported_from(outline: bytes, inside: str) -> frozenset[str]:
    """The global names that a file imports and that begin with a text, from its packed facts."""
    # An import is `["local","module",level,"name",...]`. A search in packed facts, without decoding.
    pattern = re.compile(b'","(' + re.escape(inside.encode("utf-8", "replace")) + b'[^"\\\\]*)",0,"([^"*]+)"')
    return frozenset([(b"%b.%b" % each).decode("utf-8", "replace") for each in pattern.findall(outline)])


def _found_inside(graph: CodeGraph, key: tuple[str, ...], find: Callable[[], tuple[T, ...]]) -> tuple[T, ...]:
    """What `find` finds in all files, which the next keys of a name ask for again."""
    last = _LAST.get(graph, {})
    if key not in last:
        last = _LAST[graph] = dict([*list(last.items())[1 - MAX_FOUND :], (key, find())])
    return cast("tuple[T, ...]", last[key])


def _goes_on(typed: str, name: str) -> bool:
    """Whether a name begins with a text, and what follows is no member of a type that is not typed yet."""
    return name.startswith(typed) and _TYPE_INSIDE.match(name, typed.rfind(".") + 1) is None


def _global_names(graph: CodeGraph, language: Language, typed: str) -> Iterator[str]:
    """The definitions of the repository whose global names begin with a text, and the members of a type in it."""
    family, inside = language_family(language.name), typed.rpartition(".")[0]
    key = "defined", family, inside
    for name, around in _found_inside(graph, key, lambda: tuple(_defined_inside(graph, family, inside))):
        if name.startswith(typed) and typed.startswith(around):
            yield name


def _defined_inside(graph: CodeGraph, family: str, inside: str) -> Iterator[tuple[str, str]]:
    """The definitions whose global names begin with a text, each with the name of the type around it and its dot."""
    for file in graph.files.values():
        package = f"{file.package}." if file.package else ""
        if language_family(file.language) != family or not package:
            continue
        if not (package.startswith(inside) or inside.startswith(package)):
            continue
        for defined in _defined_names(file):
            name = package + defined
            if name.startswith(inside):
                yield name, name[: name.rindex(".") + 1] if "." in defined else ""


def _read_defined_names(file: FileGraph) -> tuple[str, ...]:
    """The qualified names of the definitions of a file, from its packed facts."""
    outline = file.packed_outline
    if outline.startswith(b"[[],"):
        return ()
    end = _END_OF_DEFINITIONS.search(outline)
    packed = outline[1 : end.end()] if end is not None else outline
    found = json.loads(packed.decode("utf-8", "surrogatepass"))
    return tuple([definition[1] for definition in (found if end is not None else found[0])])


_defined_names = LimitedCache(_read_defined_names, attrgetter("n_outline_bytes"), 16_000_000)

_END_OF_DEFINITIONS = re.compile(rb'(?<!\\)"\]\](?=,\[)')
"""A definition ends with its return annotation. Imports and bindings take most of the time of decoding."""


def _namespaces(graph: CodeGraph, path: str, language: Language, line: ImportLine, text: str) -> list[ModulePath]:
    """The namespaces that begin with what is typed: those that other files import, and those of the repository."""
    counts: Counter[str] = Counter()
    types: dict[str, set[str]] = {}  # of each namespace of the repository the names of its types
    pattern = re.compile(b'","(' + re.escape(line.typed.encode("utf-8", "replace")) + b'[^"\\\\]*)",[01],"\\*"')
    for other, file in graph.files.items():
        if other == path or file.language != language.name:
            continue
        counts.update({module.decode("utf-8", "replace") for module in pattern.findall(file._outline)})
        for definition in file.definitions:
            around = definition.parent
            if definition.kind in NAMESPACE_KINDS or (
                around != MODULE_SCOPE and file.definitions[around].kind not in NAMESPACE_KINDS
            ):
                continue
            inner = definition.qualified_name.rpartition(".")[0]
            namespace = ".".join(filter(None, (file.package, inner)))
            if namespace.startswith(line.typed):
                types.setdefault(namespace, set()).add(definition.name)
    read = _unbound_names(path, text, language, set().union(*types.values()))
    file = _parsed(path, text, language)
    known = {item.module for item in file.imports} | {file.package, line.typed, ""}
    found = (counts.keys() | types.keys()) - known
    paths = [ModulePath(name, counts[name], not read.isdisjoint(types.get(name, ()))) for name in found]
    return sorted(paths, key=lambda each: (-each.is_used, -each.n_importers, each.path))


# Modules


def _imported_paths(graph: CodeGraph, path: str, language: Language, line: ImportLine) -> Counter[str]:
    """The paths that begin with what is typed, with the number of files that import them."""
    found: Counter[str] = Counter()
    typed, style = line.typed, language.module_style
    if not typed.startswith(".") or style == "include":
        # An import is `["local","module",level,"name",...]`. A search in packed facts, without decoding.
        pattern = re.compile(b'","(' + re.escape(typed.encode("utf-8", "replace")) + b'[^"\\\\]*)",0,"')
        for other, file in graph.files.items():
            if other != path and language_named(file.language).module_style == style:
                modules = {module.decode("utf-8", "replace") for module in pattern.findall(file._outline)}
                found.update(module for module in modules if not module.startswith("."))  # relative to the other file
        return _headers(graph, path, language, typed, found) if style == "include" else found
    typed_directory = typed.rpartition("/" if style == "web" else ".")[0]
    here = directory_of(path)
    if style == "web":
        folder = normalised(f"{here}/{typed_directory}")
        ends, separator = import_endings("web"), "/"
    else:
        n_dots = len(typed) - len(typed.lstrip("."))
        folder = normalised("/".join([here, *[".."] * (n_dots - 1), *typed.strip(".").split(".")[:-1]]))
        ends, separator = (".py",), "."
        typed_directory = typed_directory if typed.strip(".") else typed[:-1]
    for other in graph.files:
        if folder is not None and directory_of(other) == folder and other != path and other.endswith(ends):
            stem = other.rpartition("/")[2].partition(".")[0]
            written = f"{typed_directory}{separator}{stem}"
            if written.startswith(typed) and stem not in ("__init__", "index"):
                found[written] = 0
    return found


def _headers(graph: CodeGraph, path: str, language: Language, typed: str, found: Counter[str]) -> Counter[str]:
    """The included files among the imported paths, which may be namespaces too, and the headers beside a file."""
    family = language_family(language.name)
    for module in list(found):
        if module in language.builtin_names or graph.definitions_named(f"{package_key(language, path, '')}{module}/"):
            del found[module]
    here = directory_of(path)
    for other in graph.files:
        name = other.rpartition("/")[2]
        is_header = language_family(graph.files[other].language) == family and not other.endswith(
            import_endings("include")
        )
        if is_header and directory_of(other) == here and other != path and name.startswith(typed):
            found.setdefault(name, 0)
    return found


def _last_stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _modules_of_name(graph: CodeGraph, path: str, language: Language, name: str, typed: str) -> Iterator[str]:
    """The paths of the modules that define a name or that other files import it from, as this file would write them."""
    needle = f'"{name}"'.encode("utf-8", "replace")
    for other, file in graph.files.items():
        if other == path or needle not in file.packed_outline:
            continue
        if language_named(file.language).module_style != language.module_style:
            continue
        modules = {item.module for item in file.imports if name in (item.name, item.local_name)}
        for module in modules:
            written: str | None = module
            if module.startswith("."):
                target = _module(graph, other, language, module)
                written = relative_specifier(path, target[0], module) if target else None
            if written is not None and written.startswith(typed):
                yield written
        is_web = language.module_style == "web"
        if is_web and any(name == found.name == found.qualified_name for found in file.definitions):
            written = relative_specifier(path, other, "")
            if written.startswith(typed):
                yield written


def relative_specifier(path: str, target: str, like: str) -> str:
    """The relative module specifier of a file in another one, with the file suffix and the index as in `like`."""
    directory, _, name = target.rpartition("/")
    stem = name.partition(".")[0]
    end = like.rpartition("/")[2]
    written = f"/{stem}{end[len(stem) :]}" if end.startswith(f"{stem}.") else f"/{stem}"
    here = directory_of(path).split("/") if directory_of(path) else []
    there = directory.split("/") if directory else []
    common = 0
    while common < min(len(here), len(there)) and here[common] == there[common]:
        common += 1
    if stem == "index" and not end.startswith("index"):
        written = ""
    up = "/".join([".."] * (len(here) - common)) or "."
    return "/".join([up, *there[common:]]) + written


def _package_name(path: str) -> str:
    """The name of a Go package by its path, without a version."""
    return re.sub(r"/v\d+$|\.v\d+$", "", path).rpartition("/")[2]


def _module(graph: CodeGraph, path: str, language: Language, module: str) -> tuple[str, ...]:
    where = path if language.module_separator else directory_of(path)
    return graph.find_module(ModuleQuery(language.module_style, where, module))


def _definitions(graph: CodeGraph, module: Value) -> dict[str, tuple[str, Definition]]:
    found = {}
    for name, value in TypedResolver(graph).exports(module).items():
        symbols = graph.symbols(value.path)
        definition = symbols.definition(value.name) if symbols is not None else None
        if definition is not None:
            found[name] = value.path, definition
    return found


def _other_names(graph: CodeGraph, path: str, language: Language) -> Iterator[str]:
    """Variables of a module, names that it re-exports, and the submodules of a package of Python."""
    resolver = TypedResolver(graph)
    for module in (path, *(source for source, _ in resolver.star_sources(path))):
        symbols = graph.symbols(module)
        prefix = language.private_prefix
        for name, entries in symbols.entries.items() if symbols is not None else ():
            is_public = "." not in name and name != STAR_IMPORTS and not (prefix and name.startswith(prefix))
            # Most modules import much that they do not export; a package file imports its own modules to export them.
            is_import = isinstance(entries[0], ImportedName) and not (
                _is_reexport(graph, module, entries[0], language) or _is_child(entries[0], language)
            )
            if is_public and not is_import and name.isidentifier():
                yield name
    if language.module_style == "python" and (path.endswith("/") or path.endswith(("__init__.py", "__init__.pyi"))):
        folder = directory_of(path)
        for file in graph.files:
            if file.startswith(f"{folder}/") or not folder:
                name = file.removeprefix(f"{folder}/").partition("/")[0].partition(".")[0]
                if name.isidentifier() and not name.startswith("_") and _module(graph, path, language, f".{name}"):
                    yield name


def _is_reexport(graph: CodeGraph, path: str, item: ImportedName, language: Language) -> bool:
    found = _module(graph, path, language, "." * item.level + item.module) if item.name else ()
    return bool(found) and _is_package_file(path)


def _is_child(item: ImportedName, language: Language) -> bool:
    """Whether an import is the declaration of a module in another file."""
    return bool(language.module_separator) and item.module == f"self{language.module_separator}{item.local_name}"


def _is_package_file(path: str) -> bool:
    return path.rpartition("/")[2].partition(".")[0] in ("__init__", "index") or path.endswith(_RUST_PACKAGES)


def _popularity(graph: CodeGraph, path: str, language: Language, module: str, written: str) -> Counter[str]:
    """How many files import each name of a module; files of the same directory count more."""
    found: Counter[str] = Counter()
    stems = {_stem(module), re.split(r"[./]", written)[-1]} - {""}
    directory = directory_of(path)
    importers = (file for stem in stems for file in _files_naming(graph, stem, path))
    nearest = sorted(set(importers), key=lambda file: (directory_of(file.path) != directory, file.path))
    for file in nearest[:MAX_IMPORTERS]:
        near = directory_of(file.path) == directory
        names = {
            item.name
            for item in file.imports
            if item.name and _module(graph, file.path, language, "." * item.level + item.module) == (module,)
        }
        found.update(dict.fromkeys(names, _NEARBY_WEIGHT if near else 1))
    return found


def _stem(module: str) -> str:
    """The last part of what an import of a file writes."""
    directory, _, name = module.rstrip("/").rpartition("/")
    stem = name.partition(".")[0]
    if module.endswith("/lib.rs"):
        return "crate"
    return directory.rpartition("/")[2] if stem in ("__init__", "index", "mod") else stem


def _files_naming(graph: CodeGraph, stem: str, but: str) -> Iterator[FileGraph]:
    """The files whose imports may name a module with this last part. A search in packed facts, without decoding."""
    needle = stem.encode("utf-8", "replace")
    # Patterns, because the facts of a mapped index are views, in which `in` looks for numbers.
    plain, exact = re.compile(re.escape(needle)), re.compile(rb"[\"/.@:]" + re.escape(needle) + rb"(?:\.\w+)?\"")
    for path, file in graph.files.items():
        if path != but and plain.search(file._outline) and exact.search(file._outline):
            yield file


def _unbound_names(path: str, text: str, language: Language, names: Iterable[str]) -> set[str]:
    """Those of `names` that a text reads and nowhere binds at its top level."""
    words = set(_WORD.findall(text))
    read = {name for name in names if name in words}
    return read.difference(SymbolTable(_parsed(path, text, language)).entries) if read else read


# A line of imports is requested key by key with the same text around it.
@lru_cache(maxsize=4)
def _parsed(path: str, text: str, language: Language) -> FileGraph:
    return parse_file(path, text, language)


_RUST_PACKAGES = ("/lib.rs", "/mod.rs")
_GO_QUALIFIER = re.compile(r"(?<![\w.\"/])(\w+)\.[A-Z]")
_TYPE_INSIDE = re.compile(r"(?:[a-z]\w*\.)*[A-Z]\w*\.")
_WORD = re.compile(r"(?<![\w$.])[A-Za-z_$][\w$]*")
