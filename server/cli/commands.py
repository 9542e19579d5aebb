"""The command line: `weft index`, `complete`, `retrieve`, `ask`, `history`, `serve`, `models`, `stats`, `bench`,
`doctor`.

Owns arguments, exit statuses and which step follows which. What is printed for people is in `terminal.py`, for
machines in `jsonable.py`. Imports late: `weft --version` and `--help` load no engine.

Exit statuses: 0 done; 1 done, and there is nothing to show or something needs attention; 2 the command can't be done as
it was given (the message says what to do); 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import re
import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import __version__
from ..models.named import SPELLINGS, spelled_model
from ..output.safe_text import for_terminal
from .exit_status import CANNOT_BE_DONE, INTERRUPTED, NOTHING_TO_SHOW, UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..workspace.workspace import Workspace
    from .terminal import Terminal

_LOCATION = re.compile(r"(?P<path>.+?):(?P<line>\d+)(?::(?P<column>\d+))?", re.DOTALL)

_PROJECT_MARKS = ("weft.toml", "pyproject.toml", "setup.py", "package.json", "go.mod", "Cargo.toml", "pom.xml")
_REPOSITORY_MARKS = (".git", ".hg", ".svn")


BENCHMARKS = {
    "completion": ("completion", "are completions right, and how fast?"),
    "latency": ("latency", "how fast is the server while somebody types?"),
    "retrieval": ("repoeval", "are the right fragments found?"),
    "engine": ("engine", "how fast is the index?"),
    "models": ("llm", "how fast are models served?"),
    "memory": ("memory", "do memories find what answers a question, and what does that cost?"),
    "reliability": ("reliability", "is anything stale, lost, leaked or unanswered under attack?"),
}
"""What `weft bench` measures: the benchmark's package, and its question."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status."""
    options = _parser().parse_args(arguments)
    # A threaded BLAS would wait for a second core on every small product; the arrays here are small and many.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if options.command is None:
        _parser().print_help()
        return 0
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    _warn_on_stderr()
    try:
        status: int = options.run(options)
        sys.stdout.flush()
        return status
    except UserError as error:
        print(f"weft: {for_terminal(str(error))}", file=sys.stderr)
        return CANNOT_BE_DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough. The interpreter must not try to flush the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="weft",
        description="Completes code with the whole repository in view.",
        epilog="Exit status: 0 done, 1 nothing to show or something needs attention, 2 can't be done as given.",
    )
    parser.add_argument("--version", action="version", version=f"weft {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    index = commands.add_parser("index", help="index a folder and keep the index for the next start")
    index.add_argument("folder", nargs="?", type=Path, default=Path(), metavar="FOLDER", help="default: this one")
    index.set_defaults(run=_index)

    complete = commands.add_parser("complete", help="complete the code at a position")
    _add_location(complete)
    complete.add_argument("--multi-line", action="store_true", help="several lines, whatever the syntax calls for")
    several = complete.add_mutually_exclusive_group()
    several.add_argument(
        "--candidates",
        type=int,
        metavar="N",
        default=1,
        help="up to N different completions, of all models that are up: as slow as all of them together",
    )
    several.add_argument(
        "--iterations",
        type=int,
        metavar="N",
        help="so many rounds, each with what the one before wrote as the query: slower, for whoever can wait",
    )
    complete.add_argument(
        "--model",
        metavar="BACKEND[=WHERE]",
        help=f"{SPELLINGS}; default: as configured",
    )
    complete.set_defaults(run=_complete)

    retrieve = commands.add_parser("retrieve", help="show the fragments that a completion would be given")
    _add_location(retrieve)
    retrieve.add_argument("--explain", action="store_true", help="every score in parts, and what was left out")
    retrieve.add_argument("--strategy", help="how to rank: weft, fragrel, bm25 or jaccard")
    retrieve.add_argument("-k", type=int, metavar="N", help="how many fragments")
    retrieve.set_defaults(run=_retrieve)

    ask = commands.add_parser("ask", help="ask about the repository, with answers that cite lines")
    ask.add_argument("question", nargs="?", metavar="QUESTION", help="without one: a prompt; /help lists commands")
    ask.add_argument("--folder", type=Path, help="the workspace; default: the repository around this folder")
    ask.add_argument("--conversation", metavar="ID", help="go on with this one; default: the last, for an hour")
    ask.add_argument("--new", action="store_true", help="begin a new conversation")
    ask.add_argument("--no-history", action="store_true", help="neither keep this nor let what was said before count")
    ask.add_argument(
        "--strategy", default="", metavar="NAME", help="have a memory strategy answer, from the documents alone"
    )
    ask.add_argument("--evidence", action="store_true", help="show everything that was found, with its scores")
    ask.add_argument("--model", metavar="BACKEND[=WHERE]", help=f"{SPELLINGS}; default: as configured")
    ask.set_defaults(run=_ask)

    history = commands.add_parser("history", help="what was asked here, and its answers: search, export, delete")
    history.add_argument(
        "action", nargs="?", default="list", choices=("list", "show", "search", "export", "import", "delete")
    )
    history.add_argument("what", nargs="?", metavar="ID|TEXT|FILE", help="a conversation, words, or a file")
    history.add_argument("--folder", type=Path, help="the workspace; default: the repository around this folder")
    history.add_argument("--limit", type=int, default=20, metavar="N", help="show so many; default 20")
    history.add_argument("--all", action="store_true", help="with delete: all conversations of this workspace")
    history.add_argument("--force", action="store_true", help="with export: replace a file that is there")
    history.set_defaults(run=_history)

    serve = commands.add_parser("serve", help="run the language server, on stdin and stdout unless told otherwise")
    serve.add_argument("--stdio", action="store_true", help="the default; editors like to say it")
    instead = serve.add_mutually_exclusive_group()
    instead.add_argument(
        "--tcp", metavar="HOST:PORT", help="listen there instead, for clients with the token; port 0 takes a free one"
    )
    instead.add_argument(
        "--shared", action="store_true", help="one server for all editor windows; started when there is none"
    )
    instead.add_argument("--stop", action="store_true", help="end the shared server; editors that are open restart it")
    instead.add_argument("--listener", type=int, help=argparse.SUPPRESS)  # an open socket: be the shared server
    serve.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="with --tcp: keep the token in this file, readable by you alone; default: a new one, printed",
    )
    serve.set_defaults(run=_serve)

    models = commands.add_parser("models", help="which models are on this machine; get, test and use one")
    models.add_argument("--json", action="store_true", help="print JSON for machines")
    models.set_defaults(run=_models("list_models"))
    actions = models.add_subparsers(metavar="ACTION")
    get = actions.add_parser("get", help="fetch a model from the hub, or install a release of Weft's own model")
    get.add_argument(
        "name",
        metavar="NAME",
        help="of the catalogue, OWNER/NAME for safetensors, OWNER/NAME:FILE.gguf, or a release on this machine: "
        "FILE.zip",
    )
    test = actions.add_parser("test", help="whether a model fills the middle, and how fast it is here")
    test.add_argument("name", metavar="NAME", nargs="?", help="as `weft models` lists it; default: those configured")
    use = actions.add_parser("use", help="make a model the first in your configuration")
    use.add_argument("name", metavar="NAME", help=f"as `weft models` lists it, or {SPELLINGS}")
    for action, run in ((get, "get_model"), (test, "test_models"), (use, "use_model")):
        action.set_defaults(run=_models(run))

    stats = commands.add_parser("stats", help="how completions fared: shown, taken, how fast, and why there were none")
    stats.add_argument("--days", type=int, default=30, metavar="N", help="the last N days; default 30")
    stats.add_argument("--reset", action="store_true", help="forget all counters")
    stats.set_defaults(run=_stats)

    bench = commands.add_parser("bench", help="measure quality and speed", add_help=False)
    bench.add_argument(
        "what", choices=BENCHMARKS, help="; ".join(f"{name}: {of}" for name, (_, of) in BENCHMARKS.items())
    )
    bench.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="its own; --help lists them")
    bench.set_defaults(run=_bench)

    doctor = commands.add_parser("doctor", help="what is installed, what is configured, and what to do next")
    doctor.add_argument("folder", nargs="?", type=Path, default=Path(), metavar="FOLDER", help="default: this one")
    doctor.set_defaults(run=_doctor)

    for command in (index, complete, retrieve, ask, history, stats, doctor, get, test, use):
        command.add_argument("--json", action="store_true", help="print JSON for machines")
    for command in (index, complete, retrieve, ask):
        command.add_argument("--no-cache", action="store_true", help="neither use nor keep an index on disk")
    return parser


