"""Where a name can be imported from, and how this file writes that module.

Three sources, in this order: a module from which the file imports already, what other files import under the name, and
the file that defines it. Owns their order and the module's name as this file would write it. Knows no statement text.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...codegraph.file_graph import MODULE_SCOPE, FileGraph, Import
from ...codegraph.imports_at import relative_specifier
from ...codegraph.json_bytes import to_json
from ...codegraph.modules import directory_of, join_path, upwards
from ...codegraph.resolver import distance
from ...codegraph.symbol_table import STAR_IMPORTS, ImportedName, has_definitions_in_order, language_family
from ...codegraph.typed_resolver import TypedResolver
from ...languages import language_named
from ...languages.known.go import package_name
from ...retrieval.questions import is_test
from .before import files_with_word, graph_around, source_now
from .import_statements import WEB_LANGUAGES, Source, Statement
from .parsed import Parsed
from .values import Situation

MAX_FILES = 200
"""The most files that are read for how a name is imported."""


@dataclass(frozen=True, slots=True)
class FoundSource:
    """A source, how sure it is, and the sentence that says how it was found."""

    source: Source
    confidence: float
    evidence: str


OWN, OTHERS, FEW, DEFINED, STANDARD = 0.9, 0.9, 0.85, 0.8, 0.9
"""Confidence by the source: a module of the file, several or one other import, a definition, the standard library.
In the fitting half of `weft bench next-edit` 24 of 26 were right."""

SEVERAL = 2


class Sources:
    """Finds sources for one file, which is `now`; `statements` are its imports.

    `graph` has the other edited files as they are now.
    """

    def __init__(self, situation: Situation, now: Parsed, statements: Sequence[Statement]) -> None:
        self._situation = situation
        self.graph = graph_around(situation, situation.edited_by_path.get(now.path))
        self._now = now
        self.statements = statements
        self._resolver = TypedResolver(self.graph)
        self._language = now.tree.language
        self._directory = directory_of(now.path)

    def find(self, name: str, is_type: bool) -> FoundSource | None:
        """The source of a name that nothing binds. `is_type`: it is used as a type alone."""
        return self._own(name, is_type) or self._elsewhere(name, is_type) or self._standard(name)

    def is_own(self, module: str) -> bool:
        """Whether a module, as this file writes it, is one of the repository."""
        return bool(self._files(self._now.path, *_without_dots(module), ""))

    def sample(self) -> bytes:
        """A source that tells how the repository writes imports: the file's own if it has some, else the nearest."""
        if self._now.graph.imports or self._language.name not in WEB_LANGUAGES:
            return self._now.source
        files = self.graph.files
        alike = [path for path, file in files.items() if file.language == self._language.name and file.imports]
        near = min(alike, key=lambda path: (distance(self._now.path, path)[0], path), default=self._now.path)
        return self._now.source if near == self._now.path else source_now(self._situation, near)

    def files_of(self, item: Import) -> tuple[str, ...]:
        """The files of the module of an import of this file."""
        return self._files(self._now.path, item.module, item.level, item.name)

    def _files(self, path: str, module: str, level: int, name: str) -> tuple[str, ...]:
        return self._resolver.import_files(path, ImportedName(name, module, level, name), name)

    def _own(self, name: str, is_type: bool) -> FoundSource | None:
        """A module from which the file imports other names already, if it has the name, too."""
        found: list[tuple[bool, Source]] = []
        seen: set[tuple[str, int]] = set()
        for item in self._now.graph.imports:
            key = item.module, item.level
            if item.name in ("", STAR_IMPORTS) or item.scope != MODULE_SCOPE or key in seen:
                continue
            seen.add(key)
            for path in self._files(self._now.path, *key, name):
                if self._has(path, name):
                    written = _written(item)
                    found.append((not self._defines(path, name), Source(written, name, name, is_type)))
        if not found:
            return None
        source = min(found, key=lambda each: each[0])[1]
        return FoundSource(source, OWN, f"This file imports other names from `{source.module}`, which has `{name}`.")

    def _has(self, path: str, name: str) -> bool:
        """Whether a module has a name to be imported: its own, or one of a package file."""
        return self._defines(path, name) or (bool(REEXPORTS.search(path)) and bool(self._imports_as(path, name)))

    def _imports_as(self, path: str, name: str) -> list[Import]:
        """The imports of a module that bring a name."""
        file = self.graph.files.get(path)
        items = () if file is None else file.imports_as(name)
        return [item for item in items if item.scope == MODULE_SCOPE and item.name != STAR_IMPORTS]

    def _defines(self, path: str, name: str) -> bool:
        """Whether a name of a module is defined or bound there, and not imported: as the entries of its symbol table,
        which takes more time."""
        file = self.graph.files.get(path)
        if file is None:
            return False
        if not has_definitions_in_order(language_named(file.language)):
            symbols = self.graph.symbols(path)
            entries = () if symbols is None else symbols.entries.get(name, ())
            return bool(entries) and not isinstance(entries[0], ImportedName)
        if file.definition(name) is not None:
            return True
        if not _has_name(file, name) or self._imports_as(path, name):
            return False
        return any(each.scope == MODULE_SCOPE and each.name == name for each in file.bindings)

    def _elsewhere(self, name: str, is_type: bool) -> FoundSource | None:
        """How other files import a name, most frequently, else a file that defines it."""
        family = language_family(self._language.name)
        counts: Counter[Source] = Counter()
        n_files: Counter[Source] = Counter()
        defining: list[str] = []
        for path in files_with_word(self._situation, name)[:MAX_FILES]:
            file = self.graph.files.get(path)
            if file is None or path == self._now.path or language_family(file.language) != family:
                continue
            if not _has_name(file, name):
                continue
            for item in self._imports_as(path, name):
                source = self._as_here(path, item, is_type)
                if source is not None:
                    counts[source] += NEAR if directory_of(path) == self._directory else 1
                    n_files[source] += 1
            if self._defines(path, name) and (not is_test(path) or directory_of(path) == self._directory):
                defining.append(path)
        if counts:
            (source, n), *others = [*counts.most_common(2), (None, 0)]
            if source is None or n <= others[0][1]:
                return None
            times = "Another file imports" if n_files[source] == 1 else f"{n_files[source]} other files import"
            confidence = OTHERS if n_files[source] >= SEVERAL else FEW
            return FoundSource(source, confidence, f"{times} `{name}` from `{source.module}`.")
        defined = self._of_definition(name, is_type, defining)
        return None if defined is None else FoundSource(defined, DEFINED, f"`{defining[0]}` defines `{name}`.")

    def _as_here(self, path: str, item: Import, is_type: bool) -> Source | None:
        """The source of an import of another file, as this file writes it."""
        local = item.local_name
        if not _is_relative(item):
            return Source(_written(item), item.name, local, is_type)
        if directory_of(path) == self._directory:
            return Source(_written(item), item.name, local, is_type)
        if not item.module or not item.name:
            return None
        target = next(iter(self._files(path, item.module, item.level, item.name)), None)
        if target is None or target == self._now.path:
            return None
        module = self.module_of(target, like=item.module)
        return None if module is None else Source(module, item.name, local, is_type)

    def _of_definition(self, name: str, is_type: bool, paths: Sequence[str]) -> Source | None:
        """The import of the only file that defines a name."""
        if self._language.name == "go":
            return None
        outside = [each for each in paths if self._is_exported(each, name)]
        if len(outside) != 1:
            return None
        module = self.module_of(outside[0])
        return None if module is None else Source(module, name, name, is_type)

    def _is_exported(self, path: str, name: str) -> bool:
        """Whether other files can import a name that a file defines."""
        if self._language.name not in WEB_LANGUAGES:
            return True
        source = source_now(self._situation, path)
        word = rb"\b%b\b" % re.escape(name).encode()
        declared = rb"^export\b(?!.*\bfrom\b)[^;={(]*?%b|^export\s*\{[^}]*%b" % (word, word)
        return re.search(declared, source, re.MULTILINE) is not None

    def module_of(self, target: str, like: str = "") -> str | None:
        """A file as this file writes it in imports: as its neighbours are written, else by the relative path."""
        name = self._language.name
        if name in WEB_LANGUAGES:
            beside = self._beside(target)
            if beside is not None and not beside[0].startswith("."):
                return _with_last(beside[0], _stem(target), "/")
            if self._package_of(target) != self._package_of(self._now.path):
                return None
            relative = like or next((each.module for each in self.statements if each.module.startswith(".")), "")
            if not like and relative:
                ending = re.search(r"\.[cm]?[jt]sx?$", relative)
                relative = f"{_stem(target)}{ending[0]}" if ending else ""
            return relative_specifier(self._now.path, target, relative)
        if name == "python":
            return self._python_module(target)
        return None

    def _package_of(self, path: str) -> str:
        """The nearest directory around a file that has a package.json, "" for none."""
        around = upwards(directory_of(path))
        return next((each for each in around if join_path(each, "package.json") in self.graph.files), "")

    def _beside(self, target: str) -> tuple[str, str] | None:
        """An import of this file or of its neighbours that names a file in the target's directory."""
        directory = directory_of(target)
        for item in self._now.graph.imports:
            for path in self._files(self._now.path, item.module, item.level, item.name):
                if directory_of(path) == directory and not REEXPORTS.search(path):
                    return _written(item), path
        return None

    def _python_module(self, target: str) -> str | None:
        """Relative inside of a package whose modules are imported so, else from the root of the packages."""
        files = self.graph.files
        package = directory_of(target)
        root = package
        while root and f"{root}/__init__.py" in files:
            root = directory_of(root)
        parts = target.removeprefix(f"{root}/" if root else "").rpartition(".")[0].split("/")
        if parts[-1] == "__init__":
            parts.pop()
        here = self._directory.removeprefix(root).strip("/")
        is_relative = any(each.module.startswith(".") for each in self.statements)
        if is_relative and here and here.split("/")[0] == parts[0] and self._directory.startswith(root):
            own = here.split("/")
            n = 0
            while n < min(len(own), len(parts) - 1) and own[n] == parts[n]:
                n += 1
            return "." * (len(own) - n + 1) + ".".join(parts[n:])
        return ".".join(parts) or None

    def _standard(self, name: str) -> FoundSource | None:
        """A module of the standard library, which no other file imports."""
        if self._language.name == "python" and name in sys.stdlib_module_names and len(name) > 1:
            return FoundSource(Source(name, "", name), STANDARD, f"`{name}` is a module of the standard library.")
        if self._language.name == "go":
            own = self._go_package(name)
            if own is not None:
                return FoundSource(Source(own, "", name), DEFINED, f"`{own}` is a package of this module.")
            if name in GO_STANDARD:
                path = GO_STANDARD[name]
                return FoundSource(Source(path, "", name), STANDARD, f"`{path}` is a package of the standard library.")
        return None

    def _go_package(self, name: str) -> str | None:
        """The only own package of a name, by the module path that the file's own imports begin with."""
        directories = {directory_of(path) for path in self.graph.files if path.endswith(".go")}
        found = [each for each in directories if each.rpartition("/")[2] == name and "internal/" not in f"{each}/"]
        found += [each for each in directories - set(found) if each.rpartition("/")[2] == name]
        for path in (self._now.path, *sorted(self.graph.files)[:MAX_FILES]):
            for item in self.graph.files[path].imports if path in self.graph.files else ():
                for directory in self._files(path, item.module, 0, ""):
                    inner = directory.strip("/")
                    if len(found) == 1 and inner and item.module.endswith(f"/{inner}"):
                        return f"{item.module.removesuffix(inner)}{found[0]}"
        return None


