"""Line and API completion tasks of one checkout, drawn by RepoEval's rules and a fixed seed.

Owns the sampling rules. Knows no retrieval and no metric.

RepoEval (RepoCoder, section 3) draws 200 lines and 200 calls per repository. Where it is silent:
tokens are sub-word pieces and indentation is none; docstrings and strings over several lines are
never targets; no two tasks of a kind share their stripped text; a call counts when its callee
resolves to a definition in another file; the visible context is the last 6,000 characters, in whole lines.

Calls of Python are resolved by `resolution`; calls of other languages are given with their labels (see `labels`), and
at most four of these call one definition.
"""

from __future__ import annotations

import ast
import bisect
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from .resolution import DefinitionAt, calls_into_other_files, method_owners
from .sources import SourceFile
from .task_languages import GO, PYTHON, TYPESCRIPT

SEED = 20230116
CONTEXT_CHARACTERS = 6000  # replaces RepoEval's token budget of the prompt
MIN_PIECES = 5
MAX_LINE_CHARACTERS = 300
MAX_CALL_LINES = 10
HEAD_LINES = 20
MAX_CALLS_OF_A_DEFINITION = 4  # of labelled calls: the tests of a repository call a few helpers everywhere
UNIQUE_NAME = "unique_name"
"""The resolution of a call by a name that the repository defines once."""

PIECE = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\sA-Za-z0-9_]")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")

Spans: TypeAlias = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class CalledDefinition:
    """The definition that an API task calls.

    `spans` are its first 20 lines, and for a class also those of its constructor; 0-based, end exclusive.
    `others` are declarations of the same definition in other files: in a header, or of another platform.
    """

    qualname: str
    path: str
    spans: Spans
    others: tuple[tuple[str, Spans], ...] = ()

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> CalledDefinition:
        """From the JSON form of a label or a task."""
        others = tuple((path, _spans(spans)) for path, spans in record.get("others", ()))
        return cls(record["qualname"], record["path"], _spans(record["spans"]), others)


def _spans(spans: Iterable[Sequence[int]]) -> Spans:
    return tuple((start, end) for start, end in spans)


@dataclass(frozen=True, slots=True)
class LabelledCall:
    """A call and the definition in another file that it calls. Lines are 0-based, the end exclusive."""

    path: str
    line: int  # holds the called name
    end_line: int
    column: int  # orders the calls of a line
    resolution: str
    callee: CalledDefinition


@dataclass(frozen=True, slots=True)
class Task:
    """Complete the whole line `line` of `path`; everything before it is visible.

    `prefix_end` counts characters of the file with `\\n` line breaks. Windows of the same file that end
    after `context_start_lineno` are in the prompt already. The last two are for API tasks.
    """

    task_id: str
    repo: str
    kind: str  # "line", "api"
    path: str
    line: int
    col: int
    prefix_end: int
    context_start_lineno: int
    ground_truth: str  # API tasks: to the end of the call, with indentation, without the last line break
    ground_truth_line: str
    gt_ids_unseen: tuple[str, ...]  # identifiers of the line that the visible context does not hold
    unique_in_repo: bool  # the stripped line occurs nowhere else
    resolution: str | None = None
    api: CalledDefinition | None = None
    language: str = PYTHON.name


def build_tasks(
    sources: Mapping[str, SourceFile],
    repo: str,
    n_line: int = 200,
    n_api: int = 200,
    calls: Sequence[LabelledCall] | None = None,
) -> list[Task]:
    """Line tasks, then API tasks, each in the order of the files. The same for the same files, always.

    `calls` None resolves the calls of Python files.
    """
    n_repeats = Counter(line.strip() for source in sources.values() for line in source.lines if line.strip())
    tasks = _line_tasks(sources, repo, n_repeats, n_line)
    if calls is None:
        return tasks + _api_tasks(sources, repo, n_repeats, n_api, _resolved_calls(sources), max_per_definition=n_api)
    return tasks + _api_tasks(sources, repo, n_repeats, n_api, calls, MAX_CALLS_OF_A_DEFINITION)


def typed_to_called_name(task: Task, n_letters: int) -> Task | None:
    """The API task with the line typed up to the called name and `n_letters` of it, as `col` says.

    None when the line does not contain the name, as with an alias. Peers ignore the typed part of the line.
    """
    if task.api is None:
        return None
    name = task.api.qualname.removesuffix(".__init__").rpartition(".")[2]
    found = _called_at(task, re.escape(name))
    return replace(task, col=found.start("name") + min(n_letters, len(name))) if found else None


def _called_at(task: Task, name: str) -> re.Match[str] | None:
    if task.language == PYTHON.name:
        return re.search(rf"\b(?P<name>{name})\s*\(", task.ground_truth_line)
    # Also JSX tags, `new Name`, type arguments and template tags.
    call = re.search(rf"(?<![\w$])(?P<name>{name})!?\s*(?:\?\.\s*)?[(<\[`]", task.ground_truth_line)
    call = call or re.search(rf"(?:<|\bnew\s+)(?:[\w$]+\.)*(?P<name>{name})(?![\w$])", task.ground_truth_line)
    if call or task.language in (TYPESCRIPT.name, GO.name):
        return call
    # Calls without brackets: `pay amount`, `pay { … }`, `shop pay amount`, `pay::<T>()`.
    return re.search(rf"(?<![\w$])(?P<name>{name})(?![\w$])", task.ground_truth_line)


