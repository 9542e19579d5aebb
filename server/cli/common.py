"""Steps that several commands share: parsing a position, finding the workspace folder, opening the workspace."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...errors import UserError
from ..config import load_config
from ..models.model_argument import MODEL_SYNTAX, parse_model
from ..workspace.workspace import Workspace
from .terminal import Terminal

_LOCATION = re.compile(r"(?P<path>.+?):(?P<line>\d+)(?::(?P<column>\d+))?", re.DOTALL)


def parse_location(text: str) -> tuple[Path, int, int]:
    """FILE:LINE[:COL] as a real path, a 0-based line and a column in Python characters; one past the end is the end."""
    match = _LOCATION.fullmatch(text)
    if match is None:
        raise UserError(f"{text} is not a position. Give FILE:LINE or FILE:LINE:COL, such as shop.py:12:8.")
    path = Path(match["path"])
    if not path.is_file():
        raise UserError(f"{path} is not a file. Check the path; it is relative to {Path.cwd()}.")
    line, column = int(match["line"]), match["column"]
    if line < 1 or column == "0":
        raise UserError(f"{text} is not a position. Lines and columns count from 1. Give at least 1.")
    # The index names files by their real paths.
    return path.resolve(), line - 1, sys.maxsize if column is None else int(column) - 1


def existing_folder(folder: Path) -> Path:
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder. Give the folder of a project.")
    return folder.resolve()


def workspace_folder(folder: Path | None) -> Path:
    """The given folder, or the repository of the current folder."""
    return project_folder(Path.cwd() / "x") if folder is None else existing_folder(folder)


def project_folder(path: Path) -> Path:
    """The folder to index for a file: its repository, else its project, else its folder."""
    for names in (_REPOSITORY_FOLDERS, _PROJECT_FILES, _BUILD_FILES):
        for folder in path.parents:
            if any(True for name in names for _ in folder.glob(name)):
                return folder
    return path.parent


def model_settings(model: str | None) -> Mapping[str, Any]:
    """`--model` as settings of an editor."""
    if model is None:
        return {}
    settings = parse_model(model)
    if settings is None:
        raise UserError(f"--model {model} is not a model. Give {MODEL_SYNTAX}.")
    return {"model": [settings]}


@contextmanager
def indexed_workspace(folder: Path, terminal: Terminal, options: argparse.Namespace) -> Iterator[Workspace]:
    with open_workspace(folder, terminal, options) as workspace:
        with terminal.progress(f"Indexing {folder.name}") as progress:
            workspace.index(progress)
        yield workspace


@contextmanager
def open_workspace(folder: Path, terminal: Terminal, options: argparse.Namespace) -> Iterator[Workspace]:
    """The workspace of a folder, with `--model` and `--no-cache` of the options. Prints problems of the settings."""
    config, problems = load_config(folder, model_settings(getattr(options, "model", None)))
    terminal.notes([str(problem) for problem in problems])
    with Workspace([folder], config, cache=not options.no_cache) as workspace:
        yield workspace
