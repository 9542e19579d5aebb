"""The next step after an error, for two readers: an agent, which has tools, and a person on the page.

Owns these pairs of sentences. Knows no query.
"""

from __future__ import annotations

from enum import Enum

from ...errors import InvalidArgument


class Hint(Enum):
    """A next step: what an agent is told, and what the page says."""

    FIND_FILE = (
        "List the files of a folder with `outline`, or find one with `search`.",
        "Find it on the map, or search.",
    )
    GIVE_PATH = ("Give one as `search` and `outline` show it.", "Give one as the map shows it.")
    GIVE_NAME = (
        "Give a name such as Shop.pay, or use `search` for words.",
        "Give a name such as Shop.pay, or search for words.",
    )
    TRY_WORDS = ("Try `search` with the name or with words.", "Search for the name or for words.")
    GIVE_SYMBOL = ("Give `symbol`, or `path` and `line`.", "Search for one, or choose one on the map.")
    GIVE_SYMBOL_TOO = (
        "Give `line` or `symbol` too, or list its definitions with `outline`.",
        "Give a line or a name too, or choose a symbol on the map of the file.",
    )
    OF_FOLDER = ("Give a `symbol` too, or list its files with `outline`.", "Give a name too, or open it on the map.")
    OF_FILE = ("List its definitions with `outline`.", "Open it on the map.")
    INSIDE = (
        "Give a `symbol`, or a line inside of a definition.",
        "Give a name, or a line inside of a definition.",
    )
    INSIDE_DOCUMENT = (
        "Give a `symbol`, or a line inside of a definition. It is a document: `outline` lists its sections.",
        "Give a name, or a line inside of a definition.",
    )
    WHICH_MEANING = (
        "Give the longer name of the one that is meant, or its `path` and `line`. `definition` lists them all.",
        "Give the longer name of the one that is meant, or its place and name, such as `a.py:12 pay`.",
    )
    WHICH_PLACE = ("Give the `path` and `line` of one.", "Give its place and name, such as `a.py:12 pay`.")
    ELSEWHERE = ("Leave `path` out to find it elsewhere.", "Leave the path out to find it elsewhere.")

    @property
    def for_agents(self) -> str:
        return self.value[0]

    @property
    def for_page(self) -> str:
        return self.value[1]


class Unclear(InvalidArgument):
    """No symbol or file is meant, or several are. The message has the next step of an agent."""

    def __init__(self, what: str, hint: Hint) -> None:
        super().__init__(f"{what} {hint.for_agents}")
        self.what, self.hint = what, hint

    @property
    def for_page(self) -> str:
        """The message with the next step of a person on the page."""
        return f"{self.what} {self.hint.for_page}"
