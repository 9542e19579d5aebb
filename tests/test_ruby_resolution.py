"""Which definition does a Ruby call lead to? Small repositories as text, one rule each."""

from __future__ import annotations

import textwrap

from weft.codegraph import CodeGraph, parse_file


def repository(text: str) -> CodeGraph:
    """Files under `#- path` headers."""
    files: dict[str, list[str]] = {}
    for line in textwrap.dedent(text).strip("\n").split("\n"):
        if line.startswith("#- "):
            files[line[3:].strip()] = []
        else:
            files[list(files)[-1]].append(line)
    return CodeGraph.build(parse_file(path, "\n".join(lines) + "\n") for path, lines in files.items())


def calls(graph: CodeGraph, path: str) -> list[str]:
    """The edges of a file as `pay -> shop.rb::pay (how)`."""
    all_calls = graph.files[path].calls
    return [f"{all_calls[e.call].callee} -> {e.path}::{e.qualified_name} ({e.how})" for e in graph.call_edges(path)]


def check(text: str, *expected: str, path: str = "main.rb") -> None:
    """The calls of `path` (main.rb) resolve to exactly these edges, in any order."""
    assert sorted(calls(repository(text), path)) == sorted(expected)


SHOP = """\
        #- lib/money/shop.rb
        module Money
          class Shop < Base
            attr_reader :cart
            def initialize(name)
              @cart = Cart.new
            end
            def self.open(name) = new(name)
            def pay_all; end
            def till
              @till ||= Till.new
            end
          end
        end
        #- lib/money/base.rb
        module Money
          class Base
            include Loud
            def settle; end
          end
        end
        #- lib/money/loud.rb
        module Money
          module Loud
            def shout; end
          end
          class Cart
            def add_item; end
            def items = [Item.new]
          end
          class Till
            def lock_up; end
          end
        end
"""


def test_a_class_is_found_by_its_modules_and_new_calls_its_constructor():
    check(
        f"""{SHOP}
        #- main.rb
        shop = Money::Shop.new(1)
        shop.pay_all
        shop.settle
        shop.shout
        """,
        "Money.Shop.new -> lib/money/shop.rb::Money.Shop (class attribute)",
        "Money.Shop.new -> lib/money/shop.rb::Money.Shop.initialize (constructor)",
        "shop.pay_all -> lib/money/shop.rb::Money.Shop.pay_all (typed local)",
        "shop.settle -> lib/money/base.rb::Money.Base.settle (inherited)",
        "shop.shout -> lib/money/loud.rb::Money.Loud.shout (inherited)",
    )


def test_attributes_memoised_values_and_class_methods_have_types():
    check(
        f"""{SHOP}
        #- main.rb
        def run(name)
          shop = Money::Shop.open(name)
          shop.cart.add_item
          shop.till.lock_up
        end
        """,
        "Money.Shop.open -> lib/money/shop.rb::Money.Shop.open (class attribute)",
        "shop.till -> lib/money/shop.rb::Money.Shop.till (typed local)",
        "shop.cart.add_item -> lib/money/loud.rb::Money.Cart.add_item (typed attribute)",
        "shop.till.lock_up -> lib/money/loud.rb::Money.Till.lock_up (returned type)",
    )


def test_constants_are_known_in_the_modules_around():
    check(
        f"""{SHOP}
        #- main.rb
        module Money
          module Reports
            def self.run
              Till.new.lock_up
              ::Money::Cart.new
            end
          end
        end
        """,
        "Till.new -> lib/money/loud.rb::Money.Till (same package)",
        "Till.new().lock_up -> lib/money/loud.rb::Money.Till.lock_up (returned type)",
        "Money.Cart.new -> lib/money/loud.rb::Money.Cart (class attribute)",
    )


def test_a_plain_name_is_a_method_of_the_object_and_no_method_of_the_modules_around():
    check(
        """
        #- main.rb
        module Money
          def self.close; end
          class Base
            def settle; end
          end
          class Shop < Base
            def run
              settle
              close
              cost = 1
              cost
            end
            def cost; end
          end
        end
        """,
        "settle -> main.rb::Money.Base.settle (inherited)",
    )


