"""Files that no model is shown: secret, ignored and excluded ones, whatever name an editor opens them by."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from weft.llm import Cancel, CompletionRequest, ModelInfo, Piece
from weft.llm.protocol import Speed
from weft.server.config import CompletionOptions, Config, IndexOptions
from weft.server.lsp.uris import virtual_document_path
from weft.server.output.as_json import status_json
from weft.server.secrets import is_secret_path
from weft.server.workspace.virtual_path import shown_file
from weft.server.workspace.workspace import Workspace


class Model:
    """A model behind an address, or in this process, that remembers what it was asked."""

    def __init__(self, *, behind_address: bool = True) -> None:
        self.info = ModelInfo("m", "test", 4096, True, False, True, behind_address=behind_address)
        self.speed, self.requests = Speed(), list[CompletionRequest]()

    def prepare(self, cancel: Cancel) -> None: ...

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None:
        self.requests.append(request)

    def count_tokens(self, text: str) -> int:
        return len(text)

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        self.requests.append(request)
        yield Piece("one")

    def close(self) -> None: ...


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    for name, text in {
        ".gitignore": "build/\nlocal.py\n",
        ".weftignore": "hidden.py\n",
        "shop.py": "def pay(cart):\n    return cart.total\n",
        "local.py": "ignored_name = 1\nx = ",
        "hidden.py": "ignored_name = 1\nx = ",
        "build/out.py": "ignored_name = 1\nx = ",
        "excluded.py": "ignored_name = 1\nx = ",
        ".env": "PASSWORD=x7Kq9mP2vL4wZ\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def opened(folder: Path, model: Model, **options: object) -> Workspace:
    config = Config(index=IndexOptions(exclude=("excluded.py",)), completion=CompletionOptions(min_confidence=0))
    workspace = Workspace([folder], config, model=model, cache=False)
    workspace.index()
    return workspace


@pytest.mark.parametrize("name", ["local.py", "hidden.py", "build/out.py", "excluded.py"])
def test_an_ignored_file_gets_no_automatic_completion_and_no_prompt(folder: Path, name: str) -> None:
    model = Model()
    with opened(folder, model) as workspace:
        workspace.open_buffer(folder / name, "ignored_name = 1\nx = ")
        completion = workspace.complete(folder / name, 1, 4)
        assert completion.text == "" and "is ignored" in completion.why_empty
        assert "remote model" in workspace.complete(folder / name, 1, 4, trigger="invoked").why_empty
        assert workspace.retrieve(folder / name, 1, 4).fragments == ()
        assert "is ignored" in workspace.explain(folder / name, 1, 4).notes[0]
        assert any(f"{Path(name).name} is ignored" in note for note in status_json(workspace.status())["notes"])
        with pytest.raises(ValueError, match="is ignored"):
            workspace.ask("/explain", selection=(folder / name, 0, 1))
    assert model.requests == []


def test_a_model_in_this_process_may_complete_an_ignored_file_when_asked(folder: Path) -> None:
    model = Model(behind_address=False)
    with opened(folder, model) as workspace:
        assert workspace.complete(folder / "local.py", 1, 4).text == ""
        assert workspace.complete(folder / "local.py", 1, 4, trigger="invoked").text == "one"


@pytest.mark.parametrize("name", ["local.py", ".env", "excluded.py"])
def test_edits_of_withheld_files_reach_no_other_prompt(folder: Path, name: str) -> None:
    with opened(folder, Model()) as workspace:
        workspace.open_buffer(folder / name, "ignored_name = 1\n")
        workspace.edit_buffer(folder / name, "ignored_name = 2\nmore = 3\n")
        workspace.open_buffer(folder / "shop.py", "def pay(cart):\n    return cart.total\n")
        workspace.edit_buffer(folder / "shop.py", "def pay(cart):\n    return cart.total()\n")
        hunks = [hunk.path for recent in workspace.recent_edits().values() for hunk in recent.hunks]
        assert hunks == ["shop.py"]


GIT = quote(json.dumps({"path": "/shop/.env", "ref": "~"}))


@pytest.mark.parametrize(
    "uri",
    [
        f"git:/shop/.env?{GIT}",
        f"git:/shop/view?{GIT}",
        "git:/shop/id_rsa.old?ref",
        "untitled:/shop/.env",
        "untitled:.env-prod",
        "gitlens://0a1b/shop/.env?%7B%22ref%22%3A%22HEAD%22%7D",
        "fossil:/shop/secrets/db.yaml?checkin=1",
        "vscode-local-history:/shop/.env?file%3D%2Fshop%2F.env",
        "fugitive:///shop/.git//1234/.aws/credentials",
        "review:/shop/app.py?" + quote(json.dumps({"base": {"path": "/shop/.env"}})),
        "vscode-notebook-cell:/home/me/.ssh/config#W0",
        "custom:/shop/%2Eenv",
    ],
)
@pytest.mark.parametrize("language", ["python", "dotenv", "plaintext"])
def test_a_secret_file_is_known_in_every_scheme(folder: Path, uri: str, language: str) -> None:
    path = virtual_document_path(uri, language)
    assert is_secret_path(path.as_posix())
    model = Model()
    with Workspace([folder], Config(), model=model, cache=False) as workspace:
        workspace.open_buffer(path, "PASSWORD=x7Kq9mP2vL4wZ\n")
        assert "secrets" in workspace.complete(path, 0, 3, trigger="invoked").why_empty
    assert model.requests == []


def test_a_view_of_an_ignored_file_is_ignored_too(folder: Path) -> None:
    model = Model()
    with opened(folder, model) as workspace:
        for name, is_ignored in (("local.py", True), ("shop.py", False)):
            path = virtual_document_path(f"git:{folder.as_posix()}/{name}?x", "python")
            assert shown_file(path) == folder / name
            workspace.open_buffer(path, "x = ")
            assert ("is ignored" in workspace.complete(path, 0, 4).why_empty) is is_ignored
    assert [request.path for request in model.requests] == [f"/{path.parts[1]}/shop.py"]


def test_versions_of_a_file_are_documents_of_their_own() -> None:
    paths = {virtual_document_path(f"git:/shop/a.py?{ref}", "python") for ref in ("", "one", "two")}
    assert len(paths) == 3 and {path.name for path in paths} == {"a.py"}


def test_a_link_is_judged_by_both_names(folder: Path) -> None:
    os.symlink(folder / ".env", folder / "x.py")
    os.symlink(folder / "shop.py", folder / "prod.env")
    with opened(folder, model := Model()) as workspace:
        for name in ("x.py", "prod.env"):
            assert "secrets" in workspace.complete(folder / name, 0, 3).why_empty
    assert model.requests == []


def test_a_text_that_is_a_key_is_withheld_under_any_name(folder: Path) -> None:
    key = "-----BEGIN EC PRIVATE " + "KEY-----\n" + "MHcCAQEEIE1hx9Zk\n" * 9
    (folder / "notes.txt").write_text(key)
    with opened(folder, model := Model()) as workspace:
        assert "private key" in workspace.complete(folder / "notes.txt", 2, 3).why_empty
        workspace.open_buffer(folder / "more.py", key)
        assert "private key" in workspace.complete(folder / "more.py", 2, 3, trigger="invoked").why_empty
        workspace.flush()
        assert not any("MHcC" in text.decode() for text in next(iter(workspace.indexes().values())).texts.values())
    assert model.requests == []


def test_a_file_outside_of_all_folders_is_completed_unless_it_is_secret(folder: Path, tmp_path: Path) -> None:
    with opened(folder, model := Model()) as workspace:
        for name in ("other.py", "prod.env"):
            workspace.open_buffer(tmp_path / name, "x = ")
            workspace.complete(tmp_path / name, 0, 4, trigger="invoked")
    assert [request.path for request in model.requests] == ["other.py"]
