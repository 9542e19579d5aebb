"""Text in, facts of Kotlin out: packages, definitions, bindings and calls, also in texts that end at a cursor."""

from __future__ import annotations

from textwrap import dedent

import pytest
from reader_facts import bindings, definitions
from weft.codegraph import FileGraph, parse_file
from weft.languages import LANGUAGES
from weft.languages.unclosed import closed


def parsed(text: str) -> FileGraph:
    return parse_file("Shop.kt", dedent(text))


def check_definitions(text: str, expected: str) -> None:
    assert definitions(parsed(text)) == dedent(expected).strip().splitlines()


def check_bindings(text: str, expected: str) -> None:
    assert bindings(parsed(text)) == dedent(expected).strip().splitlines()


def check_local(statement: str, *expected: str) -> None:
    """The bindings of a statement in a function."""
    found = bindings(parsed(f"fun f() {{\n{statement}\n}}\n"))
    assert [line.removeprefix("f | ") for line in found] == list(expected)


def callees(statement: str) -> list[str]:
    return [call.callee for call in parsed(f"fun f() {{\n{statement}\n}}\n").calls]


# Packages and imports


def test_the_package_and_the_imports_are_read():
    file = parsed(
        "package a.`in`.b\n\nimport a.Shop\nimport a.Shop as S\nimport a.till.*\nimport a.Cart.Companion.open\n"
    )
    assert file.package == "a.in.b"
    assert [(item.local_name, item.module, item.name) for item in file.imports] == [
        ("Shop", "a", "Shop"),
        ("S", "a", "Shop"),
        ("", "a.till", "*"),
        ("open", "a.Cart", "open"),
    ]


# Types


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("Shop", "Shop"),
        ("Shop?", "Shop"),
        ("(Shop)?", "Shop"),
        ("T & Any", "T"),
        ("a.b.Shop", "a.b.Shop"),
        ("Shop.Till", "Shop.Till"),
        ("Box<Shop>", "Box"),
        ("List<Shop>", "Shop[]"),
        ("Array<out Shop?>", "Shop[]"),
        ("Map<String, Shop>", "Shop[]"),
        ("StateFlow<Shop>", "Shop[]"),
        ("Lazy<Shop>", "Shop"),
        ("Deferred<List<Shop>>", "Shop[]"),
        ("List<List<Shop>>", ""),
        ("List<*>", ""),
        ("List", ""),
        ("String", "String"),
        ("(Shop) -> Shop", ""),
    ],
)
def test_a_type_is_reduced_to_one_name(written: str, text: str):
    check_bindings(f"val x: {written} = y\n", f"x: {text}" if text else "x = ?")


# Definitions


def test_types_have_kinds_and_bases():
    check_definitions(
        """
        open class Shop<T : Any>(val till: Till) : Base<T>(till), Seller, Other by till
        data class Cart(val n: Int)
        sealed interface Item
        enum class Color : Coded { RED, GREEN }
        annotation class Fast
        object Single : Shop()
        typealias Shops = List<Shop>
        """,
        """
        class Shop(Base, Seller, Other)
        class Cart
        interface Item
        enum Color(Coded)
        class Fast
        object Single(Shop)
        type Shops(Shop[])
        """,
    )


def test_members_of_a_companion_are_members_of_the_class():
    text = """
        class Shop {
            companion object Maker {
                val rate = Rate()
                fun open(): Shop = Shop()
            }
            class Inner {
                fun pay() {}
            }
            constructor(n: Int) : this()
        }
        """
    check_definitions(
        text,
        "class Shop\nmethod Shop.open -> Shop\nclass Shop.Inner\nmethod Shop.Inner.pay\nconstructor Shop.constructor",
    )
    check_bindings(text, "Shop | self.Maker = this\nShop | self.rate = Rate()\nShop.constructor | n: Int")


def test_an_extension_is_named_by_its_receiver():
    text = """
        fun Shop.pay(n: Cart): Bill = bill(n)
        fun Shop.Companion.open() {}
        val Shop?.till: Till get() = first
        fun <T : Shop> List<T>.all() {}
        fun (() -> Unit).twice() {}
        """
    check_definitions(
        text,
        """
        function Shop.pay -> Bill
        function Shop.open
        function Shop.till -> Till
        function List.all
        function Function.twice
        """,
    )
    assert bindings(parsed(text))[:4] == [
        "Shop.pay | this: Shop",
        "Shop.pay | n: Cart",
        "Shop.open | this: Shop.Companion",
        "Shop.till | this: Shop",
    ]


def test_properties_with_code_are_definitions():
    check_definitions(
        """
        class Shop {
            val size get() = till.size()
            val open: Till
                get() { return till }
            val pay = { n: Int -> till.pay(n) }
            private val listener = object : Listener() {
                override fun on() {}
            }
            var plain = 3
                private set
        }
        """,
        """
        class Shop
        method Shop.size
        method Shop.open -> Till
        method Shop.pay
        object Shop.listener(Listener)
        function Shop.listener.on
        """,
    )


