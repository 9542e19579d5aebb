"""Self-test of a model: fill-in-the-middle tasks with known results, or continuations for a model without FIM.

Owns the tasks, the criteria and the message to the user. Knows no backend. Capabilities are the
tokens of a model; the self-test shows whether it was trained to use them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .prompting.formats import FIM_FORMATS
from .protocol import Cancel, CodeModel, CompletionRequest
from .streaming import closed_at_end

MAX_NEW_TOKENS = 24
# Characters. Every expected middle is shorter than 10; a longer one does not respect the suffix.
LONGEST_MIDDLE = 40

Kind = Literal["works", "weak", "broken", "untested"]


@dataclass(frozen=True, slots=True)
class SelfTestResult:
    """works: at least half of the tasks solved; weak: clean text, but other than expected; broken: unusable text.

    `text` has the expected and the received text and the next step; "" when the model works or after a cancellation.
    """

    kind: Kind
    text: str = ""

    @property
    def broken(self) -> bool:
        return self.kind == "broken"


def self_test(model: CodeModel, cancel: Cancel) -> SelfTestResult:
    """Run the infilling tasks, or the continuation tasks for a model without FIM. At most a few seconds.

    Raises ModelError when the model fails.
    """
    fills_middle = model.info.fills_middle
    attempts = []
    for task in _INFILLING_TASKS if fills_middle else _CONTINUATION_TASKS:
        attempts.append(_Attempt(task, _completion(model, task, cancel)))
        if cancel.cancelled:
            return SelfTestResult("untested")
    return _result(model.info.name, attempts, fills_middle)


@dataclass(frozen=True, slots=True)
class _Task:
    prefix: str
    suffix: str
    middle: str

    @property
    def line(self) -> str:
        """The line around the cursor, for a message."""
        return f"{self.prefix.rpartition(chr(10))[2]}…{self.suffix.partition(chr(10))[0]}".strip()


# Each cursor is within a line, and the code after it determines the middle or its end.
_INFILLING_TASKS = (
    _Task("def greet(", '):\n    return "Hello, " + name + "!"\n', "name"),
    _Task(
        "def area(width, height):\n    return width * height\n\n\ndef half(width, height):\n    return area(width, ",
        ") / 2\n",
        "height",
    ),
    _Task("total = 0\nfor ", " in range(10):\n    total += index\nprint(total)\n", "index"),
)
_CONTINUATION_TASKS = (
    _Task("numbers = [1, 2, 3, 4, 5, 6, 7, 8, ", "", "9"),
    _Task("def add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    return a - ", "", "b"),
    _Task("import sys\n\n\ndef main():\n    args = sys.argv\n    print(args)\n\n\nif __name__ == ", "", '"__main__"'),
)


@dataclass(frozen=True, slots=True)
class _Attempt:
    task: _Task
    text: str

    @property
    def solved(self) -> bool:
        """Whether the text is the expected middle, not a longer word. Both kinds of quotes are equal."""
        text, middle = self.text.strip().replace("'", '"'), self.task.middle
        if self.task.suffix:
            # `name: str` and `name="you"` are as good as `name`.
            return re.fullmatch(rf"{middle}( *[:=].*)?", text) is not None
        return text.startswith(middle) and not text[len(middle) : len(middle) + 1].isalnum()

    @property
    def defect(self) -> str:
        """The defect of the text, independent of the expected middle; empty for none."""
        after = self.task.suffix.partition("\n")[0].strip()
        if any(token in self.text for token in _SPECIAL_TOKENS):
            return _WRITES_TOKENS
        if not self.text.strip():
            return _WRITES_NOTHING
        if after and after in self.text:
            return _REPEATS
        if self.task.suffix and ("\n" in self.text.strip() or len(self.text) > LONGEST_MIDDLE):
            return _CONTINUES
        return _WRITES_RUBBISH if "\ufffd" in self.text or _REPETITION.match(self.text.strip()) else ""


_REPETITION = re.compile(r"(.+?)\1{4}")
_SPECIAL_TOKENS = sorted({token.strip("▁") for fim in FIM_FORMATS.values() for token in fim.all})

_WRITES_TOKENS = "writes special tokens as plain text"
_WRITES_NOTHING = "writes nothing"
_REPEATS = "repeats the code after the cursor"
_CONTINUES = "ignores the code after the cursor"
_WRITES_RUBBISH = "writes no code"

_NO_FIM = (
    'choose a model that was trained for fill-in-the-middle, or set fim = "none" to leave out the code after the cursor'
)
_NEXT_STEP = {  # the most serious first
    _WRITES_TOKENS: f"Its file or server does not mark them as special: download or convert it again, or {_NO_FIM}.",
    _REPEATS: f"It has the tokens but not the training: {_NO_FIM}.",
    _CONTINUES: f"It has the tokens but not the training: {_NO_FIM}.",
    _WRITES_RUBBISH: "Download the model again, or choose another.",
    _WRITES_NOTHING: f"Check that `fim` is the model's own format, {_NO_FIM}.",
}


def _completion(model: CodeModel, task: _Task, cancel: Cancel) -> str:
    request = CompletionRequest(
        path="example.py",
        language="python",
        prefix=task.prefix,
        suffix=task.suffix,
        repository="example",
        max_new_tokens=MAX_NEW_TOKENS,
        # A line break shows that the model ignores the suffix.
        single_line=not task.suffix,
    )
    text = ""
    with closed_at_end(model.stream(request, cancel)) as pieces:
        for piece in pieces:
            text += piece.text
            if len(text) > LONGEST_MIDDLE:
                break
    return text


def _result(name: str, attempts: Sequence[_Attempt], fills_middle: bool) -> SelfTestResult:
    failed = [attempt for attempt in attempts if not attempt.solved]
    if 2 * len(failed) <= len(attempts):
        return SelfTestResult("works")
    by_defect = {attempt.defect: attempt for attempt in reversed(failed)}
    # An empty text may be a valid choice in one task, but not in all.
    n_unusable = sum(attempt.defect not in ("", _WRITES_NOTHING) for attempt in failed)
    if _WRITES_TOKENS in by_defect or 2 * n_unusable >= len(attempts) or all(attempt.defect for attempt in attempts):
        defect = next(each for each in _NEXT_STEP if each in by_defect)
        next_step = _NEXT_STEP[defect] if fills_middle else _NEXT_STEP[_WRITES_RUBBISH]
        return SelfTestResult("broken", f"{_description(name, by_defect[defect])}: it {defect}. {next_step}")
    return SelfTestResult(
        "weak", f"{_description(name, failed[0])}. Its completions are of little use; a larger model does better."
    )


def _description(name: str, attempt: _Attempt) -> str:
    wrote = attempt.text.strip()[:LONGEST_MIDDLE]
    return f"{name} wrote {wrote!r} in place of `{attempt.task.middle}` in `{attempt.task.line}`"
