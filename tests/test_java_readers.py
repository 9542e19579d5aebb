"""Text in, facts of Java out: packages, types, bindings and inheritance, also in texts that end at a cursor."""

from __future__ import annotations

from textwrap import dedent

import pytest
from reader_facts import bindings, definitions, lines
from weft.codegraph import FileGraph, parse_file


def parsed(text: str) -> FileGraph:
    return parse_file("a.java", dedent(text))


def check_definitions(text: str, expected: str) -> None:
    assert sorted(definitions(parsed(text))) == lines(expected)


def check_bindings(text: str, expected: str) -> None:
    assert sorted(bindings(parsed(text))) == lines(expected)


def in_method(statement: str) -> FileGraph:
    return parsed(f"class A {{ void f() {{\n{statement}\n}} }}\n")


def check_local(statement: str, *expected: str) -> None:
    """The bindings of one statement in a method."""
    assert [line.removeprefix("A.f | ") for line in bindings(in_method(statement))] == list(expected)


def callees(statement: str) -> list[str]:
    return [call.callee for call in in_method(statement).calls]


# Packages and imports


def test_packages_and_imports_are_read():
    file = parsed("""
        package org.shop . till;
        import java.util.List;
        import static org.shop.Money.round;
        import org.shop.cart.*;
        import static org.shop.Money.*;
        """)
    assert file.package == "org.shop.till"
    assert [(item.local_name, item.module, item.name) for item in file.imports] == [
        ("List", "java.util", "List"),
        ("round", "org.shop.Money", "round"),
        ("", "org.shop.cart", "*"),
        ("", "org.shop.Money", "*"),
    ]
    assert parsed("class A {}").package == ""


# Types


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("Shop", "Shop"),
        ("Outer.Shop", "Outer.Shop"),
        ("org.shop.Shop", "org.shop.Shop"),
        ("Box<Shop>", "Box"),
        ("Outer<T>.Inner<U>", "Outer.Inner"),
        ("@Nullable Shop", "Shop"),
        ("Shop[]", "Shop[]"),
        ("Shop[][]", ""),
        ("List<Shop>", "Shop[]"),
        ("java.util.List<Shop>", "Shop[]"),
        ("List<? extends Shop>", "Shop[]"),
        ("List<?>", "Object[]"),
        ("List<Set<Shop>>", "Set[]"),
        ("List", "List"),
        ("Map<String, Shop>", "Shop[]"),
        ("Map.Entry<String, Shop>", "Shop"),
        ("Optional<Shop>", "Shop"),
        ("Supplier<Optional<Shop>>", "Shop"),
        ("Optional<List<Shop>>", "Shop[]"),
        ("int", ""),
        ("int[]", "Object"),
        ("String", "String"),
    ],
)
def test_a_type_is_reduced_to_the_class_that_it_holds(written: str, text: str):
    check_local(f"{written} x;", f"x: {text}" if text else "x = ?")


def test_classes_have_bases_and_methods_have_results():
    check_definitions(
        """
        public class Shop<T> extends Base<T> implements Open, Iterable<Cart> {
            Shop(int n) {}
            static Shop open() { return null; }
            List<Cart> carts() { return null; }
            void pay(int a) {}
            void pay(String a) {}
            int sizes()[] { return null; }
        }
        interface Open extends Door, Gate { Key key(); default void lock() {} }
        @interface Mark { Shop[] value(); }
        """,
        """
        class Shop(Base, Open, Iterable, Cart[])
        constructor Shop.Shop
        method Shop.open -> Shop
        method Shop.carts -> Cart[]
        method Shop.pay
        method Shop.pay
        method Shop.sizes
        interface Open(Door, Gate)
        method Open.key -> Key
        method Open.lock
        interface Mark
        method Mark.value -> Shop[]
        """,
    )


def test_the_components_of_a_record_are_methods():
    text = """
        record Cart(Shop shop, Item... items) implements Priced {
            Cart { check(); }
            Cart(Shop shop) { this(shop, none()); }
        }
        """
    check_definitions(
        text,
        """
        record Cart(Priced)
        method Cart.shop -> Shop
        method Cart.items -> Item[]
        constructor Cart.Cart
        constructor Cart.Cart
        """,
    )
    check_bindings(text, "Cart.Cart | shop: Shop")
    assert [call.callee for call in parsed(text).calls] == ["check", "Cart", "none"]


