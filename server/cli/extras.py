"""Missing extras: what a command says when a package of an extra is not installed, and the offer to install it.

Owns the question and the run of the installer. `llm/installation.py` knows the command for how Weft was installed here.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ...errors import UserError
from ...llm.installation import install_command, runs_in_place
from .terminal import Terminal


@contextmanager
def import_or_offer(extra: str, terminal: Terminal) -> Iterator[None]:
    """For imports that need an extra. Without it, a person at the terminal is asked whether to install it.

    After a yes the extra is installed and the command starts again: this does not return. Raises UserError with the
    command otherwise.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        command = install_command(extra)
        if not (runs_in_place() and terminal.confirm(f"{error.name} is not installed. Run: {command}?")):
            raise missing_extra(error, extra) from error
        _install(command)
        _start_again()


def missing_extra(error: ModuleNotFoundError, extra: str) -> UserError:
    """What a command says that cannot ask: the package, and the command that installs its extra."""
    return UserError(f"{error.name} is not installed. Install the extra: {install_command(extra)}")


def _install(command: str) -> None:
    """Run the installer in this terminal. Raises UserError if it fails."""
    words = command if os.name == "nt" else shlex.split(command)
    try:
        status = subprocess.run(words, check=False).returncode
    except OSError as error:
        raise UserError(f"The extra was not installed: {error.strerror}. Run: {command}") from error
    if status != 0:
        raise UserError(f"The extra was not installed (exit status {status}). Run: {command}")


def _start_again() -> None:
    """Replace this process by the same command, which finds the new packages."""
    words = [sys.executable, *sys.orig_argv[1:]]
    if os.name == "nt":  # there, exec returns to the shell at once
        sys.exit(subprocess.run(words, check=False).returncode)
    os.execv(sys.executable, words)
