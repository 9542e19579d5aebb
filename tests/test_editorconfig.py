"""`.editorconfig` files: which of them count for a file, what they say, and when the disk is read."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.server.completion.repair import IndentStyle, style_of_properties
from weft.server.workspace.editorconfig import EditorConfigs, parse


def properties(folder: Path, path: str, **files: str) -> dict[str, str]:
    for name, text in files.items():
        at = folder / name.replace("__", "/") / ".editorconfig" if name != "top" else folder / ".editorconfig"
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(textwrap.dedent(text), encoding="utf-8")
    return dict(EditorConfigs(folder).properties(path))


@pytest.mark.parametrize(
    ("glob", "path", "holds"),
    [
        ("*", "a.py", True),
        ("*", "deep/down/a.py", True),
        ("*.py", "deep/a.py", True),
        ("*.py", "a.pyi", False),
        ("*.{js,ts}", "a.ts", True),
        ("*.{js,ts}", "a.jsx", False),
        ("{a,b}.{c,d}", "b.c", True),
        ("{a,{b,c}}.py", "c.py", True),
        ("{single}.py", "{single}.py", True),
        ("{single}.py", "single.py", False),
        ("{}.py", "{}.py", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/**.py", "src/deep/a.py", True),
        ("src/*.py", "lib/src/a.py", False),
        ("/a.py", "a.py", True),
        ("/a.py", "b/a.py", False),
        ("file{1..3}.txt", "file2.txt", True),
        ("file{1..3}.txt", "file4.txt", False),
        ("{a{1..2},b}.c", "b.c", True),
        ("a?.py", "ab.py", True),
        ("a?.py", "a/.py", False),
        ("[abc].py", "b.py", True),
        ("[!abc].py", "b.py", False),
        ("[!abc].py", "d.py", True),
        ("[a-c].py", "b.py", True),
        ("[.py", "[.py", True),
        (r"a\*.py", "a*.py", True),
        (r"a\*.py", "ab.py", False),
        ("Makefile", "lib/Makefile", True),
    ],
)
def test_globs(tmp_path, glob, path, holds):
    found = properties(tmp_path, path, top=f"[{glob}]\nindent_size = 3\n")
    assert found == ({"indent_size": "3"} if holds else {})


def test_later_sections_and_nearer_files_win(tmp_path):
    found = properties(
        tmp_path,
        "lib/a.py",
        top="""
            [*]
            indent_style = tab
            indent_size = 8
            charset = utf-8
            [*.py]
            indent_style = space
            """,
        lib="[*.py]\nindent_size=2\n",
    )
    assert found == {"indent_style": "space", "indent_size": "2", "charset": "utf-8"}


def test_a_root_ends_the_search(tmp_path):
    found = properties(tmp_path, "lib/a.py", top="[*]\nindent_size = 8", lib="root = true\n[*]\nindent_style = tab")
    assert found == {"indent_style": "tab"}


def test_a_root_inside_a_section_is_none(tmp_path):
    found = properties(tmp_path, "lib/a.py", top="[*]\nindent_size = 8", lib="[*]\nroot = true")
    assert found["indent_size"] == "8"


def test_nothing_above_the_folder_is_read(tmp_path):
    (tmp_path / ".editorconfig").write_text("[*]\nindent_size = 8\n")
    (tmp_path / "project").mkdir()
    assert properties(tmp_path / "project", "a.py") == {}
    assert properties(tmp_path / "project", "../a.py") == {}
    assert properties(tmp_path / "project", str(tmp_path / "a.py")) == {}


def test_no_link_out_of_the_folder_is_followed(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / ".editorconfig").write_text("[*]\nindent_size = 8\n")
    project = tmp_path / "project"
    project.mkdir()
    try:
        (project / ".editorconfig").symlink_to(tmp_path / "outside" / ".editorconfig")
        (project / "lib").symlink_to(tmp_path / "outside")
    except OSError:
        pytest.skip("no links on this system")
    assert properties(project, "a.py") == {}
    assert properties(project, "lib/a.py") == {}


def test_a_value_can_be_unset(tmp_path):
    assert properties(tmp_path, "a.py", top="[*]\nindent_size = 8\n[*.py]\nindent_size = unset") == {}


def test_names_and_values_are_read_in_any_case_with_comments_and_a_mark_at_the_start(tmp_path):
    text = "\ufeff; comment\n# comment\n[*]\r\nIndent_Style=TAB\r\n\r\nno pair\n[broken\nTab_Width : 2\n"
    assert properties(tmp_path, "a.py", top=text) == {"indent_style": "tab", "tab_width": "2"}


def test_the_disk_is_read_once_until_a_file_changes(tmp_path):
    (tmp_path / ".editorconfig").write_text("[*]\nindent_size = 2\n")
    configs = EditorConfigs(tmp_path)
    assert configs.properties("a.py") == {"indent_size": "2"}
    (tmp_path / ".editorconfig").write_text("[*]\nindent_size = 3\n")
    configs.changed("other.txt")
    assert configs.properties("a.py") == configs.properties("b.py") == {"indent_size": "2"}
    configs.changed(".editorconfig")
    assert configs.properties("a.py") == {"indent_size": "3"}


@pytest.mark.parametrize("content", [b"", b"\x00[*]\nindent_size=2", b"\xff\xfe[*]", b"[" * 5000, b"x" * 200_000])
def test_what_is_no_editorconfig_says_nothing(tmp_path, content):
    (tmp_path / ".editorconfig").write_bytes(content)
    assert EditorConfigs(tmp_path).properties("a.py") == {}


def test_a_folder_of_that_name_is_none(tmp_path):
    (tmp_path / ".editorconfig").mkdir()
    assert EditorConfigs(tmp_path).properties("a.py") == {}


@given(st.text(alphabet="[]{}*?!,.\\ab/=\n#1-", max_size=80), st.text(alphabet="ab/.1{}", min_size=1, max_size=12))
def test_no_text_breaks_the_reader(text, path):
    for section in parse(text).sections:
        section.holds_for(path)


@pytest.mark.parametrize(
    ("said", "style"),
    [
        ({"indent_style": "space", "indent_size": "2"}, IndentStyle("  ", 2)),
        ({"indent_size": "4"}, IndentStyle("    ", 4)),
        ({"indent_style": "tab"}, IndentStyle("\t", 4)),
        ({"indent_style": "tab", "tab_width": "8"}, IndentStyle("\t", 8)),
        ({"indent_style": "tab", "indent_size": "tab", "tab_width": "2"}, IndentStyle("\t", 2)),
        ({"indent_style": "space", "tab_width": "3"}, IndentStyle("   ", 3)),
        ({"indent_style": "space"}, None),
        ({"indent_style": "space", "indent_size": "many"}, None),
        ({"tab_width": "4"}, None),
        ({}, None),
    ],
)
def test_what_the_settings_mean_for_indentation(said, style):
    assert style_of_properties(said) == style
