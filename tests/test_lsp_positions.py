"""Positions, line breaks, edits and URIs: what a client counts and what Python counts are the same place."""

import tracemalloc
from pathlib import Path

import pytest
import weft.server.workspace.text
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.server.lsp.documents import Documents, Edit, apply_edit, choose_encoding, from_lsp_column, to_lsp_column
from weft.server.lsp.uris import to_path, virtual_document_path
from weft.server.secrets import is_secret_path
from weft.server.workspace.text import TextLines

ENCODINGS = ("utf-8", "utf-16", "utf-32")

texts = st.text(alphabet="ab\n\r\té\u2028\x0b\x85😀\ud83d\ude00\0", max_size=30)
encodings = st.sampled_from(ENCODINGS)


def encoded_length(text: str, encoding: str) -> int:
    """Units of a text, from Python's own encoders. Each character alone: two lone surrogates stay two."""
    width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
    codec = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[encoding]
    return sum(len(character.encode(codec, "surrogatepass")) // width for character in text)


@pytest.mark.parametrize(("encoding", "units"), [("utf-8", 10), ("utf-16", 5), ("utf-32", 4)])
def test_columns_count_the_units_of_the_encoding(encoding, units):
    assert to_lsp_column("é😀€x\n", 4, encoding) == units
    assert from_lsp_column("é😀€x\n", units, encoding) == 4


@given(texts, st.integers(-2, 40), encodings)
@settings(max_examples=200)
def test_a_column_of_ours_survives_the_way_to_the_client_and_back(text, column, encoding):
    line = TextLines(text).line(0)
    content = line.rstrip("\r\n")
    units = to_lsp_column(line, column, encoding)
    column = min(max(column, 0), len(content))
    assert units == encoded_length(content[:column], encoding)
    assert from_lsp_column(line, units, encoding) == column


@given(texts, st.integers(-2, 200), encodings)
@settings(max_examples=200)
def test_any_column_of_a_client_is_clamped_into_the_line(text, units, encoding):
    line = TextLines(text).line(0)
    column = from_lsp_column(line, units, encoding)
    assert 0 <= column <= len(line.rstrip("\r\n"))
    assert to_lsp_column(line, column, encoding) <= max(units, 0)


def test_half_a_character_is_its_start():
    assert from_lsp_column("a😀b", 2, "utf-16") == 1
    assert from_lsp_column("a😀b", 4, "utf-8") == 1


@given(texts)
def test_lines_break_where_the_protocol_says_and_nowhere_else(text):
    lines = TextLines(text)
    assert [lines.line(number) for number in range(lines.n_lines)] == (
        text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    )


@given(texts, texts, st.tuples(*[st.integers(0, 12)] * 4), encodings)
@settings(max_examples=300)
def test_an_edit_equals_cutting_the_whole_text(text, new, range_, encoding):
    lines = TextLines(text)
    start, end = sorted([range_[:2], range_[2:]])

    def offset(position):
        line, column = position
        if line >= lines.n_lines:
            return len(text)
        return lines.offset(line, from_lsp_column(lines.line(line), column, encoding))

    expected = text[: offset(start)] + new + text[max(offset(end), offset(start)) :]
    edited, changed = apply_edit(lines, new, start, end, encoding)
    assert text[: changed.start] + new + text[changed.end_before :] == expected
    assert changed.end_after == changed.start + len(new)
    assert edited.text == expected
    assert edited._starts == TextLines(expected)._starts


@given(texts, st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), texts), max_size=8))
@settings(max_examples=300)
def test_line_starts_after_any_edits_are_those_of_the_text(text, edits):
    lines = TextLines(text)
    for one, other, new in edits:
        start, end = sorted((min(one, len(lines.text)), min(other, len(lines.text))))
        lines = lines.replaced(start, end, new)
    assert lines._starts == TextLines(lines.text)._starts


@pytest.mark.parametrize("text", ["a\r\n", "\r\n\r", "é\r\nb\rc\n", "ab\r"])
def test_a_break_across_two_blocks_is_one(monkeypatch, text):
    whole = TextLines(text * 5)._starts
    for size in range(1, 5):
        monkeypatch.setattr(weft.server.workspace.text, "_BLOCK_OF_BREAKS", size)
        assert TextLines(text * 5)._starts == whole


def test_a_client_may_choose_its_encoding():
    assert choose_encoding(None) == "utf-16"
    assert choose_encoding(["utf-7"]) == "utf-16"
    assert choose_encoding(["utf-7", "utf-32", "utf-8"]) == "utf-32"


def opened(text, version=5):
    documents = Documents("utf-16")
    documents.open("file:///a%20b.py", Path("/a b.py"), "python", version, text)
    return documents


def test_edits_of_one_message_follow_each_other():
    documents = opened("one\ntwo\n")
    edits = [Edit("1", (0, 0), (0, 3)), Edit("2", (1, 0), (1, 3)), Edit("!", (0, 1), (0, 1))]
    assert documents.change("file:///a%20b.py", 6, edits).text == "1!\n2\n"


def test_a_document_is_found_however_its_uri_is_escaped():
    assert opened("x").get("file:///a b.py").text == "x"


def test_an_old_version_puts_a_document_out_of_step_until_its_whole_text_comes():
    documents = opened("one\n", version=5)
    late = documents.change("file:///a b.py", 4, [Edit("garbled", (0, 0), (0, 3))])
    assert (late.text, late.in_sync) == ("one\n", False)
    still = documents.change("file:///a b.py", 6, [Edit("x", (0, 0), (0, 0))])
    assert not still.in_sync
    whole = documents.change("file:///a b.py", 7, [Edit("two\n"), Edit("!", (0, 3), (0, 3))])
    assert (whole.text, whole.in_sync) == ("two!\n", True)


def test_an_edit_of_an_unknown_document_is_no_document():
    assert Documents().change("file:///x.py", 1, [Edit("x")]) is None


@pytest.mark.skipif(Path("/").drive != "", reason="POSIX paths")
def test_uris_of_files_are_paths():
    assert to_path("file:///tmp/a%20b/%C3%A9%23.py") == Path("/tmp/a b/é#.py")
    assert to_path("file://localhost/tmp/x.py") == Path("/tmp/x.py")
    assert to_path(Path("/tmp/a;b?c#d %.py").as_uri()) == Path("/tmp/a;b?c#d %.py")


@given(st.text(max_size=20))
def test_no_uri_is_an_error(rest):
    for uri in (rest, f"file://{rest}", f"file:///{rest}", f"untitled:{rest}", f"vscode-notebook-cell:{rest}#c"):
        path = to_path(uri)
        assert path is None or isinstance(path, Path)
        virtual_path = virtual_document_path(uri, "python")
        assert virtual_path.suffix == ".py" or is_secret_path(virtual_path.as_posix())


def test_a_document_without_a_file_ends_as_files_of_its_language_do():
    assert virtual_document_path("untitled:Untitled-1", "typescriptreact").name == "Untitled-1.tsx"
    assert virtual_document_path("untitled:/home/me/new.py", "python").name == "new.py"


def test_a_large_text_of_short_lines_costs_a_few_times_its_size():
    text = "x = y\n" * 1_000_000
    tracemalloc.start()
    documents = opened(text)
    documents.change("file:///a b.py", 6, [Edit("z", (500_000, 0), (500_000, 1))])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * len(text)
