"""Text in, facts of Ruby out: classes, mix-ins, bindings, results and calls, also in texts that end at a cursor."""

from __future__ import annotations

from textwrap import dedent

import pytest
from reader_facts import bindings, lines
from weft.codegraph import FileGraph, parse_file
from weft.codegraph.file_graph import MODULE_SCOPE


def parsed(text: str) -> FileGraph:
    return parse_file("a.rb", dedent(text))


def definitions(file: FileGraph) -> list[str]:
    """A line for each definition: kind, name and bases."""
    return [f"{d.kind} {d.qualified_name}{'(' + ', '.join(d.bases) + ')' if d.bases else ''}" for d in file.definitions]


def check_definitions(text: str, expected: str) -> None:
    assert sorted(definitions(parsed(text))) == lines(expected)


def check_bindings(text: str, expected: str) -> None:
    assert sorted(bindings(parsed(text))) == lines(expected)


def check_local(statement: str, *expected: str) -> None:
    """The bindings of one statement in a method of a class; those of the class itself begin with "Shop | "."""
    found = bindings(parsed(f"class Shop\ndef run\n{statement}\nnil\nend\nend\n"))
    assert [line.removeprefix("Shop.run | ") for line in found] == list(expected)


def check_result(body: str, *expected: str) -> None:
    """What a method with this body returns."""
    file = parsed(f"class Shop\ndef run(rate)\n{body}\nend\nend\n")
    assert [f"{b.how} {b.value}" for b in file.bindings if b.name == "()"] == list(expected)


def callees(statement: str) -> list[str]:
    return sorted(call.callee for call in parsed(f"class Shop\ndef run(rate)\n{statement}\nend\nend\n").calls)


# Definitions


def test_classes_modules_and_methods():
    check_definitions(
        """
        module Money
          class Shop < Base::Store
            def pay(rate) = rate
            def self.open; end
            class << self
              def close; end
            end
            def Shop.make; end
            def valid?; end
            def rate=(value); end
          end
          class ::Money::Till::Item; end
        end
        def helper; end
        """,
        """
        module Money
        class Money.Shop(Base.Store)
        method Money.Shop.pay
        method Money.Shop.open
        method Money.Shop.close
        method Money.Shop.make
        method Money.Shop.valid?
        method Money.Shop.rate=
        class Money.Money.Till.Item
        function helper
        """,
    )


def test_mix_ins_are_bases_before_the_base_class_the_last_one_first():
    check_definitions(
        """
        class Shop < Base
          include Loud, Money::Quiet
          extend Finders
          class << self
            include Makers
          end
          include Comparable
        end
        """,
        "class Shop(Makers, Finders, Money.Quiet, Loud, Base)",
    )


def test_a_concern_has_its_class_methods_and_what_it_includes_into_a_class():
    check_definitions(
        """
        module Payable
          extend ActiveSupport::Concern
          included do
            include Loud
          end
          class_methods do
            def cheapest; end
          end
          module ClassMethods
            def find_all; end
          end
        end
        """,
        """
        module Payable(Payable.ClassMethods, Loud)
        method Payable.cheapest
        module Payable.ClassMethods
        method Payable.ClassMethods.find_all
        """,
    )


def test_classes_are_made_by_calls():
    check_definitions(
        """
        Item = Struct.new(:name, :price) do
          include Loud
          def total; end
        end
        Error = Class.new(Money::Error)
        Point = Data.define(:x)
        Loudness = Module.new do
          def shout; end
        end
        RATE = Rate.new
        """,
        """
        class Item(Loud)
        method Item.total
        class Error(Money.Error)
        class Point
        module Loudness
        method Loudness.shout
        """,
    )


def test_methods_are_made_by_calls():
    check_definitions(
        """
        class Shop
          delegate :name, :price, to: :item
          def_delegators :@items, :size, :each
          def_delegator "self.class", :rate, :own_rate
          define_method(:pay) { |x| x }
          define_method("a#{b}") { }
          scope :open, -> { where(open: true) }
        end
        """,
        """
        class Shop
        method Shop.name
        method Shop.price
        method Shop.size
        method Shop.each
        method Shop.own_rate
        method Shop.pay
        method Shop.open
        """,
    )


