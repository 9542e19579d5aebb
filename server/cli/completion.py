"""`weft complete` and `weft retrieve`."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from ...errors import InvalidArgument, UserError
from ...llm.disk import read_regular
from ...retrieval import strategy_named
from ..completion import Round
from ..completion.values import NO_TRACE, RequestOptions, Trace
from ..output.as_json import (
    completion_json,
    explained_text_json,
    fragments_json,
    place_json,
    round_json,
    trace_json,
)
from ..workspace.files import decode
from .common import (
    parse_location,
    workspace_of_file,
)
from .exit_status import NOTHING_TO_SHOW
from .first_tries import without_rest
from .terminal import Terminal


def complete(options: argparse.Namespace) -> int:
    if options.iterations is not None:
        return _complete_in_rounds(options)
    if options.candidates < 1:
        raise UserError(f"--candidates {options.candidates} is too small. Give at least 1.")
    terminal = Terminal(quiet=options.json)
    path, line, character = parse_location(options.location)
    text = _without_rest(path, line, character) if options.retype else None
    with workspace_of_file(path, terminal, options) as workspace:
        multi_line = options.multi_line or None
        trace = Trace() if options.trace else NO_TRACE
        if options.automatic:
            completions = [workspace.complete(path, line, character, multi_line=multi_line, text=text, trace=trace)]
        else:
            completions = workspace.complete_several(
                path, line, character, options.candidates, multi_line=multi_line, text=text, trace=trace
            )
        # The same fragments with the parts of their scores, which a completion has no time to compute.
        is_by_hand = not options.automatic and bool(completions[0].text)
        explanation = workspace.explain(
            path, line, character, RequestOptions("invoked" if is_by_hand else "automatic", multi_line), text=text
        )
    first, *others = completions
    first = replace(first, fragments=explanation.fragments)
    if first.is_low_confidence and explanation.text:  # the explanation knows the text and its exact confidence
        first = replace(
            first,
            held_back=explanation.text,
            confidence=explanation.confidence,
            why_empty=explanation.why_hidden,
        )
    if options.json:
        further = {"candidates": [completion_json(other) for other in others]} if options.candidates > 1 else {}
        steps = {"trace": trace_json(trace)} if options.trace else {}
        explained = {"explanation": explained_text_json(explanation)}
        terminal.json({**completion_json(first), **explained, **further, **steps, "notes": list(explanation.notes)})
    else:
        terminal.notes(explanation.notes)
        terminal.completion(path, first, text=text, is_explained=True)
        terminal.explanation(explanation, first)
        for completion in others:
            terminal.completion(path, completion, text=text)
        terminal.trace(trace)
    return 0 if first.text else NOTHING_TO_SHOW


def _without_rest(path: Path, line: int, character: int) -> str | None:
    """The text of a file without the rest of a line; None for a file that is no text, which the workspace refuses."""
    decoded = decode(read_regular(path))
    return None if decoded is None else without_rest(decoded[0], line, character)


def _complete_in_rounds(options: argparse.Namespace) -> int:
    n_rounds = options.iterations
    if options.retype:
        raise UserError("--retype does not work with --iterations. Leave one of them out.")
    if n_rounds < 1:
        raise UserError(f"--iterations {n_rounds} is too small. Give at least 1; more than 3 rarely change anything.")
    if options.trace:
        raise UserError("--trace does not work with --iterations. Leave one of them out.")
    terminal = Terminal(quiet=options.json)
    path, line, character = parse_location(options.location)
    rounds: list[Round] = []
    with workspace_of_file(path, terminal, options) as workspace, terminal.rounds_progress(n_rounds) as progress:

        def on_round(finished: Round) -> None:
            rounds.append(finished)
            progress(finished)

        completion = workspace.complete_in_rounds(
            path, line, character, n_rounds, multi_line=options.multi_line or None, on_round=on_round
        )
        notes = workspace.status().notes
    if options.json:
        terminal.json({**completion_json(completion), "rounds": list(map(round_json, rounds)), "notes": list(notes)})
    else:
        terminal.notes(notes)
        terminal.completion(path, completion)
        terminal.prompt(completion.fragments)
        terminal.rounds(rounds)
    return 0 if completion.text else NOTHING_TO_SHOW


def retrieve(options: argparse.Namespace) -> int:
    if options.strategy is not None:
        try:
            strategy_named(options.strategy)
        except InvalidArgument as error:
            raise UserError(f"--strategy: {error}") from None
    terminal = Terminal(quiet=options.json)
    path, line, character = parse_location(options.location)
    given = {"strategy": options.strategy, "k": options.k}
    with workspace_of_file(path, terminal, options) as workspace:
        changes = {name: value for name, value in given.items() if value is not None}
        settings = replace(workspace.config.retrieval, explain=options.explain, **changes)
        found = workspace.retrieve(path, line, character, options=settings)
    if options.json:
        left_out = [{"place": place_json(place), "reason": reason} for place, reason in found.left_out]
        terminal.json({"fragments": fragments_json(found.fragments), "leftOut": left_out})
    else:
        terminal.fragments(found.fragments, details=options.explain)
        terminal.left_out(found.left_out)
    return 0 if found.fragments else NOTHING_TO_SHOW
