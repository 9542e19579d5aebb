"""The store when things go wrong: several processes, a kill, damage, other versions, a disk that refuses."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from weft.memory import Segment
from weft.memory.storage import (
    MemoryStore,
    NotAnExport,
    StoreBusy,
    StoreError,
    StoreTooNew,
    import_conversations,
)
from weft.memory.storage.database import Database
from weft.memory.storage.migrations import APPLICATION_ID, MIGRATIONS, VERSION, migrate, version_of

SAMPLES = Path(__file__).parent / "data"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "shop.db"


def say(store, question="a", answer="1"):
    id = store.conversations.begin()
    store.conversations.answer(id, store.conversations.ask(id, question), answer)
    return id


def python(code, *arguments, **options):
    """A process of its own."""
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, **options)


def test_two_processes_write_at_once_and_lose_nothing(path):
    code = """if True:
        import sys
        from pathlib import Path
        from weft.memory.storage import MemoryStore
        store = MemoryStore(Path(sys.argv[1]))  # both make the file
        id = store.conversations.begin(sys.argv[2])
        for number in range(40):
            store.conversations.answer(id, store.conversations.ask(id, f"q{number}"), f"a{number}")
            store.cache.put("note", f"{sys.argv[2]}{number}", number)
        """
    processes = [python(code, path, name) for name in ("one", "two", "three")]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    store = MemoryStore(path)
    conversations = store.conversations.list()
    assert {c.folder for c in conversations} == {"one", "two", "three"} and {c.n_turns for c in conversations} == {40}
    assert [t.answer for t in store.conversations.turns(conversations[0].id)] == [f"a{n}" for n in range(40)]
    assert store.cache.get("note", "two39") == 39 and store.notes == ()


def test_two_processes_number_the_turns_of_one_conversation(path):
    id = MemoryStore(path).conversations.begin()
    code = """if True:
        import sys
        from pathlib import Path
        from weft.memory.storage import MemoryStore
        store = MemoryStore(Path(sys.argv[1]))
        for number in range(30):
            store.conversations.ask(sys.argv[2], f"q{number}")
        """
    assert [process.wait(60) for process in [python(code, path, id) for _ in range(2)]] == [0, 0]
    assert [t.number for t in MemoryStore(path).conversations.turns(id)] == list(range(60))


def test_a_killed_process_loses_no_turn(path):
    code = """if True:
        import sys, time
        from pathlib import Path
        from weft.memory.storage import MemoryStore
        store = MemoryStore(Path(sys.argv[1]))
        id = store.conversations.begin()
        store.conversations.answer(id, store.conversations.ask(id, "first?"), "yes")
        store.conversations.ask(id, "second?")
        print("asked", flush=True)
        time.sleep(60)  # the model is thinking
        """
    process = python(code, path)
    assert process.stdout.readline() == b"asked" + os.linesep.encode()
    process.kill()
    process.wait(60)
    store = MemoryStore(path)
    (conversation,) = store.conversations.list()
    turns = store.conversations.turns(conversation.id)
    assert [(t.question, t.answer) for t in turns] == [("first?", "yes"), ("second?", None)]


def test_threads_share_a_store(path):
    store = MemoryStore(path)
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda n: say(store, f"q{n}", f"a{n}"), range(60)))
    assert len(set(ids)) == 60 and len(store.conversations.list(limit=100)) == 60


@pytest.mark.parametrize("content", [b"not a database, and quite long " * 400, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_moved_aside_and_said(path, content):
    path.write_bytes(content)
    store = MemoryStore(path)
    id = say(store)
    (note,) = store.notes
    assert str(path) in note and "moved to" in note
    (aside,) = path.parent.glob("*.aside")
    assert aside.read_bytes() == content and str(aside) in note
    store.close()
    assert MemoryStore(path).conversations.turns(id)


def test_a_file_of_another_program_is_moved_aside(path):
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE conversations (theirs TEXT)")
    other.commit()
    other.close()
    store = MemoryStore(path)
    assert say(store) and "another program" in store.notes[0]
    (aside,) = path.parent.glob("*.aside")
    assert sqlite3.connect(aside).execute("SELECT theirs FROM conversations").fetchall() == []


def test_an_empty_file_is_a_new_store(path):
    path.touch()
    store = MemoryStore(path)
    assert say(store) and store.notes == ()


def test_a_file_that_is_damaged_later_is_moved_aside_when_that_shows(path):
    store = MemoryStore(path)
    for number in range(20):
        say(store, f"question {number} " * 200)
    store.close()
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * (path.stat().st_size - 8192))
    store = MemoryStore(path)
    assert store.conversations.list() == () or store.notes
    id = say(store)
    assert len(store.conversations.turns(id)) == 1
    assert list(path.parent.glob("*.aside"))


def spoilt(path, sql, *values):
    """A store of ten conversations, changed by a hand that is not Weft's."""
    store = MemoryStore(path)
    for number in range(10):
        say(store, f"question {number}", f"answer {number}")
    store.close()
    other = sqlite3.connect(path)
    other.execute("PRAGMA ignore_check_constraints = ON")
    other.execute(sql, values)
    other.commit()
    other.close()
    return MemoryStore(path)


