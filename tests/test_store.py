"""The cached index is loaded whole or not at all, and nothing but an index is loaded."""

from __future__ import annotations

import enum
import logging
import mmap
import os
import pickle
import stat
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from weft.server.workspace.index_file import DamagedFile, SectionFile
from weft.server.workspace.state_codec import class_name, to_json
from weft.server.workspace.store import CACHE_VARIABLE, FileRecord, Store, StoredIndex, UnsupportedClass, cache_folder


@dataclass(frozen=True, slots=True)
class Value:
    name: str
    numbers: NDArray[np.int32]


class Row(NamedTuple):
    path: str
    value: Value | None


class Kind(enum.Enum):
    CODE = "code"
    PROSE = "prose"


class Stranger:
    pass


CLASSES = (Value, Row, Kind)
RECORDS = (FileRecord("a.py", 3, 12, b"x" * 16), FileRecord("é/\udcff.py", 0, -1, b""))


def test_a_state_comes_back_as_it_was(tmp_path: Path) -> None:
    store, state = make_store(tmp_path), make_state(3)
    assert store.save(tmp_path, state, RECORDS)
    assert same(store.load(tmp_path), state)


@pytest.mark.parametrize(
    "state",
    [
        None,
        (),
        {"a": [1, 2.5, "x", b"y", True], 3: {1, 2}, None: frozenset({"z"})},
        {Kind.CODE: Kind.PROSE},
        np.float32(1.5),
        np.array([], np.int64),
        np.array(["a", "bc"]),
        np.zeros((3, 0, 2), np.uint8),
    ],
    ids=repr,
)
def test_plain_values_and_arrays_come_back(tmp_path: Path, state: Any) -> None:
    store = make_store(tmp_path)
    assert store.save(tmp_path, state, ())
    stored = store.load(tmp_path)
    assert stored is not None
    assert type(stored.state) is type(state)
    assert np.array_equal(stored.state, state) if isinstance(state, np.ndarray) else stored.state == state


def test_arrays_of_every_kind_come_back_without_being_copied(tmp_path: Path) -> None:
    kinds: list[Any] = [
        np.int8,
        np.uint8,
        np.int16,
        np.int32,
        np.uint32,
        np.int64,
        np.float32,
        np.float64,
        np.bool_,
        "M8[s]",
    ]
    state: list[Any] = [np.arange(5).astype(kind) for kind in kinds]
    state += [np.arange(12).reshape(3, 4).T, np.arange(20)[::3]]
    store = make_store(tmp_path)
    store.save(tmp_path, state, ())
    stored = store.load(tmp_path)
    assert stored is not None
    for before, after in zip(state, stored.state, strict=True):
        assert before.dtype == after.dtype
        assert np.array_equal(before, after)
    with pytest.raises(ValueError, match="read-only"):
        stored.state[0][0] = 1


def test_a_large_state_spans_many_blocks(tmp_path: Path) -> None:
    state = make_state(1, size=5_000_000)
    store = make_store(tmp_path)
    store.save(tmp_path, state, RECORDS)
    assert same(store.load(tmp_path), state)


def test_nothing_kept_is_nothing_and_says_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert make_store(tmp_path).load(tmp_path) is None
    assert caplog.records == []


# --- damage


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Path, bytes, list[object]]:
    """A store with one cached index, and the bytes of its file."""
    folder = tmp_path_factory.mktemp("whole")
    store, state = make_store(folder), make_state(4)
    store.save(folder, state, RECORDS)
    return store, folder, store.location(folder).read_bytes(), state


@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_no_damage_gives_a_wrong_state(whole: tuple[Store, Path, bytes, list[object]], data: st.DataObject) -> None:
    store, folder, good, state = whole
    at = data.draw(st.integers(0, len(good) - 1))
    damage: Callable[[], bytes] = data.draw(
        st.sampled_from(
            [
                lambda: good[:at],
                lambda: good[:at] + bytes([good[at] ^ (1 << at % 8)]) + good[at + 1 :],
                lambda: good[:at] + good[at + 1 :],
                lambda: good[:at] + b"\0" * (len(good) - at),
                lambda: good + good[: at + 1],
                lambda: good[at:] + good[:at],
            ]
        )
    )
    bad = damage()
    place = store.location(folder)
    place.write_bytes(bad)
    place.chmod(0o600)
    if bad == good:
        assert same(store.load(folder), state)
    else:
        assert store.load(folder) is None