# Attributes


def test_attributes_are_instance_variables():
    check_bindings(
        """
        class Shop
          attr_reader :cart
          attr_accessor :rate, :name
          def initialize(cart)
            @cart = cart
            @rate ||= Rate.new(1)
            @@all = Shops.new
          end
        end
        """,
        """
        Shop | self.cart = self.@cart
        Shop | self.rate = self.@rate
        Shop | self.name = self.@name
        Shop.initialize | cart: Cart
        Shop | self.@cart = cart
        Shop | self.@rate = Rate()
        Shop | self.@@all = Shops()
        """,
    )


def test_other_declared_attributes():
    check_bindings(
        """
        class Shop
          belongs_to :owner
          has_many :line_items
          has_many :entries, class_name: "Money::Entry"
          has_one :category
          class_attribute :rates, default: Rates.new
          alias_method :total, :sum
          alias price cost
          delegate :name, to: :owner
        end
        Point = Struct.new(:x)
        """,
        """
        Shop | self.owner: Owner
        Shop | self.line_items: LineItem[]
        Shop | self.entries: Money.Entry[]
        Shop | self.category: Category
        Shop | self.rates = Rates()
        Shop | self.total = self.sum
        Shop | self.price = self.cost
        Shop.name | () = self.owner.name()
        Shop.name | () = self.owner.name
        Point | self.x = ?
        """,
    )


def test_attributes_outside_of_classes_are_variables():
    check_bindings(
        """
        describe Money::Shop do
          let(:shop) { Shop.new }
          subject { described_class.new(1) }
          before { @cart = Cart.new }
        end
        """,
        """
        described_class = Money.Shop
        shop = Shop()
        subject = described_class()
        @cart = Cart()
        """,
    )


# Parameters and variables


def test_a_parameter_may_have_the_class_with_its_name():
    check_bindings(
        "def pay(line_item, n, rate: Rate.new, shop: nil, *rest, **options, &block); end",
        """
        pay | line_item: LineItem
        pay | n = ?
        pay | rate = Rate()
        pay | shop: Shop
        pay | rest = ?
        pay | options = ?
        pay | block = ?
        """,
    )


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("x = Shop.new(1)", ["x = Shop()"]),
        ("x = Money::Shop.new", ["x = Money.Shop()"]),
        ("x = 1", ["x = ?"]),
        ("x = @cart", ["x = self.@cart"]),
        ("x = shop.cart", ["x = shop.cart"]),
        ("x = shop.cart_for(1)", ["x = shop.cart_for()"]),
        ("x = shop&.carts[0]", ["x = shop.carts[]"]),
        ("x = self.class.new", ["x = self"]),
        ("x = new(1)", ["x = self"]),
        ("x ||= Shop.new", ["x = Shop()"]),
        ("x += Shop.new", []),
        ("x = a || Shop.new", ["x = a", "x = Shop()"]),
        ("x = y ? Shop.new : nil", ["x = Shop()"]),
        ("x = if y then Shop.new else Till.new end", ["x = Shop()", "x = Till()"]),
        ("x = begin\nopen\nShop.new\nend", ["x = Shop()"]),
        ("x = Shop.new.tap { |s| s.pay }", ["x = Shop()", "s = Shop()"]),
        ("x = Shop.find(1)", ["x = Shop.find()", "x = Shop()"]),
        ("x = shop.open?", ["x = ?"]),
        ("x = Shop.where(a: 1).order(:b).first", ["x = Shop.first()", "x = Shop()"]),
        ("x = create(:line_item, a: 1)", ["x: LineItem"]),
        ("x = create(item)", ["x = create()"]),
        ("a, b = Shop.new, 1", ["a = Shop()", "b = ?"]),
        ("a, (b, *c) = shops", ["a = ?", "b = ?", "c = ?"]),
        ("self.rate = Rate.new", ["Shop | self.@rate = Rate()"]),
        ("x = y = Shop.new", ["x = Shop()", "y = Shop()"]),
        ("for x in shops do end", ["x = shops[]"]),
        ("begin\nrescue Money::Error => e\nend", ["e: Money.Error"]),
        ("begin\nrescue A, B => e\nend", ["e = ?"]),
        ("f = ->(rate) { rate }", ["f = ?", "rate: Rate"]),
    ],
)
def test_variables(statement: str, expected: list[str]):
    check_local(statement, *expected)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("shops.each { |s| s.pay }", ["s = shops[]"]),
        ("shops.each do |s|\ns.pay\nend", ["s = shops[]"]),
        ("shop.carts.map.with_index { |c| c }", ["c = ?"]),
        ("@shops.each_with_index { |s, i| s }", ["s = self.@shops[]", "i = ?"]),
        ("shops.each_with_object([]) { |s, all| s }", ["s = shops[]", "all: All"]),
        ("shops.reduce(0) { |sum, s| s }", ["sum: Sum", "s = shops[]"]),
        ("shops.each { |key, s| s }", ["key: Key", "s = shops[]"]),
        ("shop.tap { |s| s.pay }", ["s = shop"]),
        ("Shop.new { |s| s.pay }", ["s = Shop()"]),
        ("shops.each { |(a, b), *c| a }", ["a = ?", "b = ?", "c = ?"]),
        ("open { |f| f.read }", ["f = ?"]),
    ],
)
def test_parameters_of_blocks(statement: str, expected: list[str]):
    check_local(statement, *expected)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("Shop.new", ["call Shop"]),
        ("@shop ||= Shop.new", ["call Shop"]),
        ("x = 1\n@shop", ["alias self.@shop"]),
        ("self", ["alias self"]),
        ("shop", ["call shop", "alias shop"]),
        ("shop.cart", ["call shop.cart", "alias shop.cart"]),
        ("shop.cart(1)", ["call shop.cart"]),
        ("return Shop.new", ["call Shop"]),
        ("if x\nShop.new\nelse\nTill.new\nend", ["call Shop", "call Till"]),
        ("Shop.new\nrescue E\nnil", ["call Shop"]),
        ("shop.open?", []),
        ("1", []),
        ("[shop]", []),
    ],
)
def test_results_are_last_expressions(body: str, expected: list[str]):
    check_result(body, *expected)


