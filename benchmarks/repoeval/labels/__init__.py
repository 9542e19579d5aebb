"""Call labels from the type checkers of the languages, run as programs and cached by the files' content.

Owns the programs, their output and the match by unique name for calls that a type checker cannot resolve. Languages
without such a program are labelled `by_name`. Deliberately independent of Weft's name resolution. Knows no sampling.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ....errors import UserError
from ...command import say
from ..resolution import MIN_UNIQUE_NAME
from ..sources import SourceFile
from ..task_languages import CPP, GO, JAVA, KOTLIN, TYPESCRIPT, C, TaskLanguage
from ..tasks import UNIQUE_NAME, CalledDefinition, LabelledCall
from .by_name import records_by_name

_FOLDER = Path(__file__).resolve().parent
_PROGRAMS = {
    TYPESCRIPT.name: "typescript.mjs",
    GO.name: "golang.go",
    JAVA.name: "javac.java",
    KOTLIN.name: "kotlinc.java",
    C.name: "libclang.py",
    CPP.name: "libclang.py",
}
_Record = dict[str, Any]


class LabelError(UserError):
    """The program that labels calls cannot run. The message names what to install."""


def labelled_calls(
    language: TaskLanguage,
    tree: Path,
    sources: Mapping[str, SourceFile],
    manifests: Mapping[str, str],
    work: Path,
) -> list[LabelledCall]:
    """Every call of every file that gives tasks and whose callee is defined in another file, in the order of the files.

    The first run stores the program's output in `work`. Raises LabelError.
    """
    if language.name not in _PROGRAMS:
        return calls_of_records(records_by_name(language, sources), sources)
    program = _FOLDER / _PROGRAMS[language.name]
    cache = work / "labels" / f"{tree.name}-{_digest(program, sources, manifests)}.jsonl"
    if not cache.exists():
        say(f"{tree.name}: labelling calls with {program.name}")
        output = _run(_command(program, tree.resolve(), work), "".join(f"{path}\n" for path in sources))
        cache.parent.mkdir(parents=True, exist_ok=True)
        # Written to another name and renamed, so an interrupted run leaves no incomplete file.
        half = cache.with_suffix(".part")
        half.write_bytes(output)
        half.rename(cache)
    with cache.open(encoding="utf-8") as lines:
        return calls_of_records(map(json.loads, lines), sources)


def calls_of_records(records: Iterable[_Record], sources: Mapping[str, SourceFile]) -> list[LabelledCall]:
    """The calls into other files among a program's records; resolved ones and those by unique name."""
    calls: list[_Record] = []
    definitions: dict[str, list[_Record]] = {}
    standard: set[str] = set()
    for record in records:
        if record["kind"] == "call":
            calls.append(record)
        elif record["kind"] == "definition":
            definitions.setdefault(record["name"], []).append(record)
        else:
            standard.update(record["names"])
    unique = {
        name: found[0]
        for name, found in definitions.items()
        if len(found) == 1 and len(name) >= MIN_UNIQUE_NAME and name not in standard
    }
    return sorted(_calls(calls, unique, sources), key=lambda call: (call.path, call.line, call.column))


def _calls(
    calls: Iterable[_Record], unique: Mapping[str, _Record], sources: Mapping[str, SourceFile]
) -> Iterator[LabelledCall]:
    for call in calls:
        callee, resolution = call["callee"], call["how"]
        if callee is None:
            callee, resolution = unique.get(call["name"]), UNIQUE_NAME
        source = sources.get(call["path"])
        if callee is None or callee["path"] == call["path"] or callee["path"] not in sources:
            continue
        if source is not None and source.gives_tasks:
            definition = CalledDefinition.of_record(callee)
            yield LabelledCall(call["path"], call["line"], call["end_line"], call["column"], resolution, definition)


def _digest(program: Path, sources: Mapping[str, SourceFile], manifests: Mapping[str, str]) -> str:
    digest = hashlib.sha256(program.read_bytes())
    for path in sorted(sources):
        digest.update(f"{path}\0{sources[path].sha256}\n".encode())
    for path in sorted(manifests):
        digest.update(f"{path}\0{manifests[path]}\n".encode())
    return digest.hexdigest()[:16]


def _command(program: Path, tree: Path, work: Path) -> Sequence[str | Path]:
    if program.name == "typescript.mjs":
        return _required("node"), program, tree, _node_package(work, "typescript", "5.9")
    if program.name == "libclang.py":
        packages = (work / "python").resolve()
        if not (packages / "clang").is_dir():
            install = f"{sys.executable} -m pip install --target {work / 'python'} libclang==18.1.1"
            raise LabelError(f"`libclang`, which labels the calls, is not installed. Run `{install}`.")
        return sys.executable, program, tree, packages
    if program.name == "javac.java":
        return _required("java"), program, tree
    if program.name == "kotlinc.java":
        jars = _node_package(work, "kotlin-compiler", "1.9") / "lib"
        return _required("java"), "-cp", jars / "kotlin-compiler.jar", program, tree, jars
    return _required("go"), "run", program, tree


def _node_package(work: Path, name: str, version: str) -> Path:
    package = (work / "node" / "node_modules" / name).resolve()
    if not package.is_dir():
        install = f"npm install --prefix {work / 'node'} {name}@{version}"
        raise LabelError(f"The npm package `{name}`, which labels the calls, is not installed. Run `{install}`.")
    return package


def _required(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise LabelError(
            f"`{program}` is not installed, and labels of calls need it. Install it, or choose other trees."
        )
    return found


def _run(command: Sequence[str | Path], text: str) -> bytes:
    # The program is one file of the standard library; the modules of the checkout must not select a toolchain.
    environment = {**os.environ, "GO111MODULE": "off"}
    done = subprocess.run(command, input=text.encode(), capture_output=True, env=environment, cwd=_FOLDER)
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no reason given"]
        raise LabelError(
            f"`{Path(command[0]).name}` failed to label the calls: {reason[0]}. Install another version of it."
        )
    return done.stdout
