"""The tools for agents: their names, descriptions and parameters, and one function that runs any of them.

Owns the table of tools, the check of arguments, the wait for the index, the counting of calls, and what every answer
goes through: redaction, visible characters, a page. Knows no protocol.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal, Protocol

from ...errors import InvalidArgument, WeftError
from ...llm import Cancel, TimeLimit
from ..chat.commands import read_command
from ..chat.conversation import NOT_FULLY_INDEXED
from ..output.safe_text import for_editor
from ..search import SearchHit
from ..secrets import redact
from ..workspace.workspace import Workspace
from . import impact, navigation, notes, related
from .folders import folders_of
from .spelling import dotted
from .targets import MAX_MEANINGS, Target, find_target, is_spelled, meanings, spelled_otherwise
from .values import Answer, Entry, as_text, counted, page, shortened

INDEX_WITHIN_S = 20.0
"""A call waits at most this long for the index; agents give up on calls after about a minute."""

CHECK_WITHIN_S = 0.05
"""An agent asks right after it has edited files. This long they are looked for: about 4 µs a file."""

READ_WITHIN_S = 2.0
"""A call waits at most this long for the calls of edited files."""

ASK_WITHIN_S = 50.0
"""An answer of a chat model is cut here, for the same reason."""

MAX_LIMIT = 200
MAX_ARGUMENT = 10_000
"""Characters of a text argument."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool. A parameter with a default is optional."""

    name: str
    type: Literal["string", "integer", "boolean"]
    description: str
    default: str | int | bool | None = None
    low: int = 0
    high: int = MAX_LIMIT
    choices: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the parameter."""
        schema: dict[str, Any] = {"type": self.type, "description": self.description}
        if self.choices:
            schema["enum"] = list(self.choices)
        if self.type == "integer":
            schema |= {"minimum": self.low, "maximum": self.high}
        if self.default not in (None, "", 0, False):
            schema["default"] = self.default
        return schema


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool, with checked arguments."""

    workspace: Workspace
    arguments: Mapping[str, Any]
    agent: str
    cancel: Cancel

    def of_target(self, tell: Callable[[Target], Answer], most: int = MAX_MEANINGS) -> Answer:
        """What `tell` says of the symbol that the arguments name; at most `most` definitions."""
        given = self.arguments
        target = find_target(folders_of(self.workspace), given["symbol"], given["path"], given["line"], most)
        answer = tell(target)
        return replace(answer, notes=(*target.notes, *answer.notes))


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool. `run` returns all entries; the page is cut later. `limit` is the default number of entries."""

    name: str
    title: str
    description: str
    run: Callable[[Call], Answer]
    parameters: tuple[Parameter, ...]
    limit: int = 30
    writes: bool = False  # stores something outside of the workspace
    deletes: bool = False
    of_notes: bool = False  # needs no file of the workspace

    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return {
            "type": "object",
            "properties": {each.name: each.schema() for each in self.all_parameters},
            "required": [each.name for each in self.all_parameters if each.default is None],
            "additionalProperties": False,
        }

    @property
    def all_parameters(self) -> tuple[Parameter, ...]:
        """The own parameters, then those of every list."""
        if not self.limit:
            return self.parameters
        return (
            *self.parameters,
            Parameter("limit", "integer", "Most entries.", self.limit, 1),
            Parameter("cursor", "string", "From the last line of an answer: its next page.", ""),
        )


def call_tool(
    workspace: Workspace,
    name: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    agent: str = "",
    cancel: Cancel | None = None,
) -> Answer:
    """One page of the answer of a tool. `agent` is the client's name, for notes.

    Raises InvalidArgument with the next step for an unknown tool, wrong arguments, and a place outside of the
    workspace; other errors of Weft as the features raise them. Every call is counted, apart from a person's requests.
    """
    tool = TOOLS.get(name)
    if tool is None:
        raise InvalidArgument(f"There is no tool {name[:80]!r}. Use one of {', '.join(TOOLS)}.")
    started = time.perf_counter()
    try:
        given = read_arguments(tool, with_place_taken_apart(tool, arguments or {}))
        cancel = cancel or Cancel()
        context = workspace.chat.context
        if not tool.of_notes:
            with TimeLimit(cancel, INDEX_WITHIN_S) as limit:
                context.wait_for_index(limit)
            _check_folders(workspace)
            if not given.get("cursor"):  # pages are of one answer
                workspace.read_changes(CHECK_WITHIN_S, READ_WITHIN_S)
        answer = tool.run(Call(workspace, given, agent, cancel))
        if tool.limit:
            answer = page(answer, given["cursor"], given["limit"])
        if context.is_indexing and not tool.of_notes:
            answer = replace(answer, notes=(*answer.notes, NOT_FULLY_INDEXED))
    except WeftError as error:
        workspace.stats.agent_call(name, None)
        if isinstance(error, InvalidArgument) and workspace.chat.context.is_indexing:
            raise InvalidArgument(f"{error} Indexing is not finished; try again in some seconds.") from error
        raise
    workspace.stats.agent_call(name, 1e3 * (time.perf_counter() - started))
    return answer


def _check_folders(workspace: Workspace) -> None:
    """Raises InvalidArgument where no folder of the workspace exists any more."""
    roots = list(workspace.indexes())
    if roots and not any(map(os.path.isdir, roots)):
        raise InvalidArgument(f"{roots[0]} does not exist any more. Start the server again in the folder's new place.")


def answer_text(workspace: Workspace, answer: Answer) -> str:
    """The text of an answer as it may leave this process: without secrets and invisible characters.

    An agent's model is elsewhere, so that `redact = "auto"` applies as for a model behind an address.
    """
    text = for_editor(as_text(answer))
    return text if workspace.config.redact == "never" else redact(text)


class HasParameters(Protocol):
    """What is called by a name with arguments."""

    @property
    def name(self) -> str: ...

    @property
    def all_parameters(self) -> tuple[Parameter, ...]: ...


_PLACE = re.compile(r"(?:file://)?(.+?)(?::|#L)(\d+)(?:[-,:C]L?\d+)*")


def with_place_taken_apart(tool: HasParameters, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments with a place in `path`, such as `shop.py:3-9`, `shop.py:3:5` or `shop.py#L3`, as path and line."""
    path = given.get("path")
    place = _PLACE.fullmatch(path.strip()) if isinstance(path, str) else None
    if place is None:
        return given
    has_line = any(each.name == "line" for each in tool.all_parameters)
    line = {"line": int(place[2])} if has_line and not given.get("line") else {}
    return {**given, "path": place[1], **line}