def test_constructors_writers_and_questions_have_no_result():
    assert bindings(parsed("class A\ndef initialize; B.new; end\ndef b=(x); B.new; end\ndef b?; B.new; end\nend")) == [
        "A.b= | x = ?"
    ]


# Calls


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("pay(1)", ["pay"]),
        ("pay 1", ["pay"]),
        ("pay", ["pay"]),
        ("rate", []),
        ("x = pay\nx", ["pay"]),
        ("if open?\npay\nend", ["open?", "pay"]),
        ("x.each { |y| y }", ["x", "x.each"]),
        ("[pay, {a: cost, b => 1}]", ["b", "cost", "pay"]),
        ('"#{total}"', ["total"]),
        ("puts total unless done", ["done", "puts", "total"]),
        ("shop&.cart.pay!", ["shop", "shop.cart", "shop.cart.pay!"]),
        ("self.class.make", ["self.make"]),
        ("@cart.pay", ["self.@cart.pay"]),
        ("Shop.new(1).pay", ["Shop.new", "Shop.new().pay"]),
        ("Money::Shop.open", ["Money.Shop.open"]),
        ("new(1)", ["self.new"]),
        ("super", ["super.run"]),
        ("super(1)", ["super.run"]),
        ("x = super\nsuper do |y|\ny\nend\nsuper.pay\nsuper", [*["super.run"] * 4, "super.run().pay"]),
        ("raise Money::Error, 'no'", ["Money.Error.new"]),
        ("shops.map(&:pay)", ["?.pay", "shops", "shops.map"]),
        ("shop.send(:pay, 1)", ["shop", "shop.pay", "shop.send"]),
        ("send(:pay)", ["pay"]),
        ("shop.rate = 1", ["shop", "shop.rate", "shop.rate="]),
        ("(a + b).pay", ["?.pay", "a", "b"]),
    ],
)
def test_calls(statement: str, expected: list[str]):
    found = callees(statement)
    assert [callee for callee in found if callee != "shop" or "shop" in expected] == sorted(expected)


