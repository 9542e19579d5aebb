"""Calls of Swift over small repositories: which definition each call means."""

from __future__ import annotations

from textwrap import dedent

from weft.codegraph import CodeGraph, parse_file


def check_calls(files: dict[str, str], path: str, expected: dict[str, str]) -> None:
    """The first targets of calls in a file by their callees; "" for a call without one."""
    graph = CodeGraph.build([parse_file(name, dedent(text)) for name, text in files.items()], "shop")
    edges = {edge.call: f"{edge.path}::{edge.qualified_name}" for edge in reversed(graph.call_edges(path))}
    found = {call.callee: edges.get(at, "") for at, call in enumerate(graph.files[path].calls)}
    assert {callee: found[callee] for callee in expected} == expected


FILES = {
    "Shop.swift": """\
        class Base {
            func close() {}
            func with(_ n: Int) -> Self { self }
        }
        class Shop: Base {
            let till: Till
            var carts: [Cart] = []
            init(till: Till) { self.till = till }
            func pay() -> Bill { Bill() }
            static let shared = Shop(till: Till())
        }
        struct Till { var first: Cart { Cart() } }
        struct Cart { func empty() {} }
        struct Bill { func show() {} }
        """,
    "Shop+Sell.swift": """\
        extension Shop: Seller {
            func sell() { pay(); close(); till.first.empty() }
        }
        extension String {
            func toCart() -> Cart { Cart() }
        }
        protocol Seller { func sell() }
        extension Seller { func sellTwice() { sell() } }
        """,
}


def test_types_of_properties_variables_and_results():
    text = """
        func main(shop: Shop?, name: String, each: (Cart) -> Void) {
            shop?.pay().show()
            shop!.till.first.empty()
            shop.close()
            Shop.shared.sell()
            shop.sellTwice()
            shop.with(3).pay()
            for cart in shop.carts { cart.empty() }
            shop.carts.first?.empty()
            shop.carts.filter { $0.empty() }
            if let other = shop as? Shop { other.sell() }
            name.toCart()
            let made = Shop(till: Till())
            made.pay()
            URL(name)
        }
        """
    check_calls(
        {**FILES, "Main.swift": text},
        "Main.swift",
        {
            "shop.pay": "Shop.swift::Shop.pay",
            "shop.pay().show": "Shop.swift::Bill.show",
            "shop.till.first.empty": "Shop.swift::Cart.empty",
            "shop.close": "Shop.swift::Base.close",
            "Shop.shared.sell": "Shop+Sell.swift::Shop.sell",
            "shop.sellTwice": "Shop+Sell.swift::Seller.sellTwice",
            "shop.with().pay": "Shop.swift::Shop.pay",
            "cart.empty": "Shop.swift::Cart.empty",
            "shop.carts.first.empty": "Shop.swift::Cart.empty",
            "$0.empty": "Shop.swift::Cart.empty",
            "other.sell": "Shop+Sell.swift::Shop.sell",
            "name.toCart": "Shop+Sell.swift::String.toCart",
            "made.pay": "Shop.swift::Shop.pay",
            "Shop": "Shop.swift::Shop",
            "URL": "",
        },
    )


def test_members_of_a_type_are_known_in_its_extensions():
    check_calls(
        FILES,
        "Shop+Sell.swift",
        {
            "pay": "Shop.swift::Shop.pay",
            "close": "Shop.swift::Base.close",
            "till.first.empty": "Shop.swift::Cart.empty",
            "sell": "Shop+Sell.swift::Seller.sell",
        },
    )


def test_a_type_from_outside_is_not_its_extension():
    files = {
        "Ext.swift": "extension URLRequest {\n    init(shop: Int) {}\n    func send() {}\n}\n",
        "Main.swift": "func main() {\n    let r = URLRequest(3)\n    r.send()\n}\n",
    }
    check_calls(files, "Main.swift", {"URLRequest": "", "r.send": "Ext.swift::URLRequest.send"})
