"""Does the model fill a hole? A few whose middle is known, asked at the start, and a sentence when they stay open.

Owns the holes, what counts as filled, and what a user is told. Knows no backend: any `CodeModel` is asked as an
editor would ask it. Capabilities say what a model has tokens for; this says whether it was trained to use them.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Literal

from .prompting.formats import FIM_FORMATS
from .protocol import Cancel, CodeModel, CompletionRequest

MAX_NEW_TOKENS = 24
LONGEST_MIDDLE = 40
"""Characters. Every middle asked for is shorter than 10; who writes more does not see where the hole ends."""

Kind = Literal["works", "weak", "broken", "untested"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the self-test found: at least half of the holes filled; clean text but other; or unusable as it is.

    `text` says what was asked, what came and what to do next; "" when it works, and when the test was cancelled.
    """

    kind: Kind
    text: str = ""

    @property
    def works(self) -> bool:
        return self.kind == "works"

    @property
    def broken(self) -> bool:
        return self.kind == "broken"


def self_test(model: CodeModel, cancel: Cancel) -> Verdict:
    """Ask for a few known middles, or for known continuations of a model that fills none. At most a few seconds.

    Raises ModelError when the model can't be asked.
    """
    fills_middle = model.info.fills_middle
    answers = []
    for hole in _HOLES if fills_middle else _ENDS:
        answers.append(_Answer(hole, _asked(model, hole, cancel)))
        if cancel.cancelled:
            return Verdict("untested")
    return _judged(model.info.name, answers, fills_middle)


@dataclass(frozen=True, slots=True)
class _Hole:
    prefix: str
    suffix: str
    middle: str

    @property
    def line(self) -> str:
        """The line around the hole, for a message."""
        return f"{self.prefix.rpartition(chr(10))[2]}…{self.suffix.partition(chr(10))[0]}".strip()


# Each hole is inside a line, and what belongs there stands in the code after it, or ends where that begins.
_HOLES = (
    _Hole("def greet(", '):\n    return "Hello, " + name + "!"\n', "name"),
    _Hole(
        "def area(width, height):\n    return width * height\n\n\ndef half(width, height):\n    return area(width, ",
        ") / 2\n",
        "height",
    ),
    _Hole("total = 0\nfor ", " in range(10):\n    total += index\nprint(total)\n", "index"),
)
_ENDS = (
    _Hole("numbers = [1, 2, 3, 4, 5, 6, 7, 8, ", "", "9"),
    _Hole("def add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    return a - ", "", "b"),
    _Hole("import sys\n\n\ndef main():\n    args = sys.argv\n    print(args)\n\n\nif __name__ == ", "", '"__main__"'),
)


@dataclass(frozen=True, slots=True)
class _Answer:
    hole: _Hole
    text: str

    @property
    def fills(self) -> bool:
        """Whether the middle is the known one; more of the same word is not. Quotes of either kind are the same."""
        text, middle = self.text.strip().replace("'", '"'), self.hole.middle
        if self.hole.suffix:
            # `name: str` and `name="you"` fill the hole as well as `name`.
            return re.fullmatch(rf"{middle}( *[:=].*)?", text) is not None
        return text.startswith(middle) and not text[len(middle) : len(middle) + 1].isalnum()

    @property
    def complaint(self) -> str:
        """What is wrong with the text, whatever the middle should have been; empty when nothing is."""
        after = self.hole.suffix.partition("\n")[0].strip()
        if any(letters in self.text for letters in _SPECIAL_LETTERS):
            return _WRITES_TOKENS
        if not self.text.strip():
            return _WRITES_NOTHING
        if after and after in self.text:
            return _REPEATS
        if self.hole.suffix and ("\n" in self.text.strip() or len(self.text) > LONGEST_MIDDLE):
            return _RUNS_ON
        return _WRITES_RUBBISH if "\ufffd" in self.text or _ONE_OVER_AND_OVER.match(self.text.strip()) else ""


_ONE_OVER_AND_OVER = re.compile(r"(.+?)\1{4}")
_SPECIAL_LETTERS = sorted({token.strip("▁") for fim in FIM_FORMATS.values() for token in fim.all})

_WRITES_TOKENS = "writes special tokens as letters"
_WRITES_NOTHING = "writes nothing"
_REPEATS = "repeats the code after the cursor"
_RUNS_ON = "runs on past the end of the hole"
_WRITES_RUBBISH = "writes no code"

_NO_FIM = (
    'choose a model that was trained to fill the middle, or set fim = "none" to leave out the code after the cursor'
)
_NEXT_STEP = {  # the gravest first
    _WRITES_TOKENS: f"Its file or its server does not mark them as special: get or convert it again, or {_NO_FIM}.",
    _REPEATS: f"It has the tokens but not the training: {_NO_FIM}.",
    _RUNS_ON: f"It has the tokens but not the training: {_NO_FIM}.",
    _WRITES_RUBBISH: "Get the model again, or choose another.",
    _WRITES_NOTHING: f"Check that `fim` is the model's own format, {_NO_FIM}.",
}


def _asked(model: CodeModel, hole: _Hole, cancel: Cancel) -> str:
    request = CompletionRequest(
        path="example.py",
        language="python",
        prefix=hole.prefix,
        suffix=hole.suffix,
        repository="example",
        max_new_tokens=MAX_NEW_TOKENS,
        # A line break shows that the end of the hole was not seen.
        single_line=not hole.suffix,
    )
    text = ""
    pieces = model.stream(request, cancel)
    for piece in pieces:
        text += piece.text
        if len(text) > LONGEST_MIDDLE:
            break
    if isinstance(pieces, Generator):
        pieces.close()  # who runs on is told to stop now
    return text


def _judged(name: str, answers: Sequence[_Answer], fills_middle: bool) -> Verdict:
    missed = [answer for answer in answers if not answer.fills]
    if 2 * len(missed) <= len(answers):
        return Verdict("works")
    by_complaint = {answer.complaint: answer for answer in reversed(missed)}
    # A model may well think that nothing belongs somewhere, but not everywhere.
    n_unusable = sum(answer.complaint not in ("", _WRITES_NOTHING) for answer in missed)
    if _WRITES_TOKENS in by_complaint or 2 * n_unusable >= len(answers) or all(answer.complaint for answer in answers):
        complaint = next(found for found in _NEXT_STEP if found in by_complaint)
        next_step = _NEXT_STEP[complaint] if fills_middle else _NEXT_STEP[_WRITES_RUBBISH]
        return Verdict("broken", f"{_said(name, by_complaint[complaint])}: it {complaint}. {next_step}")
    return Verdict("weak", f"{_said(name, missed[0])}. Expect little of it; a larger model would do better.")


def _said(name: str, answer: _Answer) -> str:
    wrote = answer.text.strip()[:LONGEST_MIDDLE]
    return f"{name} was asked for `{answer.hole.middle}` in `{answer.hole.line}` and wrote {wrote!r}"