def read_arguments(tool: HasParameters, given: Mapping[str, Any]) -> dict[str, Any]:
    """All arguments with their defaults. Raises InvalidArgument for one that is missing, unknown or wrong."""
    known = {each.name: each for each in tool.all_parameters}
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, 1)
            guess = f" Did you mean `{near[0]}`?" if near else ""
            raise InvalidArgument(f"{tool.name} has no parameter `{name[:80]}`.{guess} Use {', '.join(known)}.")
    read = {}
    for name, parameter in known.items():
        value = given.get(name)
        if name == "limit" and value is not None and _is_whole(value):
            value = min(int(value), parameter.high)  # a large one means all
        if value is None or (value == "" and parameter.default is not None):
            if parameter.default is None:
                raise InvalidArgument(f"`{name}` is missing. Give it: {parameter.description}")
            value = parameter.default
        read[name] = _checked(parameter, value)
    return read


_TYPES = {"string": str, "integer": int, "boolean": bool}


def _checked(parameter: Parameter, value: object) -> object:
    name = parameter.name
    if parameter.type == "integer" and _is_whole(value):
        value = int(value)  # type: ignore[call-overload]
    if not isinstance(value, _TYPES[parameter.type]) or (parameter.type == "integer" and isinstance(value, bool)):
        raise InvalidArgument(f"`{name}` is {value!r:.80}. Give a value of type {parameter.type}.")
    if parameter.choices and value not in parameter.choices:
        raise InvalidArgument(f"`{name}` is {value!r:.80}. Choose one of {', '.join(parameter.choices)}.")
    if isinstance(value, str) and len(value) > MAX_ARGUMENT:
        raise InvalidArgument(f"`{name}` has {len(value):,} characters. Give at most {MAX_ARGUMENT:,}.")
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if is_number and value != parameter.default and not parameter.low <= value <= parameter.high:  # type: ignore[operator]
        raise InvalidArgument(f"`{name}` is {value}. Give {parameter.low} to {parameter.high:,}.")
    return value


def _is_whole(value: object) -> bool:
    """Whether a value is an integer as some models write them: `10.0`, as JSON Schema allows, or `"10"`."""
    if isinstance(value, (bool, int)):
        return not isinstance(value, bool)
    return (isinstance(value, float) and value.is_integer()) or (isinstance(value, str) and value.isdecimal())