READS = {
    "list": lambda store: store.conversations.list(100),
    "search": lambda store: store.conversations.search("question"),
    "all": lambda store: store.conversations.all(),
    "turns": lambda store: [store.conversations.turns(c.id) for c in store.conversations.list(100)],
    "get": lambda store: [store.conversations.get(c.id) for c in store.conversations.list(100)],
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("question", "CAST(x'ff6162' AS TEXT)"),
        ("answer", "CAST(x'61ff' AS TEXT)"),
        ("answer", "x'00'"),
        ("asked_at", "'soon'"),
        ("asked_at", "9e300"),
        ("number", "'first'"),
        ("number", "-4"),
        ("citations", "'{'"),
        ("evidence", "'3'"),
        ("model", "x'ff'"),
    ],
)
def test_a_turn_that_weft_never_wrote_is_damage_and_the_others_stay(path, read, column, value):
    store = spoilt(path, f"UPDATE turns SET {column} = {value} WHERE question = 'question 3'")
    READS[read](store)
    store.conversations.all()
    (note,) = store.notes
    assert "moved to" in note and "\ufffd" not in note and "question 3" not in note
    said = {turn.question: turn.answer for _, turns in store.conversations.all() for turn in turns}
    assert {f"question {n}" for n in range(10) if n != 3} <= set(said)
    assert all(said[f"question {n}"] == f"answer {n}" for n in range(10) if n != 3)
    (aside,) = path.parent.glob("*.aside")
    assert str(aside) in note and aside.stat().st_size


@pytest.mark.parametrize(("column", "value"), [("title", "x'ff'"), ("changed_at", "'later'"), ("created_at", "-1.0")])
def test_a_damaged_conversation_keeps_its_turns(path, column, value):
    store = spoilt(path, f"UPDATE conversations SET {column} = {value} WHERE title = 'question 3'")
    assert len(store.conversations.list(100)) == 10 and "moved to" in store.notes[0]
    assert len(store.conversations.search("question")) == 10


def test_a_lost_first_page_costs_no_turn(path):
    store = MemoryStore(path)
    for number in range(40):
        say(store, f"question {number}", "because " * 300)
    store.close()
    with path.open("r+b") as file:
        file.write(bytes(4096))
    store = MemoryStore(path)
    assert len(store.conversations.search("question", 100)) == 40
    assert "40 readable turns" in store.notes[0]