def test_an_enum_constant_is_an_object_and_one_with_a_body_a_class():
    text = """
        enum Sign implements Op {
            PLUS(1) { int apply(int a) { return a; } },
            MINUS(2),
            NONE;
            Sign(int n) {}
        }
        """
    check_definitions(
        text,
        """
        enum Sign(Op)
        class Sign.PLUS(Sign)
        method Sign.PLUS.apply
        constructor Sign.Sign
        """,
    )
    check_bindings(
        text,
        """
        Sign | self.MINUS: Sign
        Sign | self.NONE: Sign
        Sign.PLUS.apply | a = ?
        Sign.Sign | n = ?
        """,
    )
    assert [call.callee for call in parsed(text).calls] == ["Sign", "Sign"]


def test_anonymous_classes_are_classes():
    text = """
        class A {
            @Mark
            static final Reader READER = new Reader() { public void read() { help(); } };
            Writer make(int n) {
                Closer closer = new Closer(n) { void close() {} };
                return new Writer<Shop>(n) {
                    @Override void write() { super.write(); }
                };
            }
        }
        """
    check_definitions(
        text,
        """
        class A
        class A.READER(Reader)
        method A.READER.read
        method A.make -> Writer
        class A.make.closer(Closer)
        method A.make.closer.close
        class A.make.$Writer(Writer)
        method A.make.$Writer.write
        """,
    )
    check_bindings(text, "A.make | n = ?")
    reader = parsed(text).definitions[1]
    assert (reader.start_line, reader.header_line, reader.end_line) == (2, 3, 4)


def test_a_definition_begins_at_its_annotations():
    file = parsed("""\
        @Mark(1)
        @Other
        public
        class Shop {
            @Test
            void pay() {}
        }
        """)
    assert [(d.start_line, d.header_line, d.end_line) for d in file.definitions] == [(0, 3, 7), (4, 5, 6)]


# Bindings


def test_fields_and_parameters_have_their_declared_types():
    check_bindings(
        """
        class Shop<T extends Item & Priced, U> {
            private final Store store = open(), other[];
            static int count;
            Map<String, Cart> carts;
            <V extends Cart> void pay(final V cart, @Nullable Item item, Coin... coins) {}
        }
        interface Limits { Limit MAX = new Limit(); }
        """,
        """
        Shop | T = Item
        Shop | U = Object
        Shop | self.store: Store
        Shop | self.other: Store[]
        Shop | self.count = ?
        Shop | self.carts: Cart[]
        Shop.pay | V = Cart
        Shop.pay | cart: V
        Shop.pay | item: Item
        Shop.pay | coins: Coin[]
        Limits | self.MAX: Limit
        """,
    )


@pytest.mark.parametrize(
    ("value", "bound"),
    [
        ("new Shop(1)", "x = Shop()"),
        ("new ns.Shop()", "x = ns.Shop()"),
        ("outer.new Shop()", "x = outer.Shop()"),
        ("new Box<Shop>()", "x = Box()"),
        ("new ArrayList<Shop>()", "x: Shop[]"),
        ("new ArrayList<>()", "x = ArrayList()"),
        ("new Shop[3]", "x: Shop[]"),
        ("open()", "x = open()"),
        ("shop.open(1).cart()", "x = shop.open().cart()"),
        ("this.cart", "x = this.cart"),
        ("carts[0]", "x = carts[]"),
        ("(Shop) y", "x: Shop"),
        ("((Shop) y).cart", "x = Shop().cart"),
        ("a ? b : c()", "x = b"),
        ('"a"', "x: String"),
        ("Shop.class", "x: Class"),
        ("1 + 2", "x = ?"),
        ("() -> 1", "x = ?"),
    ],
)
def test_var_has_the_type_of_its_value(value: str, bound: str):
    assert bindings(in_method(f"var x = {value};"))[0].removeprefix("A.f | ") == bound


