"""`weft bench latency`: latency of the real server while real edits are typed again over LSP.

Owns the choice of replays: sizes, editors and models. Each replay has its own server process; replays of one size share
a home folder, and with it the cached index.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, get_args

import httpx

from ...server.models.model_argument import MODEL_SYNTAX, parse_model
from ..command import Report, command_parser, run_command, say
from ..histories import OWN_REPOSITORY, FileEdit, commits_between
from ..lsp_client import Client, when_ready
from ..models import model_option
from ..typist import commit_replays
from .edited_workspaces import PINNED, SIZES, EditedWorkspace, make_workspace
from .figures import Figures, figures_of
from .fixed_speed import ModelRequest, add_speed_options
from .replay import Editor, EditorKind, encodings_of
from .report import notes, tables
from .served import processor_s

SEED = 20261121
SECONDS = 35.0
"""Of each replay. Seven replays and their starts take less than seven minutes on two cores."""

RESTS_AFTER_S = 0.5
EMBEDDED, FIXED = "embedded", "fixed"
DEFAULT: tuple[tuple[str, EditorKind, str], ...] = (
    ("20k", "vscode", EMBEDDED),
    ("200k", "vscode", EMBEDDED),
    ("200k", "vscode+next", EMBEDDED),
    ("200k", "neovim", EMBEDDED),
    ("1M", "vscode", EMBEDDED),
    ("200k", "vscode", FIXED),
    ("200k", "neovim", FIXED),
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser(
        "weft bench latency", __doc__, "work", "seed", "machine", "write-results", seed={"default": SEED}
    )
    parser.add_argument("--sizes", nargs="+", choices=SIZES, help="lines of the workspace; default: all")
    parser.add_argument("--editors", nargs="+", choices=get_args(EditorKind), help="default: both")
    parser.add_argument(
        "--model",
        action="append",
        type=model_option(EMBEDDED, FIXED),
        metavar="MODEL",
        help=f"instead of the default ones, repeatable: {EMBEDDED}, {FIXED} (simulated), or {MODEL_SYNTAX}",
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of typing in each replay")
    parser.add_argument("--repository", type=Path, default=OWN_REPOSITORY, help="the clone whose edits are typed")
    parser.add_argument("--commits", metavar="FROM..TO", help="commits of the repository; default: pinned ones of Weft")
    add_speed_options(parser)
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    rows = list[Figures]()
    commits = commits_between(options.repository, options.commits) if options.commits else PINNED
    with tempfile.TemporaryDirectory(prefix="weft-latency-") as homes:
        for size, editor, model in _chosen(options):
            say(f"{size} lines, {editor}, {model} ...")
            home = Path(homes) / size
            home.mkdir(exist_ok=True)
            workspace = make_workspace(size, options.work, options.repository, commits)
            with _model(model, workspace.edits, options) as model_server:
                figures = _replay(workspace, editor, model_server, home, options)
            rows.append({"size": size, "editor": editor, "model": model, **figures})
    results = {"seconds": options.seconds, "rows": rows}
    return Report("latency", tables(rows), results, "Latency while typing", notes=notes(options.seconds))


def _chosen(options: argparse.Namespace) -> list[tuple[str, EditorKind, str]]:
    """The default replays, or every combination of the given sizes, editors and models."""
    if not (options.sizes or options.editors or options.model):
        return list(DEFAULT)
    models, editors = options.model or (EMBEDDED,), options.editors or get_args(EditorKind)
    return [(size, editor, model) for size, model, editor in product(options.sizes or SIZES, models, editors)]


@dataclass(frozen=True, slots=True)
class ServedModel:
    """The model of a replay: the server's settings for it, and the address of a model of fixed speed."""

    settings: Mapping[str, Any]
    url: str = ""

    def requests_since(self, since_s: float) -> list[ModelRequest]:
        """The requests at the model of fixed speed since then; empty for another model."""
        if not self.url:
            return []
        log = httpx.get(f"{self.url}/log", trust_env=False).json()
        return [work for work in (ModelRequest(**record) for record in log) if work.begin_s >= since_s]

    def wait_for_self_test(self) -> None:
        """Wait until the server has finished its self-test of the model of fixed speed."""
        last_s = time.monotonic()
        while self.url and time.monotonic() - last_s <= RESTS_AFTER_S:
            time.sleep(0.1)
            last_s = max(
                (work.end_s or time.monotonic() for work in self.requests_since(0.0)), default=time.monotonic()
            )


@contextmanager
def _model(name: str, edits: Sequence[FileEdit], options: argparse.Namespace) -> Iterator[ServedModel]:
    if name == EMBEDDED:
        yield ServedModel({})
    elif name == FIXED:
        with tempfile.TemporaryDirectory() as folder:
            truth = Path(folder) / "truth.json"
            truth.write_text(json.dumps([edit.after for edit in edits]), encoding="utf-8")
            speed = [f"--reads={options.reads}", f"--writes={options.writes}", f"--right={options.right}"]
            command = [sys.executable, "-m", f"{__package__}.fixed_speed", str(truth), *speed]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                try:
                    assert process.stdout is not None
                    url = process.stdout.readline().strip()
                    yield ServedModel({"model": [{"backend": "llama.cpp", "url": url}]}, url)
                finally:
                    process.kill()
    else:
        settings = parse_model(name)
        assert settings is not None
        yield ServedModel({"model": [settings]})


def _replay(
    workspace: EditedWorkspace, editor: EditorKind, model_server: ServedModel, home: Path, options: argparse.Namespace
) -> Figures:
    with Client(workspace.folder, home, model_server.settings, encodings_of(editor)) as client:
        status = when_ready(client)
        model_server.wait_for_self_test()
        begin_s, spent_before_s = time.monotonic(), processor_s(client.pid)
        session = Editor(client, workspace.folder, editor).replay(
            commit_replays(workspace.edits, options.seed), options.seed, options.seconds
        )
        spent_s = processor_s(client.pid) - spent_before_s
        works = model_server.requests_since(begin_s)
        stats = client.ask("weft/stats")
        is_embedded = not model_server.settings
        figures = figures_of(session, stats["empty"], embedded=is_embedded, works=works, processor_s=spent_s)
        return {"lines": status["lines"], "answered_by": status["model"], **figures}


if __name__ == "__main__":
    raise SystemExit(main())