def _search(call: Call) -> Answer:
    given = call.arguments
    name = "" if " " in given["query"].strip() else dotted(given["query"])
    notes: tuple[str, ...] = ()
    if not (given["language"] or given["paths"] or given["kind"]):
        folders = folders_of(call.workspace)
        # An agent that gives a name wants its definition: what else has the word costs time and tokens.
        found = [meanings(folder, name) for folder in folders] if name else []
        named = [(of_folder.folder, each) for of_folder in found for each in of_folder.definitions]
        is_known = is_spelled(found, name)
        notes = folders.left_out(name) if name and not is_known else ()
        if not is_known and (files := folders.ending(given["query"])):
            shown = tuple(navigation.file_entry(folder, path) for folder, path in files)
            return Answer(f"{counted(files, 'file')} named {given['query']}; `outline` has its definitions", shown)
        if named:
            entries = tuple(navigation.defined(folder, each) for folder, each in named)
            notes += spelled_otherwise(name, [each for _, each in named], ())
            return Answer(f"{counted(entries, 'definition')} of {name}; `references` has its uses", entries, notes)
    answer = call.workspace.search(
        given["query"],
        min(MAX_LIMIT, _start(given) + given["limit"] + 1),  # one more than the page, so that there is a cursor
        languages=_listed(given["language"]),
        paths=_listed(given["paths"]),
        kinds=_listed(given["kind"]),
        documents_wait_s=0.0,
        cancel=call.cancel,
    )
    prefixes = {str(folder.root): folder.prefix for folder in folders_of(call.workspace)}
    entries = tuple(_hit(hit, prefixes.get(hit.folder, "")) for hit in answer.hits)
    return Answer("" if entries else f"Nothing found for {given['query']!r:.200}", entries, (*notes, *answer.notes))


def _hit(hit: SearchHit, prefix: str) -> Entry:
    lines = (hit.line + 1,) if hit.kind == "code" else (hit.start_line + 1,)
    end = 0 if hit.kind == "code" else hit.end_line
    symbol = f"{hit.kind} {hit.symbol}" if hit.symbol else hit.kind
    return Entry(f"{prefix}{hit.path}", lines, end, symbol, shortened(hit.preview))


def _start(given: Mapping[str, Any]) -> int:
    """The first entry of the page; `page` refuses a wrong cursor."""
    return int(given["cursor"]) if given["cursor"].isdecimal() else 0