def test_statements_and_patterns_bind_names():
    check_local("for (Shop s : shops) s.pay();", "s: Shop")
    check_local("for (var s : store.shops()) {}", "s = store.shops()[]")
    check_local("for (int i = 0;;) {}", "i = ?")
    check_local("try (Shop a = open(); var b = open()) {} catch (X | Y e) {} catch (Z e) {}", "a: Shop", "b = open()",
                "e: X", "e: Y", "e: Z")  # fmt: skip
    check_local("if (x instanceof final Shop s && s.open()) {}", "s: Shop")
    check_local("if (x instanceof Cart(Shop s, var n)) {}", "s: Shop", "n = ?")
    check_local("switch (x) { case Shop s when s.open() -> {} case Cart(Item i) -> {} default -> {} }", "s: Shop",
                "i: Item")  # fmt: skip
    check_local("Shop a = open(), b = a;", "a: Shop", "b: Shop")


@pytest.mark.parametrize(
    ("call", "bound"),
    [
        ("shops.forEach(s -> {})", ["s = shops[]", "s = shops"]),
        ("shops.stream().filter(s -> s.open())", ["s = shops[]"]),
        ("store.shops().stream().sorted((a, b) -> 1)", ["a = store.shops()[]", "b = store.shops()[]"]),
        ("shops.stream().map(Shop::cart).forEach(c -> {})", ["c = Shop.cart()"]),
        ("shops.stream().map(s -> s.cart()).forEach(c -> {})", ["c = shops[].cart()", "s = shops[]"]),
        ("shops.stream().flatMap(Shop::carts).forEach(c -> {})", ["c = Shop.carts()[]"]),
        ("Arrays.stream(shops).anyMatch(s -> true)", ["s = shops[]"]),
        ("Arrays.stream(Coin.values()).filter(c -> true)", ["c = Coin()"]),
        ("Stream.of(a, b).forEach(s -> {})", ["s = a"]),
        ("found.ifPresent(s -> {})", ["s = found[]", "s = found"]),
        ("shops.stream().findFirst().map(s -> 1)", ["s = shops.stream().findFirst()",
                                                    "s = shops.stream().findFirst()[]"]),
        ("map.forEach((k, v) -> {})", ["k = ?", "v = map[]", "v = map"]),
        ("shops.stream().collect(Collectors.groupingBy(s -> s.city()))", ["s = shops[]"]),
        ("shops.sort(Comparator.comparing(s -> s.city()))", ["s = shops[]", "s = shops"]),
        ("run(1, (Shop s, var n) -> {})", ["s = run.#1", "n = run.#1#1"]),
        ("run((Shop s) -> {})", ["s: Shop"]),
        ("run(s -> {})", ["s = run.#0"]),
        ("shop.run(s -> {})", ["s = shop.run.#0"]),
        ("new Shop(s -> {})", ["s = Shop.#0"]),
        ("(a + b).run(s -> {})", ["s = ?"]),
    ],
)  # fmt: skip
def test_the_parameters_of_lambdas_are_elements(call: str, bound: list[str]):
    check_local(f"{call};", *bound)


def test_the_parameters_of_a_lambda_in_a_variable_have_the_types_of_its_interface():
    check_local("Predicate<Shop> p = s -> s.open();", "p: Predicate", "s: Shop")
    check_local("BiFunction<Shop, List<Cart>, Coin> p = (s, c) -> null;", "p: BiFunction", "s: Shop", "c: Cart[]")


def test_a_function_binds_what_it_gives_to_functions():
    check_bindings(
        "class A { void f(int n, Consumer<Shop> f, BiFunction<Cart, ?, Coin> g) {} }",
        """
        A.f | n = ?
        A.f | f: Consumer
        A.f | #1: Shop
        A.f | g: BiFunction
        A.f | #2: Cart
        A.f | #2#1: Object
        """,
    )


