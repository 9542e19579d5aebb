"""What a query costs depends on what it touches: decoded records and posting entries are counted, not time."""

from __future__ import annotations

import gc

import pytest
from repository import ROOT
from weft.codegraph import CodeGraph, FileGraph, file_graph, imports_at, parse_file
from weft.codegraph import graph as code_graph
from weft.codegraph.symbol_table import SymbolTable
from weft.retrieval import Query, RepositoryIndex, RetrievalOptions, Retrieved, definitions, retrieve, slice_file
from weft.retrieval.retrieve import STRATEGIES

OWN_FILES = ["retrieval/weft.py", "codegraph/graph.py", "codegraph/file_graph.py", "server/workspace/folder.py"]

SHOP = '''
class Shop:
    """["pay","Shop.pay","method",1,1,1,1,1,1,[],""]"""
    def __init__(self): self.pay = "pay"
    def pay(self): return pay("Shop.pay", pay)
    @property
    def sum(self): ...
    @sum.setter
    def sum(self, value): ...
def pay(*things): ...
'''


@pytest.mark.parametrize("path", OWN_FILES)
def test_one_decoded_definition_is_that_of_the_symbol_table(path: str) -> None:
    file = parse_file(path, (ROOT / path).read_text("utf-8"))
    symbols = CodeGraph.build([file]).symbols(path)
    assert symbols is not None
    names = {*symbols.entries, *(each.name for each in file.definitions), *(item.module for item in file.imports)}
    assert names
    for name in names:
        assert file.definition(name) == symbols.definition(name)


def test_the_calls_on_some_lines_are_those_of_all_edges() -> None:
    files = [parse_file(path, (ROOT / path).read_text("utf-8")) for path in OWN_FILES]
    graph = CodeGraph.build(files)
    overlay = graph.overlay(parse_file("b.py", "x = 1"))
    for file in files:
        lines = {line for line in range(file.n_lines) if line % 7 < 3}
        expected = [(file.calls[edge.call].line, edge) for edge in graph.call_edges(file.path)]
        expected = [row for row in expected if row[0] in lines]
        assert graph.calls_on(file.path, lines) == overlay.calls_on(file.path, lines) == expected
        assert graph.overlay(file).calls_on(file.path, lines) == expected
    assert any(graph.calls_on(file.path, range(file.n_lines)) for file in files)
    assert graph.calls_on("nothing.py", {0}) == []


def test_a_definition_is_the_first_of_its_name_and_no_text_that_looks_like_one() -> None:
    file = parse_file("shop.py", SHOP)
    for name in ("Shop", "Shop.pay", "Shop.sum", "pay"):
        assert file.definition(name) == next(each for each in file.definitions if each.qualified_name == name)
    assert file.definition("sum") is None
    assert file.definition("things") is None


def test_a_graph_looks_definitions_up_without_symbol_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = CodeGraph.build([parse_file("shop.py", SHOP)])
    overlay = graph.overlay(parse_file("b.py", "x = 1"))
    expected = overlay.definition("shop.py", "Shop.pay")
    graph._symbols.clear()
    monkeypatch.setattr(code_graph, "SymbolTable", None)
    assert overlay.definition("shop.py", "Shop.pay") == expected is not None
    assert graph.definition("shop.py", "Shop.nothing") is graph.definition("nothing.py", "Shop") is None


def test_the_importers_of_a_module_are_found_in_a_stored_graph() -> None:
    texts = {"shop.py": "def pay(): ...", "a.py": "from shop import pay", "b.py": "shopping = 1", "c.py": "import shop"}
    graph = CodeGraph.build(parse_file(path, text) for path, text in texts.items())
    stored = CodeGraph()
    stored.__setstate__(graph.__getstate__())
    assert all(isinstance(file._outline, memoryview) for file in stored.files.values())
    for known in (graph, stored):
        assert [file.path for file in imports_at._files_naming(known, "shop", "c.py")] == ["a.py"]


