"""What is kept on disk is its user's alone, under any umask."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from weft.llm.private_files import private_file, private_folder
from weft.memory.storage import MemoryStore
from weft.memory.storage.exchange import export_conversations
from weft.memory.vectors import VectorIndex
from weft.server.completion.stats import Stats, stats_folder
from weft.server.config import Config
from weft.server.workspace.workspace import Workspace

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes of files")


@pytest.fixture(autouse=True, params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def open_to_others(*tops: Path) -> list[str]:
    """What others may read, write or enter of these folders and all in them."""
    found = [path for top in tops for path in (top, *top.rglob("*"))]
    assert found
    return [str(path) for path in found if stat.S_IMODE(path.lstat().st_mode) & 0o077]


def test_index_history_counters_and_their_top_folders_are_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, data, shop = tmp_path / "cache" / "weft", tmp_path / "share" / "weft", tmp_path / "shop"
    shop.mkdir()
    (shop / "price.py").write_text("def total_price(): ...\n")
    config = Config(cache_dir=str(cache), data_dir=str(data))
    with Workspace([shop], config) as workspace:
        workspace.index()
        workspace.ask("What is total_price?")
        workspace.complete(shop / "price.py", 0, 3)
        workspace.stats.save()
        names = {path.name.rpartition(".")[2] for path in data.rglob("*")}
        assert any(name.startswith("db-wal") for name in names)  # the log beside the history was there to be judged
        assert open_to_others(cache.parent, data.parent) == []
    assert open_to_others(cache.parent, data.parent) == []
    assert any((cache / "indexes").iterdir()) and any((cache / "stats").iterdir())


def test_files_of_an_earlier_version_are_closed_to_others(tmp_path: Path) -> None:
    path = tmp_path / "memory" / "old.db"
    MemoryStore(path).close()
    path.parent.chmod(0o755)
    path.chmod(0o644)
    store = MemoryStore(path)
    assert open_to_others(path.parent) == []
    export = tmp_path / "export.jsonl"
    export.write_text("old")
    export.chmod(0o666)
    export_conversations(store.conversations, export, overwrite=True)
    store.close()
    assert open_to_others(export) == [] and "old" not in export.read_text()


def test_folders_of_the_user_stay_as_they_are(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    mine.chmod(0o755)
    private_folder(mine / "a" / "b")
    private_folder(mine)
    assert stat.S_IMODE(mine.stat().st_mode) == 0o755
    assert open_to_others(mine / "a") == []
    private_folder(mine, is_ours=True)
    assert open_to_others(mine) == []


def test_a_private_file_keeps_its_text(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("text")
    path.chmod(0o644)
    private_file(path)
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("text", 0o600)
    with pytest.raises(NotADirectoryError):
        private_folder(path)


def test_kept_vectors_and_counters_are_private(tmp_path: Path) -> None:
    VectorIndex(2).save(tmp_path / "new" / "vectors", "hashing")
    stats = Stats(stats_folder(str(tmp_path / "cache")))
    stats.shown("x")
    stats.save()
    assert open_to_others(tmp_path / "new") == []
