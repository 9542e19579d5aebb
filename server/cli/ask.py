"""`weft ask` and `weft history`: questions about a repository, and the stored conversations.

Owns the interactive prompt, the choice of the conversation, and the interruption of an answer. What is printed is in
`terminal_chat.py`.
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
from ..agents.notes import NOTES_TITLE
from ..chat.as_json import conversation_json, reply_json, turn_json
from ..chat.generation import StreamCallbacks
from ..chat.values import Reply
from ..config import load_config
from ..workspace.memory import open_memory
from ..workspace.workspace import Workspace
from .common import embed_definitions, indexed_workspace, workspace_folder
from .exit_status import INTERRUPTED, NOTHING_TO_SHOW
from .terminal import Terminal
from .terminal_chat import AnswerView, HistoryView

CONTINUES_WITHIN_S = 3600
"""Age at which the last conversation is no longer continued."""

MAX_LISTED = 1000

AGAIN = "!"
"""What a person types at the prompt to ask the last question as written."""


def ask(options: argparse.Namespace) -> int:
    """Answer one question, or one after the other until the input ends."""
    terminal = Terminal(quiet=options.json)
    folder = workspace_folder(options.folder, terminal)
    with indexed_workspace(folder, terminal, options) as workspace:
        embed_definitions(workspace, terminal)
        try:
            asking = Asking(workspace, folder, terminal, options)
        except StoreError as error:
            raise _unreadable(error) from error
        return asking.prompt() if options.question is None else asking.one(options.question)


class Asking:
    """Questions of one command, in one conversation."""

    def __init__(self, workspace: Workspace, folder: Path, terminal: Terminal, options: argparse.Namespace) -> None:
        self._workspace, self._folder, self._terminal = workspace, folder, terminal
        self._as_json, self._evidence, self._all = options.json, options.evidence, options.all
        self._remember, self._strategy = not options.no_history, options.strategy
        self._as_written, self._documents = options.as_written, options.about
        self._conversation = self._continued(options)
        self._shown_notes = set[str]()

    def one(self, question: str, *, as_written: bool = False, how: str = "--as-written: as typed") -> int:
        """Print the answer to one question; returns the exit status. `how` says how to ask it as written."""
        cancel = Cancel()
        view = AnswerView(self._folder, quiet=self._as_json, whole=self._all, as_written=how)
        callbacks = StreamCallbacks(view.on_text, view.on_restart, view.on_note, on_asked_as=view.on_asked_as)
        try:
            reply = self._answer(question, as_written or self._as_written, callbacks, cancel)
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
            # Notes of the models are the same for each question.
            self._terminal.notes([note for note in reply.notes if note not in self._shown_notes])
            self._shown_notes.update(reply.notes)
        if cancel.cancelled:
            return INTERRUPTED
        return 0 if reply.found else NOTHING_TO_SHOW

    def prompt(self) -> int:
        """Read questions until Ctrl-D. Ctrl-C stops an answer or clears the line; `!` asks the last one as written."""
        with suppress(ImportError):
            import readline  # noqa: F401  # enables line editing and history
        if sys.stdin.isatty():
            self._terminal.say("Ask about this repository. /help lists commands, Ctrl-C stops an answer, Ctrl-D exits.")
        status, last = 0, ""
        while True:
            try:
                question = input("> " if sys.stdin.isatty() else "")
            except EOFError:
                return status
            except KeyboardInterrupt:
                print()
                continue
            is_again = question.strip() == AGAIN and bool(last)
            last = last if is_again else question.strip() or last
            if question.strip():
                status = self.one(last, as_written=is_again, how=f"{AGAIN} asks as typed")
                print()

    def _answer(self, question: str, as_written: bool, callbacks: StreamCallbacks, cancel: Cancel) -> Reply:
        """The reply, computed in another thread: an interrupt cancels the model and keeps the text so far."""
        done: Future[Reply] = Future()

        def work() -> None:
            try:
                done.set_result(
                    self._workspace.ask(
                        question,
                        self._conversation,
                        strategy=self._strategy,
                        remember=self._remember,
                        as_written=as_written,
                        documents=self._documents,
                        callbacks=callbacks,
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
                    raise  # the second interrupt does not wait for the model
                cancel.cancel()

    def _continued(self, options: argparse.Namespace) -> str:
        """The id of the conversation to continue: the given one, or the last one if it is recent; "" for a new one."""
        if options.conversation or options.new or not self._remember:
            return str(options.conversation or "")
        listed = self._workspace.memory.conversations.list(2)
        last = next((each for each in listed if each.title != NOTES_TITLE), None)
        return last.id if last is not None and time.time() - last.changed_at < CONTINUES_WITHIN_S else ""


def history(options: argparse.Namespace) -> int:
    """List, show, search, export, import or delete the conversations of a workspace."""
    terminal = Terminal(quiet=options.json)
    folder = workspace_folder(options.folder, terminal)
    config, problems = load_config(folder)
    terminal.notes([str(problem) for problem in problems])
    with closing(open_memory(folder, config)) as memory:
        terminal.notes(memory.notes)
        try:
            return _ACTIONS[options.action](memory.conversations, terminal, options, HistoryView(folder))
        except OSError as error:
            raise UserError(f"{options.what}: {error.strerror}. Choose another file.") from error


def _list(conversations: Conversations, terminal: Terminal, options: argparse.Namespace, view: HistoryView) -> int:
    found = conversations.list(options.limit)
    if options.json:
        terminal.json({"conversations": [conversation_json(each) for each in found]})
    else:
        view.conversations(found)
    return 0 if found else NOTHING_TO_SHOW


def _show(conversations: Conversations, terminal: Terminal, options: argparse.Namespace, view: HistoryView) -> int:
    turns = conversations.turns(_required(options, "the id of a conversation, see `weft history`"))
    if not turns:
        raise _no_conversation(options.what)
    if options.json:
        terminal.json({"turns": [turn_json(turn) for turn in turns]})
    else:
        view.turns(turns)
    return 0


def _search(conversations: Conversations, terminal: Terminal, options: argparse.Namespace, view: HistoryView) -> int:
    turns = conversations.search(_required(options, "words to search for"), options.limit)
    if options.json:
        terminal.json({"turns": [turn_json(turn) for turn in turns]})
    else:
        view.turns(turns, named=True)
    return 0 if turns else NOTHING_TO_SHOW


def _export(conversations: Conversations, terminal: Terminal, options: argparse.Namespace, _: HistoryView) -> int:
    file = Path(_required(options, "the file to write"))
    try:
        n = export_conversations(conversations, file, overwrite=options.force)
    except FileExistsError:
        raise UserError(f"{file} exists. Choose another file, or overwrite it with --force.") from None
    _report(terminal, options, "exported", n, f"Exported {_n(n, 'conversation')} to {options.what}.")
    return 0


def _import(conversations: Conversations, terminal: Terminal, options: argparse.Namespace, _: HistoryView) -> int:
    n = import_conversations(conversations, Path(_required(options, "a file that Weft exported")))
    _report(terminal, options, "imported", n, f"Imported {_n(n, 'turn')}; existing turns are unchanged.")
    return 0


def _delete(conversations: Conversations, terminal: Terminal, options: argparse.Namespace, _: HistoryView) -> int:
    if options.all:
        n = len(conversations.list(MAX_LISTED))
        conversations.delete_all()
    else:
        id, colon, turn = _required(options, "the id of a conversation, or --all").partition(":")
        if conversations.get(id) is None:
            raise _no_conversation(id)
        if colon:
            return _delete_turn(conversations, terminal, options, id, turn)
        n = 1
        conversations.delete(id)
    _report(terminal, options, "deleted", n, f"Deleted {_n(n, 'conversation')}.")
    return 0


def _delete_turn(
    conversations: Conversations, terminal: Terminal, options: argparse.Namespace, id: str, turn: str
) -> int:
    """Delete one turn; `turn` is its number from 1, as of an agent's note."""
    number = int(turn) - 1 if turn.isdecimal() else -1
    if all(each.number != number for each in conversations.turns(id)):
        raise UserError(f"Conversation {id} has no turn {turn!r}. See `weft history show {id}`.")
    conversations.delete_turn(id, number)
    _report(terminal, options, "deleted", 1, f"Deleted turn {turn} of {id}.")
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


def _no_conversation(id: str) -> UserError:
    return UserError(f"No conversation has the id {id}. List them with `weft history`.")


def _required(options: argparse.Namespace, what: str) -> str:
    if not options.what:
        raise UserError(f"weft history {options.action} needs an argument. Give {what}.")
    return str(options.what)


def _report(terminal: Terminal, options: argparse.Namespace, name: str, n: int, sentence: str) -> None:
    if options.json:
        terminal.json({name: n})
    else:
        terminal.say(sentence)


def _n(n: int, name: str) -> str:
    return f"{n} {name}" if n == 1 else f"{n} {name}s"
