"""Which definition does a call in PHP lead to, and how was it found? Small repositories as text, one behaviour each."""

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.codegraph import CodeGraph, parse_file, reachable_symbols


def repository(text: str) -> CodeGraph:
    """Files under `#- path` headers."""
    parts = textwrap.dedent(text).strip("\n").split("#- ")[1:]
    files = (part.partition("\n")[::2] for part in parts)
    return CodeGraph.build(parse_file(path.strip(), "<?php\n" + content) for path, content in files)


def calls(graph: CodeGraph, path: str) -> list[str]:
    """The edges of a file as `shop.pay -> Shop.php::Shop.pay (typed local)`."""
    all_calls = graph.files[path].calls
    return [f"{all_calls[e.call].callee} -> {e.path}::{e.qualified_name} ({e.how})" for e in graph.call_edges(path)]


def check(text: str, *expected: str, path: str = "Main.php") -> None:
    """The calls of `path` resolve to exactly these edges, in any order."""
    assert sorted(calls(repository(text), path)) == sorted(expected)


SHOP = """
        #- src/Shop.php
        namespace Acme\\Shops;
        class Shop { public function pay(): Bill {} public static function open(): static {} }
        #- src/Bill.php
        namespace Acme\\Shops;
        class Bill { public function print() {} }
        function total(): Bill {}
"""


@pytest.mark.parametrize(
    "head",
    [
        "use Acme\\Shops\\Shop; function f(Shop $s) {",
        "use Acme\\Shops\\Shop as Store; function f(Store $s) {",
        "use Acme\\Shops; function f(Shops\\Shop $s) {",
        "function f(\\Acme\\Shops\\Shop $s) {",
        "namespace Acme\\Shops; function f(?Shop $s) {",
        "namespace Acme; function f(Shops\\Shop|null $s) {",
        "namespace Other; use Acme\\Shops\\{Shop}; /** @param Shop $s */ function f($s) {",
    ],
)
def test_a_type_is_found_by_its_namespace(head: str):
    check(
        f"{SHOP}\n        #- Main.php\n        {head} $s->pay()->print(); }}",
        "s.pay().print -> src/Bill.php::Bill.print (returned type)",
        "s.pay -> src/Shop.php::Shop.pay (typed local)",
    )


def test_a_namespace_may_have_the_name_of_a_class():
    check(
        """
        #- src/Stmt.php
        namespace Acme\\Node;
        abstract class Stmt { public static function all() {} }
        #- src/Stmt/Echo_.php
        namespace Acme\\Node\\Stmt;
        class Echo_ { public function __construct() {} }
        #- Main.php
        namespace Acme;
        use Acme\\Node\\Stmt;
        new Stmt\\Echo_();
        Stmt::all();
        Stmt::none();
        """,
        "Stmt.Echo_ -> src/Stmt/Echo_.php::Echo_ (module attribute)",
        "Stmt.Echo_ -> src/Stmt/Echo_.php::Echo_.__construct (constructor)",
        "Stmt.all -> src/Stmt.php::Stmt.all (class attribute)",
    )


def test_functions_and_static_methods():
    check(
        f"""{SHOP}
        #- Main.php
        namespace Main;
        use Acme\\Shops\\Shop;
        use function Acme\\Shops\\total;
        total()->print();
        Shop::open()->pay();
        \\Acme\\Shops\\total();
        """,
        "total().print -> src/Bill.php::Bill.print (returned type)",
        "total -> src/Bill.php::total (import)",
        "Shop.open().pay -> src/Shop.php::Shop.pay (returned type)",
        "Shop.open -> src/Shop.php::Shop.open (class attribute)",
        "Acme.Shops.total -> src/Bill.php::total (module attribute)",
    )


def test_names_from_outside_have_no_definition():
    check(
        f"""{SHOP}
        #- Main.php
        namespace Acme\\Shops;
        use Other\\Bill;
        function f(Bill $b, \\Shop $s, string $t) {{ $b->print(); $s->pay(); $t->print(); new \\Shop(); \\total(); }}
        """
    )


def test_members_of_an_object():
    check(
        """
        #- Main.php
        class A extends Base implements IShop
        {
            use Loud;
            private Till $till;
            /** @var Item[] */
            private array $items;
            public function __construct(private Db $db) { parent::__construct(); $this->paper = new Paper(); }
            public function run($unknown)
            {
                $this->till->open(); $this->db->load(); $this->paper->print(); $this->shout(); $this->close();
                self::help(); static::help(); $this->items()->open();
                foreach ($this->items as $item) { $item->show(); }
                array_map(fn ($each) => $each->show(), $this->items);
                if ($unknown instanceof Till) { $unknown->open(); }
                $run = function (Till $t): Paper { $t->open(); };
                $run($x)->print();
                Color::Red->label();
                $this->till(1);
            }
            private static function help() {}
            private function items(): Till {}
        }
        #- Base.php
        class Base { function __construct() {} function close() {} }
        trait Loud { function shout() {} }
        class Till { function open() {} function __invoke() {} }
        class Db { function load() {} }
        class Paper { function print() {} }
        class Item { function show() {} }
        enum Color { case Red; function label() {} }
        """,
        "parent.__construct -> Base.php::Base.__construct (super)",
        "Paper -> Base.php::Paper (same package)",
        "this.till.open -> Base.php::Till.open (typed attribute)",
        "this.db.load -> Base.php::Db.load (typed attribute)",
        "this.paper.print -> Base.php::Paper.print (typed attribute)",
        "this.shout -> Base.php::Loud.shout (inherited)",
        "this.close -> Base.php::Base.close (inherited)",
        "self.help -> Main.php::A.help (self)",
        "static.help -> Main.php::A.help (self)",
        "this.items -> Main.php::A.items (self)",
        "this.items().open -> Base.php::Till.open (returned type)",
        "item.show -> Base.php::Item.show (typed local)",
        "each.show -> Base.php::Item.show (typed local)",
        "unknown.open -> Base.php::Till.open (typed local)",
        "t.open -> Base.php::Till.open (typed local)",
        "run -> Main.php::A.run.run (same file)",
        "run().print -> Base.php::Paper.print (returned type)",
        "Color.Red.label -> Base.php::Color.label (typed attribute)",
    )


