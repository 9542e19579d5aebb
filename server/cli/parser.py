"""Arguments of every command. `run` of the parsed options names the function to call, as "module:function"."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...version import __version__
from ..models.model_argument import MODEL_SYNTAX

if TYPE_CHECKING:
    from argparse import ArgumentParser, _SubParsersAction

    Commands = _SubParsersAction[ArgumentParser]

Argument = tuple[str, dict[str, Any]]

BENCHMARKS = {
    "completion": ("completion", "quality and speed of completions"),
    "typed": ("typed", "what completions save while real commits are typed"),
    "next-edit": ("next_edit", "what is offered after each hunk of real commits"),
    "explore": ("explore", "time of the page of weft explore in a real browser"),
    "agents": ("agents", "tokens that an agent reads to find what must change"),
    "scorer": ("scorer", "fit of the workspace model's candidate scorer"),
    "token-model": ("token_model", "fit of the workspace model's token model"),
    "meaning": ("meaning", "fit of the static word vectors of search and answers"),
    "latency": ("latency", "latency of the server while typing"),
    "functions": ("functions", "function bodies, by the tests of pinned releases; needs --run-tests"),
    "retrieval": ("repoeval", "quality of retrieval"),
    "engine": ("engine", "speed of the index"),
    "models": ("llm", "speed of models"),
    "memory": ("memory", "quality and cost of memory strategies"),
    "reliability": ("reliability", "stale, lost, leaked or missing answers under attack"),
}
"""The names of `weft bench`: the package of the benchmark, and what it measures."""

EDITORS = ("neovim", "emacs", "vscode")
"""The names of `weft editors`; editors.py has the paths."""

MEMORY_PARTS = ("summary", "gists", "graph", "clues", "notes")
"""The parts of `memory/inspection.py`, which is not loaded for a help text."""


def command_line() -> ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="weft",
        description="Code completion and questions with the whole repository as context. Without a command: what is in "
        "the project of the current folder, and what to try there.",
        epilog="Exit status: 0 success, 1 nothing to show or something needs attention, 2 can't run as given.",
    )
    parser.add_argument("--version", action="version", version=f"weft {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for add in (
        _demo,
        _index,
        _complete,
        _retrieve,
        _search,
        _ask,
        _history,
        _memory,
        _serve,
        _mcp,
        _explore,
        _models,
        _setup,
        _editors,
        _stats,
        _bench,
        _doctor,
    ):
        add(commands)
    return parser


def _demo(commands: Commands) -> None:
    summary = "complete half-typed code in a small example project"
    demo = _command(commands, "demo", summary, "demo:demo")
    demo.add_argument(
        "folder", nargs="?", type=Path, metavar="FOLDER", help="a copy of the project; default: the installed one"
    )
    demo.add_argument("--to", type=Path, metavar="DIR", help="copy the project into this folder, to edit it")
    demo.add_argument("--force", action="store_true", help="with --to: overwrite files that differ")


def _index(commands: Commands) -> None:
    index = _command(
        commands, "index", "index a folder and cache the index on disk", "indexing:index", _FOLDER, _NO_CACHE, _BROAD
    )
    index.add_argument(
        "--export",
        type=Path,
        metavar="FOLDER",
        help="write the analyses of the files to FOLDER instead, where others begin from them (setting `base`)",
    )
    index.add_argument(
        "--keep",
        type=int,
        metavar="N",
        default=DEFAULT_KEEP,
        help="with --export: keep the last N exports in FOLDER; default: %(default)s",
    )
    index.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="analyse files on a Ray cluster: `auto`, HOST:PORT, ray://HOST:PORT, or `local` for one on this machine",
    )


def _complete(commands: Commands) -> None:
    summary = "complete the code at a position"
    complete = _command(
        commands, "complete", summary, "completion:complete", _LOCATION, _REPOSITORY_OF_FILE, _MODEL, _NO_CACHE, _BROAD
    )
    complete.add_argument("--multi-line", action="store_true", help="allow several lines anywhere")
    complete.add_argument("--retype", action="store_true", help="as if the rest of the line was not written yet")
    complete.add_argument("--trace", action="store_true", help="show the steps of the request with times and decisions")
    how = complete.add_mutually_exclusive_group()
    how.add_argument(
        "--automatic",
        action="store_true",
        help="complete as while typing: with the rules, the deadline and the minimum confidence of automatic requests",
    )
    how.add_argument(
        "--candidates",
        type=int,
        metavar="N",
        default=1,
        help="show up to N different completions, from all available models; takes the time of all of them",
    )
    how.add_argument(
        "--iterations",
        type=int,
        metavar="N",
        help="run N rounds of RepoCoder's loop: each round retrieves with the completion of the last one; slower",
    )


def _retrieve(commands: Commands) -> None:
    summary = "show the fragments that a prompt would contain"
    retrieve = _command(
        commands, "retrieve", summary, "completion:retrieve", _LOCATION, _REPOSITORY_OF_FILE, _NO_CACHE, _BROAD
    )
    retrieve.add_argument("--explain", action="store_true", help="show the parts of each score, and what was left out")
    retrieve.add_argument("--strategy", help="ranking strategy: weft, fragrel, fragrel:as_printed, bm25 or jaccard")
    retrieve.add_argument("-k", type=int, metavar="N", help="maximum number of fragments")


def _search(commands: Commands) -> None:
    summary = "search definitions, code and documents by name and words"
    search = _command(commands, "search", summary, "search:search", _REPOSITORY, _NO_CACHE, _BROAD)
    search.add_argument("query", nargs="+", metavar="QUERY", help="a name (evict, Shop.pay) or words")
    search.add_argument("--limit", type=int, default=10, metavar="N", help="maximum number of hits; default 10")
    search.add_argument("--explain", action="store_true", help="show the parts of each score")
    for flag, metavar, summary in (
        ("--language", "NAME", "only this language, such as python; may be repeated"),
        ("--path", "GLOB", "only these paths: 'src', '*.py', 'src/**/*.py'; '!GLOB' excludes; may be repeated"),
        ("--kind", "KIND", "only this kind: function, class, code, document, test and others; may be repeated"),
    ):
        search.add_argument(flag, action="append", default=[], metavar=metavar, help=summary)


def _ask(commands: Commands) -> None:
    summary = "answer questions about the repository, with cited lines"
    ask = _command(commands, "ask", summary, "ask:ask", _REPOSITORY, _MODEL, _NO_CACHE, _BROAD)
    ask.add_argument("question", nargs="?", metavar="QUESTION", help="default: an interactive prompt; try /help")
    ask.add_argument("--conversation", metavar="ID", help="continue this conversation; default: the last one, for 1 h")
    ask.add_argument("--new", action="store_true", help="start a new conversation")
    ask.add_argument("--no-history", action="store_true", help="store nothing; use nothing that is stored")
    ask.add_argument(
        "--strategy",
        default="",
        metavar="NAME",
        help="answer with a memory strategy, from the documents alone: qrmem, qrmem:as_printed, qrmem:max_updates=2",
    )
    ask.add_argument(
        "--about",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="a document that the question is about; may be repeated",
    )
    ask.add_argument(
        "--as-written",
        action="store_true",
        help="answer without names from earlier turns, and without corrected spelling",
    )
    ask.add_argument("--all", action="store_true", help="show the parts of an answer that are left out: `12 more`")
    ask.add_argument("--evidence", action="store_true", help="show all evidence with its scores")


def _history(commands: Commands) -> None:
    summary = "list, show, search, export, import or delete stored conversations"
    history = _command(commands, "history", summary, "ask:history", _REPOSITORY)
    history.add_argument(
        "action", nargs="?", default="list", choices=("list", "show", "search", "export", "import", "delete")
    )
    what = "conversation, of which ID:TURN deletes one turn, search text, or file"
    history.add_argument("what", nargs="?", metavar="ID|TEXT|FILE", help=what)
    history.add_argument("--limit", type=int, default=20, metavar="N", help="maximum number of results; default 20")
    history.add_argument("--all", action="store_true", help="delete: all conversations of this workspace")
    history.add_argument("--force", action="store_true", help="export: overwrite an existing file")


def _memory(commands: Commands) -> None:
    memory = commands.add_parser("memory", help="show what the memory strategies know of documents")
    actions = memory.add_subparsers(dest="action", metavar="ACTION", required=True)
    summary = "show the summary, gists and graph of documents, and with a question the clues and notes"
    show = _command(actions, "show", summary, "memory:show", _REPOSITORY, _MODEL, _NO_CACHE, _BROAD)
    show.add_argument("files", nargs="*", type=Path, metavar="FILE", help="documents of the workspace")
    show.add_argument("--conversation", metavar="ID", help="a stored conversation instead; see `weft history`")
    show.add_argument("--question", default="", metavar="WORDS", help="the question that clues, notes and walk are for")
    show.add_argument(
        "--part", action="append", choices=MEMORY_PARTS, help="only this part; may be repeated; default: all"
    )
    show.add_argument(
        "--read", action="store_true", help="let the chat model read what is not stored yet; may take long"
    )
    show.add_argument("--svg", type=Path, metavar="FILE", help="write a picture of the graph, for any browser")


def _serve(commands: Commands) -> None:
    serve = commands.add_parser("serve", help="run the language server; default: on stdin and stdout")
    serve.set_defaults(run="serve:serve")
    serve.add_argument("--stdio", action="store_true", help="use stdin and stdout; the default")
    transport = serve.add_mutually_exclusive_group()
    transport.add_argument(
        "--tcp", metavar="HOST:PORT", help="listen on a TCP port, for clients with the token; port 0: any free port"
    )
    transport.add_argument(
        "--shared", action="store_true", help="connect to one server for all editor windows; start it if none runs"
    )
    transport.add_argument(
        "--http",
        metavar="HOST:PORT",
        help="answer clients that take the address of a model: OpenAI's, Ollama's, llama.cpp's and Mistral's requests",
    )
    transport.add_argument("--stop", action="store_true", help="stop the shared server; open editors start it again")
    # These two are the shared server itself, started by a window: with an open socket, or where there are none to pass.
    transport.add_argument("--listener", type=int, help=argparse.SUPPRESS)
    transport.add_argument("--loopback-listener", action="store_true", help=argparse.SUPPRESS)
    serve.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="with --tcp or --http: store the token in this file, readable only by you; default: print a new token",
    )
    for names, options in (_FOLDER, _MODEL, _NO_CACHE, _BROAD):
        serve.add_argument(names, **{**options, "help": f"with --http: {options['help']}"})


def _mcp(commands: Commands) -> None:
    summary = "serve the tools for agents, over the Model Context Protocol; default: on stdin and stdout"
    mcp = commands.add_parser("mcp", help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
    mcp.set_defaults(run="mcp:mcp")
    mcp.add_argument(
        "--http",
        metavar="HOST:PORT",
        help="listen on a loopback port, for agents with the token; port 0: any free port",
    )
    mcp.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="with --http: store the token in this file, readable only by you; default: print a new token",
    )
    for names, options in (_FOLDER, _MODEL, _NO_CACHE, _BROAD):
        mcp.add_argument(names, **options)


def _explore(commands: Commands) -> None:
    summary = "open a page in the browser that shows the index: map, symbols, retrieval at a place, counters"
    explore = commands.add_parser("explore", help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
    explore.set_defaults(run="explore:explore")
    explore.add_argument(
        "--address", default="127.0.0.1:0", metavar="HOST:PORT", help="a loopback port; default: any free port"
    )
    explore.add_argument(
        "--no-open", dest="open", action="store_false", help="only print the address, and open no browser"
    )
    explore.add_argument(
        "--at", metavar="FILE:LINE", help="begin with what retrieval finds at this line; default: the map of the folder"
    )
    explore.add_argument(
        "--address-file",
        type=Path,
        metavar="FILE",
        help="also write the address to this new file, readable only by you, while the page is served",
    )
    explore.add_argument(
        "--unsaved",
        action="store_true",
        help="show unsaved text too: use the server that the editors share (`weft serve --shared`)",
    )
    for names, options in (_FOLDER, _MODEL, _NO_CACHE, _BROAD):
        explore.add_argument(names, **options)


def _models(commands: Commands) -> None:
    models = _command(commands, "models", "list the models on this machine; get, test or use one", "models:list_models")
    actions = models.add_subparsers(metavar="ACTION")
    get = _command(actions, "get", "download a model, or install a release of Weft's own model", "models:get_model")
    get.add_argument(
        "name",
        metavar="NAME",
        help="name in the catalogue, OWNER/NAME for safetensors, OWNER/NAME:FILE.gguf, or FILE.zip, a release",
    )
    test = _command(actions, "test", "test infilling and speed of a model", "models:test_models")
    test.add_argument("name", metavar="NAME", nargs="?", help="name in `weft models`; default: the configured models")
    use = _command(actions, "use", "make a model the first one in your configuration", "models:use_model")
    use.add_argument("name", metavar="NAME", help=f"name in `weft models`, or {MODEL_SYNTAX}")


def _setup(commands: Commands) -> None:
    summary = "propose, get, test and use a code model for this machine"
    setup = _command(commands, "setup", summary, "set_up:setup")
    setup.add_argument(
        "name", nargs="?", metavar="NAME", help="a model that `weft models` recommends; default: the best"
    )
    setup.add_argument("--from", dest="source", type=Path, metavar="FILE", help="a GGUF file, a directory or a release")
    setup.add_argument("--yes", action="store_true", help="do not ask")
    setup.add_argument("--dry-run", action="store_true", help="only show the plan; sends nothing")


def _editors(commands: Commands) -> None:
    summary = "print the path of the plugin for an editor, or copy it"
    editors = _command(commands, "editors", summary, "editors:editors")
    editors.add_argument("editor", nargs="?", choices=EDITORS, help="default: list all")
    editors.add_argument("--to", type=Path, metavar="DIR", help="copy it into this folder, which is created")
    editors.add_argument("--force", action="store_true", help="with --to: overwrite files that differ")


def _stats(commands: Commands) -> None:
    summary = "show acceptance and latency of completions, and why some were empty"
    stats = _command(commands, "stats", summary, "diagnostics:stats")
    stats.add_argument("--days", type=int, default=30, metavar="N", help="count the last N days; default 30")
    stats.add_argument("--reset", action="store_true", help="delete all counters")


def _bench(commands: Commands) -> None:
    bench = commands.add_parser("bench", help="measure quality and speed", add_help=False)
    bench.set_defaults(run="diagnostics:bench")
    bench.add_argument(
        "what", choices=BENCHMARKS, help="; ".join(f"{name}: {what}" for name, (_, what) in BENCHMARKS.items())
    )
    bench.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="its arguments; --help lists them")


def _doctor(commands: Commands) -> None:
    _command(commands, "doctor", "check the installation and the configuration", "diagnostics:doctor", _FOLDER)


def _command(commands: Commands, name: str, summary: str, run: str, *shared: Argument) -> ArgumentParser:
    """A command with these shared arguments, and `--json`."""
    command = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
    command.set_defaults(run=run)
    for flag, options in (*shared, _JSON):
        command.add_argument(flag, **options)
    return command


_LOCATION: Argument = (
    "location",
    {"metavar": "FILE:LINE[:COL]", "help": "1-based position; default column: the end of the line"},
)
_REPOSITORY_OF_FILE: Argument = (
    "--folder",
    {
        "type": Path,
        "help": "workspace folder; default: the project of FILE, else the current folder if FILE is in it, else none",
    },
)
_REPOSITORY: Argument = (
    "--folder",
    {"type": Path, "help": "workspace folder; default: the project of the current folder, else the current folder"},
)
_FOLDER: Argument = (
    "folder",
    {"nargs": "?", "type": Path, "default": Path(), "metavar": "FOLDER", "help": "default: the current one"},
)
_MODEL: Argument = (
    "--model",
    {"metavar": "BACKEND[=WHERE]", "help": f"{MODEL_SYNTAX}; default: the configured models"},
)
_NO_CACHE: Argument = ("--no-cache", {"action": "store_true", "help": "do not read or write the index on disk"})
_BROAD: Argument = (
    "--broad",
    {"action": "store_true", "help": "index the folder even if it is very large or holds several projects; remembered"},
)
DEFAULT_KEEP = 10
"""Exports that stay in a folder."""

_JSON: Argument = ("--json", {"action": "store_true", "help": "print JSON"})
