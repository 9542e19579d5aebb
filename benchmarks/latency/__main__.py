"""`weft bench latency`: latency of the real server while real edits are typed again over LSP.

Owns which replays are made: sizes, editors and models. Each has a server's process of its own, with a home of its own;
one index is kept for all replays of a size.
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
from pathlib import Path
from typing import Any, get_args

import httpx

from ...errors import UserError
from ...server.models.named import SPELLINGS, spelled_model
from ..command import Report, command_parser, run_command, say
from ..histories import OWN_REPOSITORY, FileEdit, commits_between
from ..models import model_option
from .client import Client, when_ready
from .edited_workspaces import PINNED, SIZES, EditedWorkspace, make_workspace
from .figures import Figures, figures_of
from .fixed_speed import ModelRequest, add_speed_options
from .replay import Editor, Manners, encodings_of
from .report import notes, tables
from .typing import sittings

SEED = 20261121
SECONDS = 35.0
"""Of each replay. Six replays and their starts take less than six minutes on two cores."""

RESTS_AFTER_S = 0.5
EMBEDDED, FIXED = "embedded", "fixed"
DEFAULT: tuple[tuple[str, Manners, str], ...] = (
    ("20k", "vscode", EMBEDDED),
    ("200k", "vscode", EMBEDDED),
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
    parser.add_argument("--editors", nargs="+", choices=get_args(Manners), help="whose manners; default: both")
    parser.add_argument(
        "--model",
        action="append",
        type=model_option(EMBEDDED, FIXED),
        metavar="MODEL",
        help=f"instead of the default ones, as often as wanted: {EMBEDDED}, {FIXED} (simulated, of a fixed speed), or "
        f"a real one as {SPELLINGS}",
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of typing in each replay")
    parser.add_argument("--repository", type=Path, default=OWN_REPOSITORY, help="the clone whose edits are typed")
    parser.add_argument("--commits", metavar="FROM..TO", help="of the repository; default: those pinned of Weft's own")
    add_speed_options(parser)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=JSON", help="a setting of the server")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    rows = list(_replays(options))
    figures = {"seconds": options.seconds, "rows": rows}
    return Report("latency", tables(rows), figures, "Latency while somebody types", notes=notes(options.seconds))


def _replays(options: argparse.Namespace) -> Iterator[Figures]:
    commits = commits_between(options.repository, options.commits) if options.commits else PINNED
    with tempfile.TemporaryDirectory(prefix="weft-latency-") as homes:
        for size, editor, model in _chosen(options):
            say(f"{size} lines, {editor}, {model} ...")
            home = Path(homes) / size
            home.mkdir(exist_ok=True)
            here = make_workspace(size, options.work, options.repository, commits)
            with _model(model, here.edits, options) as serving:
                figures = _replay(here, editor, serving, home, options)
            yield {"size": size, "editor": editor, "model": model, **figures}


def _chosen(options: argparse.Namespace) -> list[tuple[str, Manners, str]]:
    """The default replays; those named when sizes, editors or models are."""
    if not (options.sizes or options.editors or options.model):
        return list(DEFAULT)
    editors: Sequence[Manners] = options.editors or get_args(Manners)
    return [
        (size, editor, model)
        for size in options.sizes or SIZES
        for model in options.model or (EMBEDDED,)
        for editor in editors
    ]


class Serving:
    """A model while it is replayed against: the server's settings for it, and what it did."""

    def __init__(self, settings: Mapping[str, Any], url: str = "") -> None:
        self.settings = settings
        self.embedded = not settings
        self._url = url

    def works(self, since_s: float) -> list[ModelRequest]:
        """What the model of fixed speed did since then; nothing is known of others."""
        if not self._url:
            return []
        log = httpx.get(f"{self._url}/log", trust_env=False).json()
        return [work for work in (ModelRequest(**told) for told in log) if work.begin_s >= since_s]

    def wait_for_self_test(self) -> None:
        """Until the server has asked the model of fixed speed what it can do, and is done with that."""
        while self._url and not self._rests():
            time.sleep(0.1)

    def _rests(self) -> bool:
        works = self.works(since_s=0.0)
        return bool(works) and time.monotonic() - max(work.end_s or time.monotonic() for work in works) > RESTS_AFTER_S


@contextmanager
def _model(name: str, edits: Sequence[FileEdit], options: argparse.Namespace) -> Iterator[Serving]:
    if name == EMBEDDED:
        yield Serving({})
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
                    yield Serving({"model": [{"backend": "llama.cpp", "url": url}]}, url)
                finally:
                    process.kill()
    else:
        settings = spelled_model(name)
        assert settings is not None
        yield Serving({"model": [settings]})


def _replay(
    here: EditedWorkspace, editor: Manners, serving: Serving, home: Path, options: argparse.Namespace
) -> Figures:
    settings = {**serving.settings, **_settings(options.set)}
    with Client(here.folder, home, settings, encodings_of(editor)) as client:
        status = when_ready(client)
        serving.wait_for_self_test()
        begin_s = time.monotonic()
        session = Editor(client, here.folder, editor).replay(
            sittings(here.edits, options.seed), options.seed, options.seconds
        )
        works = serving.works(begin_s)
        stats = client.ask("weft/stats")
        figures = figures_of(session, stats["empty"], embedded=serving.embedded, works=works)
        return {"lines": status["lines"], "answered_by": status["model"], **figures}


def _settings(given: Sequence[str]) -> dict[str, Any]:
    """`--set completion.debounce_ms=0` as the settings an editor would send."""
    settings: dict[str, Any] = {}
    for one in given:
        name, _, value = one.partition("=")
        section, _, key = name.partition(".")
        try:
            settings.setdefault(section, {})[key] = json.loads(value)
        except ValueError:
            raise UserError(f"--set {one}: write SECTION.NAME=VALUE with a JSON value.") from None
    return settings


if __name__ == "__main__":
    raise SystemExit(main())
