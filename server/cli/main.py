"""Entry point of the command line: runs one command and maps its outcome to an exit status.

Exit status: 0 success; 1 nothing to show, or something needs attention; 2 the command can't run as given, with a
message that says what to do; 130 interrupted. Modules of commands are imported when they run, so that `weft --version`
and `--help` load no engine.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from ...errors import WeftError
from ..output.safe_text import for_terminal
from .exit_status import CANNOT_BE_DONE, INTERRUPTED
from .parser import command_line


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, or the overview without one; returns its exit status."""
    parser = command_line()
    options = parser.parse_args(arguments)
    # The arrays are small and many: waiting for the threads of a BLAS takes longer than each product.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    _log_warnings_to_stderr()
    module, _, function = (options.run if options.command else "overview:overview").partition(":")
    try:
        status: int = getattr(import_module(f".{module}", __package__), function)(options)
        sys.stdout.flush()
        return status
    except WeftError as error:
        print(f"weft: {for_terminal(str(error))}", file=sys.stderr)
        return CANNOT_BE_DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does. The interpreter must not flush the rest into it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _log_warnings_to_stderr() -> None:
    class SafeFormatter(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return for_terminal(super().format(record))

    # Warnings only, at any log level: a language client shows all of stderr as errors.
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(SafeFormatter("weft: %(message)s"))
    logging.basicConfig(handlers=[handler])
