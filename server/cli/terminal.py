"""Terminal output: completions, fragments, reports and progress, in colour if the terminal supports it.

Results go to stdout; notes and progress go to stderr. Text from a repository is escaped first, so that a control
sequence in a source file does not reach the terminal.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table
from rich.text import Text

from ...llm.disk import read_regular
from ..output.pages import source_page
from ..output.safe_text import for_terminal_line
from ..workspace.text import TextLines

if TYPE_CHECKING:
    from ...retrieval import Fragment, Location, RankedFragment
    from ..completion import Completion, Round
    from ..completion.explanation import Explanation
    from ..completion.stats import Summary
    from ..completion.values import Trace
    from ..output.doctor import CheckResult
    from ..search import SearchHit
    from ..workspace.folder import IndexReport
    from ..workspace.folder import Progress as HowFar
    from .demo import HalfTyped

SHOW_PROGRESS_AFTER_S = 1.0
TABLE_WIDTH = 200
LINES_BEFORE = 3
"""Lines of code above a completion."""
NO_INFILLING = "no infilling: uses only the code before the cursor"
PREVIEW_LINES = 4
"""Lines of a fragment without `--explain`."""


class Terminal:
    """Prints text for people; with `quiet`, no notes and no progress."""

    def __init__(self, *, quiet: bool = False) -> None:
        # Only tables have a width; outside of a terminal they are wide.
        self._out = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else TABLE_WIDTH)
        self._err = Console(highlight=False, soft_wrap=True, stderr=True)
        self._quiet = quiet

    def json(self, value: object) -> None:
        sys.stdout.write(json.dumps(value, indent=2) + "\n")

    @contextmanager
    def progress(self, title: str) -> Iterator[Callable[[HowFar], None]]:
        """A progress bar on stderr, in a terminal, for work that takes longer than a second."""
        if self._quiet or not self._err.is_terminal:
            yield lambda _: None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        bar = Progress(*columns, console=self._err, transient=True)
        task = bar.add_task(for_terminal_line(title), total=None)
        started = time.monotonic()

        def report(how_far: HowFar) -> None:
            if time.monotonic() - started > SHOW_PROGRESS_AFTER_S:
                bar.start()
            bar.update(task, completed=how_far.done, total=how_far.total)

        try:
            yield report
        finally:
            bar.stop()

    @contextmanager
    def bytes_progress(self, title: str) -> Iterator[Callable[[int, int], None]]:
        """A progress bar on stderr for a download; it takes the bytes so far and in total."""
        if self._quiet or not self._err.is_terminal:
            yield lambda done, total: None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        with Progress(*columns, TimeRemainingColumn(), console=self._err, transient=True) as bar:
            task = bar.add_task(for_terminal_line(title), total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)

    @contextmanager
    def rounds_progress(self, n_rounds: int) -> Iterator[Callable[[Round], None]]:
        """A line on stderr with the number of the current round, in a terminal."""
        if self._quiet or not self._err.is_terminal:
            yield lambda done: None
            return
        numbers = count(2)
        with self._err.status(f"round 1 of {n_rounds}") as status:

            def report(done: Round) -> None:
                wrote = for_terminal_line(done.written.text.strip().split("\n")[0])
                status.update(Text(f"round {min(next(numbers), n_rounds)} of {n_rounds}; last completion: {wrote}"))

            yield report

    def rounds(self, done: Sequence[Round]) -> None:
        """The completion of each round, and the fragments that are new in it."""
        known: set[Fragment] = set()
        for number, one in enumerate(done, 1):
            new = [ranked for ranked in one.fragments if ranked.fragment not in known]
            known.update(ranked.fragment for ranked in one.fragments)
            self._out.print()
            self._out.print(Text(f"Round {number} ({for_terminal_line(one.written.model)}):", "bold"))
            for line in one.written.text.split("\n"):
                self._out.print(Text(f"     │ {for_terminal_line(line)}", "green"))
            places = ", ".join(_place(ranked.fragment.locations[0]) for ranked in new)
            self._out.print(Text(f"     {len(one.fragments)} fragments; new: {places or 'none'}", "dim"))

    def say(self, *lines: str) -> None:
        for line in lines:
            self._out.print(for_terminal_line(line), markup=False)

    def models(self, found: Sequence[Mapping[str, Any]], catalogue: Sequence[Mapping[str, Any]]) -> None:
        """The models on this machine, and those of the catalogue."""
        if not found:
            self.say("No model is installed. Weft completes with the workspace model, which needs no installation.")
        else:
            self._table(
                "On this machine (> configured)",
                ("", "name", "size", "context", "infilling", "measured speed", ""),
                [
                    (
                        ">" if model["configured"] else "",
                        model["name"],
                        _size(model["bytes"]),
                        f"{model['contextTokens']:,}" if model["contextTokens"] else "",
                        {True: "yes", False: "no", None: "?"}[model["fillsMiddle"]],
                        _speed(model["measured"]),
                        model["note"] or model["details"],
                    )
                    for model in found
                ],
            )
        self._out.print()
        self._table(
            "Recommended; install with: weft models get NAME",
            ("", "name", "disk", "memory", "context", "licence", ""),
            [
                (
                    "✓" if model["here"] else "",
                    model["name"],
                    f"{model['diskGb']:.1f} GB",
                    f"{model['memoryGb']:.1f} GB",
                    f"{model['contextTokens']:,}",
                    model["licence"],
                    model["remark"],
                )
                for model in catalogue
            ],
        )

    def model_tests(self, tests: Sequence[Mapping[str, Any]]) -> None:
        for test in tests:
            name = test.get("answersAs") or " ".join(
                str(test[key]) for key in ("backend", "path", "url", "name") if key in test
            )
            self._out.print(Text(for_terminal_line(name), "bold"))
            if "error" in test:
                self._out.print(Text(f"  {for_terminal_line(test['error'])}", "yellow"))
                continue
            infilling = "supports infilling" if test["fillsMiddle"] else NO_INFILLING
            self.say(
                f"  {infilling}; self-test: {test['selfTest']}; context {test['contextTokens']:,} tokens",
                f"  first token after {test['coldMs']:,.0f} ms with an uncached prompt, "
                f"{test['warmMs']:,.0f} ms with a cached one",
                f"  prefill {test['readsTokensPerSecond']:,.0f} tokens/s, "
                f"decoding {test['writesTokensPerSecond']:,.0f} tokens/s",
            )
            for complaint in test["complaints"]:
                self._out.print(Text(f"  ! {for_terminal_line(complaint)}", "yellow"))

    def notes(self, notes: Iterable[str]) -> None:
        for note in notes:
            self._err.print(Text.assemble(("note: ", "yellow"), for_terminal_line(note)))

    def hint(self, line: str) -> None:
        """A note about what the command chose; not with `quiet`."""
        if not self._quiet:
            self.notes([line])

    def confirm(self, question: str) -> bool | None:
        """The answer to a yes-or-no question; None without an answer, and if no person is at the terminal."""
        if self._quiet or not sys.stdin.isatty() or not self._err.is_terminal:
            return None
        self._err.print(f"{for_terminal_line(question)} [y/n] ", markup=False, end="")
        return {"y": True, "yes": True, "n": False, "no": False}.get(sys.stdin.readline().strip().lower())

    def report(self, folder: Path, report: IndexReport) -> None:
        speed = report.n_lines / report.seconds if report.seconds else 0
        how = "from the index on disk" if report.warm else f"{speed:,.0f} lines/s"
        self._out.print(
            Text.assemble(
                (for_terminal_line(str(folder)), "bold"),
                f": {report.n_files:,} files, {report.n_lines:,} lines, {report.n_fragments:,} fragments "
                f"in {report.seconds:.2f} s ({how})",
            )
        )
        if report.n_reused and report.warm:
            self._out.print(f"{report.n_reused:,} files are unchanged")
        for reason, n_files in sorted(report.skipped.items(), key=lambda item: -item[1]):
            self._out.print(Text(f"left out: {n_files:,} × {for_terminal_line(reason)}", "dim"))

    def completion(
        self, path: Path, completion: Completion, *, text: str | None = None, is_explained: bool = False
    ) -> None:
        """The code with the completion inserted, then its model and times; its confidence, unless it is explained.

        `text` is the code, None for the file on disk.
        """
        line, column = completion.start
        lines = _lines_of(path) if text is None else text.split("\n")
        width = len(str(line + 1))
        for number in range(max(0, line - LINES_BEFORE), line):
            self._code(number, width, Text(for_terminal_line(lines[number]), "dim"))
        here = lines[line] if line < len(lines) else ""
        first, *more = completion.text.split("\n")
        shown = Text.assemble(for_terminal_line(here[:column]), (for_terminal_line(first), "bold green"))
        end = Text(for_terminal_line(here[completion.end[1] :]))
        if not more:
            self._code(line, width, shown + end)
        else:
            self._code(line, width, shown)
            for number, text in enumerate(more[:-1], line + 1):
                self._code(number, width, Text(for_terminal_line(text), "bold green"))
            self._code(line + len(more), width, Text(for_terminal_line(more[-1]), "bold green") + end)
        if not completion.text:
            self._out.print(Text(f"no completion: {for_terminal_line(completion.why_empty)}", "yellow"))
        else:
            confidence = "" if is_explained or completion.confidence is None else f", {completion.confidence:.0%} sure"
            times = ", ".join(f"{name} {value:.1f} ms" for name, value in completion.timings_ms.items())
            self._out.print(Text(f"{for_terminal_line(completion.model)}{confidence} ({times})", "dim"))

    def half_typed(self, half_typed: HalfTyped) -> None:
        """The last lines of a file, with what the accepted completions have added, or why nothing is shown."""
        typed = half_typed.typed
        self._out.print()
        self._out.print(Text(f"{for_terminal_line(half_typed.path)}:{typed.line + 1}", "cyan"))
        *before, last = half_typed.lines
        width = len(str(typed.line + 1))
        for number, line in enumerate(before[-LINES_BEFORE:], typed.line - len(before[-LINES_BEFORE:])):
            self._code(number, width, Text(for_terminal_line(line), "dim"))
        added = for_terminal_line(typed.added.partition("\n")[0])
        self._code(typed.line, width, Text.assemble(for_terminal_line(last), (added, "bold green")))
        indent = f"{'':>{width}}   "
        if not typed.accepted:
            self._out.print(Text(f"{indent}Nothing is shown: {for_terminal_line(half_typed.reason)}.", "yellow"))
            if half_typed.by_hand:
                by_hand = for_terminal_line(half_typed.by_hand.partition("\n")[0])
                self._out.print(Text(f"{indent}By hand: {by_hand}", "dim"))
            return
        parts = " + ".join(f"`{for_terminal_line(completion.text)}`" for completion in typed.accepted)
        found = half_typed.found_in
        origin = f"{for_terminal_line(found)} contains it" if found else "no line of the project contains it"
        self._out.print(Text(f"{indent}Tab: {parts}", "dim"))
        self._out.print(Text(f"{indent}At least {typed.least_confidence:.0%} sure; {origin}.", "dim"))

    def explanation(self, explanation: Explanation, completion: Completion) -> None:
        """Whether the completion is shown while typing, and its sources, or the fragments of the prompt."""
        if not completion.text:  # its reason is printed
            for line in explanation.text.splitlines():
                self._out.print(Text(f"not shown: {for_terminal_line(line)}"))
        elif explanation.text:
            verdict = " ".join(explanation.verdict[:2])  # without the advice for an editor
            self._out.print(Text(for_terminal_line(verdict), "yellow" if explanation.why_hidden else "dim"))
        if not explanation.of_workspace_model:
            self.prompt(explanation.fragments)
            return
        for entry in source_page(explanation):
            text = for_terminal_line(entry["text"])
            is_detail = text.startswith("     ")
            style = "cyan" if "uri" in entry else "dim" if is_detail else "" if text.startswith(" ") else "bold"
            self._out.print(Text(text, style))

    def prompt(self, fragments: Sequence[RankedFragment]) -> None:
        """The fragments of a prompt; nothing without any."""
        if fragments:
            self._out.print()
            self._out.print(Text("Fragments of the repository in the prompt:", "bold"))
            self.fragments(fragments)

    def trace(self, trace: Trace) -> None:
        """The steps of a request, with the milliseconds since its start; nothing without a trace."""
        if not trace.steps:
            return
        self._out.print()
        self._out.print(Text("Trace", "bold"))
        width = max(len(step.name) for step in trace.steps)
        for step in trace.steps:
            first, *more = step.detail.split("\n")
            self._out.print(
                Text.assemble(
                    (f"{step.at_ms:>9.1f} ms  ", "dim"), (f"{step.name:<{width}}  ", "cyan"), for_terminal_line(first)
                )
            )
            for line in more:
                self._out.print(Text(f"{'':>{14 + width}}  {for_terminal_line(line)}", "dim"))

    def fragments(self, fragments: Sequence[RankedFragment], *, details: bool = False) -> None:
        """Best first, with locations, score and its parts; `details` adds the text and the path of relations."""
        if not fragments:
            self._out.print(Text("no fragment matches the code before the cursor", "yellow"))
        for number, ranked in enumerate(fragments, 1):
            first, *others = ranked.fragment.locations
            parts = " + ".join(f"{part.name} {part.value:.2f}" for part in ranked.parts)
            self._out.print(
                Text.assemble(
                    (f"{number:>3}  ", "dim"),
                    (_place(first), "cyan"),
                    f"  {ranked.score:.2f}",
                    (f" = {parts}" if parts else "", "dim"),
                )
            )
            if others:
                relation = "signatures, also at" if ranked.fragment.is_outline else "also"
                self._out.print(Text(f"     {relation} {', '.join(_place(place) for place in others)}", "dim"))
            if details:
                for part in ranked.parts:
                    if part.detail:
                        self._out.print(Text(f"     {part.name}: {for_terminal_line(part.detail)}", "dim"))
                if ranked.path:
                    self._out.print(Text(f"     path: {for_terminal_line('; '.join(ranked.path))}", "dim"))
            text = [line for line in ranked.fragment.text.splitlines() if line.strip()]
            for line in text if details else text[:PREVIEW_LINES]:
                self._out.print(Text(f"     │ {for_terminal_line(line)}", "dim"))

    def hits(self, hits: Sequence[SearchHit], *, details: bool = False) -> None:
        """Hits of a search, best first, with their best lines; `details` adds the parts of each score."""
        for hit in hits:
            folder = f"{Path(hit.folder).name}: " if hit.folder else ""
            self._out.print(
                Text.assemble(
                    (f"{for_terminal_line(folder + hit.path)}:{hit.line + 1}", "cyan"),
                    (f"  {for_terminal_line(hit.symbol)}" if hit.symbol else "", "bold"),
                    (f"  {hit.kind}", "dim"),
                )
            )
            self._out.print(Text(f"     │ {for_terminal_line(hit.preview)}"))
            if details:
                parts = " + ".join(f"{part.name} {part.value:.2f}" for part in hit.parts)
                self._out.print(Text(f"     {hit.score:.2f} = {for_terminal_line(parts)}", "dim"))

    def left_out(self, left_out: Sequence[tuple[Location, str]]) -> None:
        if left_out:
            self._out.print(Text("Left out:", "bold"))
        for place, reason in left_out:
            self._out.print(Text.assemble("     ", (_place(place), "cyan"), f"  {for_terminal_line(reason)}"))

    def findings(self, findings: Sequence[CheckResult]) -> None:
        width = max(len(finding.what) for finding in findings)
        for finding in findings:
            mark = ("!", "bold yellow") if finding.next_step else ("✓", "green")
            self._out.print(Text.assemble(mark, f" {finding.what:<{width}}  ", for_terminal_line(finding.found)))
        steps = [finding.next_step for finding in findings if finding.next_step]
        self._out.print()
        self._out.print(Text("Next steps:" if steps else "No problems found.", "bold"))
        for step in steps:
            self._out.print(f"  - {for_terminal_line(step)}", markup=False)

    def stats(self, summary: Summary, n_days: int) -> None:
        """Acceptance, latency, and reasons of empty answers."""
        day = summary.day
        n_asked = day.n_asked.total()
        if not n_asked:
            self.say(f"No completion was requested in the last {n_days} days. Counters stay on this machine.")
            self._agent_calls(summary)
            return
        n_offered = day.n_offered.total()
        self._out.print(Text(f"The last {n_days} days, on this machine", "bold"))
        self.say(f"{n_asked:,} requests, {n_offered:,} with a completion ({n_offered / n_asked:.0%})")
        if summary.accepted_share is not None:
            self.say(
                f"{day.n_shown.total():,} shown, {day.n_accepted.total():,} accepted and {day.n_partly.total():,} in "
                f"part ({summary.accepted_share:.0%}), {day.n_rejected.total():,} rejected; "
                f"{day.n_characters.total():,} characters accepted"
            )
        else:
            self.say("The editor does not report which completions are shown and accepted.")
        latencies = [
            (source, f"{n:,}", f"{p50:,.1f} ms", f"{p95:,.1f} ms")
            for source, (p50, p95, n) in summary.latency_ms.items()
        ]
        counters = (day.n_shown, day.n_accepted, day.n_partly, day.n_rejected)
        languages = [
            (language, *(f"{counter[language]:,}" for counter in counters)) for language, _ in day.n_shown.most_common()
        ]
        follow_ups = (day.n_next_shown, day.n_next_taken, day.n_next_refused)
        kinds = [(kind, *(f"{counter[kind]:,}" for counter in follow_ups)) for kind in _keys_of(follow_ups)]
        reasons = [(reason, f"{count:,}") for reason, count in day.n_empty.most_common()]
        self._table("Latency", ("source", "answers", "median", "95th percentile"), latencies)
        self._table("By language", ("language", "shown", "accepted", "in part", "rejected"), languages)
        self._table("Next edits", ("kind", "shown", "taken", "refused"), kinds)
        self._table("Reasons of empty answers", ("reason", "count"), reasons)
        self._agent_calls(summary)

    def _agent_calls(self, summary: Summary) -> None:
        rows = []
        for tool, n_calls in summary.day.n_agent_calls.most_common():
            p50, p95, n_measured = summary.agent_latency_ms.get(tool, (0.0, 0.0, 0))
            times = (f"{p50:,.1f} ms", f"{p95:,.1f} ms") if n_measured else ("-", "-")
            rows.append((tool, f"{n_calls:,}", f"{summary.day.n_agent_failed[tool]:,}", *times))
        self._table("Calls of agents", ("tool", "calls", "failed", "median", "95th percentile"), rows)

    def _table(self, title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table; nothing without rows."""
        if not rows:
            return
        table = Table(box=None, pad_edge=False, header_style="dim")
        for head in heads:
            table.add_column(head, no_wrap=head == "name")  # a name must be easy to copy
        for row in rows:
            table.add_row(*(Text(for_terminal_line(cell)) for cell in row))
        self._out.print(Text(title, "bold"))
        self._out.print(table, soft_wrap=False)

    def _code(self, line: int, width: int, code: Text) -> None:
        self._out.print(Text.assemble((f"{line + 1:>{width}} │ ", "dim"), code))


def _keys_of(counters: Iterable[Counter[str]]) -> list[str]:
    """The keys of some counters, in order."""
    return sorted({key for counter in counters for key in counter})


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.0f} MB" if n_bytes else ""


def _speed(measured: Mapping[str, Any] | None) -> str:
    """The result of `weft models test`."""
    if measured is None:
        return "not tested"
    if measured["selfTest"] == "broken":
        return "self-test failed"
    return f"{measured['writesTokensPerSecond']:,.0f} tokens/s, first token after {measured['warmMs']:,.0f} ms"


def _place(place: Location) -> str:
    return f"{for_terminal_line(place.path)}:{place.start_line + 1}-{place.end_line}"


def _lines_of(path: Path) -> list[str]:
    try:
        text = read_regular(path).decode("utf-8", "replace")
    except OSError:
        return []
    lines = TextLines(text)
    return [lines.line(number) for number in range(lines.n_lines)]
