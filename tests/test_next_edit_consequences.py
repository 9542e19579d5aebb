"""Next edits of calls after a function became asynchronous or a property, and of tests named after a function."""

import pytest
from next_edit_cases import after, offers, offers_of
from weft.server.next_edit.calling_forms import calling_form_edits

SHOP = """
    #- shop.py
    class Till:
        def pay(self, amount):
            return amount
        async def count(self):
            return self.pay(1)
        def size(self):
            return 2
        @property
        def colour(self):
            return "red"
        @property
        def name(self):
            return ""
        @name.setter
        def name(self, name):
            self.colour = name
    def again(till: Till):
        return till.pay(3)
    #- use.py
    import asyncio
    from shop import Till
    async def run(till: Till):
        if till.pay(1).bit_length():
            await asyncio.gather(till.pay(2), till.pay(3))
        print(till.size(), till.size, till.colour, till.name)
        total = till.pay(4)
        return await till.count()
    async def twice(till: Till):
        return (await till.count()).bit_length()
    """

SHOP_TS = """
    #- shop.ts
    export function pay(amount: number) {
      return amount;
    }
    export class Till {
      size() {
        return 1;
      }
    }
    #- use.ts
    import { pay, Till } from "./shop";
    export const run = async () => {
      const each = pay(1);
      const all = await Promise.all([pay(2)]);
    };
    export function plain(till: Till) {
      return pay(3) + till.size();
    }
    """

TESTS = """
    #- shop.py
    def pay(amount):
        return amount
    #- tests/test_shop.py
    from shop import pay
    def test_pay():
        assert pay(1)
    def test_pay_twice():
        assert pay(1)
    def test_payment():
        assert pay(1)
    def test_no_pay():
        assert True
    """


@pytest.mark.parametrize(
    ("text", "path", "edit", "expected"),
    [
        pytest.param(
            SHOP,
            "shop.py",
            ("    def pay(self", "    async def pay(self"),
            ["shop.py:5:15  -> await ", "use.py:4:7 till.pay(1) -> (await till.pay(1))", "use.py:7:12  -> await "],
            id="a method that became asynchronous",
        ),
        pytest.param(
            SHOP,
            "shop.py",
            ("    async def count(self", "    def count(self"),
            ["use.py:8:11 await  -> ", "use.py:10:11 (await till.count()) -> till.count()"],
            id="a method that is not asynchronous any more",
        ),
        pytest.param(
            SHOP,
            "shop.py",
            ("    def size(self", "    @property\n    def size(self"),
            ["use.py:6:19 () -> "],
            id="a method that became a property",
        ),
        pytest.param(
            SHOP,
            "shop.py",
            ("    @property\n    def colour(self", "    def colour(self"),
            ["use.py:6:45  -> ()"],
            id="a property that became a method",
        ),
        pytest.param(
            SHOP_TS,
            "shop.ts",
            ("export function pay", "export async function pay"),
            ["use.ts:3:15  -> await "],
            id="TypeScript, in asynchronous functions alone",
        ),
        pytest.param(
            SHOP_TS, "shop.ts", ("  size()", "  get size()"), ["use.ts:7:27 () -> "], id="a method that became a getter"
        ),
        pytest.param(SHOP, "shop.py", ("def pay(self", "def  pay(self"), [], id="a header in another layout"),
        pytest.param(SHOP, "shop.py", ('return ""', 'return self.colour + ""'), [], id="a property with a setter"),
    ],
)
def test_calls_are_written_as_their_function_is_called(text, path, edit, expected):
    assert offers_of(calling_form_edits, after(text, path, edit)) == expected


def test_tests_are_renamed_with_the_function_that_they_are_named_after():
    found = [each for each in offers(after(TESTS, "shop.py", ("def pay", "def charge"))) if "test_" in each.split()[1]]
    assert found == [
        "tests/test_shop.py:2:4 test_pay -> test_charge",
        "tests/test_shop.py:4:4 test_pay_twice -> test_charge_twice",
    ]


def test_tests_of_go_are_renamed_with_their_function():
    text = """
        #- shop.go
        package shop

        func Pay(a int) int { return a }
        #- shop_test.go
        package shop

        func TestPayTwice(t *testing.T) {
            Pay(1)
        }
        """
    assert "shop_test.go:3:5 TestPayTwice -> TestChargeTwice" in offers(after(text, "shop.go", ("Pay(a", "Charge(a")))