def test_anonymous_objects_and_enum_entries_with_bodies_are_definitions():
    check_definitions(
        """
        enum class Color {
            RED {
                override fun code() = 1
            },
            GREEN;
            open fun code() = 2
        }
        fun make() = object : Listener {
            override fun on() {}
        }
        """,
        """
        enum Color
        object Color.RED(Color)
        function Color.RED.code
        method Color.code
        function make
        object make.object(Listener)
        function make.object.on
        """,
    )


def test_annotations_are_part_of_a_definition():
    (shop,) = parsed('/** Doc. */\n@Deprecated("x")\n@Fast\nclass Shop\n').definitions
    assert (shop.start_line, shop.header_line, shop.end_line) == (1, 3, 4)


def test_an_annotated_class_with_a_protected_constructor_is_no_expression():
    check_definitions(
        """
        package a.b

        import a.b.C

        @OptIn(X::class)
        @Marker
        open class Shop protected constructor() {
            val till = Till()
        }
        annotation class Fast
        """,
        "class Shop\nclass Fast",
    )


# Bindings


def test_a_primary_constructor_binds_properties():
    check_bindings(
        "class Shop<T : Till>(val till: T, private var n: Cart = Cart(), other: Rate, vararg all: Item)\n",
        """
        Shop | T = Till
        Shop | self.till: T
        Shop | self.n: Cart
        Shop | other: Rate
        Shop | all: Item[]
        """,
    )


def test_fields_have_types_or_values():
    check_bindings(
        """
        class Shop {
            lateinit var till: a.Till
            val store = Store(3)
            val cart by lazy { log(); Cart() }
            val rate: Rate by inject()
            val name = "x"
        }
        """,
        """
        Shop | self.till: a.Till
        Shop | self.store = Store()
        Shop | self.cart = Cart()
        Shop | self.rate: Rate
        Shop | self.name: String
        """,
    )


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("val x = shop.till!!", "x = shop.till"),
        ("val x = shop?.till?.cart", "x = shop.till.cart"),
        ("val x = y as? Shop ?: return", "x: Shop"),
        ("val x = y ?: Shop()", "x = y"),
        ("val x = null ?: Shop()", "x = Shop()"),
        ("val x = if (a) Shop() else Till()", "x = Shop()"),
        ("val x = try { Shop() } catch (e: Bad) { null }", "x = Shop()|e: Bad"),
        ("val x = listOf<Shop>()", "x: Shop[]"),
        ("val x = mutableMapOf<String, Shop>()", "x: Shop[]"),
        ("val x by inject<Shop>()", "x: Shop"),
        ("val x = shop.also { log() }", "x = shop"),
        ("val x = shop.run { till() }", "x = till()|{ = shop|{ = ?"),
        ("val x = requireNotNull(shop)", "x = shop"),
        ("val x = ::pay", "x = pay"),
        ("val x = null", "x = ?"),
        ("val (a, b) = pair()", "a = ?|b = ?"),
        ("for (x in shop.carts) x.pay()", "x = shop.carts[]"),
        ("for ((k, v) in shops) v.pay()", "k = ?|v = shops[]"),
        ("for ((i, x) in xs.withIndex()) x.pay()", "i = ?|x = xs[]"),
        ("xs.forEach { it.pay() }", "it = xs[]"),
        ("xs.values.map { x -> x.pay() }", "x = xs[]"),
        ("xs.forEachIndexed { i, x -> x.pay() }", "i = ?|x = xs[]"),
        ("shop.let { it.pay() }", "it = shop"),
        ("shop.also { s: Shop -> s.pay() }", "s: Shop"),
        ("each(3) { it.pay() }", "it = each.#|{ = each.#this|{ = ?"),
        ("each { a, b -> a.pay() }", "a = each.#|b = each.##1|{ = each.#this|{ = ?"),
        ("with(shop) { pay() }", "{ = shop|{ = ?"),
    ],
)
def test_values_of_variables(statement: str, expected: str):
    check_local(statement, *expected.split("|"))


def test_smart_casts_bind_a_name_in_their_branch():
    check_local(
        """
        when (x) {
            is Shop -> x.pay()
            is Till, is Cart -> x.close()
        }
        if (x is Rate && y) {
            x.apply()
        }
        """,
        "x: Shop",
        "x = x",
        "x = x",
        "x: Rate",
        "x = x",
    )


def test_results_without_a_type_come_from_the_expression():
    check_bindings(
        "fun a() = Shop()\nfun b() = shop.till\nfun c(): Shop = d()\nfun e() { f() }\n",
        "a | () = Shop()\nb | () = shop.till",
    )


