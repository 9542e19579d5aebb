"""Explanation of the completion at a cursor: its text, its origins in the repository, or the fragments of its prompt.

Owns the value and the sentences on the features of a text of the workspace model. Knows no protocol and no model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from ...llm.workspace_model import Origins
from ...retrieval import Location, RankedFragment
from ..workspace.text import is_word
from .place import PHRASES, Place
from .postprocess import LOW_CONFIDENCE

MANY_TOKENS = 32
"""More equal tokens before a text are not compared."""

MAX_PARTS = 4
"""Suggested parts of one source that are named."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """Lines that a text was copied or adapted from; `renamed` are pairs of a name there and in the text."""

    place: Location
    text: str
    renamed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """The completion at a cursor, and why it is shown or hidden; the retrieved fragments, and the omitted ones.

    `text` is the completion of the request. Where an automatic request has none, it is that of an invoked request, as
    far as it is known without a call of a neural model. `why_hidden` is the reason why it is not shown while typing,
    else "".
    """

    path: str
    line: int  # of the cursor, 0-based
    character: int
    model: str  # that answers now
    notes: tuple[str, ...]
    folder: str = ""  # of the document, "" without one
    shown_from_line: int = 0
    fragments: tuple[RankedFragment, ...] = ()
    left_out: tuple[tuple[Location, str], ...] = ()  # with the reason
    timings_ms: dict[str, float] = field(default_factory=dict)
    text: str = ""
    writer: str = ""  # the model that wrote the text
    confidence: float | None = None  # of the text
    min_confidence: float = 0.0
    setting: str = "completion.min_confidence"  # that sets the least confidence
    why_hidden: str = ""
    shown_instead: str = ""  # the text that is shown while typing
    sources: tuple[SourceLine, ...] = ()  # nearest first
    reasons: tuple[str, ...] = ()  # sentences
    of_workspace_model: bool = False  # which reads the whole index and no fragments
    other_file: Callable[[str], Path | None] = field(default=lambda path: None)  # of a path in another folder

    def file_of(self, path: str) -> Path | None:
        """The file of a fragment; None for a document outside of all folders."""
        return self.other_file(path) or (Path(self.folder, path) if self.folder else None)

    @property
    def verdict(self) -> tuple[str, ...]:
        """Whether the text is shown while typing, and why, in sentences."""
        if not self.text:
            return ("No completion.", _sentence(self.why_hidden))
        sure = "" if self.confidence is None else f"{self.confidence:.0%} sure"
        if self.shown_instead:
            first_line, _, more_lines = self.shown_instead.partition("\n")
            part = f"{'only ' * self.text.startswith(self.shown_instead)}`{first_line}`{' …' * bool(more_lines)}"
            why = self.why_hidden or sure
            return (f"While typing, {part} is shown.", *([f"This text: {why}."] if why else []))
        if not self.why_hidden:
            least = f"shown from {self.min_confidence:.0%} ({self.setting})"
            return ("Shown while typing.", f"{sure}, {least}." if sure else "The model reports no probabilities.")
        is_low = self.why_hidden.startswith(LOW_CONFIDENCE)
        more = "Request a completion by hand to insert it." if is_low else f"{sure}." if sure else ""
        return tuple(filter(None, ("Not shown while typing.", _sentence(self.why_hidden), more)))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def reasons_of(origins: Origins, place: Place) -> tuple[str, ...]:
    """What a text of the workspace model and its confidence are based on, in sentences."""
    reasons = []
    n, names = origins.n_places, ", ".join(f"`{name}`" for name in origins.names_nearby)
    if not n:
        reasons.append("No similar line is in the repository. The text is built name by name.")
    else:
        is_adapted = bool(origins.origins[0].renamed)
        first_line, _, more_lines = origins.covered.partition("\n")
        part = "this text" if origins.is_whole else f"`{first_line}`{' and the next lines' * bool(more_lines)}"
        have = f"{n} places have" if n > 1 else "1 place has"
        reasons.append(f"{have} {part} {'with other names ' * is_adapted}after similar code.")
        if origins.n_context > 1:
            more = " or more" if origins.n_context >= MANY_TOKENS else ""
            where = "in the most similar of them" if n > 1 else "there"
            reasons.append(f"The {origins.n_context}{more} tokens before it are the same {where}.")
        if not origins.is_whole:
            reasons.append("The rest of the text is built name by name.")
    reasons.extend(_suggested(origins.suggested))
    if names:
        reasons.append(f"Names from the code above the cursor: {names}.")
    reasons.append(f"The confidence is that of texts {PHRASES[place]}.")
    return tuple(reasons)


def _suggested(parts: Iterable[tuple[str, str]]) -> Iterator[str]:
    """What the code graph suggests of a text, a sentence for each source."""
    found: dict[str, dict[str, None]] = {}
    for source, text in parts:
        if shown := _shown_part(text):
            found.setdefault(source.removesuffix("s"), {}).setdefault(shown)
    for source, (one, several) in _SUGGESTED.items():
        texts = [f"`{text}`" for text in list(found.get(source, ()))[:MAX_PARTS]]
        if texts:
            names = " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))
            yield f"{names} {several if len(texts) > 1 else one}."


def _shown_part(text: str) -> str:
    """A suggested part without the signs around it, "" for signs alone: `pay` of `pay(`."""
    first_line, _, more_lines = text.strip().partition("\n")
    part = first_line.strip(" ,")
    while part.endswith("(") or (part.endswith(")") and part.count(")") > part.count("(")):
        part = part[:-1].rstrip(" ,")
    return f"{part}{' …' * bool(more_lines)}" if any(map(is_word, part)) and "`" not in part else ""


# By source, all arguments that are left as single ones: for one part, and for several.
_SUGGESTED = MappingProxyType(
    {
        "member": ("is a member of the receiver", "are members of their receivers"),
        "chain": ("follows such an expression elsewhere", "follow such expressions elsewhere"),
        "statement": ("fits the statement", "fit the statements"),
        "argument": ("fits the called function", "fit the called functions"),
        "assigned": ("fits the name that it is for", "fit the names that they are for"),
        "definition": ("fits the definitions around the cursor", "fit the definitions around the cursor"),
    }
)
