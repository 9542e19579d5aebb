"""Steps that several commands share: parsing a position, finding the workspace folder, opening the workspace."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ...errors import UserError
from ...llm.disk import read_regular
from ..config import load_config
from ..models.model_argument import MODEL_SYNTAX, parse_model
from ..workspace.files import decode
from ..workspace.folder import IndexReport
from ..workspace.process import freeze_garbage_collector, share_interpreter
from ..workspace.projects import broad_reason, project_folder
from ..workspace.text import TextLines
from ..workspace.workspace import Workspace
from .terminal import Terminal

_LOCATION = re.compile(r"(?P<path>.+?):(?P<line>\d+)(?::(?P<column>\d+))?", re.DOTALL)


def parse_location(text: str) -> tuple[Path, int, int]:
    """FILE:LINE[:COL] as a real path, a 0-based line and a column in Python characters, of an existing position.

    Without a column, and one past the last character, it is the end of the line.
    """
    path, line, character = split_location(text)
    _check_position(path, line + 1, character)
    # The index names files by their real paths.
    return path.resolve(), line, character


def split_location(text: str) -> tuple[Path, int, int]:
    """As `parse_location`, with the path as given. The line may be beyond the end of the file, as of unsaved text."""
    match = _LOCATION.fullmatch(text)
    if match is None:
        raise UserError(f"{text} is not a position. Give FILE:LINE or FILE:LINE:COL, such as shop.py:12:8.")
    path = Path(match["path"])
    if not path.is_file():
        raise UserError(f"{path} is not a file. Check the path; it is relative to {Path.cwd()}.")
    line, column = int(match["line"]), match["column"]
    if line < 1 or column == "0":
        raise UserError(f"{text} is not a position. Lines and columns count from 1. Give at least 1.")
    return path, line - 1, sys.maxsize if column is None else int(column) - 1


def _check_position(path: Path, line: int, character: int) -> None:
    """Raise UserError for a line beyond the end of a text file, and for a column beyond the end of the line."""
    try:
        text = decode(read_regular(path))
    except OSError:
        text = None
    if text is None:  # the workspace says what is wrong with the file
        return
    lines = TextLines(text[0])
    if line > lines.n_lines:
        count = "1 line" if lines.n_lines == 1 else f"{lines.n_lines} lines"
        raise UserError(f"{path} has {count}, so line {line} does not exist. Give a line from 1 to {lines.n_lines}.")
    n_characters = len(lines.line(line - 1))
    if n_characters < character < sys.maxsize:
        raise UserError(
            f"Line {line} of {path} has {n_characters} characters, so column {character + 1} does not exist. "
            f"Give a column from 1 to {n_characters + 1}, or none for the end of the line."
        )


def existing_folder(folder: Path) -> Path:
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder. Give the folder of a project.")
    return folder.resolve()


def workspace_folder(folder: Path | None, terminal: Terminal) -> Path:
    """The given folder, or the project of the current folder, or the current folder."""
    if folder is not None:
        return existing_folder(folder)
    current = Path.cwd()
    project = project_folder(current / "x")
    if project is None and not broad_reason(current):
        terminal.hint(f"no project was found, so the current folder is used: {current}")
    return project or current


@contextmanager
def workspace_of_file(path: Path, terminal: Terminal, options: argparse.Namespace) -> Iterator[Workspace]:
    """The indexed workspace for a file: `--folder`, else its project, else the current folder if the file is in it.

    Otherwise the file is a lone file: only the file and the files that it imports are indexed.
    """
    folder = project_folder(path) if options.folder is None else existing_folder(options.folder)
    current = Path.cwd()
    if folder is None and current in path.parents:
        broad = broad_reason(current)
        if not broad:
            terminal.hint(f"{path.name} is in no project, so the current folder is used: {current}")
            folder = current
        else:
            terminal.hint(f"the current folder {broad}, so only {path.name} and the files that it imports are used")
    elif folder is None:
        terminal.hint(f"{path.name} is in no project, so only this file and the files that it imports are used")
    with indexed_workspace(folder, terminal, options, path) as workspace:
        yield workspace


def model_settings(model: str | None) -> Mapping[str, Any]:
    """`--model` as settings of an editor."""
    if model is None:
        return {}
    settings = parse_model(model)
    if settings is None:
        raise UserError(f"--model {model} is not a model. Give {MODEL_SYNTAX}.")
    return {"model": [settings]}


@contextmanager
def indexed_workspace(
    folder: Path | None, terminal: Terminal, options: argparse.Namespace, file: Path | None = None
) -> Iterator[Workspace]:
    """The indexed workspace of a folder, or of `file` alone."""
    with open_workspace(folder, terminal, options) as workspace:
        if file is not None:
            workspace.add_file(file)
        index_with_consent(workspace, terminal, options, (folder or file or Path()).name, can_limit=file is not None)
        yield workspace


def index_with_consent(
    workspace: Workspace, terminal: Terminal, options: argparse.Namespace, name: str, *, can_limit: bool = False
) -> IndexReport:
    """Index the folder of a workspace; a broad one after a yes, by `--broad` or on the terminal.

    `can_limit`: after a no, open files and their imports are enough. Raises UserError without a yes otherwise.
    """

    def index() -> IndexReport:
        with terminal.progress(f"Indexing {name}") as progress:
            return workspace.index(progress)

    report = None
    if not workspace.limited_folders:
        report = index()  # finds a folder with too many files
    for folder, reason in workspace.limited_folders.items():
        is_open_question = folder in workspace.open_questions
        is_allowed: bool | None = options.broad
        if is_open_question and not options.broad:
            is_allowed = terminal.confirm(f"{folder} {reason}. Index it?")
        if is_allowed is not None and (is_allowed or is_open_question):
            workspace.answer_folder(folder, is_allowed=is_allowed)
        if is_allowed is None or not (is_allowed or can_limit):
            raise UserError(
                f"{folder} is not indexed, because it {reason}. Give the folder of one project, or add --broad to "
                "index it all the same."
            )
        if not is_allowed:
            terminal.hint(f"{folder} {reason}, so only the file and the files that it imports are used")
        report = None
    return report or index()


def index_to_serve(workspace: Workspace, terminal: Terminal, options: argparse.Namespace, name: str) -> None:
    """`index_with_consent`, for a process that answers requests: no garbage collection goes through the index."""
    share_interpreter()
    index_with_consent(workspace, terminal, options, name)
    freeze_garbage_collector()


def embed_definitions(workspace: Workspace, terminal: Terminal) -> None:
    """Embed all definitions, if the settings say so, with a progress bar. Ctrl-C goes on without the rest."""
    with terminal.progress("Embedding definitions") as progress, suppress(KeyboardInterrupt):
        workspace.embed(progress)


@contextmanager
def open_workspace(folder: Path | None, terminal: Terminal, options: argparse.Namespace) -> Iterator[Workspace]:
    """The workspace of a folder, with `--model` and `--no-cache` of the options. Prints problems of the settings."""
    config, problems = load_config(folder, model_settings(getattr(options, "model", None)))
    terminal.notes([str(problem) for problem in problems])
    with Workspace([] if folder is None else [folder], config, cache=not options.no_cache) as workspace:
        yield workspace