def test_the_rows_behind_a_lost_page_are_found(path):
    store = MemoryStore(path)
    id = store.conversations.begin()
    for number in range(120):
        store.conversations.answer(id, store.conversations.ask(id, f"question {number}"), "because " * 40)
    store.close()
    content = bytearray(path.read_bytes())
    at = re.search(rb"question 60.{8}because", content, re.DOTALL).start()
    content[at // 4096 * 4096 : (at // 4096 + 1) * 4096] = bytes(4096)
    path.write_bytes(content)
    store = MemoryStore(path)
    found = {turn.question for _, turns in store.conversations.all() for turn in turns}
    assert 90 < len(found) < 120 and {"question 0", "question 119"} <= found and "moved to" in store.notes[0]


def test_what_was_computed_is_made_again_where_it_is_damaged(path):
    store = MemoryStore(path)
    store.cache.put("note", "k", [1])
    store.vectors.put("hashing", {"a": bytes(8), "b": bytes(8)})
    store._database.write(lambda to: to.execute("UPDATE kept SET value = x'7bff' WHERE kind = 'note'"))
    store._database.write(lambda to: to.execute("UPDATE kept SET value = 7, used_at = 'x' WHERE key = 'a'"))
    assert store.cache.get("note", "k") is None and store.vectors.get("hashing", "ab") == {"b": bytes(8)}
    store.cache.put("note", "k", [2])
    assert store.cache.get("note", "k") == [2] and store.notes == ()


def test_two_damages_of_one_second_leave_two_files(path):
    for content in (b"first damage " * 99, b"second damage " * 99):
        path.write_bytes(content)
        MemoryStore(path).close()
    asides = {aside.read_bytes() for aside in path.parent.glob("*.aside")}
    assert asides == {b"first damage " * 99, b"second damage " * 99}


def test_a_version_that_no_weft_will_have_is_damage(path):
    store = spoilt(path, "PRAGMA user_version = 1073741825")
    assert len(store.conversations.list(100)) == 10 and "moved to" in store.notes[0]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_in_the_place_of_the_store_is_moved_aside(path):
    os.mkfifo(path)
    store = MemoryStore(path)
    assert say(store) and "not a regular file" in store.notes[0]


def test_a_mistake_of_the_program_is_no_damage(path):
    store = MemoryStore(path)
    id = say(store)
    with pytest.raises(sqlite3.Error):
        store._database.write(lambda to: to.execute("INSERT INTO conversations VALUES (?, '', '', 0, 0)", (id,)))
    with pytest.raises(sqlite3.Error):
        store._database.read(lambda of: of.execute("SELECT nonsense("))
    assert store.notes == () and store.conversations.get(id) and not list(path.parent.glob("*.aside"))


def test_an_import_of_impossible_times_is_refused(path, tmp_path):
    store = MemoryStore(path)
    file = tmp_path / "export.jsonl"
    head = '{"weft": "conversations", "version": 1}'
    for time in ("-5.0", "1e308"):
        one = f'{{"id": "a", "title": "", "folder": "", "created_at": {time}, "changed_at": 1, "turns": []}}'
        file.write_text(f"{head}\n{one}\n")
        with pytest.raises(NotAnExport, match="created_at is out of range"):
            import_conversations(store.conversations, file)


def test_a_file_without_a_table_is_damaged(path):
    say(MemoryStore(path))
    other = sqlite3.connect(path)
    other.execute("DROP TABLE kept")
    other.commit()
    other.close()
    store = MemoryStore(path)
    store.cache.put("note", "k", 1)
    assert store.cache.get("note", "k") == 1 and "kept" in store.notes[0]


def test_a_later_version_is_left_as_it_is(path):
    say(MemoryStore(path))
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA user_version = {VERSION + 1}")
    other.close()
    with pytest.raises(StoreTooNew, match=f"version {VERSION + 1}; this Weft reads up to {VERSION}"):
        MemoryStore(path)
    assert not list(path.parent.glob("*.aside"))


def test_a_later_weft_that_takes_over_is_told_from_damage(path):
    store = MemoryStore(path)
    id = say(store)
    later = sqlite3.connect(path)
    later.execute("ALTER TABLE turns RENAME COLUMN answer TO text")
    later.execute(f"PRAGMA user_version = {VERSION + 1}")
    later.commit()
    with pytest.raises(StoreTooNew):
        store.conversations.turns(id)
    assert not list(path.parent.glob("*.aside"))


@pytest.mark.parametrize("version", range(1, VERSION + 1))
def test_a_sample_of_every_version_opens(path, version):
    shutil.copy(SAMPLES / f"memory-{version}.db", path)
    store = MemoryStore(path)
    first, second = store.conversations.turns("c1")
    assert (first.question, first.answer, first.model) == ("Wo steht die Größe?", "In shop.py.", "m")
    assert (first.asked_at, first.answered_at) == (100.0, 101.0)
    assert (first.citations, first.evidence) == (({"place": "shop.py:1-2"},), ("why",))
    assert (second.question, second.answer, second.asked_at) == ("And 价格?", None, 102.0)
    assert (first.asked_as, second.asked_as) == ("", "" if version < 2 else "Where is `价格`?")
    (conversation,) = store.conversations.list()
    assert (conversation.title, conversation.folder, conversation.created_at) == ("Größe", "/shop", 99.0)
    (document,) = store.documents.all()
    assert document.source == "/shop/guide.md"
    assert (document.hash, document.kind, document.read_at) == ("h1", "markdown", 103.0)
    assert document.segments[1] == Segment("guide.md", 1, "## Install\nAll of it.\n", 20, 3, title="Guide > Install")
    assert store.cache.get("segment_plus.note", "k1") == {"quotes": ["one"], "n": 1.5}
    assert store.vectors.get("hashing", ["k1"]) == {"k1": bytes(range(8))}
    assert store.notes == () and say(store)


def test_a_file_of_today_has_the_version_of_today(path):
    MemoryStore(path).close()
    of = sqlite3.connect(path)
    assert version_of(of) == VERSION == len(MIGRATIONS)
    assert of.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    assert of.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def test_only_missing_migrations_run_and_all_or_none():
    connection = sqlite3.connect(":memory:", isolation_level=None)
    first, second = ("CREATE TABLE a (x)", "INSERT INTO a VALUES (1)"), ("INSERT INTO a VALUES (2)",)
    migrate(connection, (first,))
    migrate(connection, (first, second))
    migrate(connection, (first, second))
    assert connection.execute("SELECT x FROM a").fetchall() == [(1,), (2,)] and version_of(connection) == 2
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, (first, second, ("INSERT INTO a VALUES (3)", "nonsense")))
    assert connection.execute("SELECT count(*) FROM a").fetchone() == (2,) and version_of(connection) == 2


