"""Calls of Kotlin over small repositories: which definition each call means."""

from __future__ import annotations

from textwrap import dedent

from weft.codegraph import CodeGraph, parse_file


def check_calls(files: dict[str, str], path: str, expected: dict[str, str]) -> None:
    """The targets of calls in a file by their callees; "" for a call without one, the first of several."""
    graph = CodeGraph.build([parse_file(name, dedent(text)) for name, text in files.items()], "shop")
    edges = {edge.call: f"{edge.path}::{edge.qualified_name}" for edge in reversed(graph.call_edges(path))}
    found = {call.callee: edges.get(at, "") for at, call in enumerate(graph.files[path].calls)}
    assert {callee: found[callee] for callee in expected} == expected


SHOP = """\
package a.shop

open class Shop(val till: Till) : Base() {
    val carts: List<Cart> = listOf()
    fun pay(): Bill = Bill()
    operator fun invoke(n: Int) {}
    companion object {
        fun open(): Shop = Shop(Till())
    }
}
open class Base { fun close() {} }
class Till { fun count() = Bill() }
class Cart { fun empty() {} }
class Bill { fun print() {} }
fun Shop.sell(cart: Cart) { pay(); till.count() }
fun String.toCart(): Cart = Cart()
val Shop.first: Cart get() = carts[0]
"""


def test_types_of_properties_parameters_and_results():
    text = """
        package a.main
        import a.shop.Shop
        import a.shop.first
        fun main(shop: Shop, all: Map<String, Shop>) {
            shop.pay().print()
            shop.till.count().print()
            shop.close()
            shop.first.empty()
            shop(3)
            Shop.open().pay()
            all["x"].pay()
            for (each in all.values) each.close()
            shop.carts.forEach { it.empty() }
            shop.carts.filter { c -> c.isEmpty() }.first().empty()
        }
        """
    check_calls(
        {"shop/Shop.kt": SHOP, "Main.kt": text},
        "Main.kt",
        {
            "shop.pay": "shop/Shop.kt::Shop.pay",
            "shop.pay().print": "shop/Shop.kt::Bill.print",
            "shop.till.count().print": "shop/Shop.kt::Bill.print",
            "shop.close": "shop/Shop.kt::Base.close",
            "shop.first.empty": "shop/Shop.kt::Cart.empty",
            "shop": "shop/Shop.kt::Shop.invoke",
            "Shop.open": "shop/Shop.kt::Shop.open",
            "Shop.open().pay": "shop/Shop.kt::Shop.pay",
            "all[].pay": "shop/Shop.kt::Shop.pay",
            "each.close": "shop/Shop.kt::Base.close",
            "it.empty": "shop/Shop.kt::Cart.empty",
            "shop.carts.filter().first().empty": "shop/Shop.kt::Cart.empty",
        },
    )


def test_names_of_the_package_imports_and_the_class_around():
    text = """
        package a.shop
        import a.other.Tool as T
        import a.more.*
        class Corner(till: Till) : Shop(till) {
            fun go() {
                close()
                pay()
                Bill()
                T()
                helper()
                super.pay()
                println("x")
            }
        }
        """
    files = {
        "Shop.kt": SHOP,
        "Corner.kt": text,
        "Tool.kt": "package a.other\nclass Tool\n",
        "More.kt": "package a.more\nfun helper() {}\n",
        "Println.kt": "package a.elsewhere\nfun println(x: String) {}\n",
    }
    check_calls(
        files,
        "Corner.kt",
        {
            "close": "Shop.kt::Base.close",
            "pay": "Shop.kt::Shop.pay",
            "Bill": "Shop.kt::Bill",
            "T": "Tool.kt::Tool",
            "helper": "More.kt::helper",
            "super.pay": "Shop.kt::Shop.pay",
            "println": "",
        },
    )


def test_a_private_function_is_known_in_its_file_only():
    files = {
        "a/Till.kt": "package a\nprivate fun count(n: Int) = n\nclass Till { private fun close() {} }\n",
        "a/Shop.kt": "package a\nfun start() { count(1); sell() }\n@Slow\nprivate fun sell() {}\n",
        "b/Main.kt": "package b\nimport a.*\nfun main() { sell(); start() }\n",
    }
    check_calls(files, "a/Shop.kt", {"count": "", "sell": "a/Shop.kt::sell"})
    check_calls(files, "b/Main.kt", {"sell": "", "start": "a/Shop.kt::start"})


