"""Text from models and documents made safe to show: in a terminal, in an editor, and as Markdown.

Owns which characters are shown as an escape (`<U+202E>`) and which constructs of Markdown are disarmed. Knows no
terminal, no protocol and no model. Every text from outside passes one of these functions on its way to a person.

Characters that are shown as escapes: controls (C0 without tab and line break, DEL, C1), bidirectional controls,
zero-width and other invisible characters, tag characters, line and paragraph separators, and lone surrogates. A
zero-width joiner or non-joiner stays between two emoji, and between two letters of scripts without upper and lower
case, where it changes how they are written (Persian, Hindi). Variation selectors stay.

Markdown: a link leads to http(s) or is no link; images, raw HTML, autolinks and reference definitions become the text
that they are written with. Places (`path:first-last`) are no Markdown links: front ends link them by the citations.
Code keeps its text. Fenced code is put at the start of the line, where every parser agrees on where it ends.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST_CODE_SPAN = 1000
"""A backtick that is not closed within so many characters of its line is one."""

MOST_BACKTICKS = 50
"""More in a row are text."""

LONGEST_ADDRESS = 2000
LONGEST_LINE_HEAD = 200
"""Of a line so much is read to know whether it opens a fence."""

_JOINERS = "\u200c\u200d"
_INVISIBLE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f"
)
_UNSAFE = re.compile(f"[{_INVISIBLE}]")
_UNSAFE_IN_A_LINE = re.compile(f"[\n{_INVISIBLE}]")

_JOINED_CATEGORIES = ("Lo", "Mn", "Mc", "So", "Sk")
"""Letters without case, their marks, emoji and their skin tones."""


def for_terminal(text: str) -> str:
    """`text` with its line breaks and tabs, and nothing else that a terminal would obey or not show."""
    return _visible(text, _UNSAFE)


def for_terminal_line(text: str) -> str:
    """The same on one line: a line break is shown as an escape too."""
    return _visible(text, _UNSAFE_IN_A_LINE)


def for_editor(text: str) -> str:
    """`text` as plain text for an editor's messages, status, progress and pages; line breaks and tabs stay."""
    return _visible(text, _UNSAFE)


def for_markdown(text: str) -> str:
    """`text` as Markdown in which nothing acts but links to http(s). A second pass changes nothing."""
    stream = MarkdownStream()
    return stream.feed(text) + stream.finish()


def hidden_character(text: str) -> str:
    """The first character that must not get into source code unseen, as "U+202E"; "" when there is none."""
    for found in _UNSAFE.finditer(text.replace("\r\n", "\n")):
        if not _joins(found.string[: found.start()][-1:], found[0], found.string[found.end() : found.end() + 1]):
            return _name(found[0])
    return ""


def _visible(text: str, unsafe: re.Pattern[str], before: str = "", after: str = "") -> str:
    """`text` with escapes. `before` and `after` are its neighbours, which decide about joiners at its ends."""
    text = text.replace("\r\n", "\n")
    if unsafe.search(text) is None:
        return text

    def escaped(found: re.Match[str]) -> str:
        start, end = found.span()
        is_joiner = _joins(text[start - 1] if start else before, found[0], text[end : end + 1] or after)
        return found[0] if is_joiner else f"<{_name(found[0])}>"

    return unsafe.sub(escaped, text)


def _joins(before: str, character: str, after: str) -> bool:
    return character in _JOINERS and all(
        other != "" and not other.isascii() and unicodedata.category(other) in _JOINED_CATEGORIES
        for other in (before, after)
    )


def _name(character: str) -> str:
    return f"U+{ord(character):04X}"


class CharacterStream:
    """`for_terminal` of a text in pieces. Holds back a character that the next one decides about."""

    def __init__(self) -> None:
        self._before = ""
        self._held = ""

    def feed(self, piece: str) -> str:
        text = self._held + piece
        decided = len(text) - 1 if text and text[-1] in _JOINERS + "\r" else len(text)
        self._held = text[decided:]
        return self._shown(text[:decided], self._held)

    def finish(self) -> str:
        text, self._held = self._held, ""
        return self._shown(text, "")

    def _shown(self, text: str, after: str) -> str:
        shown = _visible(text, _UNSAFE, self._before, after)
        self._before = text[-1:] or self._before
        return shown


