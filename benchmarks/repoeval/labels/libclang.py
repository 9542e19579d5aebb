"""Call labels of a C or C++ checkout from libclang, run as a program.

usage: python libclang.py ROOT PACKAGES < paths

Reads the source paths (relative to ROOT, one a line) from standard input and writes JSON lines as typescript.mjs does.
PACKAGES is the folder of the Python package `libclang`. Every source file is one translation unit, and so is a header
that no source file includes. Include folders are guessed from the includes themselves, errors are ignored, and a
call that the compiler cannot resolve gets no record. A function is labelled with its definition, or with its
declaration where it has none; a constructor call with its class.
"""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

HEAD_LINES = 20
KEEP_GOING = 0x200  # CXTranslationUnit_KeepGoing: a missing include does not end the parse
HEADERS = (".h", ".hh", ".hpp", ".hxx", ".ipp", ".inl")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)

# Test frameworks are not installed: a test is a function, so that the calls of its body are read.
TEST_MACROS = (
    "TEST(a,b)=void a##_##b()",
    "TEST_F(a,b)=struct a##_##b:a{void run();};void a##_##b::run()",
    "TEST_P(a,b)=struct a##_##b:a{void run();};void a##_##b::run()",
    "TYPED_TEST(a,b)=template<class TypeParam> void a##_##b()",
    "TEST_CASE(...)=static void weft_name(__LINE__)()",
    "SECTION(...)=if(true)",
    "weft_name(line)=weft_joined(line)",
    "weft_joined(line)=test_case_##line",
)

_Record = dict[str, Any]


