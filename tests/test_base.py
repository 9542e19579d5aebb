"""An index begins from what another machine built: only what differs is analysed, and nothing of it is trusted."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from weft import Config, Workspace
from weft.benchmarks.http_server import JsonHandler, serving
from weft.llm.protocol import Cancel
from weft.server.base import base as base_module
from weft.server.base import export
from weft.server.base.base import Base
from weft.server.base.building import FolderRows
from weft.server.base.export import ExportReport, export_index, into_groups
from weft.server.base.manifest import Manifest, UnusableManifest, manifest_bytes, read_manifest
from weft.server.base.row_check import UnusableRow, checked
from weft.server.base.sources import InvalidBase, shown_address, source_of
from weft.server.cli import main
from weft.server.config import IndexOptions, load_config
from weft.server.config.options import analysis_version
from weft.server.output.doctor import examine
from weft.server.workspace.analysis import analyse
from weft.server.workspace.analysis_store import AnalysisStore
from weft.server.workspace.files import FoundFile, content_hash
from weft.server.workspace.ignore import head_commit
from weft.server.workspace.part import COLUMNS, Row, content_key, encoded, part_in, write_part

N_FILES = 40


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


@pytest.fixture
def exported(tmp_path: Path, project: Path) -> Path:
    export_to(project, tmp_path / "export")
    return tmp_path / "export"


def test_only_what_differs_is_analysed(project: Path, exported: Path, cache: Path, analysed: list[str]) -> None:
    clone = Path(shutil.copytree(project, project.with_name("clone")))
    (clone / "part_3.py").write_text("changed = 1\n")
    (clone / "new.py").write_text("from part_2 import call_2\n")
    (clone / "part_4.py").rename(clone / "renamed.py")
    facts, notices = index(clone, exported)
    assert sorted(analysed) == ["new.py", "part_3.py"]
    assert not notices
    analysed.clear()
    shutil.rmtree(cache)
    assert index(clone, None)[0] == facts
    assert len(analysed) == N_FILES + 1


def test_what_was_taken_is_not_stored_as_ones_own(project: Path, exported: Path, cache: Path) -> None:
    index(project, exported)
    assert not (cache / "analyses").exists()


def test_builders_of_the_same_files_write_the_same_parts(project: Path, exported: Path, tmp_path: Path) -> None:
    clone = Path(shutil.copytree(project, tmp_path / "clone"))
    store = AnalysisStore(tmp_path / "store", analysis_version(), 1 << 30)
    FolderRows(clone, IndexOptions(), store).of(found_files(clone)[::-1])  # in another order, and stored before
    report = export_to(clone, tmp_path / "other", store=store)
    assert report.n_analysed == 0
    assert contents(tmp_path / "other").keys() == contents(exported).keys()
    assert len(contents(exported)) > 2


def test_a_change_changes_few_parts(project: Path, exported: Path) -> None:
    (project / "part_7.py").write_text("changed = 7\n")
    assert export_to(project, exported).n_new_parts == 1
    (project / "part_77.py").write_text("new = 7\n")
    assert export_to(project, exported).n_new_parts in (1, 2)
    (project / "part_9.py").unlink()
    assert export_to(project, exported).n_new_parts in (0, 1)
    assert export_to(project, exported).n_new_bytes == 0


def test_parts_end_by_the_paths_alone_and_at_a_limit() -> None:
    files = [FoundFile(f"{number:04}.py", 10, 0, False) for number in range(400)]
    groups = list(into_groups(files))
    assert [file for group in groups for file in group] == files
    assert 70 < len(groups) < 130
    grown = [file._replace(size=50 * file.size) for file in files]
    assert [len(group) for group in into_groups(grown)] == [len(group) for group in groups]
    large = [file._replace(size=export.MAX_PART_SOURCE_BYTES) for file in files]
    assert [len(group) for group in into_groups(large)] == [1] * 400


def test_the_last_exports_are_kept(project: Path, exported: Path) -> None:
    first = contents(exported)
    for number in range(3):
        (project / "part_7.py").write_text(f"changed = {number}\n")
        age(exported)
        report = export_to(project, exported, keep=2)
    assert report.n_removed == 1
    assert len(list((exported / "manifests").iterdir())) == 2
    listed = {
        part["name"] for path in (exported / "manifests").iterdir() for part in json.loads(path.read_text())["parts"]
    }
    assert listed == contents(exported).keys() != first.keys()
    newest = max((exported / "manifests").iterdir())
    assert newest.read_bytes() == (exported / "manifest.json").read_bytes()


def test_a_part_that_another_export_may_be_about_to_list_stays(project: Path, exported: Path) -> None:
    (exported / "parts" / f"{'0' * 40}.part").write_bytes(b"new")
    assert export_to(project, exported, keep=1).n_removed == 0


def test_a_damaged_part_of_an_export_is_written_again(project: Path, exported: Path) -> None:
    expected = contents(exported)
    damage(exported)
    export_to(project, exported)
    assert contents(exported) == expected


def test_equal_contents_are_in_one_part(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for number in range(60):
        (project / f"{number}.py").write_text("same = 1\n")
    assert export_to(project, tmp_path / "export").n_files == 1


def test_a_manifest_is_data(exported: Path) -> None:
    manifest = Manifest("1", (), "c" * 40, "2026-01-01T00:00:00+00:00", {"skip_generated": True})
    good = manifest_bytes(manifest)
    assert replace(manifest, options=None) == read_manifest(good, "1")
    with pytest.raises(UnusableManifest, match="another version of Weft"):
        read_manifest(good, "2")
    part = {"name": f"{'a' * 40}.part", "bytes": 5, "keys": ""}
    wrong: list[object] = [
        *(b"", b"[]", b"null", b"[" * 100_000, b'{"format": "weft base"}', b"\xff"),
        *({"version": 2}, {"format": "x"}, {"parts": None}, {"parts": [1]}, {"parts": {}} | {"version": "1"}),
        *({"parts": [part | change]} for change in (
            {"name": "../../etc/passwd"}, {"name": f"{'a' * 40}.part/.."}, {"name": 3}, {"bytes": -1},
            {"bytes": 1 << 60}, {"bytes": "5"}, {"keys": "a"}, {"keys": "AAAA"}, {"keys": None},
        )),
    ]  # fmt: skip
    for change in wrong:
        data = change if isinstance(change, bytes) else json.dumps(json.loads(good) | change).encode()  # type: ignore[operator]
        with pytest.raises(UnusableManifest):
            read_manifest(data, "1")
    read_manifest(json.dumps(json.loads(good) | {"parts": [part]}).encode(), "1")


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (lambda folder: shutil.rmtree(folder), "no such file"),
        (lambda folder: (folder / "manifest.json").write_text("{}"), "damaged"),
        (lambda folder: (folder / "manifest.json").unlink(), "no such file"),
        (lambda folder: of_another_version(folder), "another version of Weft"),
        (lambda folder: damage(folder), "a part is damaged"),
        (lambda folder: [path.unlink() for path in (folder / "parts").iterdir()], "no such file"),
    ],
    ids=["nothing", "damaged manifest", "no manifest", "other version", "damaged part", "no parts"],
)
def test_a_base_that_cannot_be_used_costs_a_notice(
    project: Path, exported: Path, cache: Path, harm: Callable[[Path], object], says: str
) -> None:
    expected = index(project, None)[0]
    shutil.rmtree(cache)
    harm(exported)
    facts, notices = index(project, exported)
    assert facts == expected
    assert len(notices) == 1
    assert says in notices[0]
    assert notices[0].startswith(f"Base {exported}: ")


def test_a_damaged_part_costs_its_files(project: Path, exported: Path, cache: Path, analysed: list[str]) -> None:
    damage(exported)
    index(project, exported)
    assert 0 < len(analysed) < N_FILES


def test_a_base_that_others_may_write_to_is_read_and_not_mapped(
    project: Path, exported: Path, cache: Path, analysed: list[str]
) -> None:
    for path in (exported / "parts").iterdir():
        path.chmod(0o666)
    assert not index(project, exported)[1]
    assert not analysed


def test_a_workspace_and_an_editor_name_no_base(tmp_path: Path) -> None:
    folder, user = tmp_path / "project", tmp_path / "user.toml"
    folder.mkdir()
    (folder / "weft.toml").write_text('base = "https://example.com/base"\n')
    config, problems = load_config(folder, {"base": "/elsewhere"}, user_file=user)
    assert config.base == ""
    assert [str(problem).split(": ", 1)[1] for problem in problems] == [
        f"base: a workspace file may not set this; set it in {user}",
        f"base: an editor may not set this; set it in {user}",
    ]
    user.write_text('base = "/srv/base"\n')
    assert load_config(folder, user_file=user)[0].base == "/srv/base"


@pytest.mark.parametrize(
    "address", ["http://example.com/base", "ftp://x/y", "file2://x", "github://a/b", "https://[", "x/y"]
)
def test_other_addresses_are_refused(address: str, tmp_path: Path) -> None:
    if "://" in address:
        with pytest.raises(InvalidBase):
            source_of(address)
    base = Base(address, "1", tmp_path, 1 << 30)
    assert base.rows([b"k" * 16], Cancel()) == {}
    assert len(base.notices) == 1


def test_a_password_is_in_no_message() -> None:
    assert shown_address("https://me:secret@example.com/base?sig=secret#x") == "https://example.com/base"


class FileHandler(JsonHandler):
    """Serves the files of `folder`, with ETags and ranges."""

    folder = Path()
    requests: list[tuple[str, Mapping[str, str]]] = []  # noqa: RUF012
    cut_after = 0  # the connection closes after this many bytes of a part
    max_answers: int | None = None  # a connection closes instead of one more answer
    n_answers = 0  # of this connection
    delay_s = 0.0

    def do_GET(self) -> None:
        name = self.path.split("?")[0].removeprefix("/base/")
        self.requests.append((name, dict(self.headers)))
        if self.n_answers == self.max_answers:
            self.close_connection = True
            return
        self.n_answers += 1
        time.sleep(self.delay_s)
        path = self.folder / name
        if not path.is_file():
            return self.send_bytes(b"", 404)
        data, begin = path.read_bytes(), 0
        etag = f'"{hash(data)}"'
        if self.headers.get("If-None-Match") == etag:
            return self.send_bytes(b"", 304)
        if "Range" in self.headers:
            begin = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(data) - begin))
        self.send_header("ETag", etag)
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        is_cut = self.cut_after and name.startswith("parts/")
        self.wfile.write(data[begin:][: self.cut_after if is_cut else None])
        self.close_connection = bool(is_cut)


@pytest.fixture
def server(exported: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(FileHandler, "folder", exported)
    monkeypatch.setattr(FileHandler, "requests", [])
    with serving(FileHandler) as address:
        yield f"{address}/base?signature=s"


def test_over_http_only_the_needed_parts_are_read_and_once(
    project: Path, exported: Path, server: str, cache: Path, analysed: list[str]
) -> None:
    parts = json.loads((exported / "manifest.json").read_text())["parts"]
    for path in project.iterdir():
        if path.name != "part_3.py":
            path.unlink()
    assert not index(project, server)[1]
    assert not analysed
    assert [name.split("/")[0] for name, _ in FileHandler.requests] == ["manifest.json", "parts"]
    assert len(parts) > 2
    shutil.rmtree(cache / "indexes")
    index(project, server)
    assert [name for name, _ in FileHandler.requests[2:]] == ["manifest.json"]
    assert "If-None-Match" in {name.title() for name in FileHandler.requests[2][1]}
    assert not analysed


def test_nothing_of_the_workspace_is_sent(project: Path, exported: Path, server: str, cache: Path) -> None:
    (project / "secret_name.py").write_text("secret_word = 1\n")
    index(project, server)
    names = {"manifest.json", *(f"parts/{path.name}" for path in (exported / "parts").iterdir())}
    allowed = {"Host", "Accept", "Accept-Encoding", "Connection", "User-Agent", "Range", "If-None-Match"}
    for name, headers in FileHandler.requests:
        assert name in names
        assert {header.title() for header in headers} <= allowed
        assert "secret" not in str(headers)


def test_a_lost_connection_is_continued_with_a_range(
    project: Path, server: str, cache: Path, analysed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    size = max(path.stat().st_size for path in (FileHandler.folder / "parts").iterdir())
    monkeypatch.setattr(FileHandler, "cut_after", size // 3 + 1)
    assert not index(project, server)[1]
    assert not analysed
    assert any("Range" in headers or "range" in headers for _, headers in FileHandler.requests)


@pytest.mark.parametrize("max_answers", [1, 0])
def test_a_connection_that_closes_without_an_answer_is_opened_once_more(
    project: Path, server: str, cache: Path, analysed: list[str], monkeypatch: pytest.MonkeyPatch, max_answers: int
) -> None:
    monkeypatch.setattr(FileHandler, "max_answers", max_answers)
    notices = index(project, server)[1]
    if max_answers:
        assert not notices
        assert not analysed
    else:
        assert "it closed the connection" in notices[0]
        assert [name for name, _ in FileHandler.requests] == ["manifest.json"] * 2
        assert len(analysed) == N_FILES


def test_a_server_that_sends_something_else_costs_a_notice(
    project: Path, exported: Path, server: str, cache: Path, analysed: list[str]
) -> None:
    for path in (exported / "parts").iterdir():
        path.write_bytes(b"x" * path.stat().st_size)
    (notice,) = {notice.split(":")[-2] for notice in index(project, server)[1]}
    assert "a part is damaged" in notice
    assert len(analysed) == N_FILES
    for path in (exported / "parts").iterdir():
        path.write_bytes(b"x" * (path.stat().st_size + 1))
    shutil.rmtree(cache)
    assert "sent more than" in index(project, server)[1][0]
    assert not list(cache.glob("bases/*/*.part"))


@pytest.mark.parametrize("what", ["manifest", "parts"])
def test_a_slow_server_is_not_waited_for(
    project: Path, server: str, cache: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(base_module, "MANIFEST_WAIT_S" if what == "manifest" else "PARTS_WAIT_S", 0.3)
    monkeypatch.setattr(FileHandler, "delay_s", 1.0)
    started = time.monotonic()
    _, notices = index(project, server)
    assert time.monotonic() - started < 15
    assert "does not answer in time" in notices[0] if what == "manifest" else "too slow" in notices[0]


def test_a_server_that_is_not_there_costs_a_notice(project: Path, cache: Path) -> None:
    assert "not reachable" in index(project, "http://127.0.0.1:9/base")[1][0]


def test_a_damaged_cache_is_filled_again(project: Path, server: str, cache: Path, analysed: list[str]) -> None:
    index(project, server)
    for path in cache.glob("bases/*/*"):
        if path.suffix == ".part" or path.name == "manifest.json":
            path.write_bytes(b"damaged")
            path.chmod(0o600)
    shutil.rmtree(cache / "indexes")
    assert not index(project, server)[1]
    assert not analysed


def test_the_cache_has_a_limit(project: Path, server: str, tmp_path: Path, cache: Path) -> None:
    base = Base(server, analysis_version(), tmp_path / "bases", 30_000)
    keys = [key for part in base.check(Cancel()).parts for key in part.keys]  # type: ignore[union-attr]
    assert len(base.rows(keys, Cancel())) == N_FILES
    assert sum(path.stat().st_size for path in tmp_path.glob("bases/*/*.part")) <= 30_000


def test_an_object_store_is_read_through_fsspec(
    project: Path, exported: Path, cache: Path, analysed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    files.put(str(exported), "/bucket/base", recursive=True)
    assert not index(project, "memory://bucket/base")[1]
    assert not analysed
    shutil.rmtree(cache)
    assert not index(project, f"file://{exported}")[1]
    assert not analysed
    files.rm("/bucket", recursive=True)
    shutil.rmtree(cache)
    assert "manifest.json is not there" in index(project, "memory://bucket/base")[1][0]


def test_a_missing_package_is_named(project: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(Exception, match=r"s3:// needs packages that are not installed \(.*base"):
        source_of("s3://bucket/base")


TEXT = (
    6
    * """import os
