"""Text in, facts of Scala out: packages, types, bindings and inheritance, also in texts that end at a cursor."""

from __future__ import annotations

from textwrap import dedent

import pytest
from reader_facts import bindings, definitions, lines
from weft.codegraph import FileGraph, parse_file
from weft.languages import language_of


def parsed(text: str) -> FileGraph:
    return parse_file("a.scala", dedent(text))


def check_definitions(text: str, expected: str) -> None:
    assert sorted(definitions(parsed(text))) == lines(expected)


def check_bindings(text: str, expected: str) -> None:
    assert sorted(bindings(parsed(text))) == lines(expected)


def in_function(statement: str) -> FileGraph:
    return parsed(f"class A {{\n  def f(): Unit = {{\n{statement}\n  }}\n}}\n")


def check_local(statement: str, *expected: str) -> None:
    """The bindings of one statement in a function."""
    assert [line.removeprefix("A.f | ") for line in bindings(in_function(statement))] == list(expected)


def callees(statement: str) -> list[str]:
    return sorted(call.callee for call in in_function(statement).calls)


# Packages and imports


@pytest.mark.parametrize("path", ["a.scala", "a.sc", "build.sbt", "build.mill"])
def test_files_of_scala(path: str):
    assert language_of(path).name == "scala"


def test_packages_and_imports_are_read():
    file = parsed("""
        package org.shop
        package till
        import scala.collection.mutable
        import org.money.{Coin, Note => Bill, _}
        import a._, b.C
        import d.{E as F, given}
        import org.Rates.*
        """)
    assert file.package == "org.shop.till"
    assert [(item.local_name, item.module, item.name) for item in file.imports] == [
        ("", "org.shop", "*"),
        ("mutable", "scala.collection", "mutable"),
        ("Coin", "org.money", "Coin"),
        ("Bill", "org.money", "Note"),
        ("", "org.money", "*"),
        ("", "a", "*"),
        ("C", "b", "C"),
        ("F", "d", "E"),
        ("", "org.Rates", "*"),
    ]


def test_package_objects_and_packages_with_a_body_are_namespaces():
    check_definitions(
        "package object util { def f = 1 }\npackage a.b { class X }\n",
        "namespace util\nfunction util.f\nnamespace a.b\nclass a.b.X",
    )


# Types


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("Shop", "Shop"),
        ("ns.Shop", "ns.Shop"),
        ("Box[Shop]", "Box"),
        ("Outer#Shop", "Outer.Shop"),
        ("Shop with Open", "Shop"),
        ("List[Shop]", "Shop[]"),
        ("Map[String, Shop]", "Shop[]"),
        ("List[Set[Shop]]", "Set[]"),
        ("Option[Shop]", "Shop"),
        ("Future[Option[Shop]]", "Shop"),
        ("Either[Error, Shop]", "Shop"),
        ("Option[List[Shop]]", "Shop[]"),
        ("Int", ""),
        ("Shop => Int", ""),
        ("(Shop, Int)", ""),
    ],
)
def test_a_type_is_reduced_to_the_class_that_it_holds(written: str, text: str):
    check_local(f"val x: {written} = y", f"x: {text}" if text else "x = ?")


def test_parameters_by_name_and_repeated_parameters():
    check_bindings("def f(a: => Shop, b: Shop*): Unit = ()", "f | a: Shop\nf | b: Shop[]")


def test_classes_objects_traits_and_functions():
    check_definitions(
        """
        sealed abstract class Shop[T](val n: Int) extends Base[T](n) with Seq[Item] { self: Till =>
          def this() = this(1)
          def open(): Option[Cart]
          def carts = new Cart(1)
          override def toString: String = "x"
        }
        object Shop extends App { def apply(n: Int): Shop = new Shop(n) }
        case class Cart(shop: Shop) extends Priced
        case object Empty extends Priced
        trait Priced { def price: Coin; def show(): Unit = print(price) }
        def top(x: Int): Shop = x
        """,
        """
        class Shop(Base, Seq, Item[], Till)
        constructor Shop.Shop
        method Shop.open -> Cart
        method Shop.carts
        method Shop.toString -> String
        object Shop(App)
        function Shop.apply -> Shop
        class Cart(Priced)
        object Empty(Priced)
        trait Priced
        method Priced.price -> Coin
        method Priced.show
        function top -> Shop
        """,
    )


