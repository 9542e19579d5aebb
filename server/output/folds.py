"""Folded parts of an answer: lists that are too long to show at once, as Markdown with `<details>`.

    <details><summary>12 more</summary>

    - shop/basket.py:4-5: ...

    </details>

Owns the one form in which they are written and recognised: both tags start at the beginning of a line of their own, and
the summary is plain text. Any other HTML is text (`safe_text.py`). Knows no editor; each shows a fold in its own way.
"""

from __future__ import annotations

import re

OPENING, CLOSING = "<details><summary>", "</details>"
MAX_SUMMARY = 120

FOLD_START = re.compile(rf"<details><summary>(?P<summary>[^<>&\\`\n]{{1,{MAX_SUMMARY}}})</summary>[ \t]*")
FOLD_END = re.compile(r"</details>[ \t]*")


def fold(summary: str, content: str) -> str:
    """Markdown that shows `summary`, and `content` once a person opens it."""
    plain = re.sub(r"[<>&\\`\s]+", " ", summary).strip()[:MAX_SUMMARY] or "more"
    return f"{OPENING}{plain}</summary>\n\n{content}\n\n{CLOSING}"


class FoldedText:
    """An answer in pieces for a terminal: with `is_open` its folded parts without the tags, else `SUMMARY: HOW`.

    Holds back a line only while it may be a tag.
    """

    def __init__(self, how: str, *, is_open: bool) -> None:
        self._how, self._is_open = how, is_open
        self._line = ""  # the beginning of a line that may be a tag
        self._is_in_line = False  # the beginning of the current line was decided before
        self._depth = 0
        self._fence = ""
        self._skips_blank = False

    def feed(self, piece: str) -> str:
        lines = (self._line + piece).split("\n")
        self._line = ""
        out = [self._whole(line) for line in lines[:-1]]
        return "".join(out) + self._begun(lines[-1])

    def finish(self) -> str:
        """The rest."""
        line, self._line = self._line, ""
        return self._whole(line).removesuffix("\n") if line else ""

    def _whole(self, line: str) -> str:
        """What is shown of a line, or of the rest of one, that is complete."""
        was_in_line, self._is_in_line = self._is_in_line, False
        if not was_in_line and not self._fence:
            if (start := FOLD_START.fullmatch(line)) is not None:
                self._depth += 1
                self._skips_blank = self._is_open
                shows = not self._is_open and self._depth == 1
                return f"{start['summary'].strip()}: {self._how}\n" if shows else ""
            if FOLD_END.fullmatch(line) and self._depth:
                self._depth -= 1
                self._skips_blank = self._is_open
                return ""
        if not was_in_line and (marks := _FENCE.match(line)) is not None:
            self._fence = "" if self._fence and marks[1].startswith(self._fence) else self._fence or marks[1]
        skips, self._skips_blank = self._skips_blank and not was_in_line and not line.strip(" \t"), False
        return "" if skips or not self._shows else line + "\n"

    def _begun(self, line: str) -> str:
        if not line:
            return ""
        if not self._is_in_line and (not line.strip(" \t") or line[0] in "<`~"):
            self._line = line
            return ""
        self._is_in_line, self._skips_blank = True, False
        return line if self._shows else ""

    @property
    def _shows(self) -> bool:
        return self._is_open or not self._depth


_FENCE = re.compile(r"(`{3,}|~{3,})")