def _has_name(file: FileGraph, name: str) -> bool:
    """Whether a name is in the outline of a file, which need not be decoded for it."""
    return to_json(name) in file.packed_outline


NEAR = 3
"""An import in a file of the same directory counts so often."""


def _is_relative(item: Import) -> bool:
    return item.level > 0 or item.module.startswith(".")


def _written(item: Import) -> str:
    return f"{'.' * item.level}{item.module}"


def _without_dots(module: str) -> tuple[str, int]:
    """A module as written, as the name and its leading dots in Python."""
    if "/" in module:
        return module, 0
    inner = module.lstrip(".")
    return inner, len(module) - len(inner)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _with_last(module: str, last: str, sign: str) -> str:
    head, _, old = module.rpartition(sign)
    ending = re.search(r"\.[cm]?[jt]sx?$", old)
    return f"{head}{sign}{last}{ending[0] if ending else ''}"


def go_item(source: Source) -> str:
    """The line of a Go package in a block, with its name where the path does not tell it."""
    alias = "" if package_name(source.module) == source.local else f"{source.local} "
    return f'{alias}"{source.module}"'


REEXPORTS = re.compile(r"(?:^|/)(?:__init__\.pyi?|index\.[jt]sx?|mod\.rs)$")
"""Files that import names so that others import them from there."""

