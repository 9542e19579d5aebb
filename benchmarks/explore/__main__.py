"""`weft bench explore`: the page of `weft explore` in a real Chromium, from an input to the paint with its answer.

Owns the command, the run and the table. Interactions are in `interactions`.

    weft bench explore --folder DIR --write-results
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import UserError
from ..bootstrap import percentile
from ..chromium import Chromium, find_chromium
from ..command import Report, command_parser, rounded, run_command, say
from ..tables import markdown, number
from .interactions import interactions
from .measured_page import MeasuredPage, Timed, paints
from .served import Chosen, Served, choose, served

N_PLACES = 25
N_LOADS = 10
N_WARM = 2
"""Places at the beginning that are not counted: the server fills its tables there."""

COLUMNS = (
    "inputs",
    "p50 ms",
    "p95 ms",
    "server p95",
    "browser p95",
    "feedback p95",
    "server CPU p50",
    "server CPU p95",
    "browser CPU p50",
    "browser CPU p95",
)

NOTES = f"""\
`weft explore` with its stored index and a headless Chromium of 1,280 by 800 pixels run on the same machine. Files and
definitions are chosen by hashes; the first {N_WARM} places are not counted, because tables are filled there. A time
goes from the time stamp of the input event to the paint that shows the whole answer; frames come every 16.7 ms. The
server's part is the time in which a request of the page runs, by Resource Timing; the browser's is the rest; feedback
is the first paint after the input. Processor times are those of the server and of the page's main thread: on a loaded
machine they count. Letters of a search are typed one after the answer to the other."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("weft bench explore", __doc__, "work", "machine", "write-results")
    parser.add_argument("--folder", type=Path, required=True, metavar="DIR", help="the folder that the page shows")
    parser.add_argument("--places", type=int, default=N_PLACES, metavar="N", help=f"definitions ({N_PLACES})")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    command = find_chromium()
    if command is None:
        raise UserError("There is no Chromium on this machine. Install it, or name one in CHROMIUM.")
    environment = {**os.environ, "WEFT_CACHE_DIR": str(options.work / "explore-cache")}
    with served(options.folder.resolve(), environment) as server:
        places = choose(server, options.places + N_WARM)
        if len(places) <= N_WARM:
            raise UserError(f"{options.folder} has too few definitions in folders. Give a larger one.")
        n_lines = server.view("start")["status"]["lines"]
        with (
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
            Chromium(command, Path(profile)) as browser,
        ):
            loads, times = _loads(browser, server), _times(browser, server, places)
    text, results = _report(options.folder.name, n_lines, loads, times)
    command_line = f"weft bench explore --folder DIR --places {options.places}"
    return Report("explore", text, results, "The page of weft explore", "", NOTES, command_line)


def _loads(browser: Chromium, server: Served) -> list[dict[str, float]]:
    """The first paints of the page, each in a new context without a cache."""
    found = []
    for _ in range(N_LOADS):
        page = browser.page()
        found.append(paints(page, server.address))
        page.close()
    return found


def _times(browser: Chromium, server: Served, places: Sequence[Chosen]) -> dict[str, list[Timed]]:
    """The times of each interaction at each place but the first ones."""
    measured = MeasuredPage(browser.page(), server)
    measured.page.open(server.address)
    found: dict[str, list[Timed]] = {}
    for at, place in enumerate(places):
        for name, timed in interactions(measured, place, places[at - 1]):
            if at >= N_WARM:
                found.setdefault(name, []).append(timed)
        say(f"{at + 1} of {len(places)}: {place.path} {place.symbol}")
    return found


def _report(
    name: str, n_lines: int, loads: Sequence[Mapping[str, float]], times: Mapping[str, Sequence[Timed]]
) -> tuple[str, dict[str, Any]]:
    """The text and the figures of a report."""
    first = {each: [load[each] for load in loads] for each in ("first-paint", "first-contentful-paint")}
    paint = {each: {"p50": percentile(ms, 0.5), "p95": percentile(ms, 0.95)} for each, ms in first.items()}
    figures = {each: _figures(of) for each, of in times.items()}
    rows = [[each, *(number(of[name], "{:,.0f}") for name in COLUMNS)] for each, of in figures.items()]
    opened = markdown(
        ("opening the page", "p50 ms", "p95 ms"),
        [[each.replace("-", " "), *(number(value, "{:,.0f}") for value in of.values())] for each, of in paint.items()],
    )
    text = f"{name}, {n_lines:,} lines.\n\n{opened}\n\n{markdown(('input', *COLUMNS), rows)}"
    results = {"measured": rounded({"lines": n_lines, "paint": paint, "inputs": figures})}
    return text, results


def _figures(timed: Sequence[Timed]) -> dict[str, float]:
    """The figures of an interaction, named as the columns of the table; all but the first in milliseconds."""

    def ms(name: str, share: float) -> float:
        return percentile((getattr(each, f"{name}_ms") for each in timed), share)

    figures: dict[str, float] = {"inputs": len(timed), "p50 ms": ms("total", 0.5), "p95 ms": ms("total", 0.95)}
    figures |= {f"{name} p95": ms(name, 0.95) for name in ("server", "browser", "feedback")}
    for title, name in (("server CPU", "server_cpu"), ("browser CPU", "browser_cpu")):
        figures |= {f"{title} p50": ms(name, 0.5), f"{title} p95": ms(name, 0.95)}
    return figures


if __name__ == "__main__":
    raise SystemExit(main())