def test_a_variable_hides_a_method():
    check(
        """
        #- main.rb
        class Shop
          def cost; end
          def run
            cost = 1
            cost
          end
          def close
            cost
          end
        end
        """,
        "cost -> main.rb::Shop.cost (same file)",
    )


def test_classes_are_reopened_in_other_files():
    check(
        """
        #- lib/shop.rb
        class Shop
          def initialize; end
        end
        #- ext/more.rb
        class Shop
          def refund_all; end
        end
        #- main.rb
        shop = Shop.new
        shop.refund_all
        """,
        "Shop.new -> lib/shop.rb::Shop (same package)",
        "Shop.new -> lib/shop.rb::Shop.initialize (constructor)",
        "shop.refund_all -> ext/more.rb::Shop.refund_all (typed local)",
    )


def test_a_compact_name_adds_its_outer_module():
    check(
        """
        #- lib/shop.rb
        class Money::Shop
          def pay_all; end
        end
        #- main.rb
        Money::Shop.new.pay_all
        """,
        "Money.Shop.new -> lib/shop.rb::Money.Shop (module attribute)",
        "Money.Shop.new().pay_all -> lib/shop.rb::Money.Shop.pay_all (returned type)",
    )


def test_super_is_the_method_of_the_base_class():
    check(
        """
        #- base.rb
        class Base
          def initialize(name); end
          def pay(rate); end
        end
        #- main.rb
        class Shop < Base
          def initialize(name)
            super
          end
          def pay(rate)
            super(rate)
          end
        end
        """,
        "super.initialize -> base.rb::Base.initialize (super)",
        "super.pay -> base.rb::Base.pay (super)",
    )


def test_class_methods_of_a_concern_are_methods_of_its_classes():
    check(
        """
        #- payable.rb
        module Payable
          extend ActiveSupport::Concern
          module ClassMethods
            def cheapest; end
          end
          class_methods do
            def dearest; end
          end
          def settle; end
        end
        #- main.rb
        class Shop
          include Payable
        end
        Shop.cheapest
        Shop.dearest
        Shop.new.settle
        """,
        "Shop.cheapest -> payable.rb::Payable.ClassMethods.cheapest (inherited)",
        "Shop.dearest -> payable.rb::Payable.dearest (inherited)",
        "Shop.new -> main.rb::Shop (same file)",
        "Shop.new().settle -> payable.rb::Payable.settle (inherited)",
    )


def test_a_module_calls_methods_of_the_classes_that_include_it():
    check(
        """
        #- shop.rb
        class Shop
          include Loud
          def volume; end
        end
        class Other
          def volume; end
        end
        #- main.rb
        module Loud
          def shout
            volume
            self.volume
          end
        end
        """,
        "volume -> shop.rb::Shop.volume (implementation)",
        "self.volume -> shop.rb::Shop.volume (implementation)",
    )


def test_a_base_class_calls_methods_of_its_classes():
    check(
        """
        #- shop.rb
        class Shop < Base
          def price; end
        end
        class Till < Shop
          def price; end
        end
        #- main.rb
        class Base
          def run
            price
          end
        end
        """,
        "price -> shop.rb::Shop.price (implementation)",
        "price -> shop.rb::Till.price (implementation)",
    )


def test_parameters_and_unknown_variables_have_the_class_with_their_name():
    check(
        """
        #- lib/line_item.rb
        module Money
          class LineItem
            def total_price; end
            def vat; end
          end
        end
        #- main.rb
        module Money
          class Shop
            def run(line_item)
              line_item.total_price
            end
          end
        end
        def elsewhere(env)
          env.line_item.vat
          @line_item.vat
        end
        """,
        "line_item.total_price -> lib/line_item.rb::Money.LineItem.total_price (typed local)",
        "env.line_item.vat -> lib/line_item.rb::Money.LineItem.vat (same name)",
        "@line_item.vat -> lib/line_item.rb::Money.LineItem.vat (same name)",
    )