# Calls


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("pay()", ["pay"]),
        ("shop.pay(1)", ["shop.pay"]),
        ("this.<T>pay()", ["this.pay"]),
        ("super.pay()", ["super.pay"]),
        ("Outer.this.pay()", ["Outer().pay"]),
        ("Door.super.pay()", ["Door().pay"]),
        ("new Shop<T>(1).pay()", ["Shop().pay", "Shop"]),
        ("((Shop) x).pay()", ["Shop().pay"]),
        ("(a ? b : c).pay()", ["b.pay"]),
        ("carts[0].pay()", ["carts[].pay"]),
        ('Coin.valueOf("x").pay()', ["Coin().pay", "Coin.valueOf"]),
        ('"a".length()', ["String().length"]),
        ("Shop.class.getName()", ["Class().getName"]),
        ("shop.getClass().getName()", ["Class().getName", "shop.getClass"]),
        ("(a + b).pay()", ["?.pay"]),
        ("run(Shop::pay, this::pay, Shop::new, Shop[]::new, a.b()::pay)",
         ["run", "Shop.pay", "this.pay", "Shop", "a.b().pay", "a.b"]),
        ("outer.new Inner()", ["outer.Inner"]),
    ],
)  # fmt: skip
def test_calls_have_dotted_callees(expression: str, expected: list[str]):
    assert callees(f"{expression};") == expected


def test_constructors_call_others():
    file = parsed("class A extends B { A() { this(1); } A(int a) { super(a); } }")
    assert {call.callee for call in file.calls} == {"A", "super"}


# Unfinished texts

SHOP = """\
package a.b;
import a.c.Cart;
@Mark
public class Shop<T extends Item> extends Base implements Open {
  private Store store;
  public Shop(Store store, List<Cart> carts) { this.store = store; }
  @Override
  public <U> Cart make(U u, T t) throws Error {
    var made = new Cart(1);
    Reader reader = new Reader() {
      @Override
      public Coin read(Door in) {
        for (Cart cart : store.carts()) {
          if (cart instanceof Big big) {
            cart.items().forEach(item -> {
              try (Door door = open()) {
"""


def test_a_text_that_ends_at_a_cursor_has_the_facts_above_it():
    check_definitions(
        SHOP + "item.pa",
        """
        class Shop(Base, Open)
        constructor Shop.Shop
        method Shop.make -> Cart
        class Shop.make.reader(Reader)
        method Shop.make.reader.read -> Coin
        """,
    )
    check_bindings(
        SHOP + "item.pa",
        """
        Shop | T = Item
        Shop | self.store: Store
        Shop.Shop | store: Store
        Shop.Shop | carts: Cart[]
        Shop.make | U = Object
        Shop.make | u: U
        Shop.make | t: T
        Shop.make | made = Cart()
        Shop.make.reader.read | in: Door
        Shop.make.reader.read | cart: Cart
        Shop.make.reader.read | big: Big
        Shop.make.reader.read | item = cart.items()[]
        Shop.make.reader.read | item = cart.items()
        Shop.make.reader.read | door: Door
        """,
    )
    file = parsed(SHOP + "item.pa")
    assert file.package == "a.b" and [item.name for item in file.imports] == ["Cart"]
    assert [(d.start_line, d.header_line) for d in file.definitions] == [(2, 3), (5, 5), (6, 7), (9, 9), (10, 11)]


@pytest.mark.parametrize(
    "end", ["", "shop", "shop.", "shop.pay(", "shop.pay(a, ", "var x = ", "if (", "return ", "new"]
)
def test_the_end_of_the_text_changes_no_facts_above(end: str):
    text = "record Cart(Shop shop) implements Priced {\n  Coin[] pay(Shop shop, Item... items) {\n    "
    assert definitions(parsed(text + end))[:3] == [
        "record Cart(Priced)",
        "method Cart.shop -> Shop",
        "method Cart.pay -> Coin[]",
    ]
    assert bindings(parsed(text + end))[:2] == ["Cart.pay | shop: Shop", "Cart.pay | items: Item[]"]


def test_an_unfinished_return_of_an_anonymous_class_is_a_class():
    text = (
        "class A {\n  Reader make() {\n    return new Reader<Shop>(1) {\n      public void read(Door in) {\n        in."
    )
    check_definitions(
        text, "class A\nmethod A.make -> Reader\nclass A.make.$Reader(Reader)\nmethod A.make.$Reader.read"
    )
