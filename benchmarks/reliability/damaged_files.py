"""Random damage to the files that Weft stores: the history database, the index, the counters, the settings.

Owns the kinds of damage and the use of a damaged file. Each round damages a fresh copy; then every operation must work,
or report in one sentence how the file was handled. No damaged history is deleted.
"""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout, suppress
from datetime import date
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np

from ...errors import ModelError
from ...memory.memorag.text import ITEMS, MANIFEST, SEGMENTS, MemorizedText, load_text, save_text
from ...memory.storage import MemoryStore, StoreError, export_conversations
from ...memory.values import Item, Segment
from ...memory.vectors import VectorIndex
from ...server.cli import main
from ...server.completion.stats import VERSION as STATS_VERSION
from ...server.config import load_config
from ...server.workspace.memory import memory_file
from ..lsp_client import user_environment
from .campaign import write_file

N_CONVERSATIONS, N_TURNS = 8, 6
_PAGE = 4096

SOURCES = {
    "shop.py": "from price import total\n\n\ndef pay(basket):\n    return total(basket) + 1\n",
    "price.py": "def total(basket):\n    return sum(item.price for item in basket)\n",
    "README.md": "# Shop\n\nA basket has items; `total` adds their prices.\n",
}


def flip_bytes(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 4, 32, 256))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def overwrite(data: bytearray, rng: random.Random) -> None:
    at, size = rng.randrange(len(data)), rng.choice((8, 64, 512))
    data[at : at + size] = rng.randbytes(len(data[at : at + size]))