def test_every_single_byte_counts(whole: tuple[Store, Path, bytes, list[object]]) -> None:
    store, folder, good, _ = whole
    place = store.location(folder)
    for at in [*range(200), *range(200, len(good), 97)]:
        place.write_bytes(good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1 :])
        assert store.load(folder) is None, f"byte {at}"


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_damage_of_an_index_that_was_not_verified_is_found_later(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weft.server.workspace.index_file._BLOCK_BYTES", 256)
        folder = tmp_path_factory.mktemp("blocks")
        store, state = make_store(folder), make_state(4)
        store.save(folder, state, RECORDS)
        place = store.location(folder)
        good = place.read_bytes()
        found = store.load_unverified(folder)
        assert found is not None and not found.verify(lambda: True) and found.verify(lambda: False)
        assert same(found.stored, state)
        at = data.draw(st.integers(0, len(good) - 1))
        place.write_bytes(good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1 :])
        found = store.load_unverified(folder)
        if found is not None:
            with pytest.raises(DamagedFile, match="block"):
                found.verify(lambda: False)


def test_an_index_is_loaded_without_its_arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, read = make_store(tmp_path), []
    store.save(tmp_path, np.zeros(9_000_000, np.uint8), ())
    verify = SectionFile._verify
    monkeypatch.setattr(SectionFile, "_verify", lambda self, block: (read.append(block), verify(self, block)))
    found = store.load_unverified(tmp_path)
    assert found is not None and read and 1 not in read
    assert found.verify(lambda: False) and {0, 1, 2} == set(read)


def test_a_discarded_index_is_gone_and_said_to_be(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = make_store(tmp_path)
    store.save(tmp_path, None, ())
    store.discard(tmp_path, DamagedFile("it is damaged in block 3"))
    assert "will be rebuilt: it is damaged in block 3" in caplog.text
    assert not store.location(tmp_path).exists()


@pytest.mark.parametrize("content", [b"", b"x", b"weft idx", b"\0" * 10_000, pickle.dumps([1])])
def test_what_is_no_index_is_named_in_one_line_of_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    store = make_store(tmp_path)
    store.save(tmp_path, None, ())
    store.location(tmp_path).write_bytes(content)
    assert store.load(tmp_path) is None
    (record,) = caplog.records
    assert "will be rebuilt" in record.getMessage()
    assert store.save(tmp_path, make_state(1), RECORDS)
    assert same(store.load(tmp_path), make_state(1))


def test_an_index_of_another_analysis_or_store_version_is_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    old = Store(CLASSES, "1", directory=tmp_path)
    old.save(tmp_path, make_state(1), RECORDS)
    assert Store(CLASSES, "2", directory=tmp_path).load(tmp_path) is None
    monkeypatch.setattr("weft.server.workspace.index_file.FORMAT_VERSION", 99)
    assert old.load(tmp_path) is None
    assert [record.levelname for record in caplog.records] == ["INFO", "INFO"]
    assert "99" in caplog.records[1].getMessage()


# --- hostile files


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("posix.system", ["touch HERE"]),
        ("io.open", ["HERE", "w"]),
        ("builtins.eval", ["open('HERE', 'w')"]),
        ("builtins.getattr", ["", "join"]),
        ("numpy.load", ["HERE"]),
        ("pathlib.Path", ["HERE"]),
        (f"{__name__}.Stranger", []),
    ],
)
@pytest.mark.parametrize("tag", ["new", "call"])
def test_a_hostile_index_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tag: str,
    name: str,
    arguments: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    save_as_state(monkeypatch, tmp_path, to_json([[name], [tag, 0, ["tuple plain", arguments], None]]))
    assert make_store(tmp_path).load(tmp_path) is None
    assert not (tmp_path / "HERE").exists()
    assert f"{name}, which is not allowed" in caplog.text


