"""Rate limiting of log messages by template, and truncation of tracebacks and of single-line values.

Owns the logging filter. Knows no message.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from types import TracebackType

MAX_PER_PERIOD = 30  # warnings and errors of one message template in one period
PERIOD_S = 60.0
MAX_TRACEBACK_LINES = 40
MAX_TEMPLATES = 1_000

_ExcInfo = tuple[type[BaseException], BaseException, "TracebackType | None"]


class RateLimit(logging.Filter):
    """Passes `MAX_PER_PERIOD` warnings of one kind in a period; the first of the next period reports how many were
    suppressed. An exception's kind is its type and the line that raised it; its traceback comes once in a period."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._periods: dict[object, list[float]] = {}  # by kind: start of the period, passed, suppressed

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        at_most = MAX_PER_PERIOD
        kind: object = (record.levelno, str(record.msg))
        exc_info = record.exc_info if isinstance(record.exc_info, tuple) and record.exc_info[0] else None
        if record.exc_info:
            kind, at_most = (record.msg, _where(exc_info) if exc_info else None), 1
        passes, n_suppressed = self._count(kind, at_most)
        if passes and exc_info:
            record.exc_text = _short_traceback(exc_info)
        if passes and n_suppressed:
            record.msg, record.args = f"{record.getMessage()} ({n_suppressed} more like this were suppressed)", ()
        return passes

    def _count(self, kind: object, at_most: int) -> tuple[bool, int]:
        now = time.monotonic()
        with self._lock:
            if len(self._periods) >= MAX_TEMPLATES:
                self._periods.clear()
            period = self._periods.setdefault(kind, [now, 0, 0])
            n_suppressed = 0
            if now - period[0] >= PERIOD_S:
                n_suppressed = int(period[2])
                period[:] = [now, 0, 0]
            passes = period[1] < at_most
            period[1 if passes else 2] += 1
            return passes, n_suppressed


def one_line(value: object, longest: int = 300) -> str:
    """A value as one printable line of bounded length."""
    text = str(value)[: longest + 1]
    text = "".join(character if character.isprintable() else " " for character in text)
    return text if len(text) <= longest else f"{text[:longest]}…"


def _where(exc_info: _ExcInfo) -> object:
    kind, _, trace = exc_info
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return kind.__name__, None if trace is None else (trace.tb_frame.f_code.co_filename, trace.tb_lineno)


def _short_traceback(exc_info: _ExcInfo) -> str:
    lines = "".join(traceback.format_exception(*exc_info, chain=False)).splitlines()
    if len(lines) > MAX_TRACEBACK_LINES:
        lines = [lines[0], "  …", *lines[2 - MAX_TRACEBACK_LINES :]]
    return "\n".join(line[:500] for line in lines)
