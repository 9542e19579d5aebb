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

from ...errors import UserError
from ..bootstrap import percentile
from ..chromium import Chromium, find_chromium
from ..command import Report, command_parser, rounded, run_command, say
from ..tables import markdown, number
from .interactions import interactions
from .measured_page import Timed, paints, prepare
from .served import Chosen, Served, choose, served

N_PLACES = 25
N_LOADS = 10
N_WARM = 2
"""Places at the beginning that are not counted: the server fills its tables there."""

NOTES = f"""\
`weft explore` with its stored index and a headless Chromium of 1,280 by 800 pixels run on the same machine. Files and
definitions are chosen by hashes; the first {N_WARM} places are not counted, because tables are filled there. A time
goes from the time stamp of the input event to the paint that shows the whole answer; frames come every 16.7 ms. The
server's part is the time in which a request of the page runs, by Resource Timing; the browser's is the rest, and the
first paint is that of the feedback. Letters of a search are typed one after the answer to the other."""


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
            return _report(options.folder.name, n_lines, _loads(browser, server), _times(browser, server, places))


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
    page = browser.page()
    prepare(page)
    page.open(server.address)
    found: dict[str, list[Timed]] = {}
    for at, place in enumerate(places):
        for name, timed in interactions(page, place, places[at - 1]):
            if at >= N_WARM:
                found.setdefault(name, []).append(timed)
        say(f"{at + 1} of {len(places)}: {place.path} {place.symbol}")
    return found


def _report(
    name: str, n_lines: int, loads: Sequence[Mapping[str, float]], times: Mapping[str, Sequence[Timed]]
) -> Report:
    first = {each: [load[each] for load in loads] for each in ("first-paint", "first-contentful-paint")}
    paint = {each: {"p50": percentile(ms, 0.5), "p95": percentile(ms, 0.95)} for each, ms in first.items()}
    figures = {each: _figures(of) for each, of in times.items()}
    rows = [[each, *(number(value, "{:,.0f}") for value in of.values())] for each, of in figures.items()]
    head = (
        "input",
        "inputs",
        "p50 ms",
        "p95 ms",
        "server p50",
        "server p95",
        "browser p50",
        "browser p95",
        "first paint p95",
    )
    opened = markdown(
        ("opening the page", "p50 ms", "p95 ms"),
        [[each.replace("-", " "), *(number(value, "{:,.0f}") for value in of.values())] for each, of in paint.items()],
    )
    text = f"{name}, {n_lines:,} lines.\n\n{opened}\n\n{markdown(head, rows)}"
    results = {"measured": rounded({"lines": n_lines, "paint": paint, "inputs": figures})}
    return Report("explore", text, results, "The page of weft explore", "", NOTES, "weft bench explore --folder DIR")


def _figures(timed: Sequence[Timed]) -> dict[str, float]:
    total, server = [each.total_ms for each in timed], [each.server_ms for each in timed]
    browser, feedback = [each.browser_ms for each in timed], [each.feedback_ms for each in timed]
    return {
        "inputs": len(timed),
        "p50": percentile(total, 0.5),
        "p95": percentile(total, 0.95),
        "server p50": percentile(server, 0.5),
        "server p95": percentile(server, 0.95),
        "browser p50": percentile(browser, 0.5),
        "browser p95": percentile(browser, 0.95),
        "feedback p95": percentile(feedback, 0.95),
    }


if __name__ == "__main__":
    raise SystemExit(main())