def _add_location(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "location", metavar="FILE:LINE[:COL]", help="counted from 1, as editors do; without COL the end of the line"
    )
    command.add_argument("--folder", type=Path, help="the workspace; default: the repository that holds FILE")


def _index(options: argparse.Namespace) -> int:
    from ..output.as_json import report_json

    terminal = _terminal(options)
    folder = _existing_folder(options.folder)
    with _workspace(folder, terminal, options) as workspace:
        with terminal.progress(f"Indexing {folder.name}") as progress:
            report = workspace.index(progress)
        if options.json:
            terminal.json({"folder": str(folder), **report_json(report)})
        else:
            terminal.report(folder, report)
    return 0


def _complete(options: argparse.Namespace) -> int:
    from ..output.as_json import completion_json

    if options.iterations is not None:
        return _complete_in_rounds(options)
    if options.candidates < 1:
        raise UserError(f"--candidates {options.candidates}: give at least 1.")
    terminal = _terminal(options)
    path, line, character = _location(options.location)
    settings = _model_settings(options.model)
    with _indexed_workspace(path, terminal, options, settings) as workspace:
        multi_line = options.multi_line or None
        completions = workspace.complete_several(path, line, character, options.candidates, multi_line=multi_line)
        # The same fragments, with their scores in parts: finding those out takes longer than a completion may.
        explanation = workspace.explain(path, line, character)
        notes = explanation.notes
    first, *others = completions
    first = replace(first, fragments=explanation.fragments)
    if options.json:
        further = {"candidates": [completion_json(other) for other in others]} if options.candidates > 1 else {}
        terminal.json({**completion_json(first), **further, "notes": list(notes)})
    else:
        terminal.notes(notes)
        for completion in (first, *others):
            terminal.completion(path, completion)
    return 0 if first.text else NOTHING_TO_SHOW


