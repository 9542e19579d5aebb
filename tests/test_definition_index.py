"""The index of names: found in packed outlines, and equal to one from scratch after any edits."""

import json
from collections.abc import Mapping
from itertools import chain

from hypothesis import given, settings
from hypothesis import strategies as st
from weft.codegraph import CodeGraph, FileGraph, parse_file
from weft.codegraph.outline_rows import outline_rows
from weft.retrieval.definition_index import DefinitionIndex
from weft.retrieval.key_rows import KeyRows
from weft.retrieval.questions.unit_texts import UnitTexts
from weft.retrieval.questions.units import units_of
from weft.retrieval.terms import term_keys, terms_of, words_in

SHOP = """
import money as cash
from base import Store as Base, Box
LIMIT = '"[-1,"x","call"'
alias = Base
class Größe(Base, Box["a\\b"]):
    rate = 1
    def __init__(self):
        self.total_cents = LIMIT
        local = 2
    def pay(self): ...
def pay_all(): ...
"""


def test_rows_are_those_of_the_outline() -> None:
    file = parse_file("shop.py", SHOP)
    found = outline_rows(file)
    assert [file.definition_at(row.start, row.end) for row in found.definitions] == list(file.definitions)
    assert [(row.name, tuple(row.bases)) for row in found.definitions] == [(d.name, d.bases) for d in file.definitions]
    assert [(row.local_name, row.name, row.scope) for row in found.imports] == [
        (each.local_name, each.name, each.scope) for each in file.imports
    ]
    assert [row.name for row in found.bindings] == ["LIMIT", "alias", "self.rate", "self.total_cents"]
    for row in found.bindings:
        binding = file.binding_at(row.start, row.end)
        assert binding in file.bindings
        assert (binding.name, binding.scope, binding.how) == (row.name, row.scope, row.how)


def test_an_outline_with_blanks_is_decoded() -> None:
    file = parse_file("shop.py", SHOP)
    state = list(file.__getstate__())
    outline = json.dumps(json.loads(file.packed_outline), indent=1).encode()
    state[-2] = outline
    other = FileGraph.from_state(tuple(state))
    names, others = (DefinitionIndex(CodeGraph.build([each])) for each in (file, other))
    assert [each.name for each in outline_rows(other).definitions] == [each.name for each in file.definitions]
    for name in ("pay", "Grosse", "größe", "limit", "total_cents", "Base", "Größe.rate"):
        assert names.definitions(name) == others.definitions(name)
        assert names.value_bindings(name) == others.value_bindings(name)


def test_keys_that_begin_with_a_text_are_shortest_first() -> None:
    rows = KeyRows([("pay", 3), ("payee", 1), ("pa", 0), ("pay", 2), ("größe", 4), ("payé", 5)])
    assert [(entry.key, list(entry.numbers)) for entry in rows.beginning_with("pa")] == [
        ("pa", [0]),
        ("pay", [3, 2]),
        ("payé", [5]),
        ("payee", [1]),
    ]
    assert [list(rows[key]) for key in ("größe", "p", "zzz")] == [[4], [], []]
    assert not list(rows.beginning_with("x"))


NAMES = ("pay", "Shop", "data_loader", "DataLoader", "limit")
_line = st.sampled_from(
    [
        *chain.from_iterable((f"def {n}(): ...", f"class {n}(Shop): ...", f"{n} = 1") for n in NAMES),
        "from a import Shop as Store",
        "class Inner(Store):\n    limit = 2\n    def pay(self): ...",
    ]
)
_text = st.lists(_line, max_size=4).map("\n".join)
_step = st.dictionaries(st.sampled_from(["a.py", "b.py", "c/d.py"]), st.none() | _text, min_size=1, max_size=2)


@settings(max_examples=60, deadline=None)
@given(st.lists(_step, min_size=1, max_size=14))
def test_incremental_equals_from_scratch(steps: list[Mapping[str, str | None]]) -> None:
    texts: dict[str, str] = {}
    parsed: dict[tuple[str, str], FileGraph] = {}  # a change that is undone brings the same object back
    graph, index = CodeGraph.build([]), None
    for step in steps:
        changed = {path: text for path, text in step.items() if text is not None}
        gone = [path for path, text in step.items() if text is None and path in texts]
        texts = {path: text for path, text in {**texts, **changed}.items() if path not in gone}
        files = [parsed.setdefault((p, text), parse_file(p, text)) for p, text in changed.items()]
        graph = graph.with_changes(files, gone)
        index = DefinitionIndex(graph, index)
        scratch = DefinitionIndex(graph)
        assert _answers(index) == _answers(scratch)
        assert index.name_parts >= scratch.name_parts


def _answers(index: DefinitionIndex) -> list[object]:
    return [
        *([index.definitions(name), index.value_bindings(name), index.subclasses(name)] for name in NAMES),
        *(index.begun(name, 3) for name in ("p", "da", "Shop.p", "")),
        [index.base_names(each) for each in index.definitions("Shop")],
    ]


def test_terms_of_units_are_those_of_their_lines() -> None:
    texts = {"shop.py": SHOP, "long.py": "def long():\n" + "    pay(total_cents, 12)\n\n" * 300, "empty.py": "\n"}
    lines_of = {path: text.encode().split(b"\n") for path, text in texts.items()}
    units = [unit for path, text in texts.items() for unit in units_of(parse_file(path, text), text.encode())]
    found = UnitTexts(units, lines_of.__getitem__)
    assert len(found) == len(units)
    for number, (own, with_term) in enumerate(zip(found, found.lines_with(term_keys(["total", "pay"])), strict=True)):
        assert own.lines == [lines_of[own.unit.path][line] for line in own.numbers]
        assert list(own.numbers) == list(own.unit.lines())[:400]
        has_term = [bool({"total", "pay"} & set(terms_of(line.decode()))) for line in own.lines]
        assert with_term == [at for at, has in enumerate(has_term) if has]
        assert found.n_words(number, 1, len(own.lines)) == sum(len(words_in(line)) for line in own.lines[1:])


def test_no_units_have_no_terms() -> None:
    found = UnitTexts([], {}.__getitem__)
    assert not len(found)
    assert found.lines_with(term_keys(["pay"])) == []
    assert not len(found.postings().texts)