def _listed(text: str) -> Sequence[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _ask(call: Call) -> Answer:
    question = call.arguments["question"]
    if not question.strip():
        raise InvalidArgument("The question is empty. Ask in words, such as `what does Cache.evict raise?`.")
    if command := read_command(question).name:
        # Commands are a person's: /forget deletes conversations.
        raise InvalidArgument(f"/{command[:40]} is a command of the chat with a person. Ask a question in words.")
    with TimeLimit(call.cancel, ASK_WITHIN_S) as limit:
        reply = call.workspace.ask(question, remember=False, cancel=limit)
    checked = counted(reply.citations, "checked citation") if reply.citations else "No citation"
    dropped = (f"{counted(reply.n_dropped, 'citation')} did not hold and is left out.",) if reply.n_dropped else ()
    writer = f"written by {reply.model}" if reply.model else "lines of the repository, no model wrote it"
    return Answer(f"{reply.text.strip()}\n\n{checked}; {writer}; {reply.level}", notes=(*dropped, *reply.notes))


def _related(call: Call) -> Answer:
    given = call.arguments
    folders = folders_of(call.workspace)
    # Fewer would change the mix of definitions and other fragments.
    most = min(MAX_RELATED, max(call.workspace.config.retrieval.k, _start(given) + given["limit"] + 1))
    return related.related_to(call.workspace, folders, given["path"], given["line"], most, given["code"])


MAX_RELATED = 50
MAX_DEFINITIONS = 2_000
"""Definitions of one name that `definition` lists on its pages."""

_SYMBOL = Parameter("symbol", "string", "Name as in code: `pay`, `Shop.pay`, `Shop::pay(int)`.", "")
_PATH = Parameter("path", "string", "File or folder that defines or uses the symbol; `shop.py:3` for a line.", "")
_LINE = Parameter("line", "integer", "1-based line in `path`. Without `symbol`: the definition around it.", 0, 1, 10**7)
_WHAT = (_SYMBOL, _PATH, _LINE)
_CODE = Parameter("code", "boolean", "Include the source code.", False)

TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "search",
            "Search the workspace",
            "Find definitions, code and document sections by name or by words. Use it first, when you do not know "
            "where something is. A name alone gives its definitions. Answers `path:line`.",
            _search,
            (
                Parameter("query", "string", "A name (`evict`, `Shop.pay`) or words (`retry after a timeout`)."),
                Parameter("paths", "string", "Globs, comma-separated: `src`, `*.py`, `!tests`.", ""),
                Parameter("kind", "string", "function, class, method, code, document, test or others.", ""),
                Parameter("language", "string", "Languages, comma-separated.", ""),
            ),
            10,
        ),
        Tool(
            "definition",
            "Go to the definition",
            "Where a symbol is defined. With `path` and `line` the symbol is read as used there: imports, types and "
            "scopes are resolved. With `code` you get its source, instead of reading the file.",
            lambda call: call.of_target(
                lambda target: navigation.definition(target, call.arguments["code"]), MAX_DEFINITIONS
            ),
            (*_WHAT, _CODE),
        ),
        Tool(
            "callers",
            "Callers",
            "Which functions call a symbol, with the line of each call. Resolved calls come first, calls that match "
            "by name alone are marked, tests come last.",
            lambda call: call.of_target(navigation.callers_of),
            _WHAT,
        ),
        Tool(
            "callees",
            "Callees",
            "Which definitions of the workspace a symbol's code calls, in order.",
            lambda call: call.of_target(navigation.callees_of),
            _WHAT,
        ),
        Tool(
            "references",
            "References",
            "All uses of a symbol with their code: calls, reads, types, imports, overrides, then documents, comments "
            "and strings. Use `impact` instead for the places alone, at a fraction of the size.",
            lambda call: call.of_target(navigation.references_to),
            _WHAT,
            40,
        ),
        Tool(
            "related",
            "Related code",
            "Code that matters when you write at a line: reachable definitions, similar code, callees and callers, "
            "with the reason for each.",
            _related,
            (
                Parameter("path", "string", "File, relative to the workspace."),
                Parameter("line", "integer", "1-based line.", None, 1, 10**7),
                _CODE,
            ),
            10,
        ),
        Tool(
            "impact",
            "Impact of an edit",
            "What must be checked or changed after an edit of a symbol: every place that uses it, as `path:line` with "
            "the function around it, tests, documents, and with `depth` above 1 the callers of its callers; last, by "
            "file, every other line with the name. Call it before you change a signature, a name or a behaviour; it "
            "replaces grep and reading around the hits.",
            lambda call: call.of_target(
                lambda target: impact.impact_of(target, call.arguments["depth"], with_others=call.arguments["others"])
            ),
            (
                *_WHAT,
                Parameter("depth", "integer", "1: direct uses. More: callers of callers.", 2, 1, impact.MAX_DEPTH),
                Parameter("others", "boolean", "Also lines where the name means another symbol, last.", True),
            ),
            200,
        ),
        Tool(
            "ask",
            "Ask a question",
            "Answer a question about the repository, with citations that were checked against the code. Slower than "
            "the other tools when a chat model is configured.",
            _ask,
            (Parameter("question", "string", "A question in any language, such as `what does Cache.evict raise?`."),),
            0,
        ),
        Tool(
            "outline",
            "Outline",
            "The definitions of a file with their lines, the sections of a document, or the files of a directory. Use "
            "it before reading a long file.",
            lambda call: navigation.outline_of(folders_of(call.workspace), call.arguments["path"]),
            (Parameter("path", "string", "File or directory; `.` for the workspace.", "."),),
            150,
        ),
        Tool(
            "remember",
            "Remember a note",
            "Store a note on this workspace for later sessions: a decision, a finding, what was tried. It is stored "
            "outside of the workspace; `recall` finds it, `forget` deletes it.",
            lambda call: notes.remember(call.workspace, call.arguments["text"], call.arguments["topic"], call.agent),
            (
                Parameter("text", "string", f"The note, at most {notes.MAX_NOTE:,} characters."),
                Parameter("topic", "string", "What it is about, in a few words.", ""),
            ),
            0,
            writes=True,
            of_notes=True,
        ),
        Tool(
            "forget",
            "Forget a note",
            "Delete a remembered note that is wrong or no longer true, by the number that `recall` shows.",
            lambda call: notes.forget(call.workspace, call.arguments["note"]),
            (Parameter("note", "integer", "Number of the note.", None, 1, 10**7),),
            0,
            writes=True,
            deletes=True,
            of_notes=True,
        ),
        Tool(
            "recall",
            "Recall notes",
            "The remembered notes that matter for a question, each with its number; without a question all notes, the "
            "latest first. Call it at the start of a task.",
            lambda call: notes.recall(
                call.workspace,
                call.arguments["question"],
                call.arguments["strategy"],
                call.arguments["limit"] if call.arguments["strategy"] == notes.EXTRACTING else MAX_LIMIT,
                call.cancel,
                with_model=call.arguments["model"],
            ),
            (
                Parameter("question", "string", "What you want to know.", ""),
                Parameter(
                    "strategy",
                    "string",
                    "fragrel: words and neighbouring notes. qrmem: a graph of names. segment_plus: sentences that "
                    "answer. memorag: clues of a model.",
                    "fragrel",
                    choices=notes.STRATEGIES,
                ),
                Parameter("model", "boolean", "Let the configured chat model read and write clues; slower.", False),
            ),
            8,
            of_notes=True,
        ),
    )
}
"""Every tool by its name, in the order of the documentation."""