def _complete_in_rounds(options: argparse.Namespace) -> int:
    from ..completion import Round
    from ..output.as_json import completion_json, round_json

    n_rounds = options.iterations
    if n_rounds < 1:
        raise UserError(f"--iterations {n_rounds}: give at least 1. More than 2 to 3 rounds rarely change anything.")
    terminal = _terminal(options)
    path, line, character = _location(options.location)
    done: list[Round] = []
    with (
        _indexed_workspace(path, terminal, options, _model_settings(options.model)) as workspace,
        terminal.rounds_progress(n_rounds) as progress,
    ):

        def on_round(one: Round) -> None:
            done.append(one)
            progress(one)

        completion = workspace.complete_in_rounds(
            path, line, character, n_rounds, multi_line=options.multi_line or None, on_round=on_round
        )
        notes = workspace.status().notes
    if options.json:
        terminal.json({**completion_json(completion), "rounds": list(map(round_json, done)), "notes": list(notes)})
    else:
        terminal.notes(notes)
        terminal.completion(path, completion)
        terminal.rounds(done)
    return 0 if completion.text else NOTHING_TO_SHOW


def _retrieve(options: argparse.Namespace) -> int:
    from ...retrieval import UnknownStrategy, strategy_named
    from ..config.options import retrieval_options
    from ..output.as_json import fragments_json, place_json

    if options.strategy is not None:
        try:
            strategy_named(options.strategy)
        except UnknownStrategy as error:
            raise UserError(f"--strategy: {error}") from None
    terminal = _terminal(options)
    path, line, character = _location(options.location)
    with _indexed_workspace(path, terminal, options) as workspace:
        wanted = replace(retrieval_options(workspace.config), explain=options.explain)
        if options.strategy is not None:
            wanted = replace(wanted, strategy=options.strategy)
        if options.k is not None:
            wanted = replace(wanted, k=options.k)
        found = workspace.retrieve(path, line, character, options=wanted)
    if options.json:
        left_out = [{"place": place_json(place), "reason": reason} for place, reason in found.left_out]
        terminal.json({"fragments": fragments_json(found.fragments), "leftOut": left_out})
    else:
        terminal.fragments(found.fragments, details=options.explain)
        terminal.left_out(found.left_out)
    return 0 if found.fragments else NOTHING_TO_SHOW