def test_where_no_folder_can_be_made_memory_lives_on_without_a_file(tmp_path):
    (tmp_path / "file").touch()
    store = MemoryStore(tmp_path / "file" / "below" / "shop.db")
    id = say(store)
    assert len(store.conversations.turns(id)) == 1 and store.path is None
    assert "until Weft exits" in store.notes[0] and "data_dir" in store.notes[0]


def test_a_full_disk_is_said_and_nothing_of_the_conversation_is_lost(path):
    store = MemoryStore(path)
    id = say(store, "before")
    store._database.write(lambda to: to.execute("PRAGMA max_page_count = 1"))
    number = store.conversations.ask(id, "x" * 200_000)
    store.conversations.answer(id, number, "after")
    assert [(t.question[:6], t.answer) for t in store.conversations.turns(id)] == [("before", "1"), ("xxxxxx", "after")]
    (note,) = store.notes
    assert "full" in note and store.path is None
    store.close()
    assert [t.question for t in MemoryStore(path).conversations.turns(id)] == ["before"]


def test_a_file_that_turns_read_only_is_said_and_read_on(path):
    store = MemoryStore(path)
    id = say(store, "before")
    store._database.read(lambda of: of.execute("PRAGMA query_only = ON"))
    store.conversations.ask(id, "after")
    assert [t.question for t in store.conversations.turns(id)] == ["before", "after"]
    assert "readonly" in store.notes[0]


def test_what_a_file_that_cannot_be_written_holds_is_still_read(path, monkeypatch):
    store = MemoryStore(path)
    id = say(store, "before")
    store.close()

    def refuse(*_):
        raise PermissionError("read-only file system")

    monkeypatch.setattr("weft.memory.storage.database.os.open", refuse)
    store = MemoryStore(path)
    assert [t.question for t in store.conversations.turns(id)] == ["before"]
    assert store.path is None and "read-only" in store.notes[0]


def test_a_process_that_holds_the_file_is_waited_for_and_then_named(path):
    database = Database(path, busy_s=0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy, match="locked by another process"):
        database.write(lambda to: to.execute("DELETE FROM kept"))
    other.execute("ROLLBACK")
    database.write(lambda to: to.execute("DELETE FROM kept"))
    assert database.notes == ()


def test_a_closed_store_says_so(path):
    store = MemoryStore(path)
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.conversations.list()


def test_what_fails_in_the_middle_leaves_nothing(path):
    database = Database(path)

    def half(to):
        to.execute("INSERT INTO kept VALUES ('note', 'k', '1', 0)")
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        database.write(half)
    assert database.read(lambda of: of.execute("SELECT count(*) FROM kept").fetchone()) == (0,)


def test_a_mistake_of_the_program_is_no_reason_to_leave_the_disk(path):
    database = Database(path)
    with pytest.raises(sqlite3.IntegrityError):
        database.write(lambda to: to.execute("INSERT INTO places VALUES ('nobody', 0, '', 0, '', 'k', 0, 0)"))
    assert database.path == path and database.notes == ()


def test_sql_that_is_wrong_is_no_reason_either(path):
    database = Database(path)
    with pytest.raises(sqlite3.OperationalError, match="syntax"):
        database.read(lambda of: of.execute("SELEKT 1"))
    assert database.path == path and database.notes == ()


def test_two_threads_open_one_new_file(path):
    stores, barrier = [], threading.Barrier(4)

    def open_it():
        barrier.wait()
        stores.append(MemoryStore(path))

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stores) == 4 and not any(store.notes for store in stores)