def test_extensions_of_own_and_standard_types():
    text = """
        package a.main
        import a.shop.*
        import a.tools.Paper.Companion.fold
        fun main(shop: Shop, name: String, n: Int) {
            shop.sell(name.toCart())
            "x".toCart().empty()
            n.toCart()
            "x".fold()
            shop sell cart
        }
        """
    paper = "package a.tools\nclass Paper {\n    companion object {\n        fun String.fold() = Paper()\n    }\n}\n"
    files = {"shop/Shop.kt": SHOP, "Main.kt": text, "Paper.kt": paper}
    check_calls(
        files,
        "Main.kt",
        {
            "shop.sell": "shop/Shop.kt::Shop.sell",
            "name.toCart": "shop/Shop.kt::String.toCart",
            "String().toCart().empty": "shop/Shop.kt::Cart.empty",
            "n.toCart": "",
            "String().fold": "Paper.kt::Paper.String.fold",
        },
    )
    check_calls(files, "shop/Shop.kt", {"pay": "shop/Shop.kt::Shop.pay", "till.count": "shop/Shop.kt::Till.count"})


def test_lambdas_with_an_object_of_their_own():
    text = """
        package a
        class Scope { fun get() = 3 }
        class Module {
            fun single(make: Scope.() -> Unit) {}
        }
        typealias Setup = Module.() -> Unit
        fun module(setup: Setup) = Module()
        fun visit(each: (Module) -> Unit) {}
        class Main(val scope: Scope) {
            fun get() = 4
            val built = module {
                single { get() }
            }
            fun other(m: Module) {
                m.apply {
                    single { }
                }
                visit { it.single { } }
                get()
                val module = module { }
                module.single { }
            }
        }
        """
    graph = CodeGraph.build([parse_file("Main.kt", dedent(text))], "shop")
    edges = {edge.call: edge.qualified_name for edge in graph.call_edges("Main.kt")}
    found = [(call.callee, edges.get(at, "")) for at, call in enumerate(graph.files["Main.kt"].calls)]
    assert [pair for pair in found if pair[0] != "Module"] == [
        ("module", "module"),
        ("single", "Module.single"),
        ("get", "Scope.get"),
        ("m.apply", ""),
        ("single", "Module.single"),
        ("visit", "visit"),
        ("it.single", "Module.single"),
        ("get", "Main.get"),
        ("module", "module"),
        ("module.single", "Module.single"),
    ]


def test_an_extension_of_a_package_that_is_not_imported_is_unknown_in_a_lambda():
    files = {
        "App.kt": "package a\nclass App\nfun app(setup: App.() -> Unit) {}\n",
        "Ext.kt": "package b\nimport a.App\nfun App.start() {}\n",
        "Main.kt": "package c\nimport a.app\nfun start() {}\nfun main() {\n    app {\n        start()\n    }\n}\n",
        "More.kt": "package c\nimport a.app\nimport b.start\nfun more() {\n    app {\n        start()\n    }\n}\n",
    }
    check_calls(files, "Main.kt", {"start": "Main.kt::start"})
    check_calls(files, "More.kt", {"start": "Ext.kt::App.start"})


def test_interfaces_reach_their_implementations():
    text = """
        package a
        interface Seller { fun sell() }
        class Shop : Seller { override fun sell() {} }
        fun main(seller: Seller) { seller.sell() }
        """
    graph = CodeGraph.build([parse_file("Main.kt", dedent(text))], "shop")
    assert [edge.qualified_name for edge in graph.call_edges("Main.kt")] == ["Seller.sell", "Shop.sell"]


def test_expected_and_actual_declarations_are_one_type():
    files = {
        "src/commonMain/Shop.kt": "package a\nexpect class Shop() {\n    fun pay(): Int\n}\n",
        "src/jvmMain/Shop.kt": "package a\nactual class Shop {\n    actual fun pay() = 3\n    fun close() {}\n}\n",
        "src/jvmTest/Main.kt": "package a\nfun main() {\n    Shop().close()\n}\n",
    }
    check_calls(files, "src/jvmTest/Main.kt", {"Shop().close": "src/jvmMain/Shop.kt::Shop.close"})


def test_java_and_kotlin_call_each_other():
    files = {
        "Shop.java": "package a;\npublic class Shop {\n    public void pay() {}\n}\n",
        "Main.kt": "package a\nfun main(shop: Shop) {\n    shop.pay()\n}\n",
    }
    check_calls(files, "Main.kt", {"shop.pay": "Shop.java::Shop.pay"})


def test_a_function_of_another_file_has_the_name_of_a_type():
    files = {
        "a/Module.kt": "package a\nsealed class Module\nclass Builder { fun put(n: Int) {} }\ninterface Shop\n",
        "a/Builders.kt": """
            package a
            fun Module(build: Builder.() -> Unit): Module = TODO()
            fun Shop(n: Int): Shop = TODO()
        """,
        "main.kt": """
            package main
            import a.*
            fun main() {
                Module { put(1) }
                Shop(2)
            }
        """,
    }
    expected = {"put": "a/Module.kt::Builder.put", "Shop": "a/Builders.kt::Shop", "Module": "a/Module.kt::Module"}
    check_calls(files, "main.kt", expected)
    graph = CodeGraph.build([parse_file(name, dedent(text)) for name, text in files.items()], "shop")
    assert "a/Builders.kt" in [edge.path for edge in graph.call_edges("main.kt") if edge.qualified_name == "Module"]
