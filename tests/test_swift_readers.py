"""Text in, facts of Swift out: definitions, bindings and calls, also in texts that end at a cursor."""

from __future__ import annotations

from textwrap import dedent

import pytest
from reader_facts import bindings, definitions
from weft.codegraph import FileGraph, parse_file


def parsed(text: str) -> FileGraph:
    return parse_file("Shop.swift", dedent(text))


def check_definitions(text: str, expected: str) -> None:
    assert definitions(parsed(text)) == dedent(expected).strip().splitlines()


def check_bindings(text: str, expected: str) -> None:
    assert bindings(parsed(text)) == dedent(expected).strip().splitlines()


def callees(statement: str) -> list[str]:
    return [call.callee for call in parsed(f"func f() {{\n{statement}\n}}\n").calls]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("Shop", "Shop"),
        ("Shop?", "Shop"),
        ("Shop!", "Shop"),
        ("(Shop)?", "Shop"),
        ("any Seller", "Seller"),
        ("some Seller & Other", "Seller"),
        ("Shop.Till", "Shop.Till"),
        ("Box<Shop>", "Box"),
        ("[Shop]", "Shop[]"),
        ("[String: Shop]?", "Shop[]"),
        ("Set<Shop>", "Shop[]"),
        ("Dictionary<String, Shop>", "Shop[]"),
        ("Optional<Shop>", "Shop"),
        ("[[Shop]]", ""),
        ("(Shop, Int)", ""),
        ("(Shop) -> Shop", ""),
    ],
)
def test_a_type_is_reduced_to_one_name(written: str, text: str):
    check_bindings(f"var x: {written}\n", f"x: {text}" if text else "x = ?")


def test_types_members_and_extensions():
    check_definitions(
        """
        class Shop<T: Till>: Base, Seller {
            let name: String
            var total: Int { carts.count() }
            init(name: String) {}
            func pay(_ n: Int) throws -> Bill { Bill() }
            subscript(i: Int) -> Cart { carts[i] }
            struct Inner {}
        }
        extension Shop: Closing {
            func close() {}
        }
        extension [String] {
            func join() {}
        }
        protocol Seller: AnyObject, Base {
            var till: Till { get }
            func sell() -> Cart
        }
        enum Kind: String { case a, b }
        actor Worker {}
        typealias Shops = [Shop]
        """,
        """
        class Shop(Base, Seller)
        method Shop.total -> Int
        constructor Shop.init -> Self
        method Shop.pay -> Bill
        method Shop.subscript -> Cart
        struct Shop.Inner
        extension Shop(Closing)
        method Shop.close
        extension Array
        method Array.join
        interface Seller(Base)
        method Seller.sell -> Cart
        enum Kind(String)
        class Worker
        type Shops(Shop[])
        """,
    )


def test_properties_and_parameters_have_types_or_values():
    check_bindings(
        """
        class Shop {
            private var till: Till?
            lazy var store = Store()
            static let all: [Shop] = []
            func pay(_ n: Cart, with rates: Rate..., then: @escaping (Bill) -> Void) {}
        }
        enum Kind { case a, b(Shop) }
        """,
        """
        Shop | self.till: Till
        Shop | self.store = Store()
        Shop | self.all: Shop[]
        Shop.pay | n: Cart
        Shop.pay | rates: Rate[]
        Shop.pay | then = ?
        Shop.pay | #: Bill
        Kind | self.a: Kind
        Kind | self.b: Kind
        """,
    )


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("let x = Shop(1)", "x = Shop()"),
        ("let x = try await shop.load()", "x = shop.load()"),
        ("let x = shop?.till!.cart", "x = shop.till.cart"),
        ("let x = y as? Shop", "x: Shop"),
        ("let x = a ? Shop() : Till()", "x = Shop()"),
        ("let x = a ?? Shop()", "x = a"),
        ("let x = [Shop]()", "x: Shop[]"),
        ("let x = shops[0]", "x = shops[]"),
        ("let x = .init(3)", "x = ?"),
        ("let (a, b) = pair()", "a = ?|b = ?"),
        ("if let x = shop.till { x.pay() }", "x = shop.till"),
        ("if let x { x.pay() }", ""),
        ("guard let x = f(), let y = x as? Shop else { return }", "x = f()|y: Shop"),
        ("if case .a(let x) = y { x.pay() }", "x = ?"),
        ("for x in shop.carts { x.pay() }", "x = shop.carts[]"),
        ("for (k, v) in shops { v.pay() }", "k = ?|v = shops[]"),
        ("shops.forEach { $0.pay() }", "$0 = shops[]"),
        ("shops.map { x in x.pay() }", "x = shops[]"),
        ("shops.map { (x: Shop) -> Int in x.pay() }", "x: Shop"),
        ("visit(3) { x, y in x.pay() }", "x = visit.#|y = visit.##1"),
        ("switch x { case let s as Shop: s.pay()\ncase .a(let t): t.pay()\ndefault: break }", "s: Shop|t = ?"),
        ("do { try f() } catch let e as Bad { e.pay() }", "e: Bad"),
    ],
)
def test_values_of_variables(statement: str, expected: str):
    found = bindings(parsed(f"func f() {{\n{statement}\n}}\n"))
    assert [line.removeprefix("f | ") for line in found] == [line for line in expected.split("|") if line]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("shop.pay(1)", "shop.pay"),
        ("shop?.till!.pay()", "shop.till.pay"),
        ("shop.each { a() }.pay()", "shop.each().pay shop.each a"),
        ("let x = shop.each(1) { a() }", "shop.each a"),
        ("self.pay(); super.pay(); Self.open()", "self.pay super.pay Self.open"),
        ("(try await shop.load()).pay()", "shop.load().pay shop.load"),
        ("(x as! Shop).pay()", "Shop().pay"),
        ("shops[0].pay()", "shops[].pay"),
        ('print("x \\(shop.pay(1)) y")', "print shop.pay"),
        ("sell(.make(3))", "sell ?.make"),
        ("Shop.init(3)", "Shop.init"),
    ],
)
def test_callees(statement: str, expected: str):
    assert sorted(callees(statement)) == sorted(expected.split())


WHOLE = """\
import Foundation

class Shop: Base {
    private let till: Till
    var carts: [Cart] = []

    init(till: Till) {
        self.till = till
    }

    func pay(_ cart: Cart) -> Bill {
        let bill = till.open()
        carts.forEach { item in
            if let large = item as? Large {
                large.pack("a \\(item.size())")
            }
        }
        guard let paid = bill.paid else { return bill }
        return paid.all(
            till,
            cart
        )
    }
}
"""


@pytest.mark.parametrize("n_lines", range(4, WHOLE.count("\n")))
def test_facts_above_a_cursor_are_those_of_the_whole_file(n_lines: int):
    whole, cut = parsed(WHOLE), parse_file("Shop.swift", "".join(WHOLE.splitlines(keepends=True)[:n_lines]))
    assert cut.n_lines == n_lines
    wanted = {d.qualified_name for d in whole.definitions if d.header_line < n_lines}
    assert {d.qualified_name for d in cut.definitions} == wanted
    known = {(b.name, b.value) for b in whole.bindings if b.line < n_lines - 1 and b.value}
    assert known <= {(b.name, b.value) for b in cut.bindings}


@pytest.mark.parametrize("at", range(40, len(WHOLE) - 8, 3))
def test_a_text_that_ends_within_a_line_keeps_its_class(at: int):
    cut = parse_file("Shop.swift", WHOLE[:at])
    assert cut.n_lines == len(WHOLE[:at].splitlines())
    assert cut.definitions[0].qualified_name == "Shop"