def test_elements_of_a_typed_collection():
    check(
        """
        #- item.rb
        class LineItem
          def vat; end
        end
        #- main.rb
        class Shop
          has_many :line_items
          def run
            line_items.each { |i| i.vat }
            line_items.first.vat
            line_items.select { |i| i }.last.vat
          end
        end
        """,
        "i.vat -> item.rb::LineItem.vat (typed local)",
        "line_items.first.vat -> item.rb::LineItem.vat (returned type)",
        "line_items.select.last.vat -> item.rb::LineItem.vat (returned type)",
    )


def test_queries_of_a_class_have_its_scopes():
    check(
        """
        #- shop.rb
        class Shop
          scope :open, -> { where(open: true) }
          scope :cheap, -> { where("price < 3") }
          def close_down; end
        end
        #- main.rb
        Shop.where(a: 1).open.cheap.each { |s| s.close_down }
        """,
        "Shop.open -> shop.rb::Shop.open (class attribute)",
        "Shop.open.cheap -> shop.rb::Shop.cheap (returned type)",
        "s.close_down -> shop.rb::Shop.close_down (unique name)",
    )


def test_delegated_methods_have_results_and_aliases_their_method():
    check(
        """
        #- item.rb
        class Item
          def rate = Rate.new
        end
        class Rate
          def lower; end
        end
        #- main.rb
        class Shop
          delegate :rate, to: :item
          def initialize; @item = Item.new; end
          attr_reader :item
          alias_method :tax, :cost
          def cost; end
          def run
            rate.lower
            tax
          end
        end
        """,
        "Item.new -> item.rb::Item (same package)",
        "rate -> main.rb::Shop.rate (same file)",
        "rate.lower -> item.rb::Rate.lower (returned type)",
        "tax -> main.rb::Shop.cost (self)",
    )


# By name


def test_a_method_of_an_unknown_receiver_is_the_only_one_of_its_name():
    check(
        """
        #- shop.rb
        class Shop
          def settle_all; end
          def length; end
          def join_all; end
        end
        class Till
          def join_all; end
        end
        #- main.rb
        def run(thing)
          thing.settle_all
          thing.length
          thing.join_all
          Outside.settle_all
          Outside::Thing.new.settle_all
        end
        """,
        "thing.settle_all -> shop.rb::Shop.settle_all (unique name)",
        "thing.join_all -> shop.rb::Shop.join_all (same name)",
        "thing.join_all -> shop.rb::Till.join_all (same name)",
    )


def test_an_object_of_a_known_class_has_no_method_of_an_unrelated_class():
    check(
        """
        #- shop.rb
        class Shop
          def settle_all; end
        end
        module Loud
          def shout_all; end
        end
        #- main.rb
        class Till
          def run
            settle_all
            shout_all
          end
        end
        Till.new.settle_all
        """,
        "shout_all -> shop.rb::Loud.shout_all (unique name)",
        "Till.new -> main.rb::Till (same file)",
    )


def test_code_outside_of_tests_calls_nothing_of_tests_by_name():
    check(
        """
        #- spec/support/helpers.rb
        module Helpers
          def settle_all; end
        end
        #- main.rb
        def run(thing)
          thing.settle_all
        end
        """,
    )


def test_methods_of_a_spec_are_not_those_of_other_files():
    check(
        """
        #- spec/a_spec.rb
        describe "a" do
          def pay; end
          pay
        end
        #- spec/main_spec.rb
        describe "b" do
          let(:shop) { Shop.new }
          it("pays") { shop.close }
          pay
        end
        #- lib/shop.rb
        class Shop
          def close; end
        end
        """,
        "Shop.new -> lib/shop.rb::Shop (same package)",
        "shop.close -> lib/shop.rb::Shop.close (typed local)",
        path="spec/main_spec.rb",
    )
