"""The store: conversations, documents and what was computed, on disk."""

import json
import os
import sqlite3
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.memory import Segment
from weft.memory.fragrel import FragRel
from weft.memory.storage import (
    MemoryStore,
    NoConversation,
    NotAnExport,
    Turn,
    export_conversations,
    import_conversations,
    items_of,
)
from weft.memory.strategy import StrategyContext
from weft.memory.values import Budget, Question


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory" / "shop.db"


@pytest.fixture
def store(path):
    store = MemoryStore(path)
    yield store
    store.close()


def reopened(store):
    path = store.path
    store.close()
    return MemoryStore(path)


def said(store, *rounds, folder=""):
    id = store.conversations.begin(folder)
    for question, answer in rounds:
        number = store.conversations.ask(id, question)
        if answer is not None:
            store.conversations.answer(id, number, answer)
    return id


def test_a_turn_comes_back_as_it_was_said(store):
    id = store.conversations.begin("/shop")
    number = store.conversations.ask(id, "Where is the\nprice?")
    store.conversations.answer(
        id, number, "In shop.py. 🛒", citations=[{"path": "shop.py", "lines": [1, 2]}], model="m", evidence=["e"]
    )
    again = reopened(store)
    (turn,) = again.conversations.turns(id)
    assert (turn.number, turn.question, turn.answer) == (0, "Where is the\nprice?", "In shop.py. 🛒")
    assert (turn.model, turn.citations, turn.evidence) == ("m", ({"path": "shop.py", "lines": [1, 2]},), ("e",))
    assert turn.asked_at <= turn.answered_at
    conversation = again.conversations.get(id)
    assert (conversation.title, conversation.folder, conversation.n_turns) == ("Where is the price?", "/shop", 1)


def test_a_question_is_there_before_its_answer(store):
    id = said(store, ("what?", None))
    (turn,) = reopened(store).conversations.turns(id)
    assert turn.answer is None and turn.answered_at is None


def test_turns_are_numbered_in_their_order(store):
    id = said(store, ("a", "1"), ("b", None), ("c", "3"))
    assert [(t.number, t.question, t.answer) for t in store.conversations.turns(id)] == [
        (0, "a", "1"),
        (1, "b", None),
        (2, "c", "3"),
    ]


def test_a_later_answer_takes_the_place_of_an_earlier_one(store):
    id = said(store, ("a", "half an ans"))
    store.conversations.answer(id, 0, "half an answer and the rest")
    assert store.conversations.turns(id)[0].answer == "half an answer and the rest"


def test_what_was_spoken_in_last_is_listed_first(store):
    first, second = said(store, ("a", "1")), said(store, ("b", "2"))
    assert [c.id for c in store.conversations.list()] == [second, first]
    store.conversations.ask(first, "more")
    assert [c.id for c in store.conversations.list(limit=1)] == [first]


def test_a_list_can_ask_for_words_in_title_and_turns(store):
    shop, other = said(store, ("The price of tea", "Two coins")), store.conversations.begin(title="About clouds")
    store.conversations.ask(other, "Rain?")
    assert [c.id for c in store.conversations.list(text="COINS tea")] == [shop]
    assert [c.id for c in store.conversations.list(text="cloud")] == [other]
    assert store.conversations.list(text="tea rain") == ()


def test_search_finds_words_in_any_case_and_inside_of_words(store):
    id = said(store, ("Wo ist die Größe?", "In max_size."), ("价格在哪里", None))
    found = store.conversations.search
    assert [t.number for t in found("GRÖSSE size")] == [0]
    assert [t.number for t in found("价格")] == [1]
    assert [t.number for t in found("")] == [1, 0]
    assert found("nothing of it") == ()
    assert found("% _ '") == ()
    assert {t.conversation for t in found("o")} == {id}


def test_a_search_with_a_thousand_words_is_a_search(store):
    said(store, ("word " * 1000, "x"))
    assert len(store.conversations.search("word " * 1000)) == 1


@pytest.mark.parametrize("what", ["ask", "answer"])
def test_an_unknown_conversation_is_said_to_be_unknown(store, what):
    calls = {
        "ask": lambda: store.conversations.ask("nobody", "?"),
        "answer": lambda: store.conversations.answer(said(store, ("a", "b")), 7, "!"),
    }
    with pytest.raises(NoConversation, match="deleted"):
        calls[what]()


def test_a_deleted_conversation_is_gone_with_its_turns(store):
    gone, kept = said(store, ("a", "1")), said(store, ("b", "2"))
    store.conversations.delete(gone)
    store.conversations.delete("nobody")
    assert store.conversations.turns(gone) == () and store.conversations.get(gone) is None
    assert [c.id for c in store.conversations.list()] == [kept]