def test_enums_givens_and_extensions_of_scala_3():
    text = """
        enum Color(val n: Int) extends Paint:
          case Red extends Color(1)
          case Green, Blue
          case Mix(a: Color)
          def go(): Int = 1
        extension (shop: Shop) def pay(): Int = shop.go()
        given order: Order[Shop] with
          def compare(a: Shop): Int = 1
        given Order[Cart] with
          def compare(a: Cart): Int = 1
        given till: Till = open()
        """
    check_definitions(
        text,
        """
        enum Color(Paint)
        class Color.Mix(Color)
        method Color.go
        extension Shop
        function Shop.pay
        object order(Order)
        function order.compare
        object $Order(Order)
        function $Order.compare
        """,
    )
    check_bindings(
        text,
        """
        Color | self.n = ?
        Color | self.Red: Color
        Color | self.Green: Color
        Color | self.Blue: Color
        Color.Mix | self.a: Color
        Shop | self.shop: Shop
        order.compare | a: Shop
        $Order.compare | a: Cart
        till: Till
        """,
    )


def test_an_implicit_class_extends_the_type_of_its_parameter():
    check_bindings(
        "object Rich {\n  implicit class Of(val shop: Shop) { def twice = shop.pay() }\n}\n",
        "Rich.Of | self.shop: Shop\nShop.twice = Rich.Of.twice\nRich.Of.twice | () = shop.pay()",
    )


def test_anonymous_classes_are_classes():
    text = """
        object A {
          @mark
          val reader: Reader = new Reader(1) { def read() = help() }
          def make(): Writer = run(new Writer[Int] { def write() = 1 })
        }
        """
    check_definitions(
        text,
        """
        object A
        class A.reader(Reader)
        method A.reader.read
        function A.make -> Writer
        class A.make.$Writer(Writer)
        method A.make.$Writer.write
        """,
    )
    reader = parsed(text).definitions[1]
    assert (reader.start_line, reader.header_line, reader.end_line) == (2, 3, 4)


# Bindings


def test_members_and_parameters_have_types():
    check_bindings(
        """
        class Shop[T <: Item, U](val store: Store, n: Int = 1)(implicit till: Till) {
          val cart: Cart = make()
          lazy val made = new Cart(1)
          var open = true
          type Id = Key
          def pay[V](item: T)(using c: Coin): V = item.go()
          def last = cart.last
        }
        val shop: Shop = ???
        """,
        """
        Shop | T = Item
        Shop | U = Any
        Shop | self.store: Store
        Shop | self.n = ?
        Shop | self.till: Till
        Shop | self.cart: Cart
        Shop | self.made = Cart()
        Shop | self.open = ?
        Shop | self.Id = Key
        Shop.pay | V = Any
        Shop.pay | item: T
        Shop.pay | c: Coin
        Shop.last | () = cart.last
        shop: Shop
        """,
    )


@pytest.mark.parametrize(
    ("value", "bound"),
    [
        ("new Shop(1)", "x = Shop()"),
        ("new Box[Int](1)", "x = Box()"),
        ("Shop(1)", "x = Shop()"),
        ("open(1)(2)", "x = open()"),
        ("shop.open(1).cart", "x = shop.open().cart"),
        ("shop.make[Cart](1)", "x = shop.make()"),
        ("y.asInstanceOf[Shop]", "x = Shop()"),
        ("y: Shop", "x: Shop"),
        ("if (a) b else c()", "x = b"),
        ("List(new Shop(1), y)", "x: Shop[]"),
        ("List(1)", "x = ?"),
        ('"a"', "x: String"),
        ('s"${y}"', "x: String"),
        ("1", "x = ?"),
        ("(y: Int) => y", "x = ?"),
    ],
)
def test_values_have_the_types_of_what_they_hold(value: str, bound: str):
    assert bindings(in_function(f"val x = {value}"))[0].removeprefix("A.f | ") == bound


def test_enumerators_and_patterns_bind_names():
    check_local("for { s <- shops; c = s.cart; (k, v) <- c.all } yield s", "s = shops[]", "s = shops", "c = s.cart",
                "k = ?", "v = c.all[]", "k = ?", "v = ?")  # fmt: skip
    check_local("for (s <- shops.filter(ok)) s.go()", "s = shops[]", "s = shops")
    check_local("x match { case s: Shop => s\n case c @ Cart(_) => c\n case Some(o) => o\n case C(a, b: Item) => a }",
                "o = x", "s: Shop", "c: Cart", "a = ?", "b: Item")  # fmt: skip
    check_local("x match { case other => other }", "other = x")
    check_local("try f() catch { case e: Error => e }", "e: Error")


