"""Next edits after alike edits: the same change of tokens, also under other names, where it fits elsewhere.

Owns the evidence for and against each place, and what is offered there. `template` says which recent changes may be
repeated, `fits` where they fit, `repeated_confidence` how probable that is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from .fits import Fit, fits_of
from .repeated_confidence import Evidence, confidence_of
from .template import Template, templates
from .token_changes import Change
from .values import NextEdit, Origin, Situation

MIN_CONFIDENCE = 0.2
"""Less probable edits are not made."""

NEAR_LINES = 3
"""The parts of one edit are within so many lines."""


def repeated_edits(situation: Situation) -> Iterator[NextEdit]:
    """The edits that repeat recent ones elsewhere, the surest at each line."""
    best: dict[tuple[str, int], NextEdit] = {}
    for edit, _ in repeated_with_evidence(situation):
        key = edit.path, edit.start[0]
        if key not in best or best[key].confidence < edit.confidence:
            best[key] = edit
    yield from best.values()


def repeated_with_evidence(
    situation: Situation, min_confidence: float = MIN_CONFIDENCE
) -> Iterator[tuple[NextEdit, Evidence]]:
    """The edits that repeat recent ones, each with the evidence for and against it."""
    found = [(template, fits_of(situation, template)) for template in templates(situation)]
    for template, fits in found:
        siblings: dict[str, list[int]] = {}
        for sibling, others in found:
            if sibling.latest is not template.latest and sibling.latest.at == template.latest.at:
                for fit in others:
                    siblings.setdefault(fit.path, []).append(fit.line)
        for fit, evidence in _rated(situation, template, fits, siblings):
            confidence = confidence_of(evidence)
            edit = None if confidence < min_confidence else _edit(template, fit, confidence)
            if edit is not None:
                yield edit, evidence


def _rated(
    situation: Situation, template: Template, fits: Sequence[Fit], siblings: Mapping[str, Sequence[int]]
) -> Iterator[tuple[Fit, Evidence]]:
    """`siblings` has the lines of each file where other parts of the same edit fit."""
    latest = template.latest
    name = latest.path.rpartition("/")[2]
    n_later = sum(hunk.at > latest.at for file in situation.edited for hunk in file.hunks)
    direction = _direction(situation, latest)
    n_equal = sorted(fit.n_equal for fit in fits)
    for fit in fits:
        is_here = fit.path == latest.path
        yield (
            fit,
            Evidence(
                n_made=len({(change.path, change.now_line) for change in template.changes}),
                n_old=len(latest.old),
                n_as_good=len(fits) - bisect_left(n_equal, fit.n_equal) - 1,
                n_siblings=sum(abs(line - fit.line) <= NEAR_LINES for line in siblings.get(fit.path, ())),
                n_later=n_later,
                is_same_file=is_here,
                is_same_name=not is_here and fit.path.rpartition("/")[2] == name,
                is_ahead=is_here and (fit.line - latest.now_line) * direction > 0,
                inserts_lines=latest.inserts_lines,
                deletes=not latest.new,
            ),
        )


def _direction(situation: Situation, latest: Change) -> int:
    """Whether the user goes down (1) or up (-1) the file: from the edit before the latest change to it."""
    hunks = [hunk for hunk in situation.edited_by_path[latest.path].hunks if hunk.at < latest.at]
    before = max(hunks, key=lambda hunk: hunk.at, default=None)
    return -1 if before is not None and before.start_line > latest.now_line else 1


def _edit(template: Template, fit: Fit, confidence: float) -> NextEdit | None:
    """The edit at a place; None where it changes nothing."""
    change = template.latest
    replaced = fit.replaced()
    if replaced is None or replaced.old == replaced.new:
        return None
    lines = sorted({each.now_line + 1 for each in template.changes if each.path == change.path})
    reason = f"The edit of line {lines[0]} of {change.path} fits here, too."
    if len(lines) > 1:
        shown = ", ".join(map(str, lines[-3:-1])) + f" and {lines[-1]}"
        reason = f"The edits of lines {shown} of {change.path} fit here, too."
    evidence = "The line is the same." if fit.is_whole else f"{fit.n_equal} tokens around it are the same."
    cause = f"repeated {' '.join(change.old)} > {' '.join(change.new)} {len(template.changes)}"
    origin = Origin(change.path, change.now_line)
    ends = replaced.start, replaced.end
    return NextEdit(
        "repeated", fit.path, *ends, replaced.old, replaced.new, reason, cause, confidence, False, origin, evidence
    )
