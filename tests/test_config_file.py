"""The user's configuration file after `weft models use`: a model more, in front, and every other letter as it was."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.server.config.edit_file import CannotEdit, prefer_model, tomllib

TABLE = {"backend": "llama.cpp", "url": "http://127.0.0.1:8080"}
BLOCK = '[[model]]\nbackend = "llama.cpp"\nurl = "http://127.0.0.1:8080"\n'


def edited(folder: Path, before: str | None, table: dict = TABLE) -> str:
    path = folder / "weft.toml"
    if before is not None:
        path.write_bytes(before.encode())
    assert prefer_model(path, table)
    return path.read_bytes().decode()


def test_a_file_that_is_not_there_is_made(tmp_path):
    assert edited(tmp_path / "new" / "folder", None) == BLOCK


def test_the_first_model_comes_after_everything_else(tmp_path):
    before = "# mine\nlog_level = 'info'   # quietly\n\n[completion]\nenabled = true"
    assert edited(tmp_path, before) == f"{before}\n\n{BLOCK}"


def test_a_new_model_comes_before_the_others_and_above_their_comment(tmp_path):
    others = "# the big one\n[[model]]\nbackend = 'workspace'  # last\n[index]\nexclude = [\n  'docs/',\n]\n"
    assert edited(tmp_path, f"log_level = 'info'\n\n{others}") == f"log_level = 'info'\n\n{BLOCK}\n{others}"


def test_a_model_that_is_there_moves_to_the_front_with_its_settings_and_its_comment(tmp_path):
    before = textwrap.dedent("""\
        [[model]]
        backend = "ollama"
        name = "coder"

        # at home only
        [[model]]
        url = "http://127.0.0.1:8080"
        backend = "llama.cpp"
        context_tokens = 2048

        [retrieval]
        k = 3
        """)
    after = edited(tmp_path, before)
    assert after.startswith('# at home only\n[[model]]\nurl = "http://127.0.0.1:8080"')
    assert [model["backend"] for model in tomllib.loads(after)["model"]] == ["llama.cpp", "ollama"]
    assert sorted(after.splitlines()) == sorted(before.splitlines())


def test_a_model_that_is_first_already_changes_nothing(tmp_path):
    path = tmp_path / "weft.toml"
    path.write_text(BLOCK)
    assert not prefer_model(path, TABLE)
    assert path.read_text() == BLOCK and list(tmp_path.iterdir()) == [path]


def test_the_old_file_stays_beside_it(tmp_path):
    edited(tmp_path, "log_level = 'info'\n")
    assert (tmp_path / "weft.toml.bak").read_text() == "log_level = 'info'\n"
    assert len(list(tmp_path.iterdir())) == 2


def test_windows_line_breaks_and_a_byte_order_mark_stay(tmp_path):
    after = edited(tmp_path, "\ufefflog_level = 'info'\r\n")
    assert after == "\ufefflog_level = 'info'\r\n\r\n" + BLOCK.replace("\n", "\r\n")


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.toml").write_text("log_level = 'info'\n")
    (tmp_path / "weft.toml").symlink_to(tmp_path / "real.toml")
    prefer_model(tmp_path / "weft.toml", TABLE)
    assert (tmp_path / "weft.toml").is_symlink() and BLOCK in (tmp_path / "real.toml").read_text()


@pytest.mark.parametrize(
    ("before", "says"),
    [
        ("log_level = \n", "Correct it first"),
        ('cache_dir = """\n[[model]]\n"""\n', "unusual"),
        ("model = [{backend = 'ollama'}]\n", "unusual"),
        ("[model]\nbackend = 'ollama'\n", "unusual"),
    ],
)
def test_a_file_that_would_not_mean_what_was_wanted_is_left_alone(tmp_path, before, says):
    path = tmp_path / "weft.toml"
    path.write_text(before)
    with pytest.raises(CannotEdit, match=says):
        prefer_model(path, TABLE)
    assert path.read_text() == before and list(tmp_path.iterdir()) == [path]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_path_is_written_so_that_it_is_read_as_it_was(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("config") / "weft.toml"
    prefer_model(path, {"backend": "transformers", "path": text})
    assert tomllib.loads(path.read_bytes().decode().replace("\r\n", "\n"))["model"][0]["path"] == text
