"""Which definition does a call in Scala lead to? Small repositories as text, one behaviour each."""

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


def calls(text: str, path: str = "src/Main.scala") -> list[str]:
    """The edges of a file as `pay -> Shop.scala::Shop.pay`."""
    graph = repository(text)
    found = graph.files[path].calls
    edges = graph.call_edges(path)
    return sorted(f"{found[e.call].callee} -> {e.path.rpartition('/')[2]}::{e.qualified_name}" for e in edges)


SHOP = """
#- src/shop/Shop.scala
package org.shop
abstract class Shop(val store: Store, n: Int) extends Priced {
  val cart: Cart = Cart(last, 1)
  lazy val items: List[Item] = Nil
  def first: Option[Item] = items.headOption
  def last = items.head
  def price(): Int = store.size
}
object Shop {
  def open(): Shop = null
  implicit class Rich(val shop: Shop) { def twice(): Int = 2 }
  implicit class Words(val text: String) { def shouted: String = text }
}
#- src/shop/Store.scala
package org.shop
class Store { def size: Int = 1; def lock(): Unit = {} }
class Item { def coin(): Coin = null; def equip(): Item = this }
case class Cart(item: Item, count: Int) { def total: Int = item.coin().worth }
trait Priced { def price(): Int; def show(): Unit = price() }
#- src/shop/Coin.scala
package org
package shop
class Coin { def worth: Int = 1 }
object Coin { def apply(n: Int): Coin = new Coin; val Cent: Coin = Coin(1) }
"""


def check(main: str, *expected: str) -> None:
    """The calls of a file in the package org.main resolve to exactly these edges."""
    assert calls(f"{SHOP}#- src/Main.scala\npackage org.main\n{dedent(main).strip()}\n") == sorted(expected)


def check_function(body: str, *expected: str) -> None:
    check(f"import org.shop._\nobject Main {{\n  def main(shop: Shop) = {{\n    {body}\n  }}\n}}", *expected)


def test_imports_name_definitions_by_their_packages():
    check(
        "import org.shop.{Shop => Till, Cart}\nobject Main { Till.open().price(); Cart(null, 1).total; Item.x }",
        "Cart -> Store.scala::Cart",
        "Cart().total -> Store.scala::Cart.total",
        "Till.open -> Shop.scala::Shop.open",
        "Till.open().price -> Shop.scala::Shop.price",
    )


def test_an_import_may_begin_in_the_own_package_or_in_a_value():
    check(
        "import shop.Cart\nobject Main { val made = org.shop.Shop.open()\n def f = { import made._\n price() } }",
        "org.shop.Shop.open -> Shop.scala::Shop.open",
        "price -> Shop.scala::Shop.price",
    )
    text = SHOP + "#- src/Main.scala\npackage org.shop\nobject Main { import Shop._\n open() }\n"
    assert calls(text) == ["open -> Shop.scala::Shop.open"]


def test_a_further_package_clause_sees_the_names_of_the_package_before():
    text = SHOP + "#- src/Main.scala\npackage org.shop\npackage till\nobject Main { Shop.open() }\n"
    assert calls(text) == ["Shop.open -> Shop.scala::Shop.open"]
    assert calls(text.replace("org.shop\npackage till", "org.shop.till")) == []


def test_a_class_and_its_companion_are_one_type():
    assert calls(SHOP, "src/shop/Coin.scala") == [
        "Coin -> Coin.scala::Coin",
        "Coin -> Coin.scala::Coin",
        "Coin -> Coin.scala::Coin.apply",
        "Coin -> Coin.scala::Coin.apply",
    ]
    check_function(
        "Coin(1).worth; Coin.Cent.worth",
        "Coin -> Coin.scala::Coin",
        "Coin -> Coin.scala::Coin.apply",
        "Coin().worth -> Coin.scala::Coin.worth",
        "Coin.Cent.worth -> Coin.scala::Coin.worth",
    )