def test_what_is_deleted_is_overwritten(store, path):
    secret = "hunter2-correct-horse"
    id = said(store, (secret, secret), (f"again {secret}", None))
    store.documents.put("/a.md", "h", [Segment("a.md", 0, f"{secret} in a document")])
    store.conversations.delete(id)
    store.documents.drop("/a.md")
    for file in path.parent.iterdir():
        assert secret.encode() not in file.read_bytes()


def test_everything_can_be_deleted(store):
    said(store, ("a", "1"))
    store.documents.put("/a.md", "h", [Segment("a.md", 0, "text")])
    store.cache.put("note", "k", 1)
    store.delete_all()
    assert store.conversations.list() == () and store.documents.all() == () and store.cache.get("note", "k") is None


def test_text_that_no_utf8_can_hold_is_kept_without_it(store):
    id = said(store, ("half \ud800 pair", "\udfff"))
    (turn,) = store.conversations.turns(id)
    assert (turn.question, turn.answer) == ("half ? pair", "?")


@given(st.lists(st.tuples(st.text(), st.none() | st.text()), max_size=4))
def test_any_text_comes_back(rounds):
    store = MemoryStore(None)
    id = said(store, *rounds)
    cleaned = [(q.encode("utf-8", "replace").decode(), a and a.encode("utf-8", "replace").decode()) for q, a in rounds]
    assert [(t.question, t.answer) for t in store.conversations.turns(id)] == cleaned


def test_only_the_owner_reads_the_files(store, path):
    if os.name == "nt":
        pytest.skip("Windows has other rights")
    said(store, ("a", "1"))
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}


def test_exported_conversations_come_back_elsewhere(store, tmp_path):
    id = said(store, ("a", "1"), ("b", None), folder="/shop")
    store.conversations.answer(id, 0, "one", citations=[{"place": "a.py:1-1"}], model="m")
    empty = store.conversations.begin()
    file = tmp_path / "out.jsonl"
    assert export_conversations(store.conversations, file) == 2
    other = MemoryStore(None)
    assert import_conversations(other.conversations, file) == 2
    assert other.conversations.turns(id) == store.conversations.turns(id)
    assert other.conversations.get(id) == store.conversations.get(id)
    assert other.conversations.get(empty) is not None


def test_an_export_is_lines_of_json(store, tmp_path):
    said(store, ("价格?", "1"))
    export_conversations(store.conversations, file := tmp_path / "out.jsonl")
    head, line = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    assert head == {"weft": "conversations", "version": 1}
    assert line["title"] == "价格?" and line["turns"][0]["question"] == "价格?"


def test_an_import_adds_what_is_new_and_changes_nothing(store, tmp_path):
    id = said(store, ("a", "1"))
    export_conversations(store.conversations, file := tmp_path / "out.jsonl")
    store.conversations.answer(id, 0, "later")
    store.conversations.ask(id, "b")
    assert import_conversations(store.conversations, file) == 0
    assert [t.answer for t in store.conversations.turns(id)] == ["later", None]


