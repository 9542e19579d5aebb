"""`weft editors`: the plugins for editors that are part of this installation, and copies of them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...errors import UserError
from ...llm.installation import REPOSITORY
from .exit_status import NOTHING_TO_SHOW
from .terminal import Terminal

FOLDER = Path(__file__).resolve().parents[2] / "editors"


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin below `FOLDER`: a file, or a folder whose files are copied with their relative paths."""

    title: str
    path: str
    use: str  # what to do with the printed path


PLUGINS = {
    "neovim": Plugin("Neovim plugin", "neovim", "add it to the runtimepath, then call require('weft').setup {}"),
    "emacs": Plugin("Emacs example", "examples/weft.el", "load it in your init file"),
    "vscode": Plugin("VS Code extension", "vscode/weft.vsix", "code --install-extension PATH"),
}


def editors(options: argparse.Namespace) -> int:
    terminal = Terminal(quiet=options.json)
    if options.editor is None:
        return _list(terminal, options)
    path = find_plugin(options.editor)
    if options.to is not None:
        path = copy_plugin(options.editor, options.to.expanduser(), overwrite=options.force)
    if options.json:
        terminal.json({"editor": options.editor, "path": str(path), "copied": options.to is not None})
    else:
        terminal.say(str(path))
    return 0


def find_plugin(editor: str) -> Path:
    """The path of a plugin in this installation. Raises UserError if it is not part of it."""
    path = FOLDER / PLUGINS[editor].path
    if not path.exists():
        raise UserError(
            f"This installation has no {path.name}. Run in a clone of {REPOSITORY}: make editors; "
            f"it builds editors/{PLUGINS[editor].path}."
        )
    return path


def copy_plugin(editor: str, folder: Path, *, overwrite: bool) -> Path:
    """Copies a plugin into a folder; the path of the copy. Raises UserError as `copy_files` does."""
    source = find_plugin(editor)
    copies = copy_files(source, folder, overwrite=overwrite)
    return folder if source.is_dir() else copies[0]


def copy_files(source: Path, folder: Path, *, overwrite: bool) -> list[Path]:
    """Copies a file, or the files below a folder, into another folder; the paths of the copies.

    Raises UserError without writing when a file there differs and `overwrite` is false, or when the folder cannot be
    written.
    """
    pairs = [(path, folder / path.relative_to(source if source.is_dir() else source.parent)) for path in _files(source)]
    try:
        changed = [(path, target) for path, target in pairs if _differs(path, target)]
        existing = [target for _, target in changed if os.path.lexists(target)]
        if existing and not overwrite:
            raise UserError(f"{existing[0]} exists and differs. Add --force to overwrite it, or give another folder.")
        for path, target in changed:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror or error}. Give another folder.") from error
    return [target for _, target in pairs]


def _list(terminal: Terminal, options: argparse.Namespace) -> int:
    if options.to is not None:
        raise UserError("--to needs an editor. Give one of: " + ", ".join(PLUGINS) + ".")
    found = {editor: FOLDER / plugin.path for editor, plugin in PLUGINS.items() if (FOLDER / plugin.path).exists()}
    if options.json:
        terminal.json({editor: str(path) for editor, path in found.items()})
    else:
        for editor, path in found.items():
            terminal.say(f"{PLUGINS[editor].title}: {path}", f"  {PLUGINS[editor].use}")
    return 0 if found else NOTHING_TO_SHOW


def _files(source: Path) -> Iterator[Path]:
    if source.is_file():
        yield source
    else:
        yield from (path for path in sorted(source.rglob("*")) if path.is_file())


def _differs(path: Path, target: Path) -> bool:
    return not target.is_file() or target.read_bytes() != path.read_bytes()