def test_members_need_no_parentheses_and_may_be_operators():
    check_function(
        "shop.store.size; shop.last.equip(); shop.store lock ()",
        "shop.store.size -> Store.scala::Store.size",
        "shop.last -> Shop.scala::Shop.last",
        "shop.last.equip -> Store.scala::Item.equip",
        "shop.store.lock -> Store.scala::Store.lock",
    )


def test_inherited_members_and_implementations():
    check(
        """
        import org.shop._
        class Main(store: Store) extends Shop(store, 1) {
          override def price(): Int = super.price() + store.size
          def f(p: Priced) = { show(); p.price(); this.last.coin() }
        }
        """,
        "Shop -> Shop.scala::Shop",
        "super.price -> Shop.scala::Shop.price",
        "store.size -> Store.scala::Store.size",
        "show -> Store.scala::Priced.show",
        "p.price -> Store.scala::Priced.price",
        "p.price -> Shop.scala::Shop.price",
        "this.last -> Shop.scala::Shop.last",
        "this.last.coin -> Store.scala::Item.coin",
    )


def test_implicit_classes_and_extensions_add_members():
    check_function(
        'shop.twice(); "a".shouted',
        "shop.twice -> Shop.scala::Shop.Rich.twice",
        "String().shouted -> Shop.scala::Shop.Words.shouted",
    )
    text = SHOP + (
        "#- src/Ext.scala\npackage org.shop\nextension (item: Item) def wear(): Item = item.equip()\n"
        "#- src/Main.scala\npackage org.main\nimport org.shop._\nobject Main { def f(i: Item) = i.wear().coin() }\n"
    )
    assert calls(text) == ["i.wear -> Ext.scala::Item.wear", "i.wear().coin -> Store.scala::Item.coin"]
    assert calls(text, "src/Ext.scala") == ["item.equip -> Store.scala::Item.equip"]


def test_elements_options_and_lambdas():
    check_function(
        "shop.items.map(_.coin()).foreach(c => c.worth); shop.first.get.equip(); shop.items.head.coin()",
        "shop.items[].coin -> Store.scala::Item.coin",
        "c.worth -> Coin.scala::Coin.worth",
        "shop.first -> Shop.scala::Shop.first",
        "shop.first.get.equip -> Store.scala::Item.equip",
        "shop.items.head.coin -> Store.scala::Item.coin",
    )
    check_function(
        "for { i <- shop.items; c = i.coin() } c.worth; shop.first.foreach { f => f.equip() }",
        "c.worth -> Coin.scala::Coin.worth",
        "f.equip -> Store.scala::Item.equip",
        "i.coin -> Store.scala::Item.coin",
        "shop.first -> Shop.scala::Shop.first",
    )


def test_lambdas_get_what_a_function_gives():
    check(
        """
        import org.shop._
        object Main {
          def each(n: Int)(f: Item => Unit) = ()
          def main() = { each(1) { i => i.coin() } }
        }
        """,
        "each -> Main.scala::Main.each",
        "i.coin -> Store.scala::Item.coin",
    )


def test_patterns_have_types():
    check_function(
        "x match { case i: Item => i.coin()\n case c @ Cart(_, _) => c.total }\n"
        "shop.first match { case Some(f) => f.equip() }",
        "i.coin -> Store.scala::Item.coin",
        "c.total -> Store.scala::Cart.total",
        "shop.first -> Shop.scala::Shop.first",
        "f.equip -> Store.scala::Item.equip",
    )


def test_java_and_scala_call_each_other():
    text = SHOP + (
        "#- src/Main.java\npackage org.main;\nimport org.shop.Item;\n"
        "public class Main { Item item; void go() { item.equip().coin(); } }\n"
        "#- src/Use.scala\npackage org.use\nimport org.main.Main\nobject Use { def f(m: Main) = m.go() }\n"
    )
    assert calls(text, "src/Main.java") == [
        "item.equip -> Store.scala::Item.equip",
        "item.equip().coin -> Store.scala::Item.coin",
    ]
    assert calls(text, "src/Use.scala") == ["m.go -> Main.java::Main.go"]