@pytest.mark.parametrize(
    ("call", "bound"),
    [
        ("shops.foreach(s => s)", ["s = shops[]", "s = shops"]),
        ("shops.foreach { s => s }", ["s = shops[]", "s = shops"]),
        ("shops foreach { s => s }", ["s = shops[]", "s = shops"]),
        ("shops.map(_.cart).foreach(c => c)", ["c = shops[].cart", "c = shops.cart"]),
        ("shops.map(s => s.cart).foreach(c => c)", ["c = shops[].cart", "c = shops.cart", "s = shops[]", "s = shops"]),
        ("shops.foldLeft(0)((n, s) => n)", ["n = ?", "s = shops[]", "s = shops"]),
        ("shops.map { case s => s }", ["s = shops[]", "s = shops"]),
        ("run((s: Shop) => s)", ["s: Shop"]),
        ("run { s: Shop => s }", ["s: Shop"]),
        ("run(s => s)", ["s = run.#0"]),
        ("shop.run(1)(2, (s, t) => s)", ["s = shop.run.#2", "t = shop.run.#2#1"]),
        ("shop.run(1) { s => s }", ["s = shop.run.#1"]),
        ("(a + b).run(s => s)", ["s = ?"]),
    ],
)
def test_the_parameters_of_lambdas_are_elements(call: str, bound: list[str]):
    check_local(call, *bound)


def test_a_function_binds_what_it_gives_to_functions():
    check_bindings(
        "def f(n: Int)(g: Shop => Coin, h: (Cart, Int) => Unit): Unit = ()",
        "f | n = ?\nf | g = ?\nf | h = ?\nf | #1: Shop\nf | #2: Cart",
    )


# Calls


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("pay()", ["pay"]),
        ("shop.pay(1)", ["shop.pay"]),
        ("shop.price", ["shop.price"]),
        ("shop pay cart", ["shop.pay"]),
        ("this.pay[Int](1)", ["this.pay"]),
        ("super.pay()", ["super.pay"]),
        ("new Shop(1).pay()", ["Shop", "Shop().pay"]),
        ("Shop(1).pay()", ["Shop", "Shop().pay"]),
        ("x.asInstanceOf[Shop].pay()", ["Shop().pay", "x.asInstanceOf"]),
        ("shops.map(_.pay())", ["shops.map", "shops[].pay"]),
        ('s"a ${shop.price} b"', ["shop.price"]),
        ("(a + b).pay()", []),
    ],
)
def test_calls_have_dotted_callees(expression: str, expected: list[str]):
    assert callees(expression) == expected


def test_base_classes_and_own_constructors_are_called():
    file = parsed("class A(n: Int) extends B(n) { def this() = this(1) }\n")
    assert {call.callee for call in file.calls} == {"A", "B"}


# Unfinished texts

SHOP = """\
package org.shop
import a.b.Cart
@mark
abstract class Shop[T <: Item](val store: Store)(implicit till: Till) extends Base[T](store) with Priced {
  val cart: Cart = new Cart(1)
  def first(x: Int): Cart = { cart }
  @inline override def pay[U](item: T, coins: Seq[Coin])(using c: Ctx): Coin = {
    val made = store.load(1)
    val reader = new Reader(2) {
      def read(door: Door) = {
        for { s <- shops } {
          shops.foreach { other =>
            s match {
              case big: Big =>
"""


def test_a_text_that_ends_at_a_cursor_has_the_facts_above_it():
    file = parsed(SHOP + "big.pa")
    assert file.package == "org.shop" and [item.name for item in file.imports] == ["Cart"]
    assert definitions(file) == [
        "class Shop(Base, Priced)",
        "method Shop.first -> Cart",
        "method Shop.pay -> Coin",
        "class Shop.pay.reader(Reader)",
        "method Shop.pay.reader.read",
    ]
    assert sorted(bindings(file)) == lines(
        """
        Shop | T = Item
        Shop | self.store: Store
        Shop | self.till: Till
        Shop | self.cart: Cart
        Shop.first | x = ?
        Shop.pay | U = Any
        Shop.pay | item: T
        Shop.pay | coins: Coin[]
        Shop.pay | c: Ctx
        Shop.pay | made = store.load()
        Shop.pay.reader.read | door: Door
        Shop.pay.reader.read | s = shops[]
        Shop.pay.reader.read | s = shops
        Shop.pay.reader.read | other = shops[]
        Shop.pay.reader.read | other = shops
        Shop.pay.reader.read | big: Big
        """
    )
    assert [(d.start_line, d.header_line) for d in file.definitions] == [(2, 3), (5, 5), (6, 6), (8, 8), (9, 9)]


@pytest.mark.parametrize("end", ["", "shop", "shop.", "shop.pay(", "shop.pay(a, ", "val x = ", "if (", "new"])
def test_the_end_of_the_text_changes_no_facts_above(end: str):
    text = "object Till extends App {\n  def pay(shop: Shop): Coin = {\n    "
    assert definitions(parsed(text + end))[0] == "object Till(App)"
    assert definitions(parsed(text + end))[1].startswith("function Till.pay")
    assert bindings(parsed(text + end))[0] == "Till.pay | shop: Shop"
