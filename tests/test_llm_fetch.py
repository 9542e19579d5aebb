"""Fetching a model: from a hub on this machine that speaks as the real one does, and fails as it can.

What it answers follows huggingface_hub's own client: `/api/models/…` with the files and their hashes, HEAD and GET of
`/<repository>/resolve/<commit>/<file>` with `X-Repo-Commit`, `X-Linked-Etag` and ranges.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from weft.llm.installation import install_command
from weft.llm.library.catalogue import CATALOGUE, find_in_catalogue
from weft.llm.library.fetch import FetchFailed, Progress, fetch_model
from weft.llm.protocol import Cancel, ModelMissing

COMMIT = "5" * 40
WEIGHTS = bytes(range(256)) * 20_000  # 5 MB
GGUF = b"GGUF" + WEIGHTS


class Hub:
    """A hub with one repository, `files`, and switches for what goes wrong."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.status = 200
        self.headers: dict[str, str] = {}
        self.breaks_after: list[int] = []  # bytes after which the next answers break off
        self.ignores_ranges = False
        self.corrupt = False
        self.ranges: list[str | None] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                self.respond(body=False)

            def do_GET(self) -> None:
                self.respond(body=True)

            def respond(self, body: bool) -> None:
                path = unquote(urlparse(self.path).path)
                if hub.status != 200:
                    self.send(hub.status, b"{}", hub.headers)
                elif re.fullmatch(r"/api/models/maker/tiny(/revision/main)?", path):
                    self.send(200, json.dumps(hub.listing()).encode(), {})
                elif match := re.fullmatch(rf"/maker/tiny/resolve/(?:main|{COMMIT})/(.+)", path):
                    self.file(match[1], body)
                else:
                    self.send(404, b"{}", {"X-Error-Code": "RepoNotFound"})

            def file(self, name: str, body: bool) -> None:
                if name not in hub.files:
                    self.send(404, b"", {"X-Error-Code": "EntryNotFound"})
                    return
                data = hub.files[name]
                headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{git_sha1(data)}"', "Accept-Ranges": "bytes"}
                if is_large(name):
                    headers |= {"X-Linked-Etag": f'"{sha256(data)}"', "X-Linked-Size": str(len(data))}
                if not body:
                    self.send(200, data, headers, body=False)
                    return
                wanted = self.headers.get("Range")
                hub.ranges.append(wanted)
                begin = 0 if wanted is None or hub.ignores_ranges else int(wanted.removeprefix("bytes=").rstrip("-"))
                if begin:
                    headers["Content-Range"] = f"bytes {begin}-{len(data) - 1}/{len(data)}"
                if hub.corrupt:
                    data = data[:-1] + bytes([data[-1] ^ 1])
                limit = hub.breaks_after.pop(0) if hub.breaks_after else None
                self.send(206 if begin else 200, data[begin:], headers, limit=limit)

            def send(
                self, status: int, data: bytes, headers: dict[str, str], body: bool = True, limit: int | None = None
            ) -> None:
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                if body and self.command != "HEAD":
                    self.wfile.write(data if limit is None else data[:limit])
                if limit is not None:
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def listing(self) -> dict[str, object]:
        siblings = []
        for name, data in self.files.items():
            entry: dict[str, object] = {"rfilename": name, "size": len(data), "blobId": git_sha1(data)}
            if is_large(name):
                entry["lfs"] = {"size": len(data), "sha256": sha256(data), "pointerSize": 134}
            siblings.append(entry)
        return {"id": "maker/tiny", "sha": COMMIT, "siblings": siblings}


