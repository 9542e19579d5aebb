"""Fuzzing of the real server over stdio: exactly one answer for each request, no crash, no leak.

Owns the rounds, the counts and the samples of memory. `fuzzing.py` generates the messages.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

from ...server.workspace.process import resident_mb
from ..lsp_client import Client, ServerGone, when_ready
from .campaign import Counts, Settings
from .fuzzing import TEXT, Fuzzed, Fuzzer

QUESTION = "Does every request get exactly one answer, and does no message end the process or make it grow?"

MUST_BE_ZERO = (
    "unanswered",
    "answered_twice",
    "process_ends",
    "internal_errors",
    "tracebacks_in_answers",
    "tracebacks_in_log",
    "growth_mb_over_limit",
)

N_MESSAGES, N_MESSAGES_SHORT = 200_000, 2_000

N_AT_ONCE = 300
"""Messages that are sent before their answers are awaited."""

ANSWERED_WITHIN_S = 90.0
"""A question waits up to a minute for a first index."""

LIMIT_GROWTH_MB = 30.0
"""Between a quarter of the messages and the end. Caches of a bounded number of files still fill then (parsed facts of
512 versions of files, units of 512), and the lexicons of the languages that questions are in are read (9 MB): the
largest growth seen is 25 MB."""

_TRACEBACK = re.compile(r"Traceback|\.py\b.{0,3}line \d|site-packages|/weft/server/|File \\?\"")

_LOGGED_TRACEBACK = b"Traceback (most recent call last)"

INTERNAL_ERROR = -32603

MOST_SAMPLES = 8


def run(settings: Settings) -> Counts:
    n_messages = N_MESSAGES_SHORT if settings.is_short else N_MESSAGES
    run = _Run(settings.work)
    fuzzer = iter(Fuzzer(run.folder, settings.seed))
    samples: dict[float, float] = {}
    started_s = time.monotonic()
    while run.n_messages < n_messages:
        run.round(list(islice(fuzzer, N_AT_ONCE)))
        share = run.n_messages / n_messages
        for at in (0.02, 0.25, 0.5, 1.0):
            if share >= at and at not in samples:
                samples[at] = run.memory_mb()
    seconds = time.monotonic() - started_s
    run.close()
    growth = samples[1.0] - samples[0.25]
    return {
        "messages": run.n_messages,
        "requests": run.n_requests,
        **{name: run.counts[name] for name in MUST_BE_ZERO[:-1]},
        "log_kb": run.n_log_bytes // 1000,
        "messages_per_s": round(run.n_messages / seconds),
        "start_mb": samples[0.02],
        "quarter_mb": samples[0.25],
        "half_mb": samples[0.5],
        "end_mb": samples[1.0],
        "growth_mb_over_limit": max(0.0, round(growth - LIMIT_GROWTH_MB, 1)),
        **{f"answers {code}": n for code, n in sorted(run.codes.items())},
        **({"first_failures": "\n".join(run.samples)} if run.samples else {}),
    }


class _Run:
    """A server, replaced by a new one when it ends; its counts."""

    def __init__(self, work: Path) -> None:
        self.folder, self.home = work / "project", work / "home"
        self.home.mkdir()
        self.folder.mkdir()
        for number in range(6):
            (self.folder / f"part_{number}.py").write_text(TEXT)
        (self.folder / "price.py").write_text("def price_of(basket):\n    return sum(basket)\n")
        self.counts: Counter[str] = Counter()
        self.codes: Counter[str] = Counter()
        self.n_messages = self.n_requests = self.n_log_bytes = 0
        self.samples: list[str] = []  # the first failures
        self._start()

    def round(self, messages: list[Fuzzed]) -> None:
        """Send messages, and wait for their answers."""
        expected = Counter(answer for message in messages for answer in message.answers)
        self.n_messages += len(messages)
        self.n_requests += expected.total()
        try:
            self._client.send_bytes(b"".join(message.data for message in messages))
            until_s = time.monotonic() + ANSWERED_WITHIN_S
            while expected.total() and (arrived := self._client.next_or_none(until_s - time.monotonic())):
                self._take(arrived.message, expected)
            while arrived := self._client.next_or_none(0.0):  # a second answer
                self._take(arrived.message, expected)
        except (ServerGone, OSError) as error:
            self._note("process_ends", str(error)[-300:])
            self.close()
            self._start()
        self.counts["unanswered"] += expected.total()
        for answer in expected:
            if expected[answer]:
                self._note("", f"no answer to {answer[:100]}")

    def memory_mb(self) -> float:
        """Resident memory of the server; 0 where the system does not report it."""
        return round(resident_mb(self._client.pid) or 0.0, 1)

    def close(self) -> None:
        self._client.close()
        log = (self.home / "server.log").read_bytes()
        _, found, traceback = log.partition(_LOGGED_TRACEBACK)
        if found:
            self._note("tracebacks_in_log", traceback[:3_000].decode("utf-8", "replace"))
            self.counts["tracebacks_in_log"] += traceback.count(_LOGGED_TRACEBACK)
        self.n_log_bytes += len(log)

    def _start(self) -> None:
        self._client = Client(self.folder, self.home)
        when_ready(self._client)

    def _take(self, message: dict[str, Any], expected: Counter[str]) -> None:
        if "method" in message:
            self.n_log_bytes += len(json.dumps(message["params"])) * (message["method"] == "window/logMessage")
            return
        answer = json.dumps(message.get("id"))
        if expected[answer] <= 0:
            self._note("answered_twice", json.dumps(message)[:300])
        expected[answer] -= expected[answer] > 0
        error = message.get("error")
        self.codes[str(error["code"]) if error else "with a result"] += 1
        if error and error["code"] == INTERNAL_ERROR:
            self._note("internal_errors", json.dumps(error)[:300])
        if error and _TRACEBACK.search(json.dumps(error)):
            self._note("tracebacks_in_answers", json.dumps(error)[:300])

    def _note(self, count: str, sample: str) -> None:
        if count:
            self.counts[count] += 1
        if len(self.samples) < MOST_SAMPLES:
            self.samples.append(f"{count}: {sample}")