class MarkdownStream:
    """`for_markdown` of a text in pieces: what `feed` and `finish` return, joined, is the same however it is cut.

    Holds back a few characters, a code span up to its end, and the address of a link. Linear in the text.
    """

    def __init__(self) -> None:
        self._characters = CharacterStream()
        self._text = ""  # not decided yet
        self._is_line_start = True
        self._fence = ""  # the marks of the fence that is open
        self._fence_indent = 0
        self._may_define = False  # the line begins as the definition of a reference does

    def feed(self, piece: str) -> str:
        return self._take(self._characters.feed(piece), is_end=False)

    def finish(self) -> str:
        """The rest; a fence that is open is closed."""
        out = self._take(self._characters.finish(), is_end=True)
        if self._fence:
            out += ("" if self._is_line_start else "\n") + self._fence
            self._fence, self._is_line_start = "", False
        return out

    def _take(self, further: str, *, is_end: bool) -> str:
        self._text += further
        out: list[str] = []
        at = 0
        while at < len(self._text):
            if self._is_line_start:
                step = self._in_fence(at, is_end) if self._fence else self._line_head(at, is_end)
            elif self._fence:
                step = self._rest_of_line(at)
            else:
                step = self._inline(at, is_end)
            if step is None:
                break
            shown, at = step
            out.append(shown)
        self._text = self._text[at:]
        return "".join(out)

    # Each of these reads on from `at`: what is shown and where it ends; None while more text is needed.

    def _in_fence(self, at: int, is_end: bool) -> tuple[str, int] | None:
        """The beginning of a line in fenced code, which is the end of the code, or code."""
        end = self._text.find("\n", at, at + LONGEST_LINE_HEAD)
        head = self._text[at : at + LONGEST_LINE_HEAD] if end < 0 else self._text[at:end]
        is_whole = end >= 0 or is_end or len(head) == LONGEST_LINE_HEAD
        if not is_whole and _MAY_CLOSE.fullmatch(head):
            return None
        marks = head.strip(" \t")
        if is_whole and len(marks) >= len(self._fence) and not marks.strip(self._fence[0]):
            shown, self._fence = self._fence, ""
            if is_end and at + len(head) == len(self._text):
                self._is_line_start = False
                return shown, len(self._text)
            return shown + "\n", at + len(head) + (end >= 0)
        self._is_line_start = False
        n_blanks = len(head) - len(head.lstrip(" "))
        return "", at + min(n_blanks, self._fence_indent)

    def _rest_of_line(self, at: int) -> tuple[str, int]:
        end = self._text.find("\n", at) + 1
        self._is_line_start = end > 0
        return self._text[at : end or None], end or len(self._text)

    def _line_head(self, at: int, is_end: bool) -> tuple[str, int] | None:
        """The beginning of a line outside of code: a fence, the definition of a reference, or text."""
        end = self._text.find("\n", at, at + LONGEST_LINE_HEAD)
        head = self._text[at : at + LONGEST_LINE_HEAD] if end < 0 else self._text[at:end]
        is_whole = end >= 0 or is_end or len(head) == LONGEST_LINE_HEAD
        if not is_whole and _MAY_OPEN.fullmatch(head):
            return None
        opened = _FENCE.fullmatch(head) if end >= 0 or is_end else None
        if opened is not None:
            self._fence, self._fence_indent = opened["marks"], len(opened["indent"].expandtabs(4))
            self._may_define = False
            self._is_line_start = end >= 0
            item = opened["indent"].rstrip()
            line = opened["marks"] + (opened["language"] or "")
            shown = (f"{item}\n" if item else "") + line
            return (shown + "\n", end + 1) if end >= 0 else (shown, len(self._text))
        self._is_line_start = False
        # A label may go on over several lines, but not over a blank one.
        may_go_on = self._may_define and bool(head.strip())
        self._may_define = may_go_on or _DEFINITION.match(head) is not None
        if (tildes := _TILDES.match(head)) is not None:  # a fence to some parsers
            return f"{tildes[1]}\\~", at + tildes.end()
        return "", at

    def _inline(self, at: int, is_end: bool) -> tuple[str, int] | None:
        found = _SPECIAL.search(self._text, at)
        if found is None:
            return self._text[at:], len(self._text)
        if found.start() > at:
            return self._text[at : found.start()], found.start()
        sign, following = self._text[at], self._text[at + 1 : at + 2]
        if sign == "\n":
            self._is_line_start = True
            return "\n", at + 1
        if sign == "`":
            return self._code_span(at, is_end)
        if not following and not is_end:
            return None
        if sign == "\\":
            return (sign + following, at + 2) if following and following in _PUNCTUATION else (sign, at + 1)
        if sign == "<":
            return ("\\<" if _OPENS_HTML.match(following) else "<"), at + 1
        if sign == "!":
            return ("\\!" if following == "[" else "!"), at + 1
        return self._after_bracket(at, following, is_end)

    def _after_bracket(self, at: int, following: str, is_end: bool) -> tuple[str, int] | None:
        """What follows a closing bracket: the address of a link, or the colon of a definition."""
        may_define, self._may_define = self._may_define, False
        if following == ":" and may_define:
            return "]\\:", at + 2
        if following != "(":
            return "]", at + 1
        start = at + 2
        found = _ADDRESS.match(self._text, start, start + LONGEST_ADDRESS)
        end = start if found is None else found.end()
        if end == len(self._text) and not is_end and end - start < LONGEST_ADDRESS:
            self._may_define = may_define
            return None
        if self._text[end : end + 1] == ")" and _WEB.match(self._text, start, end):
            return self._text[at : end + 1], end + 1
        return "]\\(", start

    def _code_span(self, at: int, is_end: bool) -> tuple[str, int] | None:
        """Code up to its closing backticks on the same line, or backticks that are text."""
        opened = _BACKTICKS.match(self._text, at, at + MOST_BACKTICKS + 1)
        assert opened is not None
        marks, start = opened[0][:MOST_BACKTICKS], opened.end()
        if len(opened[0]) > MOST_BACKTICKS:
            return "\\`" * MOST_BACKTICKS, at + MOST_BACKTICKS
        limit = min(start + LONGEST_CODE_SPAN, len(self._text))
        line_end = self._text.find("\n", start, limit)
        limit = line_end if line_end >= 0 else limit
        is_whole = line_end >= 0 or is_end or limit - start == LONGEST_CODE_SPAN
        for closing in _BACKTICKS.finditer(self._text, start, limit):
            # Where the limit cuts, the run may go on.
            is_run = closing.end() < limit or line_end >= 0 or (is_end and limit == len(self._text))
            if len(closing[0]) == len(marks) and is_run:
                code = self._text[start : closing.start()]
                if "|" in code and _ACTS.search(code):
                    break  # in a row of a table the cells are cut first, and this would be no code
                return self._text[at : closing.end()], closing.end()
        else:
            if not is_whole:
                return None
        return "\\`" * len(marks), start


