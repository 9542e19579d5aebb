"""Text in, facts of PHP out: namespaces, types, members, comments and bindings, also in texts that end at a cursor."""

from __future__ import annotations

from textwrap import dedent

import pytest
from reader_facts import bindings, definitions, lines
from weft.codegraph import FileGraph, parse_file


def parsed(text: str) -> FileGraph:
    return parse_file("a.php", "<?php\n" + dedent(text))


def check_definitions(text: str, expected: str) -> None:
    assert sorted(definitions(parsed(text))) == lines(expected)


def check_bindings(text: str, expected: str) -> None:
    assert sorted(bindings(parsed(text))) == lines(expected)


def in_function(statement: str) -> FileGraph:
    return parsed(f"namespace N;\nfunction f() {{\n{statement}\n}}\n")


# Namespaces and imports


def test_the_namespace_of_a_file_is_its_package():
    file = parsed("namespace Acme\\Shops;\nclass Shop {}\n")
    assert file.package == "Acme.Shops"
    assert definitions(file) == ["class Shop"]
    assert definitions(parsed("namespace Acme\\Shops { class Shop {} }")) == [
        "namespace Acme.Shops",
        "class Acme.Shops.Shop",
    ]


def test_imports():
    text = r"use A\B\C; use A\D as E; use A\{F, G\H as I}; use function A\f; use const A\X;"
    assert [(i.local_name, i.module, i.name) for i in parsed(text).imports] == [
        ("C", "A.B", "C"),
        ("E", "A", "D"),
        ("F", "A", "F"),
        ("I", "A.G", "H"),
        ("f", "A", "f"),
        ("X", "A", "X"),
    ]


# Types


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("Shop", "Shop"),
        ("?Shop", "Shop"),
        ("Shop|null", "Shop"),
        (r"\Acme\Shop", "Acme.Shop"),
        (r"Acme\Shop", "Acme.Shop"),
        (r"\Shop", "object"),
        ("Shop|Till", ""),
        ("Shop&Till", "Shop"),
        ("self", "self"),
        ("static", "static"),
        ("int", "object"),
        ("string|false", "object"),
        ("array", ""),
    ],
)
def test_a_type_is_reduced_to_one_name(written: str, text: str):
    file = parsed(f"namespace N;\nfunction f({written} $x): {written} {{}}\n")
    assert bindings(file) == [f"f | x: {text}" if text else "f | x = ?"]
    assert file.definitions[0].returns == text.replace("object", "")


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("Shop", "Shop"),
        ("Shop|null", "Shop"),
        ("null | Shop", "Shop"),
        ("?Shop", "Shop"),
        (r"\Acme\Shop", "Acme.Shop"),
        ("Shop[]", "Shop[]"),
        ("array<Shop>", "Shop[]"),
        ("array<int, Shop>", "Shop[]"),
        ("list<Shop>|null", "Shop[]"),
        ("Collection|Shop[]", "Shop[]"),
        ("Collection<int, Shop>", "Shop[]"),
        (r"\Generator<int, Shop, mixed, void>", "Shop[]"),
        ("Repository<Shop>", "Repository"),
        ("static", "static"),
        ("$this", "static"),
        ("string[]", ""),
        ("array<string, array<Shop>>", ""),
        ("callable(Shop): Till", ""),
        ("array{shop: Shop}", ""),
    ],
)
def test_a_comment_has_types(written: str, text: str):
    file = parsed(f"/** @return {written} of something */\nfunction f() {{}}\n")
    assert file.definitions[0].returns == text


def test_comments_count_where_the_code_has_no_type():
    check_bindings(
        """
        class Shop
        {
            /** @var Item[] */
            private array $items;
            /** @var Till */
            private $till;
            /** @var Other */
            private Store $store;
            /** Not of the property. */
            private $plain;

            /**
             * @param Item[] $items the items
             * @param Till|null $till
             * @param Other $store
             * @return Bill
             */
            function pay(array $items, $till, Store $store, $rest)
            {
                /** @var Paper $paper */
                $paper = make();
            }
        }
        """,
        """
        Shop | self.items: Item[]
        Shop | self.till: Till
        Shop | self.store: Store
        Shop | self.plain = ?
        Shop.pay | items: Item[]
        Shop.pay | till: Till
        Shop.pay | store: Store
        Shop.pay | rest = ?
        Shop.pay | paper: Paper
        """,
    )


# Definitions


def test_types_have_members():
    check_definitions(
        r"""
        final class Shop extends Base implements I, \J\K {
            use Tr, Tr2 { a as b; }
            public function pay(int $x): ?Bill { $close = function (): Till {}; }
            abstract function close();
        }
        trait Tr { function a() {} }
        enum Color: string implements I { case Red = 'r'; function label(): Label {} }
        interface I extends L { function m(): static; }
        function open(): Shop { return new Shop; }
        """,
        """
        class Shop(Tr, Tr2, Base, I, J.K)
        method Shop.pay -> Bill
        function Shop.pay.close -> Till
        method Shop.close
        trait Tr
        method Tr.a
        enum Color(I)
        method Color.label -> Label
        interface I(L)
        method I.m -> static
        function open -> Shop
        """,
    )