def truncate(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def zero_a_page(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(-(-len(data) // _PAGE)) * _PAGE
    data[at : at + _PAGE] = bytes(len(data[at : at + _PAGE]))


def swap_pages(data: bytearray, rng: random.Random) -> None:
    if len(data) < 2 * _PAGE:
        return
    a, b = (number * _PAGE for number in rng.sample(range(len(data) // _PAGE), 2))
    data[a : a + _PAGE], data[b : b + _PAGE] = data[b : b + _PAGE], data[a : a + _PAGE]


def append_garbage(data: bytearray, rng: random.Random) -> None:
    data += rng.randbytes(rng.choice((1, 100, _PAGE, 3 * _PAGE)))


def damage_the_head(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 3, 20))):
        data[rng.randrange(min(100, len(data)))] = rng.randrange(256)


def invalid_text(data: bytearray, rng: random.Random) -> None:
    """Replace letters by bytes that are invalid in UTF-8."""
    letters = [at for at in (rng.randrange(len(data)) for _ in range(2000)) if chr(data[at]).isalpha()]
    for at in letters[: rng.choice((1, 5, 50))]:
        data[at] = 0xFF


KINDS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    flip_bytes,
    overwrite,
    truncate,
    zero_a_page,
    swap_pages,
    append_garbage,
    damage_the_head,
    invalid_text,
)


def damaged(data: bytes, rng: random.Random, kind: Callable[[bytearray, random.Random], None]) -> bytes:
    """A copy with this kind of damage."""
    content = bytearray(data)
    if content:
        kind(content, rng)
    return bytes(content)


def damage_histories(work: Path, rng: random.Random, n_rounds: int, n_commands: int) -> Counter[str]:
    """Damage a history `n_rounds` times; in the last `n_commands` of them whole commands run on it."""
    counts: Counter[str] = Counter({"history damages": n_rounds, "history failures": 0, "histories deleted": 0})
    sound = work / "sound"
    sound.mkdir(parents=True)
    # In another process, which does not close the store: a part stays in the log, as after a kill.
    subprocess.run([sys.executable, "-c", _FILL, sound / "memory.db"], check=True, cwd=sound)
    project = work / "project"
    write_project(project)
    for number in range(n_rounds):
        kind = KINDS[number % len(KINDS)]
        folder = work / f"history-{number}"
        shutil.copytree(sound, folder)
        is_command = number >= n_rounds - n_commands
        file = folder / "memory.db"
        if is_command:
            with user_at(folder):
                file = memory_file(project, load_config(project)[0])
            file.parent.mkdir(parents=True)
            for each in folder.glob("memory.db*"):
                each.rename(file.with_name(each.name.replace("memory.db", file.name)))
        target = _damage_one(file, rng, kind)
        contents = {path.name: path.read_bytes() for path in file.parent.iterdir() if path.is_file()}
        before = file.stat().st_ino
        problem, note, n_recovered = _use_by_commands(folder, project, file) if is_command else _use_the_store(file)
        if problem:
            counts["history failures"] += 1
            print(f"round {number}: {kind.__name__} of {target}: {problem}", file=sys.stderr)
        counts["histories moved aside"] += "moved to" in note
        counts["histories said otherwise"] += bool(note) and "moved to" not in note
        counts["turns recovered"] += n_recovered
        counts["turns there"] += N_CONVERSATIONS * N_TURNS
        asides = [path for path in file.parent.glob("*.aside") if path.stat().st_size or not contents[file.name]]
        still_exists = file.exists() and file.stat().st_ino == before
        counts["histories deleted"] += not (asides or still_exists)
        shutil.rmtree(folder)
    return counts


_FILL = """
import os, sys; from pathlib import Path
from weft.benchmarks.reliability.damaged_files import fill_store
fill_store(Path(sys.argv[1])); os._exit(0)
"""


def fill_store(file: Path) -> None:
    """Write two thirds to the file, and the last third to its log."""
    store = MemoryStore(file)
    for number in range(N_CONVERSATIONS):
        if number == N_CONVERSATIONS * 2 // 3:
            store.close()
            store = MemoryStore(file)
        id = store.conversations.begin("/work/shop")
        for turn in range(N_TURNS):
            n = store.conversations.ask(id, f"question {number}.{turn} about total and naïve baskets")
            answer = f"answer {number}.{turn}: " + "the price of an item, " * (5 + 40 * turn)
            citations = [{"place": "price.py:1-2", "folder": "shop", "symbol": "total"}]
            store.conversations.answer(id, n, answer, citations=citations, evidence=citations, model="tiny")
        segments = [Segment(f"doc{number}.md", n, f"paragraph {n} of {number}", 10 * n, n) for n in range(20)]
        store.documents.put(f"doc{number}.md", f"hash{number}", segments, "markdown")
        store.cache.put("note", f"key{number}", {"text": "x" * 500})
        store.vectors.put("hashing", {f"vector{number}.{n}": bytes(256) for n in range(10)})


def _damage_one(file: Path, rng: random.Random, kind: Callable[[bytearray, random.Random], None]) -> str:
    """Damage the database in four of six rounds, else its log or its shared-memory file."""
    suffix = rng.choice(("", "", "", "", "-wal", "-shm"))
    path = file.with_name(file.name + suffix)
    path.write_bytes(damaged(path.read_bytes(), rng, kind))
    return path.name.replace(file.name, "the database") if suffix else "the database"


def _use_the_store(file: Path) -> tuple[str, str, int]:
    """The failure, the notes, and the number of turns that can still be read."""
    notes: tuple[str, ...] = ()
    try:
        with closing(MemoryStore(file)) as store:
            for _ in range(2):
                found = store.conversations.list(100)
                store.conversations.all()
                store.conversations.search("price naïve")
                for conversation in found:
                    store.conversations.turns(conversation.id)
                store.documents.all()
                store.documents.put("new.md", "hash", [Segment("new.md", 0, "new", 0, 0)])
                store.cache.get("note", "key1")
                store.cache.put("note", "key1", 1)
                store.vectors.get("hashing", ["vector1.1", "vector7.7"])
                export = file.with_name("export.jsonl")
                export.unlink(missing_ok=True)
                export_conversations(store.conversations, export)
            id = store.conversations.begin("/work/shop")
            number = store.conversations.ask(id, "the new question")
            store.conversations.answer(id, number, "the new answer")
            notes, in_file = store.notes, store.path is not None
            n_recovered = sum("new" not in turn.question for _, turns in store.conversations.all() for turn in turns)
        if in_file:
            with closing(MemoryStore(file)) as store:
                if [turn.answer for turn in store.conversations.turns(id)] != ["the new answer"]:
                    return "what was asked then is not there", " ".join(notes), n_recovered
    except StoreError as error:
        return "" if str(file) in str(error) else f"StoreError: {error}", str(error), 0
    except Exception:
        return traceback.format_exc(limit=-4), " ".join(notes), 0
    return "", " ".join(notes), n_recovered


def _use_by_commands(home: Path, project: Path, file: Path) -> tuple[str, str, int]:
    said = ""
    n_recovered = 0
    export = home / "export.jsonl"
    commands = [["history", "list"], ["history", "search", "price"], ["ask", "what calls total?"]]
    commands += [["history", "export", str(export)], ["history", "delete", "--all"]]
    for arguments in commands:
        status, out, err = in_process(home, project, *arguments)
        said += "".join(line for line in err.splitlines() if file.name in line)
        if status not in (0, 1) or "Traceback" in out + err:
            if status == 2 and str(file) in err and "Traceback" not in err:
                continue
            return f"weft {' '.join(arguments)} ended with {status}: {err[-1500:]}", said, 0
        if arguments[1] == "export" and export.is_file():
            lines = [json.loads(line) for line in export.read_text("utf-8").splitlines()[1:]]
            n_recovered = sum(turn["question"] != "what calls total?" for line in lines for turn in line["turns"])
    return "", said, n_recovered


def damage_other_files(work: Path, rng: random.Random, n_rounds: int) -> Counter[str]:
    """The index, the counters, the settings, saved memories and vectors, with each kind of damage in turn."""
    counts: Counter[str] = Counter({"other damages": 0, "other failures": 0})
    project, home = work / "project", work / "home"
    write_project(project)
    write_file(project / "weft.toml", '[index]\nexclude = ["generated/"]\n')
    write_file(home / "weft" / "weft.toml", '[completion]\nmulti_line = "never"\n\n[memory]\ncache_limit_mb = 100\n')
    retrieve = ("retrieve", "shop.py:5", "--json", "--folder", ".")
    status, expected, err = in_process(home, project, *retrieve)
    if status != 0:
        raise RuntimeError(f"weft retrieve ended with {status}: {err}")
    day = {"n_asked": {"automatic": 30}, "n_offered": {"tiny": 20}, "latency": {"tiny": {"40": 20}}}
    stats = {"version": STATS_VERSION, "days": {date.today().isoformat(): day}}
    write_file(home / "stats" / "1.json", json.dumps(stats))
    vectors = VectorIndex(8)
    vectors.add({f"key{n}": np.full(8, n, np.float32) for n in range(50)})
    vectors.save(home / "vectors", "hashing")
    items = tuple(Item(f"doc{n}.md", "a text " * 40, "document", n) for n in range(3))
    segments = tuple(Segment(f"doc{n}.md", n, "a text " * 40, 0, 1) for n in range(3))
    save_text(home / "saved", MemorizedText(items, segments, "en"), "", "tiny")
    index = next((home / "indexes").glob("*.weft"))

    def run(*arguments: str, prints: str | None = None) -> str:
        status, out, err = in_process(home, project, *arguments)
        is_sound = status in (0, 1) if prints is None else (status, out) == (0, prints)
        return "" if is_sound else f"weft {' '.join(arguments)} ended with {status}: {err[-1500:]}"

    def open_vectors() -> str:
        found = VectorIndex.open(home / "vectors", "hashing")
        return "" if found is None or np.array_equal(found.vectors, vectors.vectors) else "other vectors were read"

    def load_saved() -> str:
        with suppress(ModelError):
            load_text(home / "saved", "tiny")
        return ""

    uses: list[tuple[Path, Callable[[], str]]] = [
        (index, partial(run, *retrieve, prints=expected)),
        (home / "weft" / "weft.toml", partial(run, "history", "list")),
        (home / "stats" / "1.json", partial(run, "stats", "--json")),
        (project / "weft.toml", partial(run, "history", "list")),
        (home / "vectors", open_vectors),
        *((home / "saved" / name, load_saved) for name in (MANIFEST, ITEMS, SEGMENTS)),
    ]
    for number in range(n_rounds):
        # Half of the rounds go to the index.
        path, use = uses[0] if number % 2 else uses[1 + number // 2 % (len(uses) - 1)]
        kind = KINDS[number // 2 % len(KINDS)]
        sound = path.read_bytes()
        path.write_bytes(damaged(sound, rng, kind))
        path.chmod(0o600)
        try:
            problem = use()
        except Exception:
            problem = traceback.format_exc(limit=-4)
        counts["other damages"] += 1
        counts[f"of {path.suffix or path.name}"] += 1
        if problem:
            counts["other failures"] += 1
            print(f"round {number}: {kind.__name__} of {path.name}: {problem}", file=sys.stderr)
        path.write_bytes(sound)
    return counts


def in_process(home: Path, folder: Path, *arguments: str) -> tuple[int | str, str, str]:
    """Exit status, stdout and stderr of a command of this user in this process; a traceback counts as stderr."""
    out, err = io.StringIO(), io.StringIO()
    status: int | str
    with user_at(home), redirect_stdout(out), redirect_stderr(err), working_in(folder):
        try:
            status = main(list(arguments))
        except BaseException:
            status = "an exception"
            err.write(traceback.format_exc(limit=-5))
    return status, out.getvalue(), err.getvalue()


@contextmanager
def user_at(home: Path) -> Iterator[None]:
    """The environment of a user whose files are all in `home`, for commands in this process."""
    with patch.dict(os.environ, user_environment(home), COLUMNS="1000"):
        yield


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def write_project(folder: Path) -> None:
    (folder / ".git").mkdir(parents=True)
    for name, text in SOURCES.items():
        (folder / name).write_text(text)