class CallLabels:
    """Definitions and calls of all translation units of a checkout."""

    def __init__(self, root: Path, paths: list[str], cindex: Any) -> None:
        self.root, self.cindex = root, cindex
        self.known = {str(root / path): path for path in paths}
        self.texts = {path: (root / path).read_text("utf-8", "replace") for path in paths}
        self.lines = {path: re.split(r"\r\n|\r|\n", text) for path, text in self.texts.items()}
        self.is_cpp = not all(path.endswith((".c", ".h")) for path in paths)
        self.index = cindex.Index.create()
        kinds = cindex.CursorKind
        self.classes = {kinds.CLASS_DECL, kinds.CLASS_TEMPLATE, kinds.STRUCT_DECL, kinds.UNION_DECL}
        self.classes.add(kinds.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION)
        self.functions = {kinds.CONSTRUCTOR, kinds.CXX_METHOD, kinds.FUNCTION_DECL, kinds.FUNCTION_TEMPLATE}
        self.include_folders = self._include_folders()
        self.read_files: set[str] = set()
        # By USR: the number of errors of the translation unit, whether it is a definition, path and qualified name.
        self.definitions: dict[str, tuple[bool, int, str, str]] = {}
        self.spans: dict[tuple[str, str], dict[tuple[int, int], None]] = defaultdict(dict)
        self.declarations: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)  # by USR and path
        self.calls: dict[tuple[str, int, int], tuple[_Record, str, str]] = {}  # with USR and the way of the call

    def read(self) -> None:
        for path in [path for path in self.texts if not path.endswith(HEADERS)]:
            self._read_unit(path)
        for path in self.texts:
            if path not in self.read_files:
                self._read_unit(path)

    def records(self) -> Iterator[_Record]:
        for call, usr, how in self.calls.values():
            if usr in self.definitions:
                _, _, path, qualname = self.definitions[usr]
                spans = sorted(self.spans[path, qualname])
                others = [(other, [span]) for other, span in self.declarations[usr].items() if other != path]
                callee = {"path": path, "qualname": qualname, "spans": spans, "others": others}
                yield {**call, "how": how, "callee": callee}

    def _include_folders(self) -> list[str]:
        """The folders that the includes of the checkout are relative to, most used first."""
        headers = defaultdict(list)
        for path in self.texts:
            headers[path.rpartition("/")[2]].append(path)
        folders: Counter[str] = Counter()
        for text in self.texts.values():
            for included in INCLUDE.findall(text):
                for header in headers.get(included.rpartition("/")[2], ()):
                    if f"/{header}".endswith(f"/{included}"):
                        folders[header[: -len(included)].rstrip("/")] += 1
        return [str(self.root / folder) for folder, _ in folders.most_common()]

    def _options(self, path: str) -> list[str]:
        is_cpp = self.is_cpp and not path.endswith(".c")
        options = ["-xc++", "-std=c++17"] if is_cpp else ["-xc", "-std=gnu11", "-D_GNU_SOURCE"]
        options += [f"-D{macro}" for macro in TEST_MACROS] if is_cpp else []
        options += [f"-I{folder}" for folder in self.include_folders]
        return [*options, "-w", "-ferror-limit=0", *system_includes()]

    def _read_unit(self, path: str) -> None:
        cindex = self.cindex
        try:
            unit = self.index.parse(str(self.root / path), self._options(path), options=KEEP_GOING)
        except cindex.TranslationUnitLoadError:
            return
        n_errors = sum(each.severity >= cindex.Diagnostic.Error for each in unit.diagnostics)
        seen = {path}
        for top in unit.cursor.get_children():
            file = top.location.file
            own = self.known.get(file.name) if file else None
            if own is not None and own not in self.read_files:
                seen.add(own)
                self._read_tree(top, n_errors)
        self.read_files |= seen

    def _read_tree(self, top: Any, n_errors: int) -> None:
        kinds = self.cindex.CursorKind
        pending = [top]
        while pending:
            node = pending.pop()
            children = list(node.get_children())
            if node.kind in self.functions or (node.kind in self.classes and node.is_definition() and node.spelling):
                self._read_definition(node, n_errors)
            elif node.kind == kinds.CALL_EXPR and children:
                self._read_call(node, children[0])
            elif node.kind in (kinds.CXX_NEW_EXPR, kinds.CXX_FUNCTIONAL_CAST_EXPR):
                of_type = next(
                    (child for child in children if child.kind in (kinds.TYPE_REF, kinds.TEMPLATE_REF)), None
                )
                if of_type is not None:
                    self._add_call(node, of_type, of_type.referenced, "constructor")
            pending += reversed(children)

    def _read_definition(self, node: Any, n_errors: int) -> None:
        path = self._path(node)
        if path is None:
            return
        qualname = self._qualified_name(node)
        if node.kind == self.cindex.CursorKind.CONSTRUCTOR:
            qualname = qualname.rpartition(".")[0]
        if not qualname:
            return
        is_definition = node.is_definition()
        old = self.definitions.get(node.get_usr())
        if old is None or (not is_definition, n_errors) < (not old[0], old[1]):
            self.definitions[node.get_usr()] = (is_definition, n_errors, path, qualname)
        first = self._file_location(node.extent.start)[1] - 1
        end = self._file_location(node.extent.end)[1]
        span = first, min(end, first + HEAD_LINES)
        self.spans[path, qualname][span] = None
        if not is_definition:
            self.declarations[node.get_usr()][path] = span

    def _read_call(self, node: Any, callee: Any) -> None:
        kinds = self.cindex.CursorKind
        if callee.kind in (kinds.TYPE_REF, kinds.TEMPLATE_REF):
            self._add_call(node, callee, callee.referenced, "constructor")
            return
        while callee is not None and callee.kind in (kinds.UNEXPOSED_EXPR, kinds.PAREN_EXPR):
            callee = next(iter(callee.get_children()), None)
        if callee is None or callee.kind not in (kinds.DECL_REF_EXPR, kinds.MEMBER_REF_EXPR):
            return
        is_member = callee.kind == kinds.MEMBER_REF_EXPR
        how = "function" if not is_member else "method" if next(callee.get_children(), None) else "own_object"
        if not is_member and any(child.kind == kinds.TYPE_REF for child in callee.get_children()):
            how = "static"
        self._add_call(node, callee, callee.referenced, how)

    def _add_call(self, node: Any, name: Any, referenced: Any, how: str) -> None:
        if referenced is None:
            return
        template = self.cindex.conf.lib.clang_getSpecializedCursorTemplate(referenced)
        referenced = template or referenced
        file, line, column = self._file_location(name.location)
        path = self.known.get(file)
        text = referenced.spelling.partition("<")[0]
        # The name is written at its place: no macro body, no implicit conversion.
        if path is None or not text or not self.lines[path][line - 1].encode()[column - 1 :].startswith(text.encode()):
            return
        end_line = max(line, self._file_location(node.extent.end)[1])
        call = {
            "kind": "call",
            "path": path,
            "line": line - 1,
            "end_line": end_line,
            "column": column - 1,
            "name": text,
        }
        self.calls.setdefault((path, line, column), (call, referenced.get_usr(), how))

    def _path(self, node: Any) -> str | None:
        return self.known.get(self._file_location(node.location)[0])

    def _qualified_name(self, node: Any) -> str:
        """Name with the classes around it, without namespaces."""
        names = [node.spelling.partition("<")[0]]
        parent = node.semantic_parent
        while parent is not None and parent.kind in self.classes:
            names.append(parent.spelling.partition("<")[0])
            parent = parent.semantic_parent
        return ".".join(reversed(names))

    def _file_location(self, location: Any) -> tuple[str, int, int]:
        """Path, line and column as written in a file; an argument of a macro has its own place."""
        file, line, column = self.cindex.c_object_p(), ctypes.c_uint(), ctypes.c_uint()
        places = ctypes.byref(file), ctypes.byref(line), ctypes.byref(column)
        self.cindex.conf.lib.clang_getFileLocation(location, *places, None)
        return self.cindex.File(file).name if file else "", line.value, column.value


def system_includes() -> list[str]:
    """The compiler's own headers (`stddef.h`), which the package does not contain."""
    try:
        done = subprocess.run(["gcc", "-print-file-name=include"], capture_output=True, text=True, check=False)
    except OSError:
        return []
    return ["-isystem", done.stdout.strip()] if done.stdout.strip() else []


def main() -> None:
    sys.path.insert(0, sys.argv[2])
    labels = CallLabels(Path(sys.argv[1]).resolve(), sys.stdin.read().splitlines(), import_module("clang.cindex"))
    labels.read()
    for record in labels.records():
        sys.stdout.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
