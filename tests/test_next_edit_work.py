"""How much a request for next edits reads: the same offers from warm and cold caches, limits, and cancellation."""

from dataclasses import replace

import pytest
from next_edit_cases import after, after_each, offers
from weft.codegraph import outline, syntax
from weft.errors import Cancelled
from weft.languages import language_of
from weft.llm import Cancel
from weft.server.next_edit import before, parsed
from weft.server.next_edit.before import before_edits, graph_around, text_before, text_now
from weft.server.next_edit.edited_files import differences, edited_file, substitutions
from weft.server.next_edit.suggest import follow_ups
from weft.server.next_edit.work import Work
from weft.server.symbols import part_trees
from weft.server.workspace.recent_edits import Hunk, RecentEdits
from weft.server.workspace.text import TextLines

MANY = "".join(f"#- pkg/use{number}.py\nfrom pkg.shop import pay\nprint(pay({number}))\n" for number in range(8))
SHOP = f"#- pkg/shop.py\nclass Till:\n    pass\n\n\ndef pay(amount):\n    return amount\n{MANY}"


@pytest.fixture
def forget():
    """Empties all caches of texts."""

    def clear():
        for cache in (parsed._PARSED, parsed._LATEST, outline._OUTLINES, part_trees._TREES):
            cache.clear()
        before._MADE.clear()
        before._GRAPHS.clear()

    clear()
    return clear


CASES = {
    "rename": (("def pay", "def charge"),),
    "half-typed rename": (("def pay", "def ch"),),
    "signature": (("pay(amount)", "pay(amount, tip)"),),
    "new class": (("    pass\n", "    pass\n\n\nclass Door:\n    pass\n"),),
    "broken": (("pay(amount):", "pay(amount"),),
    "missing import": (("return amount", "return Decimal(amount)"),),
}


@pytest.mark.parametrize("case", CASES)
def test_offers_are_the_same_from_warm_and_cold_caches(case, forget):
    situation = after(SHOP, "pkg/shop.py", *CASES[case])
    cold = follow_ups(situation)
    assert follow_ups(replace(situation, work=Work(), found={})) == cold
    after(SHOP, "pkg/shop.py", ("return amount", "return 1"))
    for other in CASES.values():  # other versions of the same file
        follow_ups(after(SHOP, "pkg/shop.py", *other))
    assert follow_ups(after(SHOP, "pkg/shop.py", *CASES[case])) == cold
    forget()
    assert follow_ups(after(SHOP, "pkg/shop.py", *CASES[case])) == cold


@pytest.mark.parametrize(
    ("text", "edits"),
    [
        pytest.param(
            "#- shop.py\ndef pay(): ...\n#- use.py\nimport os\n\nprint(os)\n",
            [("shop.py", "def pay", "def charge(): ...\ndef pay"), ("use.py", "print(os)", "print(os, charge())")],
            id="the import of a new definition",
        ),
        pytest.param(
            "#- shop.ts\nfunction pay() {}\n#- use.ts\nconst a = 1;\n",
            [("shop.ts", "function", "export function"), ("use.ts", "= 1", "= pay()")],
            id="the import of what is exported now",
        ),
    ],
)
def test_offers_do_not_depend_on_how_far_the_index_has_the_edits(text, edits):
    found = offers(after_each(text, *edits))
    assert found
    assert offers(after_each(text, *edits, indexes_edits=False)) == found


@pytest.mark.parametrize("case", CASES)
def test_a_text_that_was_edited_has_the_tree_and_the_facts_of_a_parse_from_scratch(case, forget):
    def facts(situation):
        (file,) = situation.edited
        texts = text_before(situation, file), text_now(situation, file)
        return [(str(text.root), text.facts, text.graph) for text in texts]

    for other in CASES.values():
        facts(after(SHOP, "pkg/shop.py", *other))
    warm = facts(after(SHOP, "pkg/shop.py", *CASES[case]))
    forget()
    cold = facts(after(SHOP, "pkg/shop.py", *CASES[case]))
    assert [(tree, each) for tree, each, _ in warm] == [(tree, each) for tree, each, _ in cold]
    for (_, _, one), (_, _, other) in zip(warm, cold, strict=True):
        assert outline.outline_in(one) == outline.outline_in(other)


