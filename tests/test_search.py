"""Searches of a workspace: order of the hits, their lines and kinds, several folders, and notes without a hit."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from weft import Config, InvalidArgument, Workspace
from weft.codegraph import parse_file
from weft.retrieval import RepositoryIndex, slice_file
from weft.server.search import SearchHit, read_filter, search_folders
from weft.server.search.workspace_search import queried_name

SHOP = """
    #- shop/cache.py
    LIMIT = 100


    class Cache:
        \"\"\"Entries by key; the oldest one is evicted.\"\"\"

        @property
        def size(self):
            return len(self.entries)

        def evict(self, key):
            # Remove the entry of a key.
            del self.entries[key]


    def evict_all(cache):
        def one(key):
            return cache.evict(key)

        evict(cache), evict(cache), evict(cache)
    #- shop/use.py
    from shop.cache import evict_all

    def clean(cache):
        evict = cache.evict
        evict(1), evict(2), evict(3), evict(4)
        return evict_all(cache)
    #- docs/cache.md
    # Cache

    ## How to evict

    Call `evict` with a key.
    """


def files_in(text: str) -> Iterator[tuple[str, str]]:
    for part in textwrap.dedent(text).split("#- ")[1:]:
        name, _, content = part.partition("\n")
        yield name.strip(), content


def index_of(text: str) -> RepositoryIndex:
    return RepositoryIndex.build((parse_file(*file), slice_file(*file)) for file in files_in(text))


def hits(query: str, text: str = SHOP, **filters: list[str]) -> tuple[SearchHit, ...]:
    return search_folders([("", index_of(text))], query, 10, read_filter(**filters)).hits


def names(query: str, text: str = SHOP, **filters: list[str]) -> list[str]:
    return [hit.symbol or hit.place for hit in hits(query, text, **filters)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("evict", "Cache.evict"),
        ("Cache.evict", "Cache.evict"),
        ("Cache::evict()", "Cache.evict"),
        ("`evict`", "Cache.evict"),
        ("Cache", "Cache"),
        ("one", "evict_all.one"),  # too short for a unit of its own
        ("evict_a", "evict_all"),
        ("evictal", "evict_all"),
        ("Cache.ev", "Cache.evict"),
        ("LIMIT", "LIMIT"),
        ("oldest entries", "Cache"),
        ("evict all", "evict_all"),
    ],
)
def test_the_best_hit(query: str, first: str):
    assert names(query)[0] == first


def test_a_name_lists_its_definitions_before_better_matches():
    text = """
        #- tests/helpers.py
        def evict(key):
            pass
        #- src/evict/run.py
        run(evict, evict, evict)
        """
    first, _ = hits("evict", text)
    assert first.symbol == "evict"


def test_a_hit_has_its_kind_lines_and_best_line():
    found = {hit.symbol: hit for hit in hits("evict")}
    method, section = found["Cache.evict"], found["Cache > How to evict"]
    assert (method.place, method.kind) == ("shop/cache.py:11-13", "method")
    assert (method.line, method.preview) == (10, "def evict(self, key):")
    assert (section.kind, section.preview) == ("section", "Call `evict` with a key.")
    (limit,) = (hit for hit in hits("LIMIT") if hit.symbol == "LIMIT")
    assert (limit.kind, limit.line, limit.preview) == ("code", 0, "LIMIT = 100")
    assert hits("size")[0].preview == "def size(self):"  # below its decorator


def test_parts_add_up_to_the_score():
    for query in ("evict", "one", "evict_a", "the oldest entry"):
        assert all(sum(part.value for part in hit.parts) == pytest.approx(hit.score) for hit in hits(query))


def test_filters_apply_to_definitions_too():
    assert "Cache.evict" not in names("evict", paths=["use.py"])
    assert names("evict", kinds=["document"]) == ["Cache > How to evict"]
    assert names("evict", languages=["Python"], kinds=["Method"]) == ["Cache.evict"]


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"languages": ["pyton"]}, "pyton is no known language. Did you mean python\\? Choose one of .*typescript"),
        (
            {"kinds": ["functions"]},
            "functions is no known kind. Did you mean function\\? Choose one of .*class",
        ),
    ],
)
def test_an_unknown_name_in_a_filter_lists_the_known_ones(filters: dict[str, list[str]], message: str):
    with pytest.raises(InvalidArgument, match=message):
        read_filter(**filters)


@pytest.mark.parametrize(
    ("query", "filters", "note"),
    [
        ("zebra", {}, "Nothing matches zebra. Check the spelling"),
        ("zebra giraffe", {}, "No indexed file contains zebra, giraffe."),
        ("evict", {"languages": ["go"]}, "without them something does. Remove a filter."),
        (" ?! ", {}, "The query has no word."),
        ("", {}, "The query has no word."),
    ],
)
def test_without_a_hit_a_note_says_what_to_try(query: str, filters: dict[str, list[str]], note: str):
    result = search_folders([("", index_of(SHOP))], query, 10, read_filter(**filters))
    assert result.hits == () and note in result.notes[0]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Shop->pay()", "Shop.pay"),
        ("Shop.", "Shop"),
        ("größe", "größe"),
        ("two words", ""),
        ("a/b.py", ""),
        ("", ""),
    ],
)
def test_a_query_is_a_name_or_words(query: str, name: str):
    assert queried_name(query) == name


def test_hits_of_several_folders_are_merged_and_say_their_folder():
    other = index_of("#- evict.py\ndef evict():\n    pass\n")
    found = search_folders([("one", index_of(SHOP)), ("two", other)], "evict").hits
    assert {(hit.folder, hit.symbol) for hit in found[:2]} == {("one", "Cache.evict"), ("two", "evict")}


def test_beginnings_of_names_count_only_if_no_folder_has_the_name():
    other = index_of("#- a.py\ndef evict_soon():\n    evicted(1)\n")
    found = search_folders([("one", index_of(SHOP)), ("two", other)], "evict").hits
    assert found[0].symbol == "Cache.evict"
    assert "begins with" not in {part.name for hit in found for part in hit.parts}
    found = search_folders([("one", index_of(SHOP)), ("two", other)], "evi").hits
    assert [hit.symbol for hit in found[:3]] == ["Cache.evict", "evict_all", "evict_soon"]


def test_a_filter_finds_a_name_in_another_spelling():
    text = "#- a.py\ndef query():\n    pass\n\nclass Query:\n    pass\n\nclass QueryCache:\n    query = query()\n"
    assert names("query", text)[0] == "query"
    assert names("query", text, kinds=["class"])[0] == "Query"


def test_a_workspace_is_searched_with_unsaved_edits_and_notebooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WEFT_DATA_DIR", str(tmp_path / "data"))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("def evict():\n    pass\n")
    cell = {"cell_type": "markdown", "metadata": {}, "source": ["Quokkas eat leaves."]}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "b.ipynb").write_text(json.dumps(notebook))
    with Workspace([folder], Config(), cache=False) as workspace:
        workspace.index()
        workspace.open_buffer(folder / "a.py", "def evict_now():\n    pass\n")
        assert [hit.symbol for hit in workspace.search("evict_now").hits] == ["evict_now"]
        (hit,) = workspace.search("quokkas", documents_wait_s=30).hits
        assert (hit.path, hit.preview, hit.folder) == ("b.ipynb", "Quokkas eat leaves.", "")
        with pytest.raises(ValueError, match="is no known kind"):
            workspace.search("evict", kinds=["x"])


def test_a_workspace_with_two_folders_names_the_folder_of_each_hit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WEFT_DATA_DIR", str(tmp_path / "data"))
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
        (folder / f"{folder.name}.py").write_text("def evict():\n    pass\n")
    with Workspace(folders, Config(), cache=False) as workspace:
        workspace.index()
        found = workspace.search("evict").hits
        assert sorted((hit.folder, hit.place) for hit in found) == [
            (str(folders[0]), "one.py:1-2"),
            (str(folders[1]), "two.py:1-2"),
        ]
        assert workspace.path_of(found[0].folder, found[0].path) in {f / f"{f.name}.py" for f in folders}
        assert [hit.path for hit in workspace.search("evict", folder=folders[1]).hits] == ["two.py"]


GO = """
    #- gin/recovery.go
    package gin

    // Recovery returns a middleware that recovers from any panic
    // and writes a 500.
    func Recovery() HandlerFunc {
        return guarded(DefaultWriter)
    }

    // Copyright of the middleware that recovers: its license.
    func Licensed() HandlerFunc {
        return nil
    }
    """


def test_a_comment_above_a_definition_is_a_hit_of_the_definition_once():
    found = hits("middleware that recovers from a panic", GO)
    shown = [(hit.kind, hit.symbol, hit.place, hit.preview) for hit in found if "recovery" in hit.path]
    assert shown[0] == (
        *("function", "Recovery", "gin/recovery.go:3-7"),
        "// Recovery returns a middleware that recovers from any panic",
    )
    assert [symbol for _, symbol, _, _ in shown].count("Recovery") == 1
    assert ("code", "") in [(kind, symbol) for kind, symbol, _, _ in shown]  # a licence describes no definition


def test_a_word_that_is_still_typed_is_not_called_misspelled():
    text = """
        #- a.py
        def safe_parse(text): ...
        def safeParse(text): ...
        """
    index = index_of(text)
    assert search_folders([("", index)], "safePars").hits
    assert not search_folders([("", index)], "safePars").notes
    assert search_folders([("", index)], "safePares").notes == ("Searched for “safeParse” instead of “safePares”.",)


def test_filtered_hits_are_those_of_all_hits_that_pass():
    words = "".join(f"def evict_{number}(): evict()\nEVICT_{number} = evict\n" for number in range(90))
    text = f"#- many.py\n{words}#- one.py\nclass Evict:\n    evict = 1\n#- doc.md\n# Evict\n\nevict\n"
    assert names("evict entry of cache", text, kinds=["class"]) == ["Evict"]
    assert [hit.path for hit in hits("evict entry of cache", text, paths=["*.md"])] == ["doc.md"]
    everything = {(hit.path, hit.start_line) for hit in hits("evict cache", text)}
    assert {(hit.path, hit.start_line) for hit in hits("evict cache", text, kinds=["function"])} & everything
