"""Partial parsing of the text before a cursor: the facts are those of a parse of the whole text."""

from pathlib import Path

import pytest
from weft.codegraph import FileGraph, parse_file
from weft.codegraph.prefix import parse_prefix
from weft.retrieval import Query, RepositoryIndex, RetrievalOptions, retrieve, slice_file

ROOT = Path(__file__).parent.parent

GO = """\
package shop

import "fmt"

type Shop struct {
    Total int
    till  *Till
}
{fillers}
func (s *Shop) Pay(price int) error {
    till := s.till
    if price > 3 {
        till.Open()
    }
    for _, item := range s.Items() {
        item.Print()
    }
    fmt.Println(till)
    return nil
}
"""
GO_FILLER = """
func filler{n}(a int) int {
    x := a + {n}
    return helper(x)
}
"""
TYPESCRIPT = """\
import { Till } from "./till";

export class Shop {
    private till: Till = new Till();
{fillers}
    pay(price: number): void {
        const open = this.till.open();
        if (price > 3) {
            open.ring();
        } else {
            this.close({
                price,
            });
        }
        describe("pay", () => {
            const shop = new Shop();
            shop.pay(1);
        });
    }
}
"""
TYPESCRIPT_FILLER = """
    filler{n}(a: number): number {
        const x = a + {n};
        return helper(x);
    }
"""


def filled(text: str, filler: str) -> str:
    return text.replace("{fillers}", "".join(filler.replace("{n}", str(number)) for number in range(30)))


def facts(file: FileGraph) -> list[object]:
    """The facts with scopes as qualified names."""

    def scope(number: int) -> str:
        return "" if number < 0 else file.definitions[number].qualified_name

    return [
        [(d.qualified_name, d.kind, d.start_line, d.end_line, scope(d.parent), d.bases) for d in file.definitions],
        sorted((call.line, call.callee, scope(call.scope)) for call in file.calls),
        [(*item[:5], scope(item.scope)) for item in file.imports],
        sorted((b.line, b.name, b.how, b.value, scope(b.scope)) for b in file.bindings),
        file.package,
    ]


def check(path: str, text: str, cut: int) -> None:
    """The facts of the first `cut` lines, with and without the facts of the whole text."""
    prefix = "".join(text.splitlines(keepends=True)[:cut])
    reused = parse_prefix(path, prefix, parse_file(path, text), text.encode())
    assert facts(reused) == facts(parse_file(path, prefix))
    assert reused.n_nodes < parse_file(path, prefix).n_nodes


@pytest.mark.parametrize("line", ["till := s.till", "till.Open()", "item.Print()", "fmt.Println(till)"])
def test_go(line: str) -> None:
    text = filled(GO, GO_FILLER)
    check("shop.go", text, text[: text.index(line)].count("\n"))


@pytest.mark.parametrize("line", ["const open", "open.ring()", "this.close(", "describe(", "shop.pay(1)"])
def test_typescript(line: str) -> None:
    text = filled(TYPESCRIPT, TYPESCRIPT_FILLER)
    check("shop.ts", text, text[: text.index(line)].count("\n"))


def test_python_on_this_repository() -> None:
    """Of 30 cuts in real files at most 2 differ, in definitions that the cursor is inside of."""
    same = 0
    for path in sorted((ROOT / "server" / "chat").glob("*.py"))[:10]:
        text = path.read_text("utf-8")
        n_lines = text.count("\n")
        for cut in (n_lines // 2, 2 * n_lines // 3, n_lines - 3):
            prefix = "".join(text.splitlines(keepends=True)[:cut])
            reused = parse_prefix("a.py", prefix, parse_file("a.py", text), text.encode())
            same += facts(reused) == facts(parse_file("a.py", prefix))
    assert same >= 28


def test_an_edited_part_is_parsed_again() -> None:
    text = filled(GO, GO_FILLER)
    indexed = parse_file("shop.go", text)
    edited = text.replace("x := a + 20", "renamed := load(a)")
    prefix = edited[: edited.index("till := s.till")]
    assert facts(parse_prefix("shop.go", prefix, indexed, text.encode())) == facts(parse_file("shop.go", prefix))


def test_a_text_without_an_indexed_version_is_parsed_whole() -> None:
    text = filled(GO, GO_FILLER)
    assert parse_prefix("shop.go", text, None, b"") == parse_file("shop.go", text)


def test_an_indexed_version_with_an_error_at_the_cursor_is_reused() -> None:
    text = filled(GO, GO_FILLER)
    prefix = text[: text.index("till.Open()")]
    indexed_text = text.replace("till.Open()", "till.Open(")
    reused = parse_prefix("shop.go", prefix, parse_file("shop.go", indexed_text), indexed_text.encode())
    assert facts(reused) == facts(parse_file("shop.go", prefix))


def test_other_line_breaks_are_parsed_whole() -> None:
    text = filled(GO, GO_FILLER)
    prefix = text.replace("\n", "\r\n")
    assert parse_prefix("shop.go", prefix, parse_file("shop.go", text), text.encode()) == parse_file("shop.go", prefix)


def test_the_explanation_of_a_long_file_has_its_relations() -> None:
    text = filled(GO, GO_FILLER)
    index = RepositoryIndex.build([(parse_file("shop.go", text), slice_file("shop.go", text))])
    prefix = text[: text.index("till.Open()")]
    partial = parse_prefix("shop.go", prefix, parse_file("shop.go", text), text.encode())
    assert not partial.has_all_nodes
    query = Query("shop.go", prefix, shown_from_line=10_000, file_graph=partial)
    for strategy in ("weft", "fragrel"):
        assert retrieve(index, query, RetrievalOptions(strategy=strategy, explain=True)).fragments