def test_calls_into_the_file_at_the_cursor_are_those_that_still_exist() -> None:
    texts = {"shop.py": "def pay(): ...\ndef sell(): ...", "a.py": "from shop import pay, sell\npay()\nsell()"}
    graph = CodeGraph.build(parse_file(path, text) for path, text in texts.items())
    assert [edge.qualified_name for edge in graph.call_edges("a.py")] == ["pay", "sell"]
    cut = graph.overlay(parse_file("shop.py", "def pay(): ...\n"))
    assert [edge.qualified_name for edge in cut.call_edges("a.py")] == ["pay"]
    other = graph.overlay(parse_file("b.py", ""))
    assert other.call_edges("a.py") == graph.call_edges("a.py")


def callers(n_files: int) -> dict[str, str]:
    """Files that call `pay_all` in one window each, after `n_files` definitions and as many calls of others."""
    other = "".join(f"def other_{i}(): return other_{i - 1}()\n" for i in range(1, 300))
    return {f"caller_{i}.py": f"{other}\nfrom shop import pay_all\npay_all(till, {i})\n" for i in range(n_files)}


def test_the_calls_of_similar_code_cost_no_symbol_tables_of_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"shop.py": "def pay_all(till, n): ...\n", **callers(12), "at.py": "from shop import *\nx = pay_all(till"}
    index = RepositoryIndex.build((parse_file(path, text), slice_file(path, text)) for path, text in files.items())
    index.graph._symbols.clear()
    decoded: list[FileGraph] = []

    def counted(file: FileGraph) -> SymbolTable:
        decoded.append(file)
        return SymbolTable(file)

    monkeypatch.setattr(code_graph, "SymbolTable", counted)
    monkeypatch.setattr(file_graph, "to_call", None)  # a record of every call would be made with it
    found = retrieve(index, Query("at.py", files["at.py"]), RetrievalOptions())
    assert any("def pay_all" in ranked.fragment.text for ranked in found.fragments)
    assert {file.path for file in decoded} <= {"at.py", "shop.py"}


def test_members_that_are_only_reachable_become_candidates_when_a_result_reads_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    members = "".join(f"    def member_{i}(self): ...\n" for i in range(2_000))
    files = {"shop.py": f"class Shop:\n{members}", "at.py": "from shop import Shop\nshop = Shop()\nshop.member_7"}
    index = RepositoryIndex.build((parse_file(path, text), slice_file(path, text)) for path, text in files.items())
    made: list[str] = []
    make = definitions.Candidate

    def counted(path: str, definition: object, **rest: object) -> object:
        made.append(path)
        return make(path, definition, **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(definitions, "Candidate", counted)
    found = retrieve(index, Query("at.py", files["at.py"].removesuffix("member_7") + "\nx"), RetrievalOptions())
    assert any(ranked.fragment.is_outline for ranked in found.fragments)
    assert 0 < len(made) < 100


def test_candidates_can_be_read_twice_and_are_made_once() -> None:
    taken: list[int] = []

    def take(value: int) -> int:
        taken.append(value)
        return value

    values = definitions._Once(map(take, range(5)))
    first = iter(values)
    assert [next(first), next(first)] == [0, 1] == taken
    assert list(values) == list(values) == [0, 1, 2, 3, 4] == taken
    assert list(first) == [2, 3, 4]


def test_the_garbage_collector_waits_for_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    index = RepositoryIndex.build([(parse_file("a.py", "pay"), slice_file("a.py", "pay"))])
    seen: list[bool] = []
    monkeypatch.setitem(STRATEGIES, "bm25", lambda view, options: seen.append(gc.isenabled()) or Retrieved(()))  # type: ignore
    retrieve(index, Query("b.py", "pay"), RetrievalOptions("bm25"))
    assert seen == [False]
    assert gc.isenabled()
