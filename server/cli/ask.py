"""`weft ask` and `weft history`: questions about a repository, and what is kept of them.

Owns the course of both: one question or a prompt that waits for the next, which conversation goes on, and how an answer
is stopped. What is shown is in `terminal_chat.py`.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from concurrent.futures import Future
from contextlib import closing, suppress
from pathlib import Path

from ...errors import StoreError, UserError
from ...llm import Cancel
from ...memory.storage import (
    Conversations,
    export_conversations,
    import_conversations,
)
from ..chat.as_json import conversation_json, reply_json, turn_json
from ..chat.values import Reply
from ..chat.writing import Listener
from ..config import load_config
from ..workspace.memories import open_memory
from ..workspace.workspace import Workspace
from .exit_status import INTERRUPTED, NOTHING_TO_SHOW
from .terminal import Terminal
from .terminal_chat import AnswerView, HistoryView

GOES_ON_WITHIN_S = 3600
"""The last conversation goes on when somebody spoke in it no longer ago."""

MOST_LISTED = 1000


def ask(workspace: Workspace, folder: Path, terminal: Terminal, options: argparse.Namespace) -> int:
    """One question, or one after the other until the input ends."""
    try:
        asking = _Asking(workspace, folder, terminal, options)
    except StoreError as error:
        raise _unreadable(error) from error
    if options.question is None:
        return asking.converse()
    return asking.one(options.question)


class _Asking:
    def __init__(self, workspace: Workspace, folder: Path, terminal: Terminal, options: argparse.Namespace) -> None:
        self._workspace, self._folder, self._terminal = workspace, folder, terminal
        self._as_json, self._evidence = options.json, options.evidence
        self._remember, self._strategy = not options.no_history, options.strategy
        self._conversation = self._begun(options)

    def one(self, question: str) -> int:
        """The answer to one question; the exit status."""
        cancel = Cancel()
        view = AnswerView(self._folder, quiet=self._as_json)
        listener = Listener(view.on_text, view.on_restart, view.on_note)
        try:
            reply = self._answered(question, listener, cancel)
        except UserError:
            raise
        except StoreError as error:
            raise _unreadable(error) from error
        if question.lstrip().lower().startswith("/forget") and reply.found:
            self._conversation = ""
        elif reply.conversation_id:
            self._conversation = reply.conversation_id
        if self._as_json:
            self._terminal.json(reply_json(reply))
        else:
            view.end(reply, evidence=self._evidence)
            self._terminal.notes(reply.notes)
        if cancel.cancelled:
            return INTERRUPTED
        return 0 if reply.found else NOTHING_TO_SHOW

    def converse(self) -> int:
        """A prompt. Ctrl-C stops an answer or empties the line, ctrl-D leaves."""
        with suppress(ImportError):
            import readline  # noqa: F401  # lines can be edited, and called back
        if sys.stdin.isatty():
            self._terminal.say(
                "Ask about this repository. /help lists commands, ctrl-C stops an answer, ctrl-D leaves."
            )
        status = 0
        while True:
            try:
                question = input("> " if sys.stdin.isatty() else "")
            except EOFError:
                return status
            except KeyboardInterrupt:
                print()
                continue
            if question.strip():
                status = self.one(question)
                print()

    def _answered(self, question: str, listener: Listener, cancel: Cancel) -> Reply:
        """The reply, from a thread of its own: an interrupt stops the model and keeps what it has written."""
        done: Future[Reply] = Future()

        def work() -> None:
            try:
                done.set_result(
                    self._workspace.ask(
                        question,
                        self._conversation,
                        strategy=self._strategy,
                        remember=self._remember,
                        listener=listener,
                        cancel=cancel,
                    )
                )
            except BaseException as error:
                done.set_exception(error)

        thread = threading.Thread(target=work, name="weft-ask", daemon=True)
        thread.start()
        while True:
            try:
                return done.result()
            except KeyboardInterrupt:
                if cancel.cancelled:
                    raise  # asked twice: no more waiting
                cancel.cancel()

    def _begun(self, options: argparse.Namespace) -> str:
        """The conversation that goes on: the named one, or the last when it is young; "" for a new one."""
        if options.conversation or options.new or not self._remember:
            return str(options.conversation or "")
        last = next(iter(self._workspace.memory.conversations.list(1)), None)
        return last.id if last is not None and time.time() - last.changed_at < GOES_ON_WITHIN_S else ""


def history(options: argparse.Namespace, folder: Path) -> int:
    """List, show, search, export, import or delete what was asked in a folder."""
    config, problems = load_config(folder)
    terminal = Terminal(quiet=options.json)
    terminal.notes([str(problem) for problem in problems])
    with closing(open_memory(folder, config)) as memory:
        terminal.notes(memory.notes)
        try:
            return _ACTIONS[options.action](memory.conversations, terminal, options, HistoryView(folder))
        except OSError as error:
            raise UserError(f"{options.what}: {error.strerror}. Choose another file.") from error


def _list(said: Conversations, terminal: Terminal, options: argparse.Namespace, view: HistoryView) -> int:
    found = said.list(options.limit)
    if options.json:
        terminal.json({"conversations": [conversation_json(each) for each in found]})
    else:
        view.conversations(found)
    return 0 if found else NOTHING_TO_SHOW


def _show(said: Conversations, terminal: Terminal, options: argparse.Namespace, view: HistoryView) -> int:
    turns = said.turns(_wanted(options, "a conversation's id, as `weft history` lists them"))
    if not turns:
        raise UserError(f"There is no conversation {options.what}. `weft history` lists them.")
    if options.json:
        terminal.json({"turns": [turn_json(turn) for turn in turns]})
    else:
        view.turns(turns)
    return 0


def _search(said: Conversations, terminal: Terminal, options: argparse.Namespace, view: HistoryView) -> int:
    turns = said.search(_wanted(options, "words to look for"), options.limit)
    if options.json:
        terminal.json({"turns": [turn_json(turn) for turn in turns]})
    else:
        view.turns(turns, named=True)
    return 0 if turns else NOTHING_TO_SHOW


def _export(said: Conversations, terminal: Terminal, options: argparse.Namespace, _: HistoryView) -> int:
    file = Path(_wanted(options, "a file to write"))
    try:
        n = export_conversations(said, file, overwrite=options.force)
    except FileExistsError:
        raise UserError(f"{file} exists. Choose another file, or replace it with --force.") from None
    _tell(terminal, options, "exported", n, f"Exported {_n(n, 'conversation')} to {options.what}.")
    return 0


def _import(said: Conversations, terminal: Terminal, options: argparse.Namespace, _: HistoryView) -> int:
    n = import_conversations(said, Path(_wanted(options, "a file that Weft exported")))
    _tell(terminal, options, "imported", n, f"Took in {_n(n, 'turn')}; what was there already stayed.")
    return 0


def _delete(said: Conversations, terminal: Terminal, options: argparse.Namespace, _: HistoryView) -> int:
    if options.all:
        n = len(said.list(MOST_LISTED))
        said.delete_all()
    else:
        id = _wanted(options, "a conversation's id, or --all")
        if said.get(id) is None:
            raise UserError(f"There is no conversation {id}. `weft history` lists them.")
        n = 1
        said.delete(id)
    _tell(terminal, options, "deleted", n, f"Deleted {_n(n, 'conversation')}.")
    return 0


_ACTIONS = {
    "list": _list,
    "show": _show,
    "search": _search,
    "export": _export,
    "import": _import,
    "delete": _delete,
}


def _unreadable(error: StoreError) -> UserError:
    return UserError(f"{error} Or ask with --no-history.")


def _wanted(options: argparse.Namespace, what: str) -> str:
    if not options.what:
        raise UserError(f"weft history {options.action}: give {what}.")
    return str(options.what)


def _tell(terminal: Terminal, options: argparse.Namespace, name: str, n: int, sentence: str) -> None:
    if options.json:
        terminal.json({name: n})
    else:
        terminal.say(sentence)


def _n(n: int, name: str) -> str:
    return f"{n} {name}" if n == 1 else f"{n} {name}s"