def is_large(name: str) -> bool:
    return name.endswith((".gguf", ".safetensors"))


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def git_sha1(data: bytes) -> str:
    return hashlib.sha1(f"blob {len(data)}\0".encode() + data).hexdigest()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    pytest.importorskip("huggingface_hub", reason="fetching needs huggingface_hub")
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
    hub = Hub(
        {
            "tiny.gguf": GGUF,
            "config.json": b"{}",
            "tokenizer.json": b'{"model": {}}',
            "model.safetensors": WEIGHTS,
            "pytorch_model.bin": b"pickle",
            "modeling_tiny.py": b"print()",
        }
    )
    thread = threading.Thread(target=hub.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield hub
    hub.http.shutdown()
    hub.http.server_close()
    thread.join()


def fetch(hub: Hub, cache: Path, file: str = "tiny.gguf", **options: object) -> Path:
    return fetch_model("maker/tiny", file, endpoint=hub.url, cache=cache, **options)


def test_a_file_arrives_where_the_hub_s_own_library_finds_it(hub: Hub, tmp_path: Path):
    from huggingface_hub import try_to_load_from_cache

    steps: list[Progress] = []
    path = fetch(hub, tmp_path, progress=steps.append)
    assert path.read_bytes() == GGUF
    assert try_to_load_from_cache("maker/tiny", "tiny.gguf", cache_dir=tmp_path) == str(path)
    assert (steps[-1].done_bytes, steps[-1].total_bytes) == (len(GGUF), len(GGUF))
    assert not list(tmp_path.rglob("*.weft-part"))


def test_a_directory_has_the_model_and_nothing_that_runs_code(hub: Hub, tmp_path: Path):
    directory = fetch(hub, tmp_path, "")
    assert sorted(path.name for path in directory.iterdir()) == ["config.json", "model.safetensors", "tokenizer.json"]
    assert (directory / "model.safetensors").read_bytes() == WEIGHTS


def test_what_is_there_is_not_fetched_again(hub: Hub, tmp_path: Path):
    fetch(hub, tmp_path)
    before = len(hub.ranges)
    fetch(hub, tmp_path)
    assert len(hub.ranges) == before


def test_a_connection_that_breaks_off_is_taken_up_where_it_broke(hub: Hub, tmp_path: Path):
    hub.breaks_after = [1_500_000, 2_000_000]
    assert fetch(hub, tmp_path).read_bytes() == GGUF
    begins = [int(wanted.removeprefix("bytes=").rstrip("-")) for wanted in hub.ranges if wanted]
    assert len(begins) == 2 and 0 < begins[0] < begins[1]


def test_a_later_run_goes_on_from_where_an_earlier_one_was_stopped(hub: Hub, tmp_path: Path):
    cancel = Cancel()
    with pytest.raises(FetchFailed, match="resumes the download"):
        fetch(hub, tmp_path, progress=lambda _: cancel.cancel(), cancel=cancel)
    (part,) = tmp_path.rglob("*.weft-part")
    kept = part.stat().st_size
    assert 0 < kept < len(GGUF)
    assert fetch(hub, tmp_path).read_bytes() == GGUF
    assert hub.ranges[-1] == f"bytes={kept}-"


def test_a_server_that_knows_no_ranges_begins_anew(hub: Hub, tmp_path: Path):
    hub.breaks_after, hub.ignores_ranges = [1_500_000], True
    assert fetch(hub, tmp_path).read_bytes() == GGUF


def test_connections_that_bring_nothing_are_given_up(hub: Hub, tmp_path: Path):
    hub.breaks_after = [0] * 20
    with pytest.raises(FetchFailed, match="failed 5 times"):
        fetch(hub, tmp_path)


@pytest.mark.parametrize("file", ["tiny.gguf", ""])
def test_a_file_that_is_not_what_the_hub_says_is_thrown_away(hub: Hub, tmp_path: Path, file: str):
    hub.corrupt = True
    with pytest.raises(FetchFailed, match=r"hash of .* differs"):
        fetch(hub, tmp_path, file)
    assert not [path for path in (tmp_path / "models--maker--tiny" / "blobs").iterdir() if is_large(path.name)]
    assert not list(tmp_path.rglob("*.weft-part"))
    hub.corrupt = False
    fetch(hub, tmp_path, file)


def test_a_disk_without_room_is_said_before_anything_is_fetched(hub: Hub, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9, 10**6))
    with pytest.raises(FetchFailed, match=r"needed and 0\.0 GB are free"):
        fetch(hub, tmp_path)
    assert hub.ranges == []


