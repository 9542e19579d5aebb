"""Documents of a workspace, fresh with the code, and its memory on disk."""

import json
import os
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import wait
from dataclasses import replace
from pathlib import Path

import pytest
from weft import Config, Workspace
from weft.memory.storage import Documents, MemoryStore
from weft.server.config import IndexOptions, MemoryOptions, load_config
from weft.server.workspace import background
from weft.server.workspace import documents as documents_module
from weft.server.workspace.memory import data_folder, memory_file

GUIDE = "# Guide\n\nAll of it.\n\n## Install\n\nRun the installer.\n"
SHOP = '"""Where people buy things."""\n\n\ndef pay(cart):\n    """Takes the money of a cart."""\n'
NOTEBOOK = json.dumps({"cells": [{"cell_type": "code", "source": ["train(model)"], "outputs": []}]}, indent=1)


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setenv("WEFT_DATA_DIR", str(tmp_path_factory.mktemp("data")))


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "project"
    write(root, {"guide.md": GUIDE, "shop.py": SHOP, "run.ipynb": NOTEBOOK, "data.csv": "a,b\n"})
    return root.resolve()


def write(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def opened():
    workspaces = []

    def open_workspace(*folders, config=None, cache=True):
        workspaces.append(Workspace(folders, config or Config(), cache=cache))
        workspaces[-1].index()
        return workspaces[-1]

    yield open_workspace
    for workspace in workspaces:
        workspace.close()


def read(workspace, folder):
    """The place of every segment, once everything that waits is done."""
    workspace.flush()
    workspace._memories._reader.flush()
    return [segment.place for segment in workspace.documents(folder).files_outside_index(wait_s=30)]


def kept(workspace):
    workspace._memories._reader.flush()
    return [Path(source).name for source in workspace.memory.documents.sources()]


ALL = ["run.ipynb:6-6"]


def test_notebooks_are_documents_and_files_of_the_code_index_are_not(opened, folder):
    workspace = opened(folder)
    assert read(workspace, folder) == ALL
    assert workspace.documents(folder).notes == ()


def test_lines_of_documents_are_lines_of_files(opened, folder):
    cells = [{"cell_type": "markdown", "source": ["# A\n", "Text of a section.\n", "# B\n"]}]
    write(folder, {"prose.ipynb": json.dumps({"cells": cells}, indent=1)})
    segments = opened(folder).documents(folder).files_outside_index(wait_s=30)
    assert {segment.source for segment in segments} == {"prose.ipynb", "run.ipynb"}
    for segment in segments:
        lines = (folder / segment.source).read_text().splitlines()[segment.first_line : segment.end_line]
        for text, line in zip(segment.text.split("\n"), lines, strict=False):
            assert text in line


def test_what_is_not_saved_is_not_kept(opened, folder):
    workspace = opened(folder)
    workspace.open_buffer(folder / "guide.md", "# Manual\n\nMy password is hunter2.\n")
    assert read(workspace, folder) == ALL
    assert kept(workspace) == ["run.ipynb"]
    segments = [segment for document in workspace.memory.documents.all() for segment in document.segments]
    assert segments and not any("hunter2" in segment.text for segment in segments)


def test_changes_on_disk_are_read(opened, folder):
    workspace = opened(folder)
    read(workspace, folder)
    write(folder, {"run.ipynb": NOTEBOOK.replace("train", "test"), "more.ipynb": NOTEBOOK})
    workspace.files_changed([folder / name for name in ("run.ipynb", "more.ipynb")])
    assert read(workspace, folder) == ["more.ipynb:6-6", "run.ipynb:6-6"]
    assert any("test(model)" in segment.text for segment in workspace.documents(folder).files_outside_index())
    assert kept(workspace) == ["more.ipynb", "run.ipynb"]
    (folder / "run.ipynb").unlink()
    workspace.files_changed([folder / "run.ipynb"])
    assert read(workspace, folder) == ["more.ipynb:6-6"]


def test_a_folder_that_comes_and_goes_brings_its_notebooks(opened, folder):
    workspace = opened(folder)
    read(workspace, folder)
    write(folder, {"sub/deep/a.ipynb": NOTEBOOK})
    workspace.files_changed([folder / "sub"])
    assert "sub/deep/a.ipynb:6-6" in read(workspace, folder)
    (folder / "sub" / "deep" / "a.ipynb").unlink()
    (folder / "sub" / "deep").rmdir()
    (folder / "sub").rmdir()
    workspace.files_changed([folder / "sub"])
    assert read(workspace, folder) == ALL


def test_rules_leave_documents_out(opened, folder):
    write(folder, {".gitignore": "out/\n", "out/a.ipynb": NOTEBOOK, "out/b.md": GUIDE, "old.ipynb": NOTEBOOK})
    workspace = opened(folder, config=Config(index=IndexOptions(exclude=("old.*",))))
    assert read(workspace, folder) == ALL
    write(folder, {".gitignore": ""})
    workspace.files_changed([folder / ".gitignore"])
    workspace.index()
    assert set(read(workspace, folder)) > set(ALL)


def test_secrets_never_come_into_the_memory(opened, folder):
    secret = "AKIA-hunter2-correct-horse"
    files = ("secrets.txt", ".env", "credentials.txt", ".ssh/notes.md", ".aws/a.ipynb", "id_rsa", "prod.secrets.txt")
    write(folder, {name: f"# Top\n\n{secret}\n" for name in files})
    workspace = opened(folder)
    workspace.open_buffer(folder / "secrets.txt", f"{secret} and more\n")
    assert read(workspace, folder) == ALL
    assert kept(workspace) == ["run.ipynb"]
    path = workspace.memory.path
    workspace.close()
    assert secret.encode() not in path.read_bytes()


def test_links_are_not_followed(opened, folder, tmp_path):
    (tmp_path / "outside.ipynb").write_text(NOTEBOOK)
    try:
        (folder / "link.ipynb").symlink_to(tmp_path / "outside.ipynb")
    except OSError:
        pytest.skip("no links here")
    workspace = opened(folder)
    assert read(workspace, folder) == ALL
    workspace.files_changed([folder / "link.ipynb"])
    assert read(workspace, folder) == ALL


def test_the_next_start_reads_and_writes_only_what_changed(opened, folder, monkeypatch):
    write(folder, {"more.ipynb": NOTEBOOK})
    workspace = opened(folder)
    before = read(workspace, folder)
    kept(workspace)
    workspace.close()
    write(folder, {"run.ipynb": NOTEBOOK.replace("train", "test")})
    were_read, were_kept = [], []

    def read_sections(path, *others, was=documents_module.read_sections):
        were_read.append(path)
        return was(path, *others)

    def put_all(self, documents, was=Documents.put_all):
        were_kept.extend(Path(document.source).name for document in documents)
        was(self, documents)

    monkeypatch.setattr(documents_module, "read_sections", read_sections)
    monkeypatch.setattr(Documents, "put_all", put_all)
    workspace = opened(folder)
    assert read(workspace, folder) == before == ["more.ipynb:6-6", "run.ipynb:6-6"]
    assert kept(workspace) == ["more.ipynb", "run.ipynb"]
    assert were_read == were_kept == ["run.ipynb"]


def test_what_is_gone_at_the_next_start_is_not_kept(opened, folder):
    workspace = opened(folder)
    assert read(workspace, folder) == ALL and kept(workspace) == ["run.ipynb"]
    workspace.close()
    (folder / "run.ipynb").unlink()
    workspace = opened(folder)
    assert read(workspace, folder) == [] == kept(workspace)


def test_nothing_is_read_before_somebody_asks(opened, folder):
    workspace = opened(folder)
    workspace.files_changed([folder / "run.ipynb"])
    workspace.close()
    assert not list(data_folder().rglob("*.db"))


def test_without_a_cache_nothing_is_written(opened, folder):
    workspace = opened(folder, cache=False)
    assert read(workspace, folder) == ALL
    workspace.memory.conversations.begin()
    assert workspace.memory.path is None and not list(data_folder().rglob("*"))


def test_documents_can_be_switched_off(opened, folder):
    workspace = opened(folder, config=Config(memory=MemoryOptions(documents=False)))
    assert read(workspace, folder) == []


def test_what_cannot_be_read_is_said(opened, folder):
    write(folder, {"broken.ipynb": "{", "big.ipynb": NOTEBOOK + " " * 3000, "empty.ipynb": "", "fake.pdf": "no PDF"})
    workspace = opened(folder, config=Config(memory=MemoryOptions(max_document_bytes=2000)))
    assert read(workspace, folder) == ALL
    notes = workspace.documents(folder).notes
    assert [note.split()[0] for note in notes] == ["broken.ipynb", "empty.ipynb", "fake.pdf"]


def test_pages_of_a_pdf_are_documents(opened, folder, monkeypatch):
    pypdf = pytest.importorskip("pypdf", reason="PDF files need pypdf, the extra documents")
    import io

    writer = pypdf.PdfWriter()
    writer.add_blank_page(100, 100)
    writer.write(out := io.BytesIO())
    monkeypatch.setattr(pypdf.PageObject, "extract_text", lambda page: "What the page says.\nIn two lines.")
    write(folder, {"docs/paper.pdf": out.getvalue()})
    workspace = opened(folder)
    assert read(workspace, folder) == ["docs/paper.pdf#page=1:1-2", *ALL]
    assert kept(workspace) == ["paper.pdf", "run.ipynb"]


def test_two_folders_keep_their_documents_apart(opened, folder, tmp_path):
    other = (tmp_path / "other").resolve()
    write(other, {"run.ipynb": NOTEBOOK, "other.ipynb": NOTEBOOK})
    workspace = opened(folder, other)
    assert read(workspace, folder) == ALL
    assert read(workspace, other) == ["other.ipynb:6-6", "run.ipynb:6-6"]
    assert kept(workspace).count("run.ipynb") == 2
    with pytest.raises(KeyError, match="not a folder of this workspace"):
        workspace.documents(tmp_path)
    workspace.remove_folder(other)
    with pytest.raises(KeyError):
        workspace.documents(other)


def test_a_snapshot_of_documents_does_not_change(opened, folder):
    workspace = opened(folder)
    before = workspace.documents(folder).files_outside_index(wait_s=30)
    copy = list(before)
    (folder / "run.ipynb").unlink()
    workspace.files_changed([folder / "run.ipynb"])
    assert read(workspace, folder) == [] and list(before) == copy


def test_the_memory_of_a_folder_is_found_again(opened, folder):
    workspace = opened(folder)
    id = workspace.memory.conversations.begin(str(folder))
    workspace.memory.conversations.ask(id, "Where?")
    assert workspace.memory.path == memory_file(folder, Config())
    workspace.close()
    assert [turn.question for turn in opened(folder).memory.conversations.turns(id)] == ["Where?"]


def test_history_is_no_cache(folder, tmp_path, monkeypatch):
    monkeypatch.delenv("WEFT_DATA_DIR")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    here = memory_file(folder, Config(cache_dir=str(tmp_path / "cache")))
    assert (tmp_path / "cache") not in here.parents
    assert memory_file(folder, Config(data_dir=str(tmp_path / "mine"))).parent == tmp_path / "mine" / "memory"
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert memory_file(link, Config()) == here != memory_file(tmp_path, Config())


def test_a_workspace_may_not_say_where_its_memory_stands(tmp_path):
    write(tmp_path, {"weft.toml": 'data_dir = "/tmp/x"\n[memory]\nkeep_conversations = true\ndocuments = false\n'})
    config, problems = load_config(tmp_path, user_file=tmp_path / "none.toml")
    assert config.data_dir == "" and not config.memory.documents
    assert {problem.key for problem in problems} == {"data_dir", "memory.keep_conversations"}


def test_a_memory_of_a_later_version_is_not_touched_and_said(opened, folder):
    file = memory_file(folder, Config())
    MemoryStore(file).close()
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    workspace = opened(folder)
    assert workspace.memory.conversations.begin()
    assert "version 99" in workspace.memory.notes[0] and workspace.memory.path is None
    assert read(workspace, folder) == ALL


def test_a_new_configuration_is_followed(opened, folder, tmp_path):
    workspace = opened(folder)
    id = workspace.memory.conversations.begin()
    read(workspace, folder)
    workspace.configure(replace(workspace.config, data_dir=str(tmp_path / "mine")))
    assert tmp_path / "mine" in workspace.memory.path.parents
    assert workspace.memory.conversations.get(id) is None
    assert read(workspace, folder) == ALL
    workspace.configure(replace(workspace.config, index=IndexOptions(exclude=("*.ipynb",))))
    assert read(workspace, folder) == []


def test_conversations_are_not_written_when_nobody_wants_that(opened, folder):
    workspace = opened(folder, config=Config(memory=MemoryOptions(keep_conversations=False)))
    id = workspace.memory.conversations.begin()
    workspace.memory.conversations.ask(id, "hunter2?")
    path = workspace.memory.path
    workspace.close()
    assert path is not None and b"hunter2" not in path.read_bytes()


def test_documents_need_no_library_of_the_extras(folder):
    code = """if True:
        import sys
        for name in ("pypdf", "torch", "transformers", "faiss", "sentence_transformers"):
            sys.modules[name] = None
        from weft import Config, Workspace
        with Workspace([sys.argv[1]], Config()) as workspace:
            workspace.index()
            print(len(workspace.documents(sys.argv[1]).files_outside_index()))
        """
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, env=dict(os.environ)
    )
    assert (done.stdout.strip(), done.returncode) == ("1", 0), done.stderr


def test_a_job_that_fails_costs_itself_alone():
    done, worker = [], background.BackgroundWorker("test")
    failed = worker.submit(lambda: done[0])
    worker.submit(lambda: done.append(1))
    worker.flush()
    assert isinstance(failed.exception(), IndexError) and done == [1]
    worker.close()
    assert worker.submit(lambda: done.append(2)).cancelled()


def test_a_job_that_hangs_keeps_no_process_alive(monkeypatch):
    monkeypatch.setattr(background, "JOIN_WITHIN_S", 0.01)
    worker, started, never = background.BackgroundWorker("test"), threading.Event(), threading.Event()
    worker.submit(lambda: started.set() or (never.wait(60) and None))
    started.wait(30)
    waiting = worker.submit(lambda: None)
    worker.close()
    assert not waiting.done()
    never.set()
    assert wait([waiting], timeout=30).done and waiting.cancelled()
