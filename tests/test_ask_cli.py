"""`weft ask` and `weft history`: what they print, for people and machines, and how they end."""

from __future__ import annotations

import io
import json
import re
import shlex
import threading
from typing import Any

import pytest
from weft.server.chat.values import EvidenceSet, Reply
from weft.server.cli import main
from weft.server.cli.ask import Asking
from weft.server.cli.terminal import Terminal
from weft.server.cli.terminal_chat import AnswerView
from weft.server.output.folds import fold
from weft.server.workspace.workspace import Workspace

FILES = """
#- price.py
RATES = {"EUR": 1.0}


def total_price(items, currency):
    return RATES[currency] * sum(items)
#- basket.py
from price import total_price


def pay(items):
    return total_price(items, "EUR")
#- docs/guide.md
# Guide

A basket is paid in euros.
"""


@pytest.fixture
def weft(project, tmp_path, monkeypatch, capsys):
    """`weft("ask 'what calls pay?'")` in a small project: exit status, stdout, stderr."""
    monkeypatch.chdir(project(FILES))
    homes = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "WEFT_CACHE_DIR", "WEFT_DATA_DIR")
    for variable in homes:
        monkeypatch.setenv(variable, str(tmp_path / "home"))

    def run(arguments: str) -> tuple[int, str, str]:
        folder = [] if "--folder" in arguments else ["--folder", "."]
        status = main([*shlex.split(arguments), *folder])
        out, err = capsys.readouterr()
        return status, out, err

    return run


def test_ask_prints_lines_that_exist_and_says_once_that_no_model_is_configured(weft):
    status, out, err = weft("ask 'what calls total_price?'")
    assert status == 0
    assert "basket.py:" in out and "total_price(items" in out
    assert "No chat model is configured" in err and "conversation " in err


def test_what_is_not_there_ends_with_one(weft):
    status, out, _ = weft("ask 'how are penguins fed?'")
    assert status == 1 and out.startswith("Not found in this repository.")


def test_a_conversation_goes_on_until_a_new_one_is_wanted(weft):
    first = json.loads(weft("ask 'what calls total_price?' --json")[1])
    status, out, err = weft("ask 'and where is it defined?'")
    assert status == 0 and "price.py:" in out
    assert "asked as: where is `total_price` defined? (--as-written: as typed)" in err
    assert "No chat model" not in err
    again = json.loads(weft("ask 'and where is it defined?' --json")[1])
    assert again["conversationId"] == first["conversationId"]
    assert (first["askedAs"], again["askedAs"]) == ("", "where is `total_price` defined?")
    _, _, err = weft("ask 'and where is it defined?' --as-written")
    assert "asked as" not in err
    typed = json.loads(weft("ask 'and where is it defined?' --as-written --json")[1])
    assert (typed["askedAs"], typed["question"]) == ("", "and where is it defined?")
    assert typed["conversationId"] == first["conversationId"]
    assert "asked as: where is `total_price` defined?" in weft(f"history show {first['conversationId']}")[1]
    other = json.loads(weft("ask 'where is total_price defined?' --new --json")[1])
    assert other["conversationId"] != first["conversationId"]
    named = json.loads(weft(f"ask '/where pay' --json --conversation {first['conversationId']}")[1])
    assert named["conversationId"] == first["conversationId"]
    assert weft("ask 'what calls pay?' --conversation nowhere")[0] == 2


FOLDED = "Called at 2 locations:\n\n- price.py:1-1\n\n" + fold("1 more", "- basket.py:1-1")


def test_a_folded_part_is_left_out_unless_all_is_asked_for(weft, monkeypatch):
    def ask(self, *arguments, callbacks, **more):
        callbacks.on_text(FOLDED)
        return Reply(FOLDED, (), EvidenceSet("", ()))

    monkeypatch.setattr("weft.server.workspace.workspace.Workspace.ask", ask)
    assert weft("ask x")[1] == "Called at 2 locations:\n\n- price.py:1-1\n\n1 more: --all\n"
    assert weft("ask x --all")[1].rstrip() == "Called at 2 locations:\n\n- price.py:1-1\n\n- basket.py:1-1"
    assert json.loads(weft("ask x --json")[1])["text"] == FOLDED


def test_json_is_all_that_is_on_stdout(weft):
    status, out, err = weft("ask 'what does total_price multiply?' --json")
    reply = json.loads(out)
    assert (status, err, reply["found"], reply["model"]) == (0, "", True, "")
    assert {"text", "citations", "exhibits", "notes", "cost", "confidence", "level", "question"} <= set(reply)
    assert reply["citations"][0]["place"].startswith(reply["citations"][0]["path"])


def test_evidence_is_shown_with_its_scores(weft):
    out = weft("ask 'what does total_price multiply?' --evidence")[1]
    assert "Evidence, best first:" in out and "  1  price.py:" in out


def test_without_history_nothing_is_kept(weft):
    weft("ask 'what calls total_price?' --no-history")
    assert weft("history")[0] == 1


