"""Sanitising of untrusted text for terminals, editors and Markdown: invisible characters and active Markdown.

Every text from a model, a server or a document passes one of these functions before a person sees it. Knows no
terminal, no protocol and no model.

Characters that are shown as escapes: controls (C0 without tab and line break, DEL, C1), bidirectional controls,
zero-width and other invisible characters, tag characters, line and paragraph separators, and lone surrogates. A
zero-width joiner or non-joiner stays between two emoji, and between two letters of scripts without upper and lower
case, where it changes how they are written (Persian, Hindi). Variation selectors stay.

Markdown: only links to http(s) stay links; images, raw HTML, autolinks and reference definitions are escaped. Locations
(`path:first-last`) are not Markdown links: front ends link them from the citations. Code is unchanged. A fence moves to
the start of its line, where all parsers agree on its end. The tags of a fold (`folds.py`) stay, each on a line of its
own and with a blank line below: there a block of HTML ends, so that nothing else is HTML.
"""

from __future__ import annotations

import re
import unicodedata

from .folds import CLOSING, FOLD_END, FOLD_START, OPENING

MAX_CODE_SPAN = 1000  # a backtick that is not closed within so many characters of its line is text
MAX_BACKTICKS = 50  # more backticks in a row are text
MAX_ADDRESS = 2000
MAX_LINE_HEAD = 200  # characters of a line that are read to find a fence
_JOINERS = "\u200c\u200d"
_INVISIBLE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f"
)
_UNSAFE = re.compile(f"[{_INVISIBLE}]")
_UNSAFE_IN_A_LINE = re.compile(f"[\n{_INVISIBLE}]")
_JOINED_CATEGORIES = ("Lo", "Mn", "Mc", "So", "Sk")  # letters without case, their marks, emoji and their skin tones


def for_terminal(text: str) -> str:
    """`text` with line breaks and tabs; other control and invisible characters are escaped."""
    return _visible(text, _UNSAFE)


def for_terminal_line(text: str) -> str:
    """The same on one line: a line break is shown as an escape too."""
    return _visible(text, _UNSAFE_IN_A_LINE)


def for_editor(text: str) -> str:
    """`text` as plain text for an editor's messages, status, progress and pages; line breaks and tabs stay."""
    return _visible(text, _UNSAFE)


def for_markdown(text: str) -> str:
    """`text` as Markdown without active parts but links to http(s). Idempotent."""
    stream = MarkdownStream()
    return stream.feed(text) + stream.finish()


def hidden_character(text: str) -> str:
    """The first control or invisible character, as "U+202E"; "" if there is none."""
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
    """`for_terminal` of a text in pieces. Holds back a character whose escape depends on the next one."""

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
    """`for_markdown` of a text in pieces: the joined results do not depend on how the text is split.

    Holds back a few characters, a code span up to its end, and the address of a link. Takes linear time.
    """

    def __init__(self) -> None:
        self._characters = CharacterStream()
        self._text = ""  # not processed yet
        self._is_line_start = True
        self._fence = ""  # the marks of the open fence
        self._fence_indent = 0
        self._may_define = False  # the line may be the definition of a reference
        self._is_after_tag = False  # a blank line was written below the tag of a fold

    def feed(self, piece: str) -> str:
        return self._take(self._characters.feed(piece), is_end=False)

    def finish(self) -> str:
        """The rest; closes an open fence."""
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

    # Each of these parses from `at` and returns the output and its end; None if more text is needed.

    def _in_fence(self, at: int, is_end: bool) -> tuple[str, int] | None:
        """The start of a line in fenced code: the closing fence, or code."""
        end = self._text.find("\n", at, at + MAX_LINE_HEAD)
        head = self._text[at : at + MAX_LINE_HEAD] if end < 0 else self._text[at:end]
        is_whole = end >= 0 or is_end or len(head) == MAX_LINE_HEAD
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
        """The start of a line outside of code: a fence, the definition of a reference, or text."""
        end = self._text.find("\n", at, at + MAX_LINE_HEAD)
        head = self._text[at : at + MAX_LINE_HEAD] if end < 0 else self._text[at:end]
        is_whole = end >= 0 or is_end or len(head) == MAX_LINE_HEAD
        if not is_whole and (_MAY_OPEN.fullmatch(head) or _may_be_tag(head)):
            return None
        if self._is_after_tag and not head.strip(" \t") and (end >= 0 or is_end):
            self._is_after_tag = False
            return "", at + len(head) + (end >= 0)
        self._is_after_tag = False
        if (end >= 0 or is_end) and (FOLD_START.fullmatch(head) or FOLD_END.fullmatch(head)):
            self._is_after_tag, self._may_define = end >= 0, False
            self._is_line_start = end >= 0
            return head.rstrip(" \t") + ("\n\n" if end >= 0 else ""), at + len(head) + (end >= 0)
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
        # A label may span several lines, but no blank one.
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
        """The text after a closing bracket: the address of a link, or the colon of a definition."""
        may_define, self._may_define = self._may_define, False
        if following == ":" and may_define:
            return "]\\:", at + 2
        if following != "(":
            return "]", at + 1
        start = at + 2
        found = _ADDRESS.match(self._text, start, start + MAX_ADDRESS)
        end = start if found is None else found.end()
        if end == len(self._text) and not is_end and end - start < MAX_ADDRESS:
            self._may_define = may_define
            return None
        if self._text[end : end + 1] == ")" and _WEB.match(self._text, start, end):
            return self._text[at : end + 1], end + 1
        return "]\\(", start

    def _code_span(self, at: int, is_end: bool) -> tuple[str, int] | None:
        """Code up to the closing backticks on the same line, or backticks as text."""
        opened = _BACKTICKS.match(self._text, at, at + MAX_BACKTICKS + 1)
        assert opened is not None
        marks, start = opened[0][:MAX_BACKTICKS], opened.end()
        if len(opened[0]) > MAX_BACKTICKS:
            return "\\`" * MAX_BACKTICKS, at + MAX_BACKTICKS
        limit = min(start + MAX_CODE_SPAN, len(self._text))
        line_end = self._text.find("\n", start, limit)
        limit = line_end if line_end >= 0 else limit
        is_whole = line_end >= 0 or is_end or limit - start == MAX_CODE_SPAN
        for closing in _BACKTICKS.finditer(self._text, start, limit):
            # At the limit, the run of backticks may continue.
            is_run = closing.end() < limit or line_end >= 0 or (is_end and limit == len(self._text))
            if len(closing[0]) == len(marks) and is_run:
                code = self._text[start : closing.start()]
                if "|" in code and _ACTS.search(code):
                    break  # in a table row, parsers split the cells first, so this would not be code
                return self._text[at : closing.end()], closing.end()
        else:
            if not is_whole:
                return None
        return "\\`" * len(marks), start


def _may_be_tag(head: str) -> bool:
    """Whether a line that begins so may become the tag of a fold."""
    if head.startswith(OPENING):
        return True
    return OPENING.startswith(head) or CLOSING.startswith(head) or FOLD_END.fullmatch(head) is not None


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
_DEFINITION = re.compile(rf"[ \t]*(?:(?:[>*+-]|\d{{1,9}}[.)])[ \t]*)*(?:\[|(?<=[\s\S]{{{MAX_LINE_HEAD}}})$)")