def test_a_checked_type_ends_with_the_body():
    check(
        """
        #- Main.php
        function f(Shop $x)
        {
            if ($x instanceof Small) {
                $x->shrink();
            } else {
                $x->pay();
            }
            $x->pay();
            if (!$x instanceof Small) {
                return;
            }
            $x->shrink();
        }
        class Shop { function pay() {} }
        interface Small { function shrink(); }
        """,
        "x.shrink -> Main.php::Small.shrink (typed local)",
        "x.pay -> Main.php::Shop.pay (typed local)",
        "x.pay -> Main.php::Shop.pay (typed local)",
        "x.shrink -> Main.php::Small.shrink (typed local)",
    )


def test_objects_that_can_be_called():
    check(
        """
        #- Main.php
        function f(Handler $handler) { $handler(1)->open(); handler(); }
        function handler() {}
        class Handler { function __invoke(): Till {} }
        class Till { function open() {} }
        """,
        "handler.__invoke().open -> Main.php::Till.open (returned type)",
        "handler.__invoke -> Main.php::Handler.__invoke (typed local)",
        "handler -> Main.php::handler (same file)",
    )


def test_calls_of_an_interface_reach_its_implementations():
    check(
        """
        #- Main.php
        function f(IShop $s) { $s->pay(); }
        #- Shop.php
        interface IShop { function pay(); }
        class Shop implements IShop { function pay() {} }
        """,
        "s.pay -> Shop.php::IShop.pay (typed local)",
        "s.pay -> Shop.php::Shop.pay (implementation)",
    )


def test_a_variable_is_an_object_of_the_class_with_its_name():
    check(
        """
        #- Main.php
        use Acme\\LineItem;
        function f($lineItem, $other) { $lineItem->show(); $other->show(); }
        #- LineItem.php
        namespace Acme;
        class LineItem { function show() {} }
        """,
        "lineItem.show -> LineItem.php::LineItem.show (same name)",
    )


def test_static_is_the_class_of_the_object():
    check(
        """
        #- Main.php
        function f(Shop $s) { $s->with(1)->pay(); $t = $s->with(1); $t->pay(); Shop::make()->pay(); }
        class Base { function with($x): static {} /** @return static */ static function make() {} }
        class Shop extends Base { function pay() {} }
        """,
        "s.with -> Main.php::Base.with (inherited)",
        "s.with -> Main.php::Base.with (inherited)",
        "s.with().pay -> Main.php::Shop.pay (returned type)",
        "t.pay -> Main.php::Shop.pay (typed local)",
        "Shop.make -> Main.php::Base.make (inherited)",
        "Shop.make().pay -> Main.php::Shop.pay (returned type)",
    )


# Snapshots

_PATHS = ("src/A.php", "src/B.php", "src/Deep/C.php", "tests/D.php")
_LINES = (
    "namespace N;",
    "namespace N\\M;",
    "use N\\Shop;",
    "use N\\M\\Shop as Store;",
    "use function N\\openAll;",
    "function f(Shop $s, Store $t) { $s->payAll(); $t->payAll(); openAll()->payAll(); $s->till->openTill(); }",
    "class Shop { use Loud; private Till $till; function payAll(): static { $this->shoutAll(); } }",
    "class Shop extends \\N\\M\\Shop { function closeAll() { $this->payAll(); parent::payAll(); } }",
    "trait Loud { function shoutAll() { $this->payAll(); } }",
    "class Till { function openTill() {} function __construct() { $this->shop = new Shop(); $this->shop->payAll(); } }",
    "function openAll(): Shop {}",
    "function g($unknown) { $unknown->shoutAll(); new Till(); \\N\\openAll(); }",
)
_texts = st.lists(st.sampled_from(_LINES), max_size=5).map(lambda found: "<?php\n" + "\n".join(found))


def everything(graph: CodeGraph) -> dict[str, object]:
    return {
        path: (graph.call_edges(path), set(reachable_symbols(graph, path, file.n_lines)))
        for path, file in graph.files.items()
    }


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(st.sampled_from(_PATHS), _texts),
    st.lists(st.tuples(st.sampled_from(_PATHS), st.none() | _texts), max_size=6),
)
def test_changes_give_what_a_build_from_scratch_gives(state, changes):
    graph = CodeGraph.build(parse_file(path, text) for path, text in state.items())
    for path, text in changes:
        if text is not None and path in graph.files:
            overlay = graph.overlay(parse_file(path, text))
            assert overlay.call_edges(path) == graph.with_changes([parse_file(path, text)]).call_edges(path)
        graph = graph.with_changes([] if text is None else [parse_file(path, text)], [path] if text is None else [])
        assert everything(graph) == everything(CodeGraph.build(graph.files.values()))