@pytest.mark.parametrize(
    "state",
    [
        b"",
        pickle.dumps(0),
        to_json([[], ["tuple"]]),
        to_json([[], ["pickle", 0]]),
        to_json([[], ["array", 9, "<i4", [3]]]),
        to_json([[], ["array", 0, "O", [1]]]),
        to_json([[], ["array", 0, "<i4", [1 << 40]]]),
        to_json([[], ["same", 3]]),
        to_json([[class_name(Value)], ["new", 0, ["list plain", [1, 2, 3]], 5]]),
        to_json([[class_name(Kind)], ["call", 0, ["tuple plain", ["none"]], None]]),
        b"[[], " + b'["list", [' * 100_000,
    ],
    ids=["empty", "pickle", "no items", "tag", "buffer", "objects", "shape", "same", "state", "enum", "deep"],
)
def test_what_is_no_state_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, state: bytes
) -> None:
    save_as_state(monkeypatch, tmp_path, state)
    assert make_store(tmp_path).load(tmp_path) is None
    assert "will be rebuilt" in caplog.text


def save_as_state(monkeypatch: pytest.MonkeyPatch, folder: Path, state: bytes) -> None:
    """Save an index with any bytes as its state and one empty buffer, right in every checksum, as an attacker would."""
    with monkeypatch.context() as patch:
        patch.setattr(Store, "_encoded", lambda self, value: [memoryview(state), memoryview(b"")])
        assert make_store(folder).save(folder, None, ())


def test_what_is_shared_stays_shared(tmp_path: Path) -> None:
    array, value = np.arange(3), Value("\ud83d\ude00", np.zeros(2, np.int32))
    store = make_store(tmp_path)
    store.save(tmp_path, {"a": [array, value], "b": (value, array, array[:2])}, ())
    stored = store.load(tmp_path)
    assert stored is not None
    (one, two), (three, four, part) = stored.state["a"], stored.state["b"]
    assert one is four and two is three
    assert part.tolist() == [0, 1]
    assert two.name == value.name  # two lone surrogates stay two


@pytest.mark.parametrize("value", [Stranger(), [Stranger], {"a": os.system}, Path("x"), Row("a", Stranger())])  # type: ignore[arg-type]
def test_a_class_that_could_not_come_back_is_refused_when_saved(tmp_path: Path, value: object) -> None:
    store = make_store(tmp_path)
    with pytest.raises(UnsupportedClass, match="add it"):
        store.save(tmp_path, value, ())
    assert store.load(tmp_path) is None


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot replace a mapped file")
def test_the_arrays_are_those_of_the_file_and_stay_when_it_is_replaced_or_removed(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    store.save(tmp_path, np.arange(100_000, dtype=np.int64), ())
    stored = store.load(tmp_path)
    assert stored is not None
    base = stored.state
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base.obj, mmap.mmap)
    assert stored.state.flags.aligned
    for change in (lambda: store.save(tmp_path, np.zeros(3), ()), store.location(tmp_path).unlink):
        change()
        assert np.array_equal(stored.state, np.arange(100_000))


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="file modes are POSIX's")
def test_an_index_that_others_may_write_to_is_not_read(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    store.save(tmp_path, make_state(1), RECORDS)
    store.location(tmp_path).chmod(0o666)
    assert store.load(tmp_path) is None


# --- the place on disk


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="file modes are POSIX's")
def test_an_index_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    store = make_store(tmp_path / "cache")
    store.save(tmp_path, None, ())
    place = store.location(tmp_path)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700


def test_two_names_of_a_folder_have_one_place_and_two_folders_have_two(tmp_path: Path) -> None:
    folders = [tmp_path / "a/src", tmp_path / "b/src"]
    for folder in folders:
        folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to("a/src")
    store = make_store(tmp_path)
    assert store.location(tmp_path / "link") == store.location(folders[0])
    assert store.location(folders[0]) != store.location(folders[1])
    assert store.location(folders[0]).name.startswith("src-")