def test_functions_say_what_they_give_to_a_lambda():
    check_bindings(
        "fun shop(n: Int, block: suspend Till.(Cart, x: Rate) -> Unit) {}\ntypealias Setup = Shop.() -> Unit\n",
        """
        shop | n: Int
        shop | block = ?
        shop | #this: Till
        shop | #: Cart
        shop | ##1: Rate
        Setup | #this: Shop
        """,
    )
    check_bindings("fun shop(setup: Setup) {}\n", "shop | setup: Setup\nshop | # = Setup.#\nshop | #this = Setup.#this")


# Calls


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("shop.pay(1)", "shop.pay"),
        ("shop?.till!!.pay()", "shop.till.pay"),
        ("shop.each(x) { pay() }", "shop.each pay"),
        ("shop.each { a() }.pay()", "shop.each().pay shop.each a"),
        ("single<Shop> { Shop() }", "single Shop"),
        ("this.pay(); super.pay(); super<Base>.pay(); this@Shop.pay()", "this.pay super.pay super.pay Shop.pay"),
        ("(x as Shop).pay()", "Shop().pay"),
        ('"a".pay(); 3.pay()', "String().pay Int().pay"),
        ("shops[1].pay()", "shops[].pay"),
        ("shop sells cart", "shop.sells"),
        ('log("x ${shop.pay()} $y")', "log shop.pay"),
        ("pay(n = cart(), f = ::bar)", "pay cart"),
        ("!shop.pay()", "shop.pay"),
        ("object : Listener(till()) {}", "Listener till"),
    ],
)
def test_callees(statement: str, expected: str):
    assert sorted(callees(statement)) == sorted(expected.split())


def test_base_constructors_are_called():
    file = parsed("class Shop(x: Int) : Base(x) {\n    constructor() : super(3)\n}\n")
    assert [call.callee for call in file.calls] == ["Base", "super"]


# Texts that end at a cursor

WHOLE = """\
package a

import a.till.Till

class Shop(private val till: Till) : Base() {
    val carts = mutableListOf<Cart>()

    fun pay(cart: Cart): Bill {
        val bill = till.open()
        carts.forEach { item ->
            if (item is Large) {
                item.pack("a ${item.size()}")
            }
        }
        when (bill) {
            is Paid -> bill.print()
            else -> log(bill)
        }
        return bill
    }

    companion object {
        fun make(): Shop = Shop(Till())
    }
}
"""


@pytest.mark.parametrize("n_lines", range(5, WHOLE.count("\n")))
def test_facts_above_a_cursor_are_those_of_the_whole_file(n_lines: int):
    text = "".join(WHOLE.splitlines(keepends=True)[:n_lines])
    whole, cut = parsed(WHOLE), parsed(text)
    assert cut.package == "a" and len(cut.imports) == 1 and cut.n_lines == n_lines
    wanted = {d.qualified_name for d in whole.definitions if d.header_line < n_lines}
    assert {d.qualified_name for d in cut.definitions} == wanted
    wanted = {(b.name, b.value) for b in whole.bindings if b.line < n_lines - 1 and b.value}
    assert wanted <= {(b.name, b.value) for b in cut.bindings}


@pytest.mark.parametrize("at", range(20, len(WHOLE) - 12, 3))
def test_a_text_that_ends_within_a_line_keeps_its_class(at: int):
    cut = parse_file("Shop.kt", WHOLE[:at])
    assert cut.n_lines == len(WHOLE[:at].splitlines())
    if at > WHOLE.index(" {\n"):
        assert cut.definitions[0].qualified_name == "Shop"


@pytest.mark.parametrize("text", ['class A\n@Suppress("x', "class A\n@Foo", "val x = 3\n@Foo(", "class A\n@Foo(\n"])
def test_texts_on_which_the_grammar_never_ends_are_completed(text: str):
    assert parse_file("Shop.kt", text).n_lines == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f(a", "f(a)\n"),
        ("f() {", "f() {}\n"),
        ("f() {\n  a()\n  ", "f() {\n  a()\n  ;}\n"),
        ("f() {\n  a. // note\n", "f() {\n  a. null;}\n"),
        ('f("a ${b', 'f("a ${b}")\n'),
        ("f(/* a", "f(/* a*/)\n"),
        ("f() {}", "f() {}\n"),
        ('f("{")\n', 'f("{")\n'),
    ],
)
def test_open_brackets_are_closed(text: str, expected: str):
    assert closed(text.encode(), LANGUAGES["kotlin"].lexer, "null").decode() == expected


def test_a_text_that_takes_the_grammar_minutes_is_stopped():
    body = "        val a = scope.get<Shop>()\n" * 12
    head = "`e` module {\n scope(x) {\n }.koin\n ` f(s.get<A>(), s.get<A>())\n )\n }.koin\n"
    text = f"{head}{body}\n fun `can't`() {{\n val k = f\n"
    assert parse_file("Shop.kt", text).n_lines == text.count("\n")