from shop import pay as p


class Order:
    items: list[str]

    def total(self) -> int:
        x = p(self.items)
        return x
"""
)


def test_a_row_of_another_text_is_not_used() -> None:
    row = encoded(analyse("a.py", TEXT))
    assert checked(row, "a.py", TEXT).graph == analyse("a.py", TEXT).graph
    for path, text in (("a.py", TEXT + "\n"), ("a.ts", TEXT), ("a.py", TEXT.replace("pay", "bay"))):
        with pytest.raises(UnusableRow):
            checked(row, path, text)
    with pytest.raises(UnusableRow):
        checked(encoded(analyse("go.mod", "module x\n")), "go.mod", "module x\n")


def test_tokens_are_of_the_text_here() -> None:
    row = dict(encoded(analyse("a.py", TEXT)))
    row["words"], row["tokens"] = (encoded(analyse("a.py", "evil()\n"))[name] for name in ("words", "tokens"))
    assert checked(row, "a.py", TEXT).tokens.words == analyse("a.py", TEXT).tokens.words


@pytest.mark.parametrize("change", [
    {"outline": '[[["f","f","function",0,0,0,0,1,0,[],""]],[],[]]'},  # its own parent
    {"outline": '[[["f","f","function",99999,0,0,0,1,-1,[],""]],[],[]]'},
    {"outline": '[[["f","f","function",0,0,0,0,99999,-1,[],""]],[],[]]'},
    {"outline": '[[["f","f","function",0,1e400,0,0,1,-1,[],""]],[],[]]'},
    {"outline": '[[["f","f","function",true,0,0,0,1,-1,[],""]],[],[]]'},
    {"outline": '[[],[["a","b",-1,"c",0,-1]],[]]'},
    {"outline": '[[],[],[[5,"a","call","b",0]]]'},
    {"outline": "[[],[]]"},
    {"outline": "{}"},
    {"calls": '[["f",0,0,0,70]]'},
    {"calls": '[["f",0,0,-1,-1]]'},
    {"calls": f'[["{"f" * 30_000}",0,0,0,-1]]'},
    {"calls": "[" * 50_000},
    {"calls": "\udc00"},
    {"facts": '["python",60,1000000000,[],"",""]'},
    {"facts": '["python",60,20,[],"","{}"]'},
    {"facts": '["python",60,20,[1],"",""]'},
    {"facts": "[]"},
])  # fmt: skip
def test_facts_out_of_bounds_are_not_used(change: dict[str, str]) -> None:
    row = dict(encoded(analyse("a.py", TEXT)))
    row |= {name: np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8) for name, text in change.items()}
    with pytest.raises(UnusableRow):
        checked(row, "a.py", TEXT)


N_DEEP = 5000
DEEP: dict[str, tuple[list[Any], list[Any]]] = {
    "callee": ([[], [], []], [["a" + ".b" * N_DEEP, 0, 0, 0, -1]]),
    "items": ([[], [], [[-1, "x", "alias", "a" + "[]" * N_DEEP, 0]]], [["x.y", 0, 0, 0, -1]]),
    "results": ([[], [], [[-1, "x", "call", "a" + "()" * N_DEEP, 0]]], [["x" + "()" * N_DEEP, 0, 0, 0, -1]]),
    "aliases": ([[], [], [[-1, f"x{n}", "alias", f"x{n + 1}", 0] for n in range(N_DEEP)]], [["x0.y", 0, 0, 0, -1]]),
    "bases": (
        [[[f"C{n}", f"C{n}", "class", 0, 0, 0, 0, 1, -1, [f"C{n + 1}"], ""] for n in range(N_DEEP)], [], []],
        [["C0().y", 0, 0, 0, -1]],
    ),
    "parents": (
        [[["C", "C", "class", 0, 0, 0, 0, 1, n - 1, [], ""] for n in range(N_DEEP)], [], []],
        [["C.y", 0, 0, 0, N_DEEP - 1]],
    ),
}


@pytest.mark.parametrize("name", DEEP)
def test_facts_that_no_code_has_neither_crash_nor_hang(tmp_path: Path, cache: Path, name: str) -> None:
    outline, calls = DEEP[name]
    text = "x = 1\n" * 30
    row = dict(encoded(analyse("a.py", text)))
    row |= {column: json_column(value) for column, value in (("outline", outline), ("calls", calls))}
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.py").write_text(text)
    (tmp_path / "project" / "b.py").write_text("from a import *\nimport a\na.x0.y()\nx.y()\n")
    write_export(tmp_path / "export", {content_key("a.py", content_hash(text.encode()), is_checked=True): row})
    with Workspace([tmp_path / "project"], Config(base=str(tmp_path / "export"))) as workspace:
        workspace.index()
        assert workspace.base is not None
        assert workspace.base.n_rows == 1
        workspace.complete(tmp_path / "project" / "b.py", 3, 2)
        workspace.retrieve(tmp_path / "project" / "b.py", 2, 5)


def json_column(value: object) -> np.ndarray:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


@pytest.mark.fuzz
def test_damaged_arrays_with_right_checksums_neither_crash_nor_hang(project: Path, exported: Path, cache: Path) -> None:
    """Each round damages some columns of all rows, and writes parts and a manifest that are right in every hash."""
    good = rows_of(exported)
    rng = random.Random(5)
    expected = index(project, None)[0]
    shutil.rmtree(cache)
    n_used = 0
    for _ in range(400 if os.environ.get("WEFT_FUZZ") else 25):
        shutil.rmtree(cache, ignore_errors=True)
        write_export(exported, {key: damaged(row, rng) for key, row in good.items()})
        with Workspace([project], Config(base=str(exported))) as workspace:
            workspace.index()
            assert workspace.base is not None
            n_used += workspace.base.n_rows
            (found,) = workspace.indexes().values()
            assert found.texts.keys() == expected.keys()
            path = project / "part_1.py"
            workspace.complete(path, 4, 4)
            workspace.retrieve(path, 4, 4)
    assert n_used  # some damage is harmless to the shape, such as a wrong name


def damaged(row: Row, rng: random.Random) -> Row:
    """`row` with a random change of one or two columns."""
    changed = dict(row)
    for name in rng.sample(sorted(COLUMNS), rng.choice((1, 1, 2))):
        array = np.array(changed[name])
        what = rng.randrange(5)
        if what == 0 and len(array):
            kind = np.iinfo(array.dtype)
            array[rng.randrange(len(array))] = rng.choice((0, 1, kind.max, kind.min, kind.max // 2))
        elif what == 1:
            array = array[: rng.randrange(len(array) + 1)]
        elif what == 2:
            array = np.concatenate([array, array[: rng.randrange(len(array) + 1)]])
        elif what == 3:
            rng.shuffle(array)  # type: ignore[arg-type]
        elif len(array):
            array.view(np.uint8)[rng.randrange(array.nbytes)] ^= 1 << rng.randrange(8)
        changed[name] = array
    return changed


def test_damaged_files_with_right_hashes_are_parts_or_are_not(exported: Path) -> None:
    rng = random.Random(7)
    path = next((exported / "parts").iterdir())
    good = path.read_bytes()
    n_header = int.from_bytes(good[:8], "little")
    for _ in range(300):
        data = bytearray(good)
        for _ in range(rng.choice((1, 1, 3))):
            data[rng.randrange(rng.choice((8 + n_header, len(data))))] = rng.randrange(256)
        try:
            part = part_in(bytes(data), "part", analysis_version())
        except base_module.UnusablePart:
            continue
        for key in part.keys:
            part.row(key)


def test_the_commit_is_read_without_git(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "repository")
    assert head_commit(folder / "nothing") == ""
    git(folder, "init", "-q", "-b", "main")
    assert head_commit(folder) == ""
    git(folder, "add", ".")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "files")
    expected = git(folder, "rev-parse", "HEAD")
    assert head_commit(folder) == head_commit(folder / "below") == expected
    git(folder, "worktree", "add", "-q", "-b", "other", str(tmp_path / "worktree"))
    assert head_commit(tmp_path / "worktree") == expected
    git(folder, "pack-refs", "--all")
    assert head_commit(folder) == expected
    git(folder, "checkout", "-q", "--detach")
    assert head_commit(folder) == expected


def test_weft_index_exports_and_begins_from_it(
    project: Path, tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    target = tmp_path / "export"
    assert main(["index", str(project), "--export", str(target)]) == 0
    assert f"{N_FILES} contents in" in capsys.readouterr().out
    assert main(["index", str(project), "--export", str(target), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["contents"], report["analysed"], report["newBytes"]) == (N_FILES, 0, 0)
    assert not (cache / "indexes").exists()
    shutil.rmtree(cache)
    (tmp_path / "settings" / "weft").mkdir(parents=True)
    (tmp_path / "settings" / "weft" / "weft.toml").write_text(f'base = "{target}"\n')
    assert main(["index", str(project)]) == 0
    assert f"from the base: {N_FILES} files ({target})" in " ".join(capsys.readouterr().out.split())
    found = next(each for each in examine([project]) if each.what == "base")
    assert f"{N_FILES} files of the last index came from it" in found.found
    assert not found.next_step
    shutil.rmtree(target)
    found = next(each for each in examine([project]) if each.what == "base")
    assert "no such file" in found.next_step


@pytest.mark.parametrize(
    ("arguments", "says"), [(["--keep", "0"], "--keep 0"), ([], "inside of")], ids=["keep", "inside"]
)
def test_an_export_that_cannot_be_is_refused(
    project: Path, cache: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    assert main(["index", str(project), "--export", str(project / "export"), *arguments]) == 2
    assert says in capsys.readouterr().err


def test_an_export_to_a_file_says_what_to_do(project: Path, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project.parent / "file").write_text("")
    assert main(["index", str(project), "--export", str(project.parent / "file")]) == 2
    assert "Give another folder." in " ".join(capsys.readouterr().err.split())


def make_project(folder: Path) -> Path:
    folder.mkdir()
    for number in range(N_FILES):
        below = (number + 1) % N_FILES
        (folder / f"part_{number}.py").write_text(
            f"from part_{below} import call_{below}\n\n\ndef call_{number}(x):\n    return call_{below}(x + {number})\n"
        )
    return folder


def export_to(folder: Path, target: Path, *, keep: int = 5, store: AnalysisStore | None = None) -> ExportReport:
    rows = FolderRows(folder, IndexOptions(), store)
    return export_index(folder, IndexOptions(), rows, target, analysis_version(), keep=keep)


def found_files(folder: Path) -> list[FoundFile]:
    return list(export.Membership(folder, IndexOptions()).walk())


def contents(exported: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (exported / "parts").iterdir()}


def age(exported: Path) -> None:
    for path in (exported / "parts").iterdir():
        os.utime(path, (1, 1))


def damage(exported: Path) -> None:
    """Change a byte of one part."""
    path = min((exported / "parts").iterdir())
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def of_another_version(exported: Path) -> None:
    path = exported / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"analysis": "another"}))


def rows_of(exported: Path) -> dict[bytes, Row]:
    parts = [part_in(data, name, analysis_version()) for name, data in contents(exported).items()]
    return {key: row for part in parts for key in part.keys if (row := part.row(key)) is not None}


def write_export(exported: Path, rows: Mapping[bytes, Row]) -> None:
    """Replace an export by one with these rows in one part."""
    shutil.rmtree(exported, ignore_errors=True)
    (exported / "parts").mkdir(parents=True)
    path = exported / "parts" / write_part(exported / "parts", analysis_version(), rows)
    listed = export.ListedPart(path.name, path.stat().st_size, tuple(sorted(rows)))
    (exported / "manifest.json").write_bytes(manifest_bytes(Manifest(analysis_version(), (listed,))))


def index(folder: Path, base: Path | str | None) -> tuple[dict[str, object], tuple[str, ...]]:
    """What an index that begins from `base` knows of each file, and its notices."""
    with Workspace([folder], Config(base=str(base or ""))) as workspace:
        workspace.index()
        (found,) = workspace.indexes().values()
        facts: dict[str, object] = {
            path: (found.texts[path], found.graph.files[path], found.graph.call_edges(path)) for path in found.texts
        }
        notices = () if workspace.base is None else workspace.base.notices
        assert set(notices) <= set(workspace.status().notes)
        return facts, notices


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()
