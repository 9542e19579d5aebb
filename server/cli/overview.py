"""`weft` without arguments: what is in the project, what to try there, and what would make it better."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from pathlib import Path

from ...languages import language_of
from ...retrieval import RepositoryIndex
from ...retrieval.questions import is_document
from ..config.options import model_configs
from ..workspace.projects import broad_reason, project_folder
from ..workspace.workspace import Workspace
from .common import open_workspace
from .exit_status import NOTHING_TO_SHOW
from .first_tries import completion_to_try, question_to_try
from .terminal import Terminal

SHOWN_LANGUAGES = 5
NO_PROJECT = ("Change to the folder of a project and run `weft` again, or see a small one: weft demo",)


def overview(options: argparse.Namespace) -> int:
    """Print the overview of the project of the current folder; returns the exit status."""
    terminal = Terminal()
    current = Path.cwd()
    folder = project_folder(current / "x") or current
    reason = broad_reason(folder)
    if reason:
        terminal.say(f"{folder} {reason}. Weft reads one project at a time.", *NO_PROJECT)
        return NOTHING_TO_SHOW
    with open_workspace(folder, terminal, argparse.Namespace(no_cache=False)) as workspace:
        with terminal.progress(f"Indexing {folder.name}") as progress:
            report = workspace.index(progress)
        for limited, reason in workspace.limited_folders.items():
            terminal.say(
                f"{limited} {reason}, so it is not indexed.", f"Index it all the same: weft index --broad {folder}"
            )
            return NOTHING_TO_SHOW
        (index,) = workspace.indexes().values()
        terminal.report(folder, report)
        languages = languages_of(index)
        if not languages:
            terminal.say("No code was found.", *NO_PROJECT)
            return NOTHING_TO_SHOW
        terminal.say(languages)
        _say_what_to_try(terminal, workspace, folder, index)
        _say_what_helps(terminal, workspace)
    return 0


def languages_of(index: RepositoryIndex) -> str:
    """The languages of the code with the most lines, as a sentence; "" without code."""
    n_lines, n_files = Counter[str](), Counter[str]()
    for path in index.texts:
        language = language_of(path)
        if language.grammar is not None and not is_document(path):
            n_lines[language.written] += index.n_lines_of(path)
            n_files[language.written] += 1
    if not n_lines:
        return ""
    named = [
        f"{name} ({n:,} lines in {n_files[name]:,} file{'s' * (n_files[name] != 1)})"
        for name, n in n_lines.most_common(SHOWN_LANGUAGES)
    ]
    others = len(n_lines) - len(named)
    return ", ".join(named) + (f", and {others} more" if others else "")


def _say_what_to_try(terminal: Terminal, workspace: Workspace, folder: Path, index: RepositoryIndex) -> None:
    completion = completion_to_try(workspace, folder, index)
    question = question_to_try(index)
    if completion is not None:
        place = f"{os.path.relpath(folder / completion.path)}:{completion.line + 1}:{completion.character + 1}"
        terminal.say("", f"Try a completion: in {place}, delete the rest of the line. Weft shows what follows »:")
        terminal.say(f"    {completion.before.lstrip()}»{completion.added}")
        terminal.say("", f"    weft complete {place} --retype")
    else:
        terminal.say("", "No completion was sure among some places of this project. Code that repeats its own patterns")
        terminal.say("gets more of them; `weft demo` shows some.")
    if question:
        terminal.say("", "Ask a question:", "", f'    weft ask "{question}"')


def _say_what_helps(terminal: Terminal, workspace: Workspace) -> None:
    terminal.say("", "Next:")
    if not model_configs(workspace.config):
        terminal.say(
            "  weft setup      a code model, which also writes new code and explains: proposes one for this machine"
        )
    terminal.say("  weft editors    the plugins for editors")
    if not workspace.config.chat.embed_code:
        terminal.say("  chat.embed_code in weft.toml: questions by meaning, with an embedding model (docs/search.md)")
    terminal.say("  weft --help     all commands")