_SPECIAL = re.compile(r"[\\`<!\]\n]")
_BACKTICKS = re.compile(r"`+")
_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_OPENS_HTML = re.compile(r"[A-Za-z/!?]")
_ADDRESS = re.compile(r"[A-Za-z0-9\-._~:/?#@!$&'*+,;=%]*")
_WEB = re.compile(r"https?://[A-Za-z0-9]", re.IGNORECASE)
_ACTS = re.compile(r"\]\(|\]\[|\]:|!\[|<[A-Za-z/!?]")
_ITEMS = r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*"
_FENCE = re.compile(rf"(?P<indent>{_ITEMS})(?P<marks>`{{3,}}|~{{3,}})[ \t]*(?P<language>[\w+#.-]+)?[^`]*")
_MAY_OPEN = re.compile(r"[ \t>*+\d.)-]*(?:`{3,}[^`]*|~{3,}[^`]*|`{0,2}|~{0,2})")
_MAY_CLOSE = re.compile(r"[ \t]*(?:`*|~*)[ \t]*")
_TILDES = re.compile(rf"({_ITEMS})~(?=~~)")
_DEFINITION = re.compile(rf"[ \t]*(?:(?:[>*+-]|\d{{1,9}}[.)])[ \t]*)*(?:\[|(?<=[\s\S]{{{LONGEST_LINE_HEAD}}})$)")
