"""Which definition does a call in Java lead to? Small repositories as text, one behaviour each."""

from __future__ import annotations

from textwrap import dedent

from weft.codegraph import CodeGraph, parse_file


def repository(text: str) -> CodeGraph:
    """Files under `#- path` headers; the first line of a file declares its package."""
    files: dict[str, list[str]] = {}
    for line in dedent(text).strip("\n").split("\n"):
        if line.startswith("#- "):
            files[line[3:].strip()] = []
        else:
            files[list(files)[-1]].append(line)
    return CodeGraph.build(parse_file(path, "\n".join(lines) + "\n") for path, lines in files.items())


def calls(text: str, path: str = "src/Main.java") -> list[str]:
    """The edges of a file as `pay -> Shop.java::Shop.pay`."""
    graph = repository(text)
    found = graph.files[path].calls
    edges = graph.call_edges(path)
    return sorted(f"{found[e.call].callee} -> {e.path.rpartition('/')[2]}::{e.qualified_name}" for e in edges)


SHOP = """
#- src/shop/Shop.java
package org.shop;
public class Shop extends Store implements Priced, Iterable<Item> {
    public static final Shop MAIN = open();
    final Cart cart = new Cart();
    Shop(int n) { super(n); }
    Shop() { this(1); }
    public static Shop open() { return null; }
    public List<Item> items() { return null; }
    public Optional<Item> first() { return null; }
    public int price() { return 1; }
    public static class Door { void shut() {} }
    class Key { void turn() { lock(); Shop.this.price(); } }
}
#- src/shop/Store.java
package org.shop;
class Store { Store(int n) {} protected void lock() {} Item last; void size() {} }
#- src/shop/Item.java
package org.shop;
import org.money.Coin;
public class Item { public Coin coin() { return null; } void size() {} void equip() {} void equipAll() {} }
#- src/shop/Cart.java
package org.shop;
public record Cart(Item item, int count) { public int total() { return item.coin().value() + item().coin().value(); } }
#- src/shop/Priced.java
package org.shop;
public interface Priced { int price(); default void show() { price(); } }
#- src/money/Coin.java
package org.money;
public enum Coin { CENT { int value() { return 1; } }, EURO; int value() { return 100; } static Coin of(int n) { return null; } }
"""  # noqa: E501


def check(main: str, *expected: str) -> None:
    """The calls of a class in the package org.main resolve to exactly these edges."""
    assert calls(f"{SHOP}#- src/Main.java\npackage org.main;\n{dedent(main).strip()}\n") == sorted(expected)


def check_method(body: str, *expected: str) -> None:
    imports = "import org.shop.*;\nimport org.money.Coin;\n"
    check(f"{imports}class Main {{\n  void main(Shop shop) {{\n    {body}\n  }}\n}}", *expected)


# Packages and imports


def test_a_class_is_imported_by_its_declared_package_wherever_its_file_is():
    check(
        "import org.shop.Shop;\nimport org.other.Item;\nclass Main { void f() { Shop.open(); Item.coin(); } }",
        "Shop.open -> Shop.java::Shop.open",
    )


def test_a_star_import_brings_the_classes_of_a_package():
    check(
        "import org.shop.*;\nclass Main { void f() { Shop.open(); Coin.of(1); } }", "Shop.open -> Shop.java::Shop.open"
    )


def test_static_imports_bring_members():
    check(
        """
        import static org.shop.Shop.open;
        import static org.money.Coin.*;
        import org.shop.Shop.Door;
        class Main { void f() { open(); of(1); EURO.value(); new Door().shut(); } }
        """,
        "open -> Shop.java::Shop.open",
        "of -> Coin.java::Coin.of",
        "EURO.value -> Coin.java::Coin.value",
        "Door -> Shop.java::Shop.Door",
        "Door().shut -> Shop.java::Shop.Door.shut",
    )


def test_a_qualified_name_needs_no_import():
    check(
        "class Main { void f(org.shop.Item item) { org.shop.Shop.open(); item.coin(); } }",
        "org.shop.Shop.open -> Shop.java::Shop.open",
        "item.coin -> Item.java::Item.coin",
    )


def test_the_files_of_a_package_see_each_other_and_no_others():
    assert calls(SHOP, "src/shop/Cart.java") == [
        "item -> Cart.java::Cart.item",
        "item().coin -> Item.java::Item.coin",
        "item().coin().value -> Coin.java::Coin.value",
        "item.coin -> Item.java::Item.coin",
        "item.coin().value -> Coin.java::Coin.value",
    ]


# Members


def test_members_are_inherited_and_this_and_super_are_objects():
    assert calls(SHOP, "src/shop/Shop.java") == sorted(
        [
            "open -> Shop.java::Shop.open",
            "Cart -> Cart.java::Cart",
            "super -> Store.java::Store",
            "super -> Store.java::Store.Store",
            "Shop -> Shop.java::Shop",
            "Shop -> Shop.java::Shop.Shop",
            "Shop().price -> Shop.java::Shop.price",
            "lock -> Store.java::Store.lock",
        ]
    )
    check(
        """
        import org.shop.Shop;
        class Main extends Shop {
            int price() { super.price(); this.lock(); size(); return last.coin() == null ? 0 : Main.this.cart.total(); }
            void open() { Shop.open(); }
        }
        """,
        "super.price -> Shop.java::Shop.price",
        "this.lock -> Store.java::Store.lock",
        "size -> Store.java::Store.size",
        "last.coin -> Item.java::Item.coin",
        "Main().cart.total -> Cart.java::Cart.total",
        "Shop.open -> Shop.java::Shop.open",
    )