def test_symbols_of_callbacks_are_calls_of_methods_of_the_class():
    file = parsed("class A\nbefore_action :load_shop, only: [:pay]\nvalidate :prices\nend\n")
    assert [call.callee for call in file.calls] == ["before_action", "load_shop", "validate", "prices"]


def test_files_that_are_required():
    file = parsed("require 'json'\nrequire_relative 'shop/item'\nrequire name\n")
    assert [(item.module, item.name) for item in file.imports] == [("json", "*"), ("./shop/item", "*")]


# Unfinished code

SHOP = """\
module Money
  class Shop < Base
    include Loud
    attr_reader :cart

    def initialize(cart)
      @cart = cart
    end

    def self.open(name, rate = Rate.new)
      shop = Shop.new(name)
      shop.items.each do |item|
        if item.open?
          total = item.price
          begin
            item.pay(total)
          rescue Money::Error => e
            total = e.rate
          end
        end
      end
      case name
      when nil
        other = Till.new
        other.close
      end
      shop
    end

    def close
      while @cart.open? do
        part = @cart.next_part
        part.close
      end
      @cart
    end
  end
end
"""


@pytest.mark.parametrize("n_lines", range(3, SHOP.count("\n")))
def test_definitions_and_variables_above_the_cursor_are_found(n_lines: int):
    whole = parse_file("a.rb", SHOP)
    cut = parse_file("a.rb", "".join(SHOP.splitlines(keepends=True)[:n_lines]))

    def known(file: FileGraph) -> set[tuple[object, ...]]:
        found: set[tuple[object, ...]] = {
            (d.kind, d.qualified_name, d.bases) for d in file.definitions if d.header_line < n_lines
        }
        for b in file.bindings:
            if b.line < n_lines and b.name != "()":
                scope = "" if b.scope == MODULE_SCOPE else file.definitions[b.scope].qualified_name
                found.add((scope, b.name, b.how, b.value))
        return found

    assert known(cut) == known(whole)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("class Shop\n  def pay\n    x = Shop.new\n    x.", ["class Shop", "method Shop.pay"]),
        ("class Shop\n  def self.pay(", ["class Shop", "method Shop.pay"]),
        ("class Shop\n  class << self\n    def pay(x)\n      x.", ["class Shop", "method Shop.pay"]),
        ("class Shop\n  def a\n    b(\n", ["class Shop", "method Shop.a"]),
        ("class Shop\n  def a = b\n  def c\n    d.e(", ["class Shop", "method Shop.a", "method Shop.c"]),
        ("module A\n  module B\n    class ", ["module A", "module A.B"]),
    ],
)
def test_headers_of_unfinished_bodies(text: str, expected: list[str]):
    assert definitions(parsed(text)) == expected


def test_a_block_that_is_cut_binds_its_parameters():
    file = parsed("class A\n  def pay(shops)\n    shops.select(&:open?).each do |shop|\n      x = shop\n      shop.")
    assert [line for line in bindings(file) if "shop = " in line] == ["A.pay | shop = shops.select()[]"]


@pytest.mark.parametrize(
    "text",
    [
        "def f(&) = g(&)",
        "def f(*, **) = g(*, **)",
        "def f(...) = g(...)",
        "def f\n  return\nend",
        "x = return",
        "f.() { |x| x }",
        "super.()",
        "->(x) {}.call",
        "x&.[](1)",
        "attr_reader",
        "include",
        "class << x; end",
        "alias $new $old",
        "delegate :a, to:",
        "a, = b",
        "*a = b",
        "a[1], b.c = d",
        "for a, b in c do end",
        "begin; rescue => @e; end",
        "case x; in {a: Integer => b} then b; end",
        "module_function def f = 1",
        "def (a.b).c; end",
        "def ==(x) = x",
        "Struct.new",
        "X = Struct.new",
        "X = Class.new(",
        "let(:x)",
        "undef f",
        "%i[a b].each(&)",
    ],
)
def test_unusual_code_is_read(text: str):
    for size in range(len(text) + 1):
        parsed(text[:size])
        parsed(f"class A\n  def b\n    {text[:size]}")