def test_a_strategy_answers_from_documents(weft):
    status, out, err = weft("ask 'how is a basket paid?' --strategy full_left")
    assert status == 0 and "docs/guide.md:" in out and "price.py" not in out
    status, _, err = weft("ask 'how is a basket paid?' --strategy fragrell")
    assert status == 2 and "Did you mean 'fragrel'?" in err


def test_history_lists_shows_searches_exports_imports_and_deletes(weft, tmp_path):
    id = json.loads(weft("ask 'what calls total_price?' --json")[1])["conversationId"]
    weft("ask '/where pay' --new")
    assert id in weft("history")[1] and "1 turn " in weft("history")[1]
    assert "basket.py:" in weft(f"history show {id}")[1]
    assert weft("history search total_price")[0] == 0 and weft("history search penguin")[0] == 1
    turns = json.loads(weft(f"history show {id} --json")[1])["turns"]
    assert turns[0]["question"] == "what calls total_price?" and turns[0]["citations"]
    file = tmp_path / "said.jsonl"
    assert "Exported 2 conversations" in weft(f"history export {file}")[1]
    assert "Deleted 1 conversation." in weft(f"history delete {id}")[1]
    assert "Deleted 1 conversation." in weft("history delete --all")[1]
    assert weft("history")[0] == 1
    assert "Imported 2 turns" in weft(f"history import {file}")[1]
    assert len(json.loads(weft("history --json")[1])["conversations"]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("history show", "Give the id of a conversation"),
        ("history show nowhere", "No conversation has the id nowhere"),
        ("history delete nowhere", "No conversation has the id nowhere"),
        ("history delete", "or --all"),
        ("history import missing.jsonl", "missing.jsonl"),
        ("history import price.py", "Use a file that Weft exported"),
        ("ask x --model gpt", "--model gpt is not a model"),
        ("ask x --folder nowhere", "nowhere is not a folder"),
        ("ask x --about price.py", "price.py is not a document of this workspace"),
    ],
)
def test_a_mistake_is_named_without_a_traceback(weft, arguments, message):
    status, out, err = weft(arguments)
    assert (status, out) == (2, "") and message in err and "Traceback" not in err


def test_without_a_question_one_is_asked_after_the_other(weft, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("what calls total_price?\n\nand where is it defined?\n!\n/forget\n"))
    status, out, err = weft("ask")
    assert status == 0 and "Deleted this conversation." in out
    assert err.count("asked as: where is `total_price` defined? (! asks as typed)") == 1
    assert weft("history")[0] == 1


def test_control_characters_of_a_file_do_not_reach_the_terminal(weft, project):
    project('#- evil.py\ndef evil_name():\n    return "\x1b[2J\x07"\n')
    out = weft("ask 'where is evil_name defined?' --new")[1]
    assert "evil.py:" in out and "\x1b[2J" not in out and "\x07" not in out


def test_an_interrupt_stops_the_answer_and_keeps_it(project, scripted_chat, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WEFT_DATA_DIR", str(tmp_path / "data"))
    folder = project(FILES)
    options = type("Options", (), {"json": False, "evidence": False, "no_history": False, "strategy": ""})
    options.conversation, options.new, options.as_written, options.all = None, False, False, False
    options.about = []
    model = scripted_chat([("multiply", "`total_price` multiplies (price.py:4-5). And on, and on.")])
    with Workspace([folder], model=model, cache=True) as workspace:
        workspace.index()
        asking = Asking(workspace, folder, Terminal(), options)  # type: ignore[arg-type]
        interrupted = threading.Event()
        original = workspace.ask

        def ask(*arguments: Any, cancel: Any, **more: Any) -> Any:
            cancel.on_cancel(interrupted.set)
            assert interrupted.wait(30)  # until ctrl-C
            return original(*arguments, cancel=cancel, **more)

        monkeypatch.setattr(workspace, "ask", ask)
        n_waits = []

        class Interrupted:
            """A future whose first wait is interrupted, as by ctrl-C."""

            def __init__(self, future: Any) -> None:
                self._future = future

            def result(self) -> Any:
                n_waits.append(1)
                if len(n_waits) == 1:
                    raise KeyboardInterrupt
                return self._future.result(30)

            def __getattr__(self, name: str) -> Any:
                return getattr(self._future, name)

        from concurrent.futures import Future

        monkeypatch.setattr("weft.server.cli.ask.Future", lambda: Interrupted(Future()))
        assert asking.one("What does total_price multiply?") == 130
        (conversation,) = workspace.memory.conversations.list()
        (turn,) = workspace.memory.conversations.turns(conversation.id)
        assert "stopped here" in (turn.answer or "")
    capsys.readouterr()


def test_prose_is_wrapped_between_words_on_a_terminal_and_code_is_not(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "30")
    view = AnswerView(tmp_path)
    view.on_text("`pay` in shop.py:3 takes the money of all.\n    3  def pay(money, of, all, the, items):\n")
    out, _ = capsys.readouterr()
    plain = re.sub(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\", "", out)
    assert plain == "`pay` in shop.py:3 takes the\nmoney of all.\n    3  def pay(money, of, all, the, items):\n"