HEAD = '{"weft": "conversations", "version": 1}\n'
CONVERSATION = {"id": "c", "title": "t", "folder": "", "created_at": 1, "changed_at": 2.5, "turns": []}
TURN = {
    "number": 0,
    "question": "q",
    "asked_at": 1.0,
    "answer": None,
    "answered_at": None,
    "model": "",
    "citations": [],
    "evidence": [],
}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":0: the file is empty"),
        ("hello", ":1: "),
        ('{"weft": "conversations", "version": 2}\n', ":1: expected"),
        (HEAD + "[]\n", ":2: expected an object"),
        (HEAD + "[" * 100_000, ":2: "),
        (HEAD + json.dumps({**CONVERSATION, "title": None}), ":2: title must be text"),
        (HEAD + json.dumps({**CONVERSATION, "created_at": True}), ":2: created_at must be a number"),
        (HEAD + json.dumps({**CONVERSATION, "turns": {}}), ":2: turns must be a list"),
        (HEAD + json.dumps({**CONVERSATION, "turns": [{**TURN, "number": 2**60}]}), ":2: number is out of range"),
        (HEAD + json.dumps({**CONVERSATION, "turns": [{**TURN, "answer": 3}]}), "answer must be text or null"),
        (HEAD + json.dumps(CONVERSATION) + "\n" + HEAD.replace("1", "NaN"), ":3: NaN"),
    ],
)
def test_a_wrong_import_names_its_line_and_takes_nothing_in(store, tmp_path, text, message):
    (file := tmp_path / "in.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(NotAnExport) as error:
        import_conversations(store.conversations, file)
    assert message in str(error.value)
    assert store.conversations.list() == ()


def test_an_import_that_is_no_text_is_named(store, tmp_path):
    (file := tmp_path / "in.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(NotAnExport):
        import_conversations(store.conversations, file)


def test_a_conversation_is_a_database_for_any_strategy(store):
    said(
        store,
        ("What is my cat called?", "You said Mimi."),
        ("And the dog?", "Rex, you said."),
        ("Unanswered?", None),
    )
    (conversation,) = store.conversations.list()
    memory = FragRel(StrategyContext(cache=store.cache))
    items = items_of(store.conversations.turns(conversation.id))
    assert [item.number for item in items] == [0, 1]
    memory.remember(items)
    best = memory.recall(Question("my cat is called?"), Budget(n=1)).evidence[0].segment
    assert best.source == f"conversation {conversation.id}" and "Mimi" in best.text


SEGMENTS = (
    Segment("guide.md", 0, "# Guide\n", title="Guide"),
    Segment("guide.md", 1, "All of it.\n", 8, 1, title="Guide"),
)


def test_a_document_comes_back_with_its_places(store):
    store.documents.put("/shop/guide.md", "h1", SEGMENTS, "markdown")
    (document,) = reopened(store).documents.all()
    assert (document.source, document.hash, document.kind, document.segments) == (
        "/shop/guide.md",
        "h1",
        "markdown",
        SEGMENTS,
    )


def test_a_document_takes_the_place_of_what_its_source_held(store):
    store.documents.put("/a", "h1", SEGMENTS)
    store.documents.put("/a", "h2", SEGMENTS[1:])
    store.documents.put("/empty", "h", [])
    assert [(d.source, d.hash, d.segments) for d in store.documents.all()] == [
        ("/a", "h2", SEGMENTS[1:]),
        ("/empty", "h", ()),
    ]
    assert store.documents.sources() == ("/a", "/empty")


def test_a_text_in_two_documents_is_stored_once_and_goes_with_the_last(store, path):
    store.documents.put("/a", "h", SEGMENTS)
    store.documents.put("/b", "h", [replace(s, source="b.md") for s in SEGMENTS])

    def n_texts():
        return sqlite3.connect(path).execute("SELECT count(*) FROM segments").fetchone()[0]

    assert n_texts() == 2
    store.documents.drop("/a")
    (left,) = store.documents.all()
    assert n_texts() == 2 and left.segments[0].source == "b.md"
    store.documents.drop("/b", "/nobody")
    assert n_texts() == 0


def test_what_was_computed_is_kept_under_its_content(store):
    value = {"quotes": ["“one”", None], "n": 1.5, "half": "\ud800"}
    store.cache.put("note", "k", value)
    store.cache.put("graph", "k", [])
    again = reopened(store)
    assert again.cache.get("note", "k") == value and again.cache.get("graph", "k") == []
    assert again.cache.get("note", "other") is None


def test_vectors_are_kept_by_embedder_and_text(store):
    store.vectors.put("mini", {f"k{i}": bytes([i % 256]) for i in range(1200)})
    found = store.vectors.get("mini", [f"k{i}" for i in range(1300)])
    assert len(found) == 1200 and found["k7"] == b"\7"
    assert store.vectors.get("other", ["k7"]) == {}


def test_the_least_recently_used_makes_room(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    store = MemoryStore(tmp_path / "a.db", limit_bytes=10_000)
    for number in range(12):
        now[0] += 1
        store.vectors.put("e", {f"k{number}": bytes(800)})
    now[0] += 4000
    assert "k0" in store.vectors.get("e", ["k0"])  # used again, an hour later
    for number in range(12, 16):
        now[0] += 1
        store.vectors.put("e", {f"k{number}": bytes(800)})
    left = store.vectors.get("e", [f"k{n}" for n in range(16)])
    assert {"k0", "k15"} <= set(left) and "k1" not in left
    assert sum(map(len, left.values())) <= 10_000


def test_reading_alone_does_not_write(store, path):
    store.cache.put("note", "k", 1)
    before = [(file.name, file.stat().st_size) for file in sorted(path.parent.iterdir())]
    for _ in range(10):
        store.cache.get("note", "k")
    assert [(file.name, file.stat().st_size) for file in sorted(path.parent.iterdir())] == before


def test_conversations_can_stay_in_this_process_alone(tmp_path):
    store = MemoryStore(tmp_path / "a.db", keep_conversations=False)
    id = said(store, ("a", "1"))
    store.cache.put("note", "k", 1)
    assert len(store.conversations.turns(id)) == 1
    again = reopened(store)
    assert again.conversations.turns(id) == () and again.cache.get("note", "k") == 1


def test_a_store_without_a_file_forgets():
    store = MemoryStore(None)
    id = said(store, ("a", "1"))
    assert store.path is None and store.notes == () and isinstance(store.conversations.turns(id)[0], Turn)
    assert MemoryStore(None).conversations.list() == ()


def test_no_file_is_made_beside_the_store(store, path):
    said(store, ("a", "1"))
    store.close()
    assert [file.name for file in Path(path.parent).iterdir()] == ["shop.db"]
