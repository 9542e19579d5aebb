"""`weft demo`: completions of half-typed code in a small example project, a question about it, and a next step.

Owns the choice of the files and of the question. The project is part of the installation and may be edited; what a
completion is compared with is read from its files.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import UserError
from ..config import Config
from ..workspace.workspace import Workspace
from .common import existing_folder
from .editors import copy_files
from .exit_status import NOTHING_TO_SHOW
from .terminal import Terminal
from .terminal_chat import AnswerView
from .typist import TypedLine, type_text

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "shop"
HALF_TYPED = (
    "backend/shop/suppliers.py",
    "backend/shop/coupons.py",
    "web/src/reviewPage.ts",
    "web/src/invoices.ts",
    "shipping/fleet.go",
)
"""Files whose last line is half-typed."""
TYPED_LINES = 6
"""Lines at the end of each file that are typed key by key before the completion."""
QUESTION = "Where is the price of a parcel computed?"
SHOWN_BLOCKS = 2
"""Blocks of the answer that are shown: the sentence, and the best lines."""
NEXT_STEP = "Next: run `weft` in a project of your own."


@dataclass(frozen=True, slots=True)
class HalfTyped:
    """The last line of a file, typed and completed. `lines` are the last lines, the half-typed one included."""

    path: str
    lines: tuple[str, ...]
    typed: TypedLine
    found_in: str = ""  # PATH:LINE of a line of the project that contains what was added
    by_hand: str = ""  # what an invoked request would show where nothing is shown while typing
    reason: str = ""  # why nothing is shown


def demo(options: argparse.Namespace) -> int:
    terminal = Terminal(quiet=options.json)
    if options.to is not None:
        return _copy(terminal, options)
    folder = _installed() if options.folder is None else existing_folder(options.folder)
    # The default settings: what is shown does not depend on the models of this machine.
    with Workspace([folder], Config(), cache=False) as workspace:
        report = workspace.index()
        (index,) = workspace.indexes().values()
        paths = [path for path in HALF_TYPED if path in index.texts]
        if not paths:
            raise UserError(f"{folder} is no copy of the demo project. Make one: weft demo --to DIR.")
        completed = [complete_end(workspace, folder, path, index.texts) for path in paths]
        reply = workspace.ask(QUESTION, remember=False)
    answer = "\n\n".join(reply.text.split("\n\n")[:SHOWN_BLOCKS])
    if options.json:
        shown = [_as_json(each) for each in completed]
        asked = {"question": QUESTION, "answer": answer, "nextStep": NEXT_STEP}
        terminal.json({"folder": str(folder), "completions": shown, **asked})
    else:
        terminal.report(folder, report)
        for each in completed:
            terminal.half_typed(each)
        terminal.say("", f'$ weft ask "{QUESTION}"')
        AnswerView(folder).on_text(f"{answer}\n")
        terminal.say("", NEXT_STEP)
    return 0 if reply.found and all(each.typed.accepted for each in completed) else NOTHING_TO_SHOW


def complete_end(workspace: Workspace, folder: Path, path: str, texts: Mapping[str, bytes]) -> HalfTyped:
    """Type the last lines of a file and accept what is shown at its end. `texts` are those of the project by path."""
    text = texts[path].decode("utf-8").rstrip("\r\n")
    lines = tuple(text.split("\n")[-TYPED_LINES:])
    typed = type_text(workspace, folder / path, text, TYPED_LINES)
    if typed.accepted:
        workspace.close_buffer(folder / path)
        return HalfTyped(path, lines, typed, found_in=_line_with(typed.added, texts))
    explanation = workspace.explain(folder / path, typed.line, len(typed.typed))
    workspace.close_buffer(folder / path)
    return HalfTyped(path, lines, typed, by_hand=explanation.text, reason=explanation.why_hidden)


def _installed() -> Path:
    if not FOLDER.is_dir():
        raise UserError(f"{FOLDER} is missing. Install Weft again.")
    return FOLDER


def _copy(terminal: Terminal, options: argparse.Namespace) -> int:
    folder = options.to.expanduser()
    copy_files(_installed(), folder, overwrite=options.force)
    if options.json:
        terminal.json({"folder": str(folder)})
    else:
        terminal.say(f"The project is in {folder}.", f"Edit the end of {HALF_TYPED[0]}, then run: weft demo {folder}")
    return 0


def _line_with(added: str, texts: Mapping[str, bytes]) -> str:
    """The first line of the project that contains a text, as PATH:LINE; "" for none."""
    for path in sorted(texts):
        for number, line in enumerate(texts[path].decode("utf-8").splitlines(), 1):
            if added.strip() in line:
                return f"{path}:{number}"
    return ""


def _as_json(half_typed: HalfTyped) -> dict[str, Any]:
    typed = half_typed.typed
    return {
        "path": half_typed.path,
        "line": typed.line + 1,
        "typed": typed.typed,
        "shown": [completion.text for completion in typed.accepted],
        "confidence": [completion.confidence for completion in typed.accepted],
        "foundIn": half_typed.found_in,
        "byHand": half_typed.by_hand,
        "whyNothing": half_typed.reason,
    }
