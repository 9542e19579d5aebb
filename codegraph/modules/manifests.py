"""Readers of manifests: package.json, tsconfig.json, deno.json, pnpm-workspace.yaml, go.mod, go.work, *.csproj,
Cargo.toml and compile_commands.json.

`read_manifest` reduces the text of a manifest to the facts that module resolution needs, in JSON
(`FileGraph.manifest`). A manifest is data: nothing is executed, no other file is read. A broken one has no facts and
one problem, a sentence for the user. Of a path only the file's name counts. A manifest has facts only while its file is
indexed: build directories are often ignored by git, and large JSON files are left out, unless `index.include` names
the file (`build/compile_commands.json`).

Facts, all optional:
- package.json, deno.json: `name`; `entries`, the targets of the package itself, in order; `exports` and `imports`, for
  each subpath its targets in order, null for a subpath that is not exported; `workspaces`, globs; `map`, the import map
  of Deno.
- pnpm-workspace.yaml: `workspaces`.
- tsconfig.json, jsconfig.json: `extends`, `base_url`, `paths`, `references`, `include`, `is_solution`.
- go.mod, go.work: `module`, `replace`, `use`.
- *.csproj, *.props and *.targets of MSBuild: `usings`, the namespaces that all files of the project import.
- Cargo.toml: `name`; `crate`, the name of the library where it differs; `library`, its path; `targets`, paths of the
  roots of other crates; `manual`, directories in which not every file is one; `dependencies` by the names in code, with
  `path`, `package` and `workspace`; `shared`, the dependencies of the workspace.
- compile_commands.json: `directories`, the include directories of all commands; `files`, some of the compiled files.
  Both are absolute paths of the machine that wrote them, or relative to the directory of the manifest.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias
from xml.parsers import expat

from .data_files import Invalid, read_json, read_json_value, read_toml
from .paths import is_absolute

Facts: TypeAlias = dict[str, Any]

WEB_MANIFESTS = "web"
GO_MANIFESTS = "go"
CSHARP_MANIFESTS = "csharp"
RUST_MANIFESTS = "rust"
INCLUDE_MANIFESTS = "include"


def manifest_style(path: str) -> str:
    """The module style whose resolution depends on the file at `path`; "" for a file that is no manifest."""
    found = _reader(path)
    return found[0] if found else ""


def read_manifest(path: str, text: str) -> tuple[str, tuple[str, ...]]:
    """The facts of a manifest as JSON, and its problems; "" for a file that is no manifest, and for a broken one."""
    found = _reader(path)
    if found is None:
        return "", ()
    try:
        facts = found[1](text.removeprefix("\ufeff"))
    except Invalid as error:
        return "", (f"`{path}` {error}; its module names are not used. Correct the file.",)
    return json.dumps({key: value for key, value in facts.items() if value}, separators=(",", ":")), ()


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _strings(value: object) -> list[str]:
    """A string or a list of strings as a list."""
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, str) and each]


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


# Packages

_ENTRY_FIELDS = ("source", "module", "main", "types", "typings")
_CONDITIONS = {"source": 0, "import": 2, "module": 2, "default": 3, "node": 3, "require": 4, "types": 5, "browser": 6}
_CUSTOM_CONDITION = 1  # mostly the sources of a workspace
_MAX_DEPTH = 20


def _package(text: str) -> Facts:
    data = read_json(text)
    workspaces = data.get("workspaces")
    exports = data.get("exports")
    return {
        "name": _string(data.get("name")),
        "entries": [target for field in _ENTRY_FIELDS for target in _strings(data.get(field))[:1]],
        "exports": _subpaths(exports, ".") if exports is not None else {},
        "imports": _subpaths(_table(data.get("imports")), "#"),
        "workspaces": _strings(_table(workspaces).get("packages") if isinstance(workspaces, dict) else workspaces),
    }


def _deno(text: str) -> Facts:
    data = read_json(text)
    exports = data.get("exports")
    return {
        "name": _string(data.get("name")),
        "exports": _subpaths(exports, ".") if exports is not None else {},
        "workspaces": _strings(data.get("workspace")),
        "map": {key: target for key, target in _table(data.get("imports")).items() if key and isinstance(target, str)},
    }


def _subpaths(exports: object, mark: str) -> dict[str, list[str] | None]:
    """The targets of each subpath, the likeliest source first; None for a subpath that is excluded by null."""
    table = _table(exports)
    if not any(key.startswith(mark) for key in table):
        table = {".": exports} if mark == "." else {}
    found: dict[str, list[str] | None] = {}
    for key, value in table.items():
        if key.startswith(mark):
            found[key] = None if value is None else _targets(value)
    return found


def _targets(value: object, depth: int = 0) -> list[str]:
    """The targets of nested conditions, in the order of `_CONDITIONS`."""
    if isinstance(value, str):
        return [value]
    nested: list[object] = []
    if depth < _MAX_DEPTH and isinstance(value, list):
        nested = value
    elif depth < _MAX_DEPTH and isinstance(value, dict):
        nested = [value[key] for key in sorted(value, key=lambda key: _CONDITIONS.get(key, _CUSTOM_CONDITION))]
    return list(dict.fromkeys(target for each in nested for target in _targets(each, depth + 1)))


def _pnpm_workspace(text: str) -> Facts:
    """The list `packages` of pnpm-workspace.yaml."""
    globs: list[str] = []
    is_inside = False
    for line in text.splitlines():
        content = re.sub(r"(^|\s)#.*", "", line).strip()
        if not content:
            continue
        if is_inside and content.startswith("-"):
            globs.append(content[1:].strip().strip("'\""))
            continue
        is_inside = not line[0].isspace() and content.startswith("packages:")
        if is_inside:
            inline = content.removeprefix("packages:").strip()
            globs += [each.strip().strip("'\"") for each in inline.strip("[]").split(",")]
    return {"workspaces": [glob for glob in globs if glob]}


# TypeScript


def _tsconfig(text: str) -> Facts:
    data = read_json(text)
    options = _table(data.get("compilerOptions"))
    references = data.get("references")
    paths = {key: _strings(targets) for key, targets in _table(options.get("paths")).items()}
    return {
        "extends": _strings(data.get("extends")),
        "base_url": _string(options.get("baseUrl")),
        "paths": {key: targets for key, targets in paths.items() if key},
        "references": [path for each in references if (path := _string(_table(each).get("path")))]
        if isinstance(references, list)
        else [],
        "include": _strings(data.get("include")) + _strings(data.get("files")),
        # A configuration that holds no file itself.
        "is_solution": data.get("files") == [] and not data.get("include"),
    }


# Go


def _go(text: str) -> Facts:
    """The directives of go.mod and go.work."""
    replace: dict[str, str] = {}
    use: list[str] = []
    module, block = "", ""
    for line in text.splitlines():
        words = [word.strip('"`') for word in line.partition("//")[0].split()]
        if not words:
            continue
        if block and words[0] == ")":
            block = ""
            continue
        if words[1:] == ["("] or words[0].endswith("("):
            block = words[0].rstrip("(")
            continue
        directive, arguments = (block, words) if block else (words[0], words[1:])
        if directive == "module" and arguments:
            module = arguments[0]
        elif directive == "use" and arguments:
            use.append(arguments[0])
        elif directive == "replace" and "=>" in arguments[:-1]:
            target = arguments[arguments.index("=>") + 1]
            if target.startswith(("./", "../")) or target in (".", ".."):
                replace[arguments[0]] = target
    return {"module": module, "replace": replace, "use": use}


def _go_mod(text: str) -> Facts:
    facts = _go(text)
    if not facts["module"]:
        raise Invalid("has no `module` line")
    return facts


# C#

_MSBUILD = (".csproj", ".props", ".targets")


def _msbuild(text: str) -> Facts:
    """The items `<Using Include="A.B;C"/>` of a project."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise Invalid("contains a document type declaration")
    parser = expat.ParserCreate()
    found: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == "Using" and "Alias" not in attributes:
            found.extend(part.strip() for part in attributes.get("Include", "").split(";"))

    parser.StartElementHandler = start
    try:
        parser.Parse(text.encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        raise Invalid(f"is not valid XML on line {error.lineno}") from None
    return {"usings": list(dict.fromkeys(name for name in found if name and "$(" not in name))}


# Rust

_TARGET_KINDS = {"bench": "benches", "bin": "src/bin", "example": "examples", "test": "tests"}


def _cargo(text: str) -> Facts:
    """A package, a workspace, or both."""
    data = read_toml(text)
    package, library = _table(data.get("package")), _table(data.get("lib"))
    targets = {kind: data.get(kind) for kind in _TARGET_KINDS}
    tables = [data, *_table(data.get("target")).values()]
    dependencies: dict[str, dict[str, Any]] = {}
    for table in tables:
        for kind in ("dependencies", "dev-dependencies", "build-dependencies"):
            dependencies.update(_dependencies(_table(table).get(kind)))
    return {
        "name": _string(package.get("name")),
        "crate": _string(library.get("name")),
        "library": _string(library.get("path")),
        "targets": [
            path
            for listed in targets.values()
            for each in (listed if isinstance(listed, list) else [])
            if (path := _string(_table(each).get("path")))
        ],
        "manual": [
            directory
            for kind, directory in _TARGET_KINDS.items()
            if package.get("autobins" if kind == "bin" else f"auto{directory}") is False
        ],
        "dependencies": dependencies,
        "shared": _dependencies(_table(data.get("workspace")).get("dependencies")),
    }


def _dependencies(table: object) -> dict[str, dict[str, Any]]:
    """The dependencies that may be in the repository, by the names in code."""
    found: dict[str, dict[str, Any]] = {}
    for name, value in _table(table).items():
        facts = {key: _string(_table(value).get(key)) for key in ("path", "package")}
        facts = {key: text for key, text in facts.items() if text}
        if _table(value).get("workspace") is True:
            found[name.replace("-", "_")] = {**facts, "workspace": True}
        elif facts:
            found[name.replace("-", "_")] = facts
    return found


# C and C++

_MAX_CHARACTERS = 10_000_000  # about a second of CPU time
_MAX_DIRECTORIES = 500
_MAX_FILES = 100
_INCLUDE_OPTIONS = ("-I", "-isystem", "-iquote")
# No branch fails after its first character, so a search takes linear time.
_WORD = r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"?|'[^']*'?)+"""
_INCLUDE_WORDS = re.compile(
    rf"""(?<!\S)(?:["'](?P<quoted>-(?:I|isystem|iquote)[^"']+)["']|(?P<plain>-(?:I|isystem|iquote)\s*{_WORD}))"""
)
_QUOTE_OR_ESCAPE = re.compile(r"""\\(?=[\s"'\\])|["']""")


def _compile_commands(text: str) -> Facts:
    """The include directories of a compilation database, each once, and an even sample of its files."""
    if len(text) > _MAX_CHARACTERS:
        raise Invalid(f"is longer than {_MAX_CHARACTERS:,} characters")
    commands = read_json_value(text)
    if not isinstance(commands, list):
        raise Invalid("contains no JSON list")
    found: dict[tuple[str, str], None] = {}
    files: dict[tuple[str, str], None] = {}
    for entry in map(_table, commands):
        directory = _string(entry.get("directory"))
        files[directory, _string(entry.get("file"))] = None
        if len(found) < _MAX_DIRECTORIES:
            found.update(dict.fromkeys((directory, path) for path in _include_paths(entry)))
    step = -(-len(files) // _MAX_FILES) or 1
    return {
        "directories": _at_directories(list(found)[:_MAX_DIRECTORIES]),
        "files": _at_directories([place for place in files if place[1]][::step]),
    }


def _include_paths(entry: dict[str, Any]) -> Iterator[str]:
    """The include directories of a command, as it gives them. A path after `=` is in the system root."""
    arguments = entry.get("arguments")
    if not isinstance(arguments, list):
        words = (found["quoted"] or found["plain"] for found in _INCLUDE_WORDS.finditer(_string(entry.get("command"))))
        arguments = [_QUOTE_OR_ESCAPE.sub("", word) for word in words]
    is_next = False
    for argument in map(_string, arguments):
        option = next((each for each in _INCLUDE_OPTIONS if argument.startswith(each)), "")
        path = argument if is_next else argument[len(option) :].strip() if option else ""
        is_next = not is_next and argument in _INCLUDE_OPTIONS
        if path and path[0] != "=":
            yield path


def _at_directories(places: list[tuple[str, str]]) -> list[str]:
    """Paths of commands that run in directories, normalised, each once."""
    found = ((directory.replace("\\", "/"), path.replace("\\", "/")) for directory, path in places)
    paths = (path if is_absolute(path) or not directory else f"{directory}/{path}" for directory, path in found)
    return list(dict.fromkeys(map(posixpath.normpath, paths)))


_Reader: TypeAlias = Callable[[str], Facts]
_READERS: dict[str, tuple[str, _Reader]] = {
    "package.json": (WEB_MANIFESTS, _package),
    "deno.json": (WEB_MANIFESTS, _deno),
    "deno.jsonc": (WEB_MANIFESTS, _deno),
    "pnpm-workspace.yaml": (WEB_MANIFESTS, _pnpm_workspace),
    "go.mod": (GO_MANIFESTS, _go_mod),
    "go.work": (GO_MANIFESTS, _go),
    "Cargo.toml": (RUST_MANIFESTS, _cargo),
    "compile_commands.json": (INCLUDE_MANIFESTS, _compile_commands),
}
_TSCONFIG = re.compile(r"[tj]sconfig[-.\w]*\.json")


def _reader(path: str) -> tuple[str, _Reader] | None:
    name = path.rpartition("/")[2]
    found = _READERS.get(name)
    if found is None and name.endswith(".json") and _TSCONFIG.fullmatch(name):
        return WEB_MANIFESTS, _tsconfig
    if found is None and name.endswith(_MSBUILD):
        return CSHARP_MANIFESTS, _msbuild
    return found