def test_the_nearest_files_are_read_until_the_limit_and_the_rest_is_left_out(forget):
    situation = after(SHOP, "pkg/shop.py", *CASES["rename"])
    n_all = len(offers(situation))
    work = Work(max_bytes=600)
    limited = offers(replace(situation, work=work, found={}))
    assert n_all == 16 and 2 <= len(limited) < n_all
    assert limited == offers(situation)[: len(limited)]
    assert "pkg/use7.py" in work.left_out


def test_no_further_kind_is_tried_when_the_time_is_up(forget, monkeypatch):
    situation = after(SHOP, "pkg/shop.py", *CASES["rename"])
    assert follow_ups(situation)
    monkeypatch.setattr(Work, "is_over", True)
    assert follow_ups(replace(situation, found={})) == []


def test_bytes_of_a_file_are_counted_once():
    work = Work(max_bytes=100)
    assert work.admits("a", 60) and work.admits("a", 60) and work.admits("a", 50)
    assert not work.admits("b", 41) and work.admits("b", 40)
    assert work.left_out == {"b"}


def test_a_superseded_request_ends_between_two_files(forget):
    cancel = Cancel()
    situation = replace(after(SHOP, "pkg/shop.py", *CASES["rename"]), work=Work(cancel))
    found = before.occurrences_of(situation, before_edits_symbol(situation), "pkg/shop.py")
    assert next(found)[1].path == "pkg/shop.py"
    cancel.cancel()
    with pytest.raises(Cancelled):
        list(found)


def before_edits_symbol(situation):
    from weft.retrieval.definition_index import NamedDefinition
    from weft.server.symbols.symbol import symbol_in

    graph = before_edits(situation).graph
    definition = graph.files["pkg/shop.py"].definition("pay")
    return symbol_in(graph, "pay", [NamedDefinition("pkg/shop.py", definition)])


def test_names_are_found_in_changed_lines_of_a_long_hunk_and_long_pieces_are_not_compared():
    lines = [f"value_{number} = load(source)" for number in range(300)]
    changed = [line.replace("load", "read") if number in (10, 200) else line for number, line in enumerate(lines)]
    text = "\n".join(lines)
    recent = RecentEdits((Hunk("a.py", 0, tuple(lines), tuple(changed), 0.0),))
    file = edited_file("a.py", language_of("a.py"), TextLines("\n".join(changed)), recent.hunks)
    assert [(each.old, each.new, each.now[0]) for each in substitutions(file)] == [
        ("load", "read", 10),
        ("load", "read", 200),
    ]
    assert file.before.text == text
    assert differences(("x",) * 1001, ("y",) * 1000) == (("replace", 0, 1001, 0, 1000),)


def test_views_of_the_graph_are_made_once_for_a_snapshot(forget):
    situation = after(SHOP, "pkg/shop.py", *CASES["rename"])
    again = replace(situation, line=3, work=Work(), found={})
    assert before_edits(situation).graph is before_edits(again).graph
    (file,) = situation.edited
    assert graph_around(situation, file) is situation.index.graph


def test_a_text_that_was_indexed_with_errors_is_parsed_without_samples(forget, monkeypatch):
    broken = SHOP.replace("    return amount\n", "    return (amount\n")
    situation = after(broken, "pkg/shop.py", ("    pass\n", "    total = 1\n"))
    forget()
    sampled = []
    monkeypatch.setattr(syntax, "_check_samples", lambda language, source: sampled.append(len(source)))
    assert text_now(situation, situation.edited[0]) is not None  # the index has this text
    assert sampled == []
    assert text_before(situation, situation.edited[0]) is not None
    assert len(sampled) == 1  # around the edit
