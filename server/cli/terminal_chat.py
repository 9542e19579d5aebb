"""Terminal output of questions and answers: streamed text, clickable locations, stored conversations.

Results go to stdout, notes to stderr, and all text is escaped first, as in `terminal.py`.
"""

from __future__ import annotations

import re
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ...memory.storage import Conversation, Turn
from ..chat.values import EvidenceItem, Reply
from ..output.folds import FoldedText
from ..output.safe_text import CharacterStream, for_terminal, for_terminal_line

_PLACE = re.compile(r"(?P<path>[\w./@+~-]+):(?P<first>\d+)(?:-\d+)?\b")


class AnswerView:
    """One streamed answer; with `quiet` nothing is printed.

    Folded parts of the answer are left out, unless `whole`. `as_written` says how to ask the question as written.
    """

    def __init__(self, folder: Path, *, quiet: bool = False, whole: bool = False, as_written: str = "") -> None:
        self._out = Console(highlight=False, soft_wrap=True)
        self._err = Console(highlight=False, soft_wrap=True, stderr=True)
        self._folder = folder
        self._quiet = quiet
        self._is_whole = whole
        self._as_written = as_written
        self._begin()
        self._is_in_line = False  # the last printed line is not finished

    def on_text(self, text: str) -> None:
        if not self._quiet:
            self._print(self._folds.feed(self._characters.feed(text)))

    def on_restart(self) -> None:
        if not self._quiet:
            self._end_line()
            self._err.print(Text("The model failed. The next one starts over:", "yellow"))
            self._begin()

    def on_asked_as(self, question: str) -> None:
        if not self._quiet:
            how = f" ({self._as_written})" if self._as_written else ""
            self._err.print(Text(f"asked as: {for_terminal_line(question)}{how}", "dim"))

    def on_note(self, note: str) -> None:
        if not self._quiet:
            self._err.print(Text(for_terminal_line(note), "dim"))

    def end(self, reply: Reply, *, evidence: bool) -> None:
        """Print what comes below an answer: evidence, cost and conversation."""
        self._end_line()
        if evidence:
            self._out.print()
            self._out.print(Text("Evidence, best first:", "bold"))
            for number, item in enumerate(reply.evidence.items, 1):
                self._item(number, item)
        if reply.evidence.question and reply.model:
            tokens = f"{reply.cost.tokens_in:,} prompt tokens, {reply.cost.tokens_out:,} output tokens"
            cost = f"{tokens}, {reply.cost.seconds:.1f} s"
            self._err.print(Text(f"{for_terminal_line(reply.model)} ({cost})", "dim"))
        if reply.conversation_id:
            self._err.print(Text(f"conversation {reply.conversation_id}", "dim"))

    def _item(self, number: int, item: EvidenceItem) -> None:
        parts = " + ".join(f"{part.name} {part.value:.2f}" for part in item.parts)
        head = Text.assemble(
            (f"{number:>3}  ", "dim"), self._styled(for_terminal_line(item.location)), f"  {item.score:.2f}"
        )
        head.append(f" = {parts}" if parts else "", "dim")
        self._out.print(head)
        if item.reason:
            self._out.print(Text(f"     {for_terminal_line(item.reason)}", "dim"))

    def _styled(self, text: str) -> Text:
        """A safe text with its locations as links; a terminal without links shows `path:first-last`."""
        styled = Text(text)
        for found in _PLACE.finditer(text):
            path = self._folder / found["path"]
            link = f" link {path.as_uri()}#L{found['first']}" if path.is_absolute() and path.is_file() else ""
            styled.stylize(f"cyan{link}", *found.span())
        return styled

    def _print(self, safe: str) -> None:
        if safe:
            safe = safe if self._is_in_line or not self._out.is_terminal else self._wrapped(safe)
            self._out.print(self._styled(safe), end="")
            self._out.file.flush()
            self._is_in_line = not safe.endswith("\n")

    def _begin(self) -> None:
        self._characters = CharacterStream()
        self._folds = FoldedText("--all", is_open=self._is_whole)

    def _wrapped(self, safe: str) -> str:
        """The text with its long lines of prose broken between words; lines of code stay."""
        lines = safe.split("\n")
        whole = [line if line.startswith("    ") else self._wrapped_line(line) for line in lines[:-1]]
        return "\n".join((*whole, lines[-1]))

    def _wrapped_line(self, line: str) -> str:
        indent = "  " if line.startswith("- ") else ""
        width = self._out.width
        broken = textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        return "\n".join(broken) if len(line) > width else line

    def _end_line(self) -> None:
        self._print(self._folds.feed(self._characters.finish()) + self._folds.finish())
        if self._is_in_line:
            self._out.print()
            self._is_in_line = False


class HistoryView:
    """Conversations and their turns."""

    def __init__(self, folder: Path) -> None:
        self._out = Console(highlight=False, soft_wrap=True)
        self._answer = AnswerView(folder, whole=True)

    def conversations(self, found: Sequence[Conversation]) -> None:
        if not found:
            self._out.print("No conversation is stored for this folder.")
        for each in found:
            turns = "1 turn" if each.n_turns == 1 else f"{each.n_turns} turns"
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(each.changed_at))
            self._out.print(Text.assemble((each.id, "cyan"), f"  {when}  {turns:>9}  {for_terminal_line(each.title)}"))

    def turns(self, turns: Sequence[Turn], *, named: bool = False) -> None:
        """Questions and answers; `named` adds the id of the conversation."""
        for turn in turns:
            where = f"{turn.conversation}  " if named else ""
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(turn.asked_at))
            self._out.print(
                Text.assemble((f"{where}{when}  ", "dim"), (" ".join(for_terminal(turn.question).split()), "bold"))
            )
            if turn.asked_as:
                self._out.print(Text(f"asked as: {for_terminal_line(turn.asked_as)}", "dim"))
            self._answer.on_text(turn.answer if turn.answer is not None else "(no answer)")
            self._answer.on_text("\n\n")