@pytest.mark.parametrize(
    ("status", "headers", "says"),
    [
        (404, {"X-Error-Code": "RepoNotFound"}, "has no model maker/tiny"),
        (401, {"X-Error-Code": "GatedRepo"}, "accept its conditions"),
        (403, {"X-Error-Code": "GatedRepo"}, "accept its conditions"),
        (403, {}, "refuses"),
        (500, {}, "HTTP 500"),
        (429, {}, "HTTP 429"),
    ],
)
def test_a_refusal_is_said_with_the_next_step(hub: Hub, tmp_path: Path, status: int, headers: dict, says: str):
    hub.status, hub.headers = status, headers
    with pytest.raises(FetchFailed, match=says):
        fetch(hub, tmp_path)


def test_a_hub_that_cannot_be_reached_is_said(hub: Hub, tmp_path: Path):
    with pytest.raises(FetchFailed, match="can't be reached"):
        fetch_model("maker/tiny", "tiny.gguf", endpoint="http://127.0.0.1:9", cache=tmp_path)


def test_a_file_that_is_not_there_is_answered_with_those_that_are(hub: Hub, tmp_path: Path):
    with pytest.raises(FetchFailed, match=r"no file big\.gguf\. Choose one of its files: tiny\.gguf"):
        fetch(hub, tmp_path, "big.gguf")


def test_a_repository_of_gguf_files_wants_one_named(hub: Hub, tmp_path: Path):
    del hub.files["model.safetensors"]
    with pytest.raises(FetchFailed, match=r"Choose one: maker/tiny:tiny\.gguf"):
        fetch(hub, tmp_path, "")


def test_pickled_weights_alone_are_no_model(hub: Hub, tmp_path: Path):
    del hub.files["model.safetensors"], hub.files["tiny.gguf"]
    with pytest.raises(FetchFailed, match="no model in safetensors"):
        fetch(hub, tmp_path, "")


def test_a_name_that_is_none_is_refused_before_the_network(hub: Hub, tmp_path: Path):
    with pytest.raises(FetchFailed, match="not the name of a repository"):
        fetch_model("../../etc", "x", endpoint=hub.url, cache=tmp_path)


def test_without_the_library_the_command_that_installs_it_is_named(tmp_path: Path, monkeypatch):
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("weft.llm.library.fetch.import_module", missing)
    with pytest.raises(ModelMissing, match=re.escape(install_command("models"))):
        fetch_model("maker/tiny", "tiny.gguf", cache=tmp_path)


def test_the_command_asks_the_hub_that_the_environment_names(hub: Hub, tmp_path: Path):
    command = [sys.executable, "-m", "weft", "models", "get", "--json", "maker/tiny:tiny.gguf"]
    environment = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path), "HOME": str(tmp_path)}
    for variable in ("HF_HUB_CACHE", "HF_HUB_OFFLINE"):
        environment.pop(variable, None)
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    path = Path(json.loads(done.stdout)["path"])
    assert path.read_bytes() == GGUF and path.is_relative_to(tmp_path / "hub")


def test_the_catalogue_names_each_model_once_with_what_a_user_must_know():
    assert len({model.name for model in CATALOGUE}) == len(CATALOGUE)
    for model in CATALOGUE:
        assert model.licence and model.size_gb > 0 and model.context_tokens and "/" in model.repository
        assert model.file == "" or model.file.endswith(".gguf")
    assert find_in_catalogue("Qwen2.5-Coder-1.5B") in CATALOGUE
    assert find_in_catalogue("gpt") is None


def test_the_page_about_models_shows_the_catalogue():
    page = (Path(__file__).parent.parent / "docs" / "models.md").read_text(encoding="utf-8")
    rows = [
        f"| `{model.name}` | {model.licence} | {model.size_gb:.1f} GB | {model.memory_gb:.1f} GB "
        f"| {model.context_tokens:,} | {model.remark} |"
        for model in CATALOGUE
    ]
    assert "\n".join(rows) in page
