"""The whole text of a file with the lines that a client has sent around its cursor.

Clients cut the code at some number of characters, and the editor's text may differ from the indexed one near the
cursor. Lines that both have tell where the cut is.
"""

from __future__ import annotations

MIN_CHARACTERS = 4
"""Letters and digits of a line by which a cut is found."""


def splice(text: str, prefix: str, suffix: str) -> tuple[str, str]:
    """The code before and after the cursor in the whole file; what the client sent counts where texts differ."""
    lines = text.split("\n")
    sent_before, sent_after = prefix.split("\n"), suffix.split("\n")
    start = _first_shared(lines, sent_before[:-1])
    if start is not None:
        in_file, sent = start
        # Sent lines above the shared one replace as many of the file, but for the first, which may be cut.
        above = max(in_file - sent, 0)
        if sent and lines[above].endswith(sent_before[0]):
            sent_before[0] = lines[above]
        prefix = "\n".join((*lines[:above], *sent_before))
    end = _last_shared(lines, sent_after[1:], 0 if start is None else start[0])
    if end is not None:
        in_file, sent = end
        below = in_file + len(sent_after) - 1 - sent
        if below > in_file and below < len(lines) and lines[below].startswith(sent_after[-1]):
            sent_after[-1] = lines[below]
        suffix = "\n".join((*sent_after, *lines[below + 1 :]))
    return prefix, suffix


def _first_shared(lines: list[str], sent: list[str]) -> tuple[int, int] | None:
    """The first sent line that tells a place: its number in the file and among the sent ones.

    A line that the file has several times is told by the sent line after it.
    """
    for number, line in enumerate(sent):
        if _tells(line):
            places = [at for at, other in enumerate(lines) if other == line]
            following = sent[number + 1 : number + 3]
            exact = [at for at in places if lines[at + 1 : at + 1 + len(following)] == following]
            if len(places) == 1 or len(exact) == 1:
                return (exact or places)[0], number
    return None


def _last_shared(lines: list[str], sent: list[str], first: int) -> tuple[int, int] | None:
    """The last sent line after the cursor that tells a place at or below `first`; its number counts from 1."""
    for number in range(len(sent) - 1, -1, -1):
        if _tells(sent[number]):
            places = [at for at in range(first, len(lines)) if lines[at] == sent[number]]
            above = sent[max(number - 2, 0) : number]
            exact = [at for at in places if lines[max(at - len(above), 0) : at] == above]
            if len(places) == 1 or len(exact) == 1:
                return (exact or places)[0], number + 1
    return None


def _tells(line: str) -> bool:
    return sum(map(str.isalnum, line)) >= MIN_CHARACTERS