_GO_STANDARD = """
    bufio bytes cmp container/heap container/list container/ring context crypto/aes crypto/cipher crypto/ecdsa
    crypto/ed25519 crypto/elliptic crypto/hmac crypto/md5 crypto/rsa crypto/sha1 crypto/sha256 crypto/sha512
    crypto/subtle crypto/tls crypto/x509 database/sql embed encoding/base32 encoding/base64 encoding/binary encoding/csv
    encoding/gob encoding/hex encoding/json encoding/pem encoding/xml errors expvar flag fmt go/ast go/build go/format
    go/parser go/token go/types hash/crc32 hash/fnv hash/maphash html image io io/fs io/ioutil iter log log/slog maps
    math math/big math/bits math/cmplx mime mime/multipart net net/http net/http/httptest net/http/httputil net/mail
    net/netip net/smtp net/textproto net/url os os/exec os/signal os/user path path/filepath plugin reflect regexp
    runtime runtime/debug runtime/trace slices sort strconv strings sync sync/atomic syscall testing testing/fstest
    testing/iotest testing/quick text/tabwriter time unicode unicode/utf16 unicode/utf8 unique unsafe
"""
GO_STANDARD = {path.rpartition("/")[2]: path for path in _GO_STANDARD.split()}
"""Packages of Go's standard library by their names, without those of which two have one name."""