def test_a_call_of_an_interface_method_reaches_its_implementations():
    check_method(
        "Priced p = shop; p.price(); p.show();",
        "p.price -> Priced.java::Priced.price",
        "p.price -> Shop.java::Shop.price",
        "p.show -> Priced.java::Priced.show",
    )


def test_enum_constants_and_their_bodies():
    check_method(
        "Coin.EURO.value(); Coin.CENT.value(); Coin c = Coin.of(1); c.value();",
        "Coin.EURO.value -> Coin.java::Coin.value",
        "Coin.CENT.value -> Coin.java::Coin.CENT.value",
        "Coin.of -> Coin.java::Coin.of",
        "c.value -> Coin.java::Coin.value",
    )


def test_an_anonymous_class_has_its_own_and_inherited_members():
    check_method(
        "Store s = new Store(1) { void own() { lock(); help(); } void help() {} }; s.help(); s.lock();",
        "Store -> Store.java::Store",
        "Store -> Store.java::Store.Store",
        "s.help -> Main.java::Main.main.s.help",
        "s.lock -> Store.java::Store.lock",
        "lock -> Store.java::Store.lock",
        "help -> Main.java::Main.main.s.help",
    )


# Types


def test_values_have_the_types_of_constructors_calls_and_fields():
    check_method(
        "var a = Shop.open(); a.price(); var b = new Shop(2); b.lock(); var c = shop.cart; c.total();"
        " ((Item) d).coin();",
        "Shop.open -> Shop.java::Shop.open",
        "a.price -> Shop.java::Shop.price",
        "Shop -> Shop.java::Shop",
        "Shop -> Shop.java::Shop.Shop",
        "b.lock -> Store.java::Store.lock",
        "c.total -> Cart.java::Cart.total",
        "Item().coin -> Item.java::Item.coin",
    )


def test_elements_of_collections_and_values_of_optionals():
    check_method(
        "for (var i : shop.items()) i.coin(); for (var i : shop) i.equip(); shop.items().get(0).coin();",
        "i.coin -> Item.java::Item.coin",
        "shop.items -> Shop.java::Shop.items",
        "i.equip -> Item.java::Item.equip",
        "shop.items().get().coin -> Item.java::Item.coin",
        "shop.items -> Shop.java::Shop.items",
    )
    check_method(
        "shop.first().orElseThrow().equip(); shop.first().ifPresent(i -> i.coin());",
        "shop.first().orElseThrow().equip -> Item.java::Item.equip",
        "shop.first -> Shop.java::Shop.first",
        "shop.first -> Shop.java::Shop.first",
        "i.coin -> Item.java::Item.coin",
    )


def test_lambdas_and_method_references_of_streams():
    check_method(
        "shop.items().stream().filter(i -> i.coin() != null).map(Item::coin).forEach(c -> c.value());",
        "Item.coin -> Item.java::Item.coin",
        "c.value -> Coin.java::Coin.value",
        "i.coin -> Item.java::Item.coin",
        "shop.items -> Shop.java::Shop.items",
    )


def test_lambdas_get_what_a_function_gives():
    check(
        """
        import org.shop.*;
        class Main {
            void each(int n, Consumer<Item> f) {}
            void main() { each(1, i -> i.coin()); this.each(2, i -> i.equip()); }
        }
        """,
        "each -> Main.java::Main.each",
        "i.coin -> Item.java::Item.coin",
        "i.equip -> Item.java::Item.equip",
        "this.each -> Main.java::Main.each",
    )


def test_patterns_bind_types():
    check_method(
        "if (x instanceof Item i && i.coin() != null) {} switch (x) { case Cart(Item j, int n) -> j.equip(); }",
        "i.coin -> Item.java::Item.coin",
        "j.equip -> Item.java::Item.equip",
    )


# Names


def test_a_called_name_is_no_variable_and_a_variable_no_method():
    check(
        """
        import org.shop.*;
        class Main {
            Item item;
            Shop item() { Item shop = shop(); shop.coin(); item.coin(); item().price(); return null; }
            Item shop() { return null; }
        }
        """,
        "shop -> Main.java::Main.shop",
        "shop.coin -> Item.java::Item.coin",
        "item.coin -> Item.java::Item.coin",
        "item().price -> Shop.java::Shop.price",
        "item -> Main.java::Main.item",
    )


def test_a_class_is_no_constructor_where_a_type_is_meant():
    check(
        "class Main { Main(int n) {} static Main make() { return new Main(1); }\n"
        "void f(Main m) { m.f(m); Main.make(); } }",
        "Main -> Main.java::Main",
        "Main -> Main.java::Main.Main",
        "m.f -> Main.java::Main.f",
        "Main.make -> Main.java::Main.make",
    )


def test_a_type_parameter_is_its_bound_or_from_outside():
    check(
        "import org.shop.*;\nclass Main<T extends Item, Shop> { T t; Shop shop; void f() { t.coin(); shop.price(); } }",
        "t.coin -> Item.java::Item.coin",
    )


def test_names_from_outside_are_not_resolved_by_their_last_name():
    check_method(
        "Missing.equipAll(); String.equipAll(); shop.equipAll(); shop.getClass().equipAll(); List.of().equipAll();"
    )
    check_method(
        "run(x -> x.equipAll()); y.equipAll(); this.equipAll(); (a + b).equipAll();",
        "x.equipAll -> Item.java::Item.equipAll",
        "?.equipAll -> Item.java::Item.equipAll",
    )


def test_overloads_are_one_name():
    graph = repository("#- a/A.java\npackage a;\nclass A { void f(int a) {} void f(String a) {} void g() { f(1); } }")
    (edge,) = graph.call_edges("a/A.java")
    assert edge.qualified_name == "A.f"