def _line_tasks(sources: Mapping[str, SourceFile], repo: str, n_repeats: Counter[str], n_tasks: int) -> list[Task]:
    candidates = [(path, line) for path in sorted(sources) for line in target_lines(sources[path])]
    random.Random(f"{SEED}:{repo}:line").shuffle(candidates)
    picked: dict[str, tuple[str, int]] = {}
    for path, line in candidates:
        if len(picked) == n_tasks:
            break
        picked.setdefault(sources[path].lines[line].strip(), (path, line))
    tasks = []
    for number, (path, line) in enumerate(sorted(picked.values())):
        source = sources[path]
        tasks.append(make_task(f"{repo}/line/{number}", source, line, source.lines[line], n_repeats))
    return tasks


def target_lines(source: SourceFile) -> Iterable[int]:
    if not source.gives_tasks:
        return
    something_before = False
    for line, text in enumerate(source.lines):
        if something_before and source.line_is_code[line] and len(text) <= MAX_LINE_CHARACTERS:
            code = text[: source.line_code_end[line]]
            if len(PIECE.findall(code)) >= MIN_PIECES:
                yield line
        something_before = something_before or bool(text.strip())


def _api_tasks(
    sources: Mapping[str, SourceFile],
    repo: str,
    n_repeats: Counter[str],
    n_tasks: int,
    labelled: Iterable[LabelledCall],
    max_per_definition: int,
) -> list[Task]:
    calls = _one_call_per_line(sources, labelled)
    generator = random.Random(f"{SEED}:{repo}:api")
    resolved = [call for call in calls if call.resolution != UNIQUE_NAME]
    by_name = [call for call in calls if call.resolution == UNIQUE_NAME]
    generator.shuffle(resolved)
    generator.shuffle(by_name)
    picked: dict[str, LabelledCall] = {}
    n_calls: Counter[CalledDefinition] = Counter()
    for call in resolved + by_name:  # name-only matches fill up what resolution leaves open
        if len(picked) == n_tasks:
            break
        text = "\n".join(line.strip() for line in sources[call.path].lines[call.line : call.end_line])
        if text not in picked and n_calls[call.callee] < max_per_definition:
            picked[text] = call
            n_calls[call.callee] += 1
    tasks = []
    for number, call in enumerate(sorted(picked.values(), key=lambda call: (call.path, call.line))):
        source = sources[call.path]
        truth = "\n".join(source.lines[call.line : call.end_line])
        task_id = f"{repo}/api/{number}"
        tasks.append(make_task(task_id, source, call.line, truth, n_repeats, call.resolution, call.callee))
    return tasks


def _one_call_per_line(sources: Mapping[str, SourceFile], calls: Iterable[LabelledCall]) -> list[LabelledCall]:
    """Of several calls on a line the first, resolved ones before name-only matches; in the order of the files."""
    best: dict[tuple[str, int], tuple[tuple[bool, int], LabelledCall]] = {}
    for call in calls:
        source = sources[call.path]
        if not source.line_is_code[call.line] or call.end_line - call.line > MAX_CALL_LINES:
            continue
        if len(source.lines[call.line]) > MAX_LINE_CHARACTERS:
            continue
        if not any(text.strip() for text in source.lines[: call.line]):
            continue
        order = (call.resolution == UNIQUE_NAME, call.column)
        if (call.path, call.line) not in best or order < best[call.path, call.line][0]:
            best[call.path, call.line] = (order, call)
    return [best[key][1] for key in sorted(best)]


def _resolved_calls(sources: Mapping[str, SourceFile]) -> Iterable[LabelledCall]:
    """The calls of Python files into other files."""
    owners = method_owners(sources)
    for path, node, callee, how in calls_into_other_files(sources):
        line = (node.func.end_lineno or node.func.lineno) - 1
        end_line, column = node.end_lineno or node.lineno, node.func.end_col_offset or 0
        yield LabelledCall(path, line, end_line, column, how, _called_definition(callee, owners))


def _called_definition(callee: DefinitionAt, owners: Mapping[int, str]) -> CalledDefinition:
    node = callee.node
    start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
    end = node.end_lineno or node.lineno
    spans = [(start, min(end, start + HEAD_LINES))]
    owner = owners.get(id(node), "")
    for member in node.body if isinstance(node, ast.ClassDef) else ():
        if isinstance(member, ast.FunctionDef) and member.name == "__init__":
            first = member.lineno - 1
            spans.append((first, min(member.end_lineno or member.lineno, first + HEAD_LINES)))
    return CalledDefinition(f"{owner}.{node.name}" if owner else node.name, callee.path, tuple(spans))


def make_task(
    task_id: str,
    source: SourceFile,
    line: int,
    truth: str,
    n_repeats: Counter[str],
    resolution: str | None = None,
    api: CalledDefinition | None = None,
) -> Task:
    context_start = _context_start(source, line)
    visible = set(IDENTIFIER.findall("\n".join(source.lines[context_start:line])))
    first_line = source.lines[line]
    identifiers = dict.fromkeys(IDENTIFIER.findall(first_line))
    keywords = source.language.keywords
    repo, kind, _ = task_id.split("/")
    return Task(
        task_id=task_id,
        repo=repo,
        kind=kind,
        path=source.path,
        line=line,
        col=0,
        prefix_end=source.line_offsets[line],
        context_start_lineno=context_start,
        ground_truth=truth,
        ground_truth_line=first_line,
        gt_ids_unseen=tuple(name for name in identifiers if name not in visible and name not in keywords),
        unique_in_repo=n_repeats[first_line.strip()] == 1,
        resolution=resolution,
        api=api,
        language=source.language.name,
    )


def _context_start(source: SourceFile, line: int) -> int:
    earliest = max(0, source.line_offsets[line] - CONTEXT_CHARACTERS)
    return min(bisect.bisect_left(source.line_offsets, earliest), line)
