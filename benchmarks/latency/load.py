"""`python -m weft.benchmarks.latency.load`: many people of one checkout at one server.

Simulated typists type at one server, over TCP with the token and over the shared socket, each in files of its own.
Reports the time from a request to its answer, fairness between typists, memory, and the keys that the machine serves.
The load of the machine stands beside each row: the typists themselves and other processes take processor time too.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, get_args

from ..bootstrap import percentile
from ..command import Report, command_parser, run_command, say
from ..engine.trees import TREES, tree
from ..lsp_client import when_ready
from ..tables import markdown, number, or_none
from .figures import KINDS
from .many_typists import Measured, measure, typed_again
from .replay import Session
from .served import Transport, serving_checkout

SEED = 20261126
DEFAULT_TYPISTS = (1, 10, 50)

Figures = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser(
        "python -m weft.benchmarks.latency.load",
        __doc__,
        *("work", "seed", "machine", "write-results"),
        seed={"default": SEED},
    )
    parser.add_argument("--typists", nargs="+", type=int, default=list(DEFAULT_TYPISTS), metavar="N")
    parser.add_argument("--tree", choices=TREES, default="million", help="the checkout (million)")
    parser.add_argument("--seconds", type=float, default=30.0, help="of typing in each run (30)")
    parser.add_argument("--transports", nargs="+", choices=get_args(Transport), default=list(get_args(Transport)))
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    folder = tree(options.tree, options.work)
    edits = typed_again(folder, max(options.typists), options.seed)
    rows = list[Figures]()
    with tempfile.TemporaryDirectory(prefix="weft-load-") as home:
        for transport in options.transports:
            say(f"{transport}: starting the server of {folder.name} ...")
            # The folder holds several projects, so the server would ask whether to index it.
            settings = {"index": {"broad_folders": "index"}}
            with (
                serving_checkout(transport, folder, Path(home), settings) as served,
                served.connect(("utf-16",)) as first,
            ):
                lines = when_ready(first)["lines"]
                for n in options.typists:
                    say(f"{transport}: {n} typists ...")
                    done = measure(served, folder, edits[:n], options.seconds, options.seed)
                    rows.append({"transport": transport, "lines": lines, **figures_of_run(done)})
    text = markdown([*COLUMNS], [[cell(row) for cell in COLUMNS.values()] for row in rows])
    results = {"seconds": options.seconds, "tree": options.tree, "rows": rows}
    return Report("load", text, results, "Many people at one server", notes=notes(rows, options.seconds))


def figures_of_run(done: Measured) -> Figures:
    """The figures of a run. Times in milliseconds, memory in MB; None where there was nothing to measure."""
    requests = [request for session in done.sessions for request in session.requests]
    in_time = [request for request in requests if request.kind in KINDS]
    times = [request.reply_ms for request in in_time]
    p95_by_typist = list(_p95_by_typist(done.sessions))
    n_keys = sum(session.n_keys for session in done.sessions)
    cores = os.cpu_count() or 1
    return {
        "typists": len(done.sessions),
        "keys": n_keys,
        "keys_per_s": round(n_keys / done.seconds, 1),
        "requests": len(requests),
        "in_time": len(in_time),
        "with_text": sum(bool(request.text) for request in in_time),
        "unanswered": sum(request.kind == "unanswered" for request in requests),
        "errors": sum(bool(request.error) for request in in_time),
        **{f"p{share}": or_none(percentile(times, share / 100)) for share in (50, 95, 99)},
        "longest": or_none(max(times, default=float("nan"))),
        "worst_to_median": or_none(max(p95_by_typist) / median(p95_by_typist)) if p95_by_typist else None,
        "jain": or_none(jain_index(p95_by_typist), 3),
        "server_ms_per_key": or_none(1e3 * done.server_s / n_keys) if n_keys else None,
        "server_cores": round(done.server_s / done.seconds, 2),
        "typists_cores": round(done.typists_s / done.seconds, 2),
        "others_cores": round(done.others_s / done.seconds, 2),
        "cores": cores,
        "attach_s": round(done.attach_s, 2),
        "private_mb": round(done.private_after_mb),
        "private_per_typist_mb": round((done.private_after_mb - done.private_before_mb) / len(done.sessions), 1),
        "threads": done.n_threads,
    }


def jain_index(values: Sequence[float]) -> float:
    """Jain's index of fairness: 1 if all values are equal, 1/n if one of n has everything; NaN without values.

    Source: Jain, Chiu, Hawe, "A quantitative measure of fairness and discrimination", DEC-TR-301, 1984.
    """
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else float("nan")


def _p95_by_typist(sessions: Sequence[Session]) -> Iterator[float]:
    """The 95th percentile of each typist with an answer in time."""
    for session in sessions:
        times = [request.reply_ms for request in session.requests if request.kind in KINDS]
        if times:
            yield percentile(times, 0.95)


def notes(rows: Sequence[Mapping[str, Any]], seconds: float) -> str:
    """The description of the columns on the written page."""
    explained = "\n".join(f"- **{name}**: {meaning}" for name, meaning in EXPLAINED.items())
    lines = max((row["lines"] for row in rows), default=0)
    return (
        f"## Columns\n\n{lines:,} lines, {seconds:g} s of typing each, the embedded workspace model. Each typist types "
        "blocks of a file of its own again, four of five as VS Code does and one as Neovim does.\n"
        f"Ratios are more reliable than milliseconds.\n\n{explained}"
    )


COLUMNS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "clients": lambda row: f"{row['typists']} by {row['transport']}",
    "keys/s": lambda row: number(row["keys_per_s"]),
    "requests": lambda row: f"{row['requests']:,}",
    "in time": lambda row: f"{row['in_time']:,}",
    "unanswered": lambda row: str(row["unanswered"]),
    "errors": lambda row: str(row["errors"]),
    "p50 ms": lambda row: number(row["p50"]),
    "p95": lambda row: number(row["p95"]),
    "p99": lambda row: number(row["p99"]),
    "worst/median": lambda row: number(row["worst_to_median"], "{:.2f}"),
    "Jain": lambda row: number(row["jain"], "{:.3f}"),
    "server ms/key": lambda row: number(row["server_ms_per_key"]),
    "server cores": lambda row: number(row["server_cores"], "{:.2f}"),
    "typists": lambda row: number(row["typists_cores"], "{:.2f}"),
    "others": lambda row: number(row["others_cores"], "{:.2f}"),
    "private MB": lambda row: f"{row['private_mb']:,}",
    "MB/typist": lambda row: number(row["private_per_typist_mb"]),
    "attached s": lambda row: number(row["attach_s"]),
}

EXPLAINED = {
    "keys/s": "Keys of all typists together in a second, and so what the server was asked to serve.",
    "in time": "Requests that were answered before the next key; the others were overtaken and answered empty.",
    "unanswered, errors": "Both must be none.",
    "p50, p95, p99": "From a request to its answer, over the answers in time, in ms.",
    "worst/median": "The 95th percentile of the slowest typist, divided by that of the median typist.",
    "Jain": "Jain's index over the typists' 95th percentiles: 1 if all wait equally long.",
    "server ms/key": "Processor time of the server for each key, indexing of the edits included. A server runs on "
    "little more than one core (Python's interpreter lock), so 1000 divided by it is the number of keys a second "
    "that one server can serve.",
    "server cores, typists, others": "Cores that the server, the simulated typists and all other processes used.",
    "private MB, MB/typist": "Memory of the server without mapped files, at the end; its growth for each typist.",
    "attached s": "Until all clients had their first answer.",
}


if __name__ == "__main__":
    raise SystemExit(main())
