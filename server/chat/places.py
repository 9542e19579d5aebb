"""Where a text names lines of the repository, in all the ways in which models write that.

Owns the spellings: `path:3-5`, `path#L3-L5`, `path (lines 3 to 5)`, "lines 3 to 5 of path", Markdown links, `3:5:path`,
permalinks, "[1]" for an exhibit, and "line 3" of a file named before. Knows no file: it is told what may be one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...languages import UNKNOWN, language_of


@dataclass(frozen=True, slots=True)
class Mention:
    """One naming of lines in `text[start:end]`.

    `path` is as written, "" for exhibits and for lines of a file that was named before. `spans` are first and last
    lines, counted from 1, as written: nothing says that they exist. `marks` stand around it (`` ` ``, `**`), `label` is
    the text of a link that says something else than the place.
    """

    start: int
    end: int
    path: str = ""
    spans: tuple[tuple[int, int], ...] = ()
    exhibits: tuple[int, ...] = ()
    marks: str = ""
    label: str = ""


_MARKS = r"[`*_\"'<>]{0,3}"
_PATH = r"(?:[A-Za-z]:)?[\\/]?(?:[\w.@+~%-]{1,200}[\\/]){0,40}[\w.@+~%-]{0,200}\w"
_BLANK = r"[\ \t\u00a0]"  # never a line break
_TO = rf"(?:{_BLANK}?[-\u2013\u2014]{_BLANK}?|{_BLANK}(?:to|and|through|until){_BLANK})"
_END = r"(?![A-Za-z0-9_])"
_LINES = rf"ines?{_BLANK}(?P<{{0}}>[0-9]+)(?:{_TO}(?P<{{1}}>[0-9]+))?{_END}"
_EXTENSIONS = frozenset(["rst", "txt", "ipynb", "pdf", "csv", "tsv", "lock", "ps1", "bat", "env", "in", "cmake", "ml"])
"""Of files whose language is not known."""

_MENTION = re.compile(
    rf"""
    \[(?P<label>[^\[\]\n]{{0,200}})\]\((?P<target>[^()\s]{{1,300}})\)
    | (?P<url>(?<!\w)[a-z][a-z0-9+.-]{{1,20}}://[^\s<>"'`)\]]+)
    | (?<!\w)[Ll]{_LINES.format("of_first", "of_last")}{_BLANK}(?:of|in|from){_BLANK}(?:the{_BLANK})?(?:file{_BLANK})?
        (?P<of_open>{_MARKS})(?P<of_path>{_PATH})(?P<of_close>{_MARKS})
    | (?<![\w:./\\-])(?P<cursor_first>[0-9]+):(?P<cursor_last>[0-9]+):(?P<cursor_path>{_PATH})
    | (?P<open>{_MARKS})(?<![\w@\\/.-])(?P<path>{_PATH})(?P<middle>{_MARKS})
        (?: [:\#]L?(?P<first>[0-9]+)(?:[-\u2013\u2014]L?(?P<last>[0-9]+)|\.\.(?P<dotted>[0-9]+)|:[0-9]+)?{_END}
            (?P<more>(?:,{_BLANK}?[0-9]+[-\u2013\u2014][0-9]+{_END})*)
          | [,:]?{_BLANK}?(?P<bracket>\()?(?:(?:at|on|in){_BLANK})?
            [Ll]{_LINES.format("said_first", "said_last")}(?(bracket)\))
        )
        (?P<close>{_MARKS})
    | (?<!\w)(?P<exhibits>(?:\[\^?[1-9][0-9]?(?:{_BLANK}?[,;-]{_BLANK}?[1-9][0-9]?)*\])+)(?!\()
    | (?<!\w)(?:[Ee]xhibit|[Ee]vidence|[Ss]ource|[Ff]ragment){_BLANK}\#?(?P<named_exhibit>[1-9][0-9]?){_END}
    | (?<!\w)[Ll]{_LINES.format("bare_first", "bare_last")}
    """,
    re.VERBOSE,
)
_SPAN = re.compile(r"([0-9]+)[-\u2013\u2014]([0-9]+)")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")  # scripts that put no blank before a path
_BLOB = re.compile(r"/(?:blob|blame|raw|src)/[^/]+/([^#?]+)")

MAY_BEGIN = re.compile(
    r"\[|://|:\w*[0-9]|#L?[0-9]|(?<!\w)lines?(?!\w)|(?<!\w)(?:exhibit|evidence|source|fragment)\s|[\\/]\w|\w\.\w",
    re.IGNORECASE,
)
"""Something that a mention may begin with, or whose word a mention may begin with: text from there on is undecided."""


def find_mentions(text: str, is_file: Callable[[str], bool], code: Callable[[int], bool]) -> Iterator[Mention]:
    """Every mention, in order. None crosses a line break.

    `is_file` knows files by names that don't look like one ("Makefile"); at offsets where `code(offset)` is true, "[1]"
    is an index and no exhibit.
    """
    at = 0
    while (found := _MENTION.search(text, at)) is not None:
        mention = _read(found, is_file, code)
        if mention is not None:
            yield mention
            at = mention.end
        elif found["path"] is not None:
            at = found.end("path")  # what follows a word that is no file may be a mention by itself
        else:
            at = found.end()


def _read(found: re.Match[str], is_file: Callable[[str], bool], code: Callable[[int], bool]) -> Mention | None:
    start, end = found.span()
    if found["target"] is not None:
        return _link(found, is_file)
    if found["url"] is not None:
        return _permalink(found)
    if found["of_path"] is not None:
        end -= len(found["of_close"]) - len(_closing(found["of_open"], found["of_close"]))
        return _named(start, end, found["of_path"], [(found["of_first"], found["of_last"])], found["of_open"], is_file)
    if found["cursor_path"] is not None:
        span = (found["cursor_first"], found["cursor_last"])
        return _named(start, end, found["cursor_path"], [span], "", is_file)
    if found["path"] is not None:
        # Marks that close around the path alone are no marks of what follows it.
        close = "" if found["middle"] else _closing(found["open"], found["close"])
        end -= len(found["close"]) - len(close)
        if found["said_first"] is not None:
            span = (found["said_first"], found["said_last"])
            return _named(start, end, found["path"], [span], found["open"], is_file)
        spans = [(found["first"], found["last"] or found["dotted"]), *_SPAN.findall(found["more"])]
        return _named(start, end, found["path"], spans, found["open"], is_file, by_name=True)
    if found["exhibits"] is not None or found["named_exhibit"] is not None:
        numbers = _numbers(found["exhibits"] or found["named_exhibit"])
        return None if code(start) else Mention(start, end, exhibits=numbers)
    return Mention(start, end, spans=(_span(found["bare_first"], found["bare_last"]),))


def _named(
    start: int,
    end: int,
    path: str,
    spans: list[tuple[str, str | None]],
    marks: str,
    is_file: Callable[[str], bool],
    *,
    by_name: bool = False,
) -> Mention | None:
    """Lines of a path, if that may be a file; `by_name` also takes files that don't look like one."""
    glued = _UNSPACED.match(path)
    if glued and not marks:
        rests = [cut for cut in range(glued.end() + 1) if is_file(path[cut:])] or [glued.end()]
        if looks_like_a_file(path[rests[0] :]):
            start, path = start + rests[0], path[rests[0] :]
    if not looks_like_a_file(path) and not (by_name and is_file(path)):
        return None
    return Mention(start, end, path, tuple(_span(first, last) for first, last in spans), marks=marks)


def _link(found: re.Match[str], is_file: Callable[[str], bool]) -> Mention | None:
    """A Markdown link whose target or label names lines."""
    target, label = found["target"], found["label"]
    for text in (target, label):
        inner = next(find_mentions(text, is_file, lambda _: True), None)
        if inner is not None and (inner.path or inner.exhibits):
            said = label.strip("`*_ ")
            # A label that names a place, or the file alone, says no more than the place does.
            is_place = next(find_mentions(label, is_file, lambda _: True), None) is not None or looks_like_a_file(said)
            keeps = "" if is_place or said.isdecimal() else label
            return Mention(*found.span(), inner.path, inner.spans, inner.exhibits, label=keeps)
    return None


def _permalink(found: re.Match[str]) -> Mention | None:
    """An address that names lines; any other is none of ours."""
    address = found["url"]
    before, mark, lines = address.partition("#L")
    numbers = re.fullmatch(r"(\d+)(?:-L?(\d+))?[.,;:!?]*", lines) if mark else None
    if numbers is None:
        return None
    inside = _BLOB.search(before)
    path = inside[1] if inside else before
    end = found.end() - (len(lines) - len(lines.rstrip(".,;:!?")))
    return Mention(found.start(), end, path, (_span(numbers[1], numbers[2]),))


def looks_like_a_file(name: str) -> bool:
    """Whether a word is written as files are: with a folder before it or an ending that files have."""
    ending = name.rpartition(".")[2].lower() if "." in name.rstrip(".") else ""
    if "/" in name or "\\" in name:
        return bool(re.search(r"[^\W\d]", name))
    return bool(ending) and (ending in _EXTENSIONS or language_of(name) is not UNKNOWN)


def _closing(opened: str, closed: str) -> str:
    """Of the marks behind a place those that close what was opened before it."""
    wanted = opened[::-1].replace("<", ">")
    return wanted if wanted and closed.startswith(wanted) else ""


def _numbers(text: str) -> tuple[int, ...]:
    numbers: dict[int, None] = {}
    for first, last in re.findall(r"(\d+)(?:\s?-\s?(\d+))?", text):
        numbers.update(dict.fromkeys(range(int(first), int(last or first) + 1)))
    return tuple(numbers)


def _span(first: str, last: str | None) -> tuple[int, int]:
    # More digits than any file has lines; Python itself refuses to read very long numbers.
    start, end = (int(number[:9]) for number in (first, last or first))
    return start, end