def test_members_and_results_are_bound():
    check_bindings(
        """
        class Shop
        {
            private ?Store $store = null, $other;
            public static self $one;
            function __construct(private readonly Db $db, Item ...$rest) { $this->bill = new Bill(); }
            function make() { if ($x) { return 1; } return $this->store->load(); }
        }
        enum Color { case Red; }
        """,
        """
        Shop | self.store: Store
        Shop | self.other: Store
        Shop | self.one: self
        Shop.__construct | db: Db
        Shop | self.db: Db
        Shop.__construct | rest: Item[]
        Shop | self.bill = Bill()
        Shop.make | () = this.store.load()
        Color | self.Red: Color
        """,
    )


# Statements


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("$x = new Shop();", ["x = Shop()"]),
        (r"$x = new \Acme\Shop;", ["x = Acme.Shop()"]),
        (r"$x = new \Shop;", ["x = ?"]),
        ("$x = open();", ["x = open()"]),
        ("$x = $y->till;", ["x = y.till"]),
        ("$x = $y?->open();", ["x = y.open()"]),
        ("$x = self::open();", ["x = self.open()"]),
        ("$x = Shop::$one;", ["x = Shop.one"]),
        ("$x = $xs[0];", ["x = xs[]"]),
        ("$x = $y ?? new Shop;", ["x = y", "x = Shop()"]),
        ("$x = $a ? $b : null;", ["x = b"]),
        ("$x = $a ?: $b;", ["x = a", "x = b"]),
        ("$x = match (1) { 1 => new Shop, default => $y };", ["x = Shop()", "x = y"]),
        ("$x = clone $y;", ["x = y"]),
        ("$x = $call(1);", ["x = call.__invoke()"]),
        ("$x = 'text';", ["x: object"]),
        ("$x = [];", ["x = ?"]),
        ("$x = array_filter($ys);", ["x = ys"]),
        ("[$a, $b] = both();", ["b = ?", "a = ?"]),
        ("list($a) = both();", ["a = ?"]),
        ("foreach ($xs as $x) {}", ["x = xs[]"]),
        ("foreach ($this->all() as $k => $x) {}", ["k = ?", "x = this.all()[]"]),
        ("foreach ($xs as &$x) {}", ["x = xs[]"]),
        ("try {} catch (PayError $e) {}", ["e: PayError"]),
        ("try {} catch (A | B $e) {}", ["e = ?"]),
        ("if ($x instanceof Shop) {}", ["x: Shop"]),
        ("array_map(fn ($x) => $x, $xs);", ["x = xs[]", "x = ?"]),
        ("usort($xs, function ($a, $b) {});", ["a = xs[]", "b = xs[]", "a = ?", "b = ?"]),
        ("$xs->map(fn ($x) => $x);", ["x = xs[]", "x = ?"]),
        ("$xs->map(fn (Shop $x) => $x);", ["x: Shop"]),
    ],
)
def test_a_statement_binds(statement: str, expected: list[str]):
    assert [line.removeprefix("f | ") for line in bindings(in_function(statement))] == expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("$a->pay()?->close($x);", ["a.pay().close", "a.pay"]),
        ("(new Shop)->pay();", ["Shop().pay", "Shop"]),
        (r"(new \Acme\Shop(1))->till->pay();", ["Acme.Shop().till.pay", "Acme.Shop"]),
        ("parent::pay(); static::pay(); self::pay();", ["parent.pay", "static.pay", "self.pay"]),
        (r"\Acme\Shop::pay();", ["Acme.Shop.pay"]),
        (r"Acme\pay();", ["Acme.pay"]),
        (r"\count($x);", []),
        (r"namespace\pay();", ["pay"]),
        ("$run(1)->pay();", ["run.__invoke().pay", "run.__invoke"]),
        ("$run = fn () => 1; $run();", ["run"]),
        ("$this->{$name}();", []),
        ("new class extends Shop {};", []),
        (f"(new Shop)->with(function () {{ {'b(); ' * 60} }})->pay();", ["Shop().with().pay", "Shop().with", "Shop"]),
    ],
)
def test_a_callee_is_dotted(statement: str, expected: list[str]):
    found = [call.callee for call in in_function(statement).calls]
    assert [callee for callee in found if callee != "b"] == expected


# Texts that end at a cursor

_FILE = """\
<?php

namespace Acme\\Shops;

use Acme\\Till;

final class Shop extends Base implements IShop
{
    use Tr;

    private ?Store $store = null;

    /**
     * @param Item[] $items
     * @return Bill
     */
    public function pay(Shop $other, array $items)
    {
        if ($other instanceof Small) {
            foreach ($items as $key => $item) {
                $item->pay();
                $close = function (Till $till) use ($other): Bill {
                    return $till->close();
                };
                $this->items->map(function ($each) {
                    try {
                        $each->open();
                    } catch (PayError $error) {
                        $error->log();
                    }
                });
            }
        }
        $total = $this->sum();
        return $total;
    }

    private static function sum(): int
    {
        return 1;
    }
}

function open(): Shop
{
    return new Shop();
}
"""


def test_facts_above_the_cursor_are_found():
    whole = parse_file("a.php", _FILE)
    all_lines = _FILE.splitlines(keepends=True)
    for cut in range(9, len(all_lines)):
        file = parse_file("a.php", "".join(all_lines[:cut]))
        above = {definitions(whole)[i] for i, d in enumerate(whole.definitions) if d.header_line < cut - 2}
        bound = {bindings(whole)[i] for i, b in enumerate(whole.bindings) if b.line < cut - 3 and b.name != "()"}
        assert above <= set(definitions(file)), cut
        assert bound <= set(bindings(file)), cut
        assert set(definitions(file)) <= set(definitions(whole)), cut
        assert file.package == "Acme.Shops" and [i.name for i in file.imports] == ["Till"]
