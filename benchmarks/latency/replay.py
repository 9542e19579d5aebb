"""Replay of an editing session: a typist model at a simulated editor that talks LSP to the real server.

Owns the behaviour of the two editors, which decides how many requests a server gets, and the clock. Knows no tree and
no table.

**Time.** The typist model sets the time of each key; pauses up to `LONGEST_PAUSE_S` are real. A longer pause, for
thinking, ends after that time if no request is open. By then the server has mostly finished its background work (it
prefetches 0.15 s after a key and indexes the edit after 0.6 s, `server/workspace/buffers.py`), so the next key finds
the server in the state that it would have later.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any, Literal

from ...server.workspace.text import TextLines
from ..lsp_client import Arrived, Connection, completion_params
from ..typist import CommitReplay, Key, Typist

LONGEST_PAUSE_S = 1.0
NOTICED_AFTER_S = 0.25
"""A completion that is shown for less is not noticed: the time of a simple visual reaction."""

NEOVIM_WAITS_S = 0.2
"""After the last movement of the cursor (`runtime/lua/vim/lsp/inline_completion.lua`)."""

NEOVIM_SENDS_AFTER_S = 0.15
"""Edits are sent together this long after the first (`flags.debounce_text_changes`), or before a request."""

SETTLE_WITHIN_S = 30.0
"""The time limit of the last answers."""

EditorKind = Literal["vscode", "vscode+next", "neovim"]
"""VS Code sends each change and a request at once, cancels the request before, and keeps ghost text while it is typed;
with "+next" it also asks for next edits after each such request, and cancels the ones before.
Neovim sends edits together, one request when the cursor rests, cancels nothing, and clears ghost text at each key."""


@dataclass(eq=False)  # hashable: figures are looked up by request
class TracedRequest:
    """One completion request. Times are of `time.monotonic`."""

    uri: str
    key_s: float  # time of the last key
    sent_s: float
    replied_s: float | None = None
    superseded_s: float | None = None  # time of its cancellation, or of the next edit
    text: str = ""
    source: str = ""
    timings_ms: dict[str, float] = field(default_factory=dict)
    error: str = ""
    n_agreeing: int = 0  # leading characters that agree with the finished text

    @property
    def kind(self) -> str:
        if self.replied_s is None:
            return "unanswered"
        if self.superseded_s is not None and self.superseded_s < self.replied_s:
            return "superseded"
        return (self.source or "model") if self.text else "empty"

    @property
    def reply_ms(self) -> float:
        assert self.replied_s is not None
        return 1e3 * (self.replied_s - self.sent_s)


@dataclass
class Session:
    """The record of a replay."""

    requests: list[TracedRequest] = field(default_factory=list)
    n_keys: int = 0
    n_typed: int = 0  # characters by key
    n_accepted_characters: int = 0  # characters by accepted completion
    n_accepted: int = 0
    n_files: int = 0
    begin_s: float = 0.0
    end_s: float = 0.0
    finished: bool = False  # every file has its final text
    next_edits_ms: list[float] = field(default_factory=list)  # of the answers that no key overtook


@dataclass(frozen=True, slots=True)
class _GhostText:
    """Ghost text: `text` would replace the characters between two offsets; its beginning may be typed already."""

    since_s: float
    start: int
    end: int
    text: str
    command: dict[str, Any]

    @property
    def item_id(self) -> str:
        return str((self.command.get("arguments") or [{}])[0].get("id", ""))


class Editor:
    """One editor with one document in the foreground."""

    def __init__(self, client: Connection, folder: Path, editor_kind: EditorKind) -> None:
        self.session = Session()
        self._client = client
        self._folder = folder
        self._is_vscode = editor_kind != "neovim"
        self._asks_next_edits = editor_kind == "vscode+next"
        self._waiting: dict[int, TracedRequest] = {}
        self._next_edits: tuple[int, float] | None = None  # the open request for next edits, and its time
        self._current: int | None = None  # the request whose answer is still wanted
        self._shown: _GhostText | None = None
        self._typist: Typist | None = None
        self._uri = ""
        self._versions: dict[str, int] = {}
        self._unsent: list[Any] = []
        self._send_at_s = self._ask_at_s = inf
        self._key_s = 0.0

    def replay(self, commit_replays: Iterable[CommitReplay], seed: int, longest_s: float = inf) -> Session:
        """Type the commits one after the other, until all are typed or the time is over."""
        session = self.session
        session.begin_s = time.monotonic()
        until_s = session.begin_s + longest_s
        session.finished = all(self._replay(commit, seed, until_s) for commit in commit_replays)
        self._settle()
        session.end_s = time.monotonic()
        return session

    def _replay(self, commit: CommitReplay, seed: int, until_s: float) -> bool:
        """Type one commit; False when the time is over before."""
        opened: list[Typist] = []
        for typist in commit.keys(seed):
            if time.monotonic() > until_s:
                return False
            if typist not in opened:
                opened.append(typist)
                self._open(typist)
            self._press(typist)
        self._leave()
        for typist in opened:
            self._supersede(self._uri_of(typist))
            self._client.notify("textDocument/didClose", {"textDocument": {"uri": self._uri_of(typist)}})
        return True

    def _press(self, typist: Typist) -> None:
        """One key, or a completion accepted instead of it; before, perhaps a switch to the typist's file."""
        key = typist.plan()
        assert key is not None
        pause_s = key.pause_s
        if typist is not self._typist:
            self._leave()
            self._typist, self._uri = typist, self._uri_of(typist)
            pause_s = max(pause_s, typist.profile.switch_s)
        self._wait(pause_s)
        while self._read_next(0.0):
            pass
        text, cursor, shown, accepted = typist.text, typist.cursor, self._shown, None
        if shown is not None and time.monotonic() - shown.since_s >= NOTICED_AFTER_S:
            accepted = typist.accept(shown.start, shown.end, shown.text)
        pressed = accepted or typist.press()
        self._key_s = time.monotonic()
        self.session.n_keys += 1
        if accepted is not None and shown is not None:
            self.session.n_accepted += 1
            self.session.n_accepted_characters += accepted.cursor - cursor
            self._notify_accepted(shown, accepted.text)
        elif pressed.kind == "type":
            self.session.n_typed += 1
        self._happened(pressed, text, cursor)

    def _notify_accepted(self, shown: _GhostText, text: str) -> None:
        """As the editors do: the command of the item, or the notification of a partly accepted one."""
        if text == shown.text:
            self._client.request("workspace/executeCommand", shown.command)
        elif self._is_vscode:
            about = {"id": shown.item_id, "acceptedLength": _units(text, "utf-16")}
            self._client.notify("weft/didPartiallyAccept", about)

    def _happened(self, key: Key, before: str, cursor: int) -> None:
        """The editor's reaction to a key: ghost text, edits and requests."""
        self._shown = self._ghost_text_after(key, cursor)
        if key.changes_text:
            lines = TextLines(before)
            start, end = (self._position(lines, offset) for offset in (key.start, key.end))
            self._unsent.append({"range": {"start": start, "end": end}, "text": key.text})
        if self._is_vscode:
            if key.changes_text:
                self._send_edits()
                self._cancel()
                self._ask()
        else:
            if self._unsent:
                self._send_at_s = min(self._send_at_s, self._key_s + NEOVIM_SENDS_AFTER_S)
            self._ask_at_s = self._key_s + NEOVIM_WAITS_S

    def _ghost_text_after(self, key: Key, cursor: int) -> _GhostText | None:
        """The ghost text after a key: VS Code keeps a completion whose beginning is typed or accepted."""
        shown, typist = self._shown, self._typist
        if shown is None or typist is None or not self._is_vscode:
            return None
        if key.kind not in ("type", "accept", "over"):
            return None
        n = key.cursor - shown.start
        if not 0 < n < len(shown.text) or typist.text[shown.start : key.cursor] != shown.text[:n]:
            return None
        return replace(shown, end=max(key.cursor, shown.end + key.cursor - cursor))

    def _ask(self) -> None:
        typist = self._typist
        assert typist is not None
        self._ask_at_s = inf
        position = self._position(TextLines(typist.text), typist.cursor)
        params = completion_params(self._uri, **position, invoked=False)
        self._supersede(self._uri)
        number, sent_s = self._client.request("textDocument/inlineCompletion", params)
        request = TracedRequest(self._uri, self._key_s, sent_s)
        self.session.requests.append(request)
        self._waiting[number] = request
        self._current = number
        if self._asks_next_edits:
            document = {"uri": self._uri, "version": self._versions[self._uri]}
            self._next_edits = self._client.request("weft/nextEdit", {"textDocument": document, "position": position})

    def _cancel(self) -> None:
        """Drop the current request; VS Code cancels it."""
        if self._current in self._waiting and self._is_vscode:
            self._waiting[self._current].superseded_s = self._client.notify("$/cancelRequest", {"id": self._current})
        if self._next_edits is not None:
            self._client.notify("$/cancelRequest", {"id": self._next_edits[0]})
            self._next_edits = None
        self._current = None

    def _supersede(self, uri: str) -> None:
        """Mark the open requests of a document: an edit or a newer request makes them stale, cancelled or not."""
        for request in self._waiting.values():
            if request.uri == uri and request.superseded_s is None:
                request.superseded_s = time.monotonic()

    def _send_edits(self) -> None:
        self._send_at_s = inf
        if not self._unsent:
            return
        self._supersede(self._uri)
        self._versions[self._uri] += 1
        changes, self._unsent = self._unsent, []
        self._client.change_document(self._uri, self._versions[self._uri], *changes)

    def _wait(self, pause_s: float) -> None:
        """Read answers and run the timers of the editor until the next key."""
        begin_s = time.monotonic()
        short_s, full_s = begin_s + min(pause_s, LONGEST_PAUSE_S), begin_s + pause_s
        while True:
            now = time.monotonic()
            busy = self._current in self._waiting or min(self._ask_at_s, self._send_at_s) < inf
            until_s = full_s if busy else short_s
            if now >= until_s:
                return
            if now >= self._send_at_s:
                self._send_edits()
            if now >= self._ask_at_s:
                self._send_edits()
                self._ask()
            self._read_next(max(0.0, min(until_s, self._send_at_s, self._ask_at_s) - time.monotonic()))

    def _settle(self) -> None:
        """Read the last answers; the requests of a silent server stay unanswered."""
        self._ask_at_s = self._send_at_s = inf
        until_s = time.monotonic() + SETTLE_WITHIN_S
        while self._waiting and time.monotonic() < until_s:
            self._read_next(until_s - time.monotonic())

    def _read_next(self, within_s: float) -> bool:
        """Read the next message; False when none arrives in time."""
        arrived = self._client.next_or_none(within_s)
        if arrived is not None and "method" not in arrived.message:
            number = arrived.message["id"]
            if number in self._waiting:
                self._read_reply(arrived)
            elif self._next_edits is not None and number == self._next_edits[0]:
                self.session.next_edits_ms.append(1e3 * (arrived.at_s - self._next_edits[1]))
                self._next_edits = None
        return arrived is not None

    def _read_reply(self, arrived: Arrived) -> None:
        message, number = arrived.message, arrived.message["id"]
        request = self._waiting.pop(number)
        request.replied_s = arrived.at_s
        request.error = str(message.get("error", {}).get("message", ""))
        items = (message.get("result") or {}).get("items") or []
        if not items:
            return
        item = items[0]
        command = item.get("command") or {}
        about = (command.get("arguments") or [{}])[0]
        request.text, request.source, request.timings_ms = item["insertText"], about["source"], about["timingsMs"]
        if number == self._current and request.kind != "superseded":
            self._show(request, item["range"], command)

    def _show(self, request: TracedRequest, place: dict[str, dict[str, int]], command: dict[str, Any]) -> None:
        typist, before = self._typist, self._shown
        assert typist is not None
        lines = TextLines(typist.text)
        start, end = (self._offset(lines, place[name]) for name in ("start", "end"))
        request.n_agreeing = typist.agreeing(start, end, request.text)
        shown = _GhostText(time.monotonic(), start, end, request.text, command)
        if before is not None and _rest(before, typist.cursor) == _rest(shown, typist.cursor):
            shown = replace(shown, since_s=before.since_s)
        self._shown = shown
        if self._is_vscode:
            self._client.notify("weft/didShow", {"id": shown.item_id})

    def _open(self, typist: Typist) -> None:
        uri = self._uri_of(typist)
        self._versions[uri] = 1
        self.session.n_files += 1
        language = _LANGUAGES.get(typist.edit.path.rpartition(".")[2], "plaintext")
        self._client.open_document(uri, typist.text, language)

    def _leave(self) -> None:
        """Move the document to the background."""
        self._send_edits()
        self._cancel()
        self._shown, self._ask_at_s = None, inf

    def _uri_of(self, typist: Typist) -> str:
        return (self._folder / typist.edit.path).as_uri()

    def _position(self, lines: TextLines, offset: int) -> dict[str, int]:
        line, character = lines.position(offset)
        return {"line": line, "character": _units(lines.line(line)[:character], self._client.encoding)}

    def _offset(self, lines: TextLines, position: dict[str, int]) -> int:
        line = lines.line(position["line"])
        ends = [_units(line[:n], self._client.encoding) for n in range(len(line) + 1)]
        return lines.offset(position["line"], bisect_right(ends, position["character"]) - 1)


def encodings_of(editor_kind: EditorKind) -> Sequence[str]:
    """Position encodings that the editor offers."""
    return ("utf-16",) if editor_kind != "neovim" else ("utf-8", "utf-16", "utf-32")


def _rest(shown: _GhostText, cursor: int) -> str:
    return shown.text[cursor - shown.start :]


def _units(text: str, encoding: str) -> int:
    if encoding == "utf-16":
        return len(text.encode("utf-16-le", "surrogatepass")) // 2
    return len(text.encode("utf-8", "surrogatepass")) if encoding == "utf-8" else len(text)


_LANGUAGES = {"py": "python", "md": "markdown", "toml": "toml"}