def _ask(options: argparse.Namespace) -> int:
    from .ask import ask

    terminal = _terminal(options)
    folder = _folder_around(options.folder)
    with _workspace(folder, terminal, options, _model_settings(options.model)) as workspace:
        with terminal.progress(f"Indexing {folder.name}") as progress:
            workspace.index(progress)
        return ask(workspace, folder, terminal, options)


def _history(options: argparse.Namespace) -> int:
    from .ask import history

    return history(options, _folder_around(options.folder))


def _serve(options: argparse.Namespace) -> int:
    import logging

    if options.shared:
        from ..shared.endpoint import SharedServerUnavailable
        from ..shared.relay import relay

        try:
            return relay()
        except SharedServerUnavailable as reason:
            print(f"weft: this window has a server of its own. {reason}", file=sys.stderr)
    elif options.stop:
        return _stop_shared()

    from ..lsp import serve_shared, serve_stdio
    from ..lsp.log_limit import RateLimit

    logging.getLogger("weft").setLevel(logging.INFO)  # the client has the log as messages
    limit = RateLimit()
    for name in ("weft", "weft.lsp"):
        logging.getLogger(name).addFilter(limit)
    if options.listener is not None:
        status = serve_shared(options.listener)
    elif options.tcp is not None:
        status = _serve_tcp(options.tcp, options.token_file)
    else:
        status = serve_stdio()
    # Threads that still wait for a model must not keep a process alive that no client has any more.
    logging.shutdown()
    sys.stderr.flush()
    os._exit(status)


def _serve_tcp(address: str, token_file: Path | None) -> int:
    from ..lsp import UnsafeTokenFile, is_loopback, load_or_create_token, new_token, serve_tcp

    host, port = _address(address)
    try:
        token = new_token() if token_file is None else load_or_create_token(token_file)
    except UnsafeTokenFile as error:
        raise UserError(f"--token-file: {error}") from error
    except OSError as error:
        raise UserError(f"--token-file: {token_file}: {error.strerror}. Name another file.") from error

    def tell(host: str, port: int) -> None:
        print(f"weft: listening on {host}:{port}", file=sys.stderr)
        print(f"weft: the token is {token if token_file is None else f'in {token_file}'}", file=sys.stderr)
        print("weft: clients send it as initializationOptions.token", file=sys.stderr)
        if not is_loopback(host):
            print(
                f"weft: warning: other machines can reach {host}, and what is sent is not encrypted. "
                "Who has the token can read every file of yours. Listen on 127.0.0.1 and forward the port by ssh.",
                file=sys.stderr,
            )
        sys.stderr.flush()

    try:
        return serve_tcp(host, port, token, tell)
    except OSError as error:
        raise UserError(f"can't listen on {address}: {error.strerror}. Choose another port.") from error


def _stop_shared() -> int:
    from ..shared.control import stop_server
    from ..shared.endpoint import SharedServerUnavailable

    try:
        stopped = stop_server()
    except SharedServerUnavailable as error:
        raise UserError(str(error)) from error
    if stopped is None:
        print("No shared server runs.")
        return NOTHING_TO_SHOW
    print(f"The shared server, process {stopped.pid}, has ended.")
    return 0


def _models(name: str) -> Callable[[argparse.Namespace], int]:
    def run(options: argparse.Namespace) -> int:
        from . import models as model_commands

        status: int = getattr(model_commands, name)(options)
        return status

    return run


def _stats(options: argparse.Namespace) -> int:
    from ..completion.stats import forget_stats, read_stats, stats_folder, summary_json
    from ..config import load_config

    if options.days < 1:
        raise UserError("--days counts from 1, which is today.")
    terminal = _terminal(options)
    config, problems = load_config()
    terminal.notes([str(problem) for problem in problems])
    folder = stats_folder(config.cache_dir)
    if options.reset:
        n_files = forget_stats(folder)
        if options.json:
            terminal.json({"forgotten": n_files})
        else:
            terminal.say("All counters are forgotten." if n_files else "There was nothing to forget.")
        return 0
    summary = read_stats(folder, options.days)
    if options.json:
        terminal.json({"days": options.days, **summary_json(summary)})
    else:
        terminal.stats(summary, options.days)
    return 0 if summary.day.n_asked else NOTHING_TO_SHOW