@pytest.mark.parametrize("name", ["ü 日本", "..", "a" * 200, "-", "new\nline"])
def test_any_folder_name_gives_a_plain_file_name(tmp_path: Path, name: str) -> None:
    place = make_store(tmp_path).location(tmp_path / "x" / name)
    assert place.parent == tmp_path / "indexes"
    assert place.name.isascii()
    assert len(place.name) < 100


def test_the_environment_moves_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "elsewhere"))
    assert Store(CLASSES, "1").location(tmp_path).is_relative_to(tmp_path / "elsewhere")
    monkeypatch.delenv(CACHE_VARIABLE)
    assert cache_folder().name == "weft" or "weft" in cache_folder().parts


def test_a_disk_that_refuses_costs_a_line_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    store = make_store(tmp_path / "cache")
    assert not store.save(tmp_path, None, ())
    (record,) = caplog.records
    assert "could not be saved" in record.getMessage()
    assert store.load(tmp_path) is None


def test_a_save_that_fails_half_way_leaves_the_old_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = make_store(tmp_path)
    store.save(tmp_path, make_state(1), RECORDS)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert not store.save(tmp_path, make_state(2), RECORDS)
    assert same(store.load(tmp_path), make_state(1))
    assert len(list((tmp_path / "indexes").iterdir())) == 1


def test_the_least_recently_used_indexes_make_room(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in "abcd"]
    roomy = make_store(tmp_path)
    for age, folder in enumerate(folders[:3]):
        roomy.save(folder, make_state(1, size=1000), ())
        os.utime(roomy.location(folder), (1000 + age, 1000 + age))
    assert roomy.load(folders[0]) is not None  # used now, so no longer the oldest
    one = roomy.location(folders[0]).stat().st_size
    Store(CLASSES, "1", directory=tmp_path, limit_bytes=int(2.5 * one)).save(folders[3], make_state(1, size=1000), ())
    assert [roomy.location(folder).exists() for folder in folders] == [True, False, False, True]


def test_what_a_crash_left_behind_is_removed_at_once(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    store.save(tmp_path, None, ())
    abandoned = tmp_path / "indexes" / "old.weft-new"
    for use in (lambda: store.save(tmp_path, None, ()), lambda: store.load(tmp_path)):
        abandoned.touch()
        use()
        assert not abandoned.exists()


def test_servers_that_share_a_cache_always_read_a_whole_index(tmp_path: Path) -> None:
    stores = [make_store(tmp_path) for _ in range(3)]
    stores[0].save(tmp_path, make_state(0), RECORDS)
    seen: list[StoredIndex | None] = []

    def serve(number: int) -> None:
        for _ in range(8):
            assert stores[number].save(tmp_path, make_state(number, size=50_000), RECORDS)
            seen.append(stores[number].load(tmp_path))

    threads = [threading.Thread(target=serve, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 24
    assert all(any(same(stored, make_state(number, size=50_000)) for number in range(3)) for stored in seen)


# --- helpers


def make_store(directory: Path) -> Store:
    return Store(CLASSES, "1", directory=directory)


def make_state(seed: int, size: int = 40) -> list[object]:
    numbers = np.random.default_rng(seed).integers(0, 1000, size).astype(np.int32)
    return [Value(f"v{seed}", numbers), Row("a", None), Row("b", Value("w", numbers[:3])), Kind.CODE, {"seed": seed}]


def same(stored: StoredIndex | None, state: list[object]) -> bool:
    """Whether what came back is `state` and `RECORDS`."""
    if stored is None or stored.files != RECORDS:
        return False
    # Arrays have no plain equality; their text with the bytes beside it has.
    return [_plain(value) for value in stored.state] == [_plain(value) for value in state]


def _plain(value: object) -> object:
    if isinstance(value, Value):
        return (value.name, str(value.numbers.dtype), value.numbers.tobytes())
    return (value.path, _plain(value.value)) if isinstance(value, Row) else value
