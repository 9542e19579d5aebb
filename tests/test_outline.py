"""The outline of an edited text equals that of its file graph, whatever was read before."""

import random

import pytest
from repository import ROOT
from weft.codegraph import outline
from weft.codegraph.outline import keep_outline, outline_in, outline_of
from weft.codegraph.syntax import SyntaxTree

SAMPLES = {
    "a.tsx": """
        import { useState } from "react"
        import type { Props } from "./props"
        export const Till = ({ price }: Props) => <b>{price}</b>
        export default function Shop() {
          const [open, setOpen] = useState(false)
          function close() { setOpen(false) }
          return <Till price={1} onClick={close} />
        }
        class Door extends React.Component { open() { return 1 } }
        """,
    "a.js": """
        const fs = require("fs")
        import { pay, take as grab } from "./till.js"
        module.exports = { open }
        function open(door) { return pay(door) }
        class Shop extends Base {
          #sum = 0
          static open() { return new Shop() }
        }
        """,
    "a.rs": """
        use std::fmt::{self, Display};
        mod till;
        pub struct Shop { sum: u32 }
        impl Shop {
            pub fn pay(&self, n: u32) -> u32 { n }
        }
        impl Display for Shop {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result { Ok(()) }
        }
        fn main() { let shop = Shop { sum: 1 }; shop.pay(2); }
        """,
    "a.cs": """
        using System;
        using Text = System.Text;
        namespace Shop
        {
            public interface ITill { int Pay(int n); }
            public class Till : ITill
            {
                public int Pay(int n) => n;
                public string Name { get; set; }
            }
        }
        """,
    "a.rb": """
        require "set"
        require_relative "till"
        module Shop
          class Till < Base
            attr_reader :sum
            def pay(n) = n
            def self.open
              new
            end
          end
        end
        def main = Shop::Till.open
        """,
    "a.go": """
        package shop

        import (
            "fmt"
            t "example.com/till"
        )

        type Shop struct{ sum int }

        func (s *Shop) Pay(n int) int { return t.Take(n) }

        func main() { fmt.Println((&Shop{}).Pay(1)) }
        """,
    "A.java": """
        package shop;

        import java.util.List;
        import static shop.Till.take;

        interface Payer { int pay(int n); }

        public class A extends Base implements Payer {
            private List<String> names;
            A(int n) { super(n); }
            public int pay(int n) { return take(n); }
            static class Inner { void open() {} }
        }
        """,
}


def texts():
    found = {name: "\n".join(line[8:] for line in text.splitlines()[1:]) for name, text in SAMPLES.items()}
    for pattern in ("server/next_edit/*.py", "codegraph/*.py", "editors/vscode/src/*.ts"):
        found |= {str(path.relative_to(ROOT)): path.read_text() for path in sorted(ROOT.glob(pattern))[:12]}
    return found


def changed(text, choose):
    """A text with some lines twice, left out, or in another place."""
    lines = text.split("\n")
    at, n = choose.randrange(len(lines)), choose.randint(1, 8)
    how = choose.choice(("twice", "gone", "moved", "blank"))
    if how == "twice":
        lines[at:at] = lines[at : at + n]
    elif how == "blank":
        lines[at:at] = [""] * n
    else:
        taken = lines[at : at + n]
        del lines[at : at + n]
        if how == "moved":
            place = choose.randrange(len(lines) + 1)
            lines[place:place] = taken
    return "\n".join(lines)


@pytest.mark.parametrize("path", texts())
def test_an_outline_is_that_of_the_file_graph_after_each_edit(path):
    outline._OUTLINES.clear()
    choose = random.Random(path)
    tree = SyntaxTree.parse(path, texts()[path])
    graph = tree.file_graph()
    assert outline_of(tree) == outline_in(graph)
    keep_outline(tree, graph)
    for _ in range(8):
        tree = tree.edited(changed(tree.text, choose))
        assert outline_of(tree) == outline_in(tree.file_graph())


def test_what_is_kept_of_a_file_graph_is_not_read_again(monkeypatch):
    path = "a.py"
    tree = SyntaxTree.parse(path, "import a\n\n\ndef f():\n    pass\n\n\ndef g():\n    pass\n")
    outline._OUTLINES.clear()
    keep_outline(tree, tree.file_graph())
    read, walked = [], SyntaxTree.walked

    def noted(tree, node):
        read.append(tree.source[node.start_byte : node.end_byte])
        return walked(tree, node)

    monkeypatch.setattr(SyntaxTree, "walked", noted)
    edited = tree.edited(tree.text.replace("def g()", "\ndef g(n)"))
    assert [each.start_line for each in outline_of(edited).definitions] == [3, 8]
    assert read == [b"def g(n):\n    pass"]