def _bench(options: argparse.Namespace) -> int:
    # By name: benchmarks stand above the server and import it.
    package = f"{(__package__ or '').split('.')[0]}.benchmarks.{BENCHMARKS[options.what][0]}"
    sys.argv = [f"weft bench {options.what}", *options.arguments]
    runpy.run_module(package, run_name="__main__", alter_sys=True)
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from ..output.doctor import examine, findings_json

    terminal = _terminal(options)
    findings = examine([_existing_folder(options.folder)])
    if options.json:
        terminal.json(findings_json(findings))
    else:
        terminal.findings(findings)
    return NOTHING_TO_SHOW if any(finding.next_step for finding in findings) else 0


def _warn_on_stderr() -> None:
    import logging

    class Safe(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return for_terminal(super().format(record))

    # Warnings only, whatever the level of the log: a language client takes all of stderr for errors.
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(Safe("weft: %(message)s"))
    logging.basicConfig(handlers=[handler])


def _terminal(options: argparse.Namespace) -> Terminal:
    from .terminal import Terminal

    return Terminal(quiet=options.json)


def _location(text: str) -> tuple[Path, int, int]:
    """FILE:LINE[:COL] as a real path, a 0-based line and a column in Python characters; one past the end is the end."""
    match = _LOCATION.fullmatch(text)
    if match is None:
        raise UserError(f"{text} is no position. Give FILE:LINE or FILE:LINE:COL, as in shop.py:12:8.")
    path = Path(match["path"])
    if not path.is_file():
        raise UserError(f"{path} is not a file. Check the path; it is taken from {Path.cwd()}.")
    line, column = int(match["line"]), match["column"]
    if line < 1 or column == "0":
        raise UserError(f"{text}: lines and columns count from 1.")
    # Real paths are the index's names for files.
    return path.resolve(), line - 1, sys.maxsize if column is None else int(column) - 1


def _existing_folder(folder: Path) -> Path:
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder. Give the folder of a project.")
    return folder.resolve()


def _folder_around(folder: Path | None) -> Path:
    """The folder that was named, or the repository around the one that we are in."""
    return project_folder(Path.cwd() / "x") if folder is None else _existing_folder(folder)


def project_folder(path: Path) -> Path:
    """The folder to index for a file: its repository, else its project, else where the file lies."""
    for marks in (_REPOSITORY_MARKS, _PROJECT_MARKS):
        for folder in path.parents:
            if any((folder / mark).exists() for mark in marks):
                return folder
    return path.parent


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise UserError(f"{text} is no address. Give HOST:PORT, as in 127.0.0.1:8765.")
    return host.strip("[]") or "127.0.0.1", int(port)


def _model_settings(model: str | None) -> Mapping[str, Any]:
    """`--model` as the settings an editor would send."""
    if model is None:
        return {}
    settings = spelled_model(model)
    if settings is None:
        raise UserError(f"--model {model} is no model. Give {SPELLINGS}.")
    return {"model": [settings]}


@contextmanager
def _indexed_workspace(
    path: Path, terminal: Terminal, options: argparse.Namespace, settings: Mapping[str, Any] | None = None
) -> Iterator[Workspace]:
    folder = project_folder(path) if options.folder is None else _existing_folder(options.folder)
    with _workspace(folder, terminal, options, settings) as workspace:
        with terminal.progress(f"Indexing {folder.name}") as progress:
            workspace.index(progress)
        yield workspace


@contextmanager
def _workspace(
    folder: Path, terminal: Terminal, options: argparse.Namespace, settings: Mapping[str, Any] | None = None
) -> Iterator[Workspace]:
    from ..config import load_config
    from ..workspace.workspace import Workspace

    config, problems = load_config(folder, settings)
    terminal.notes([str(problem) for problem in problems])
    with Workspace([folder], config, cache=not options.no_cache) as workspace:
        yield workspace
