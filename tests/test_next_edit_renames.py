"""Next edits after a rename."""

import pytest
from next_edit_cases import after, offers

SHOP = """
    #- shop.py
    RATE = 0.2
    class Till:
        limit = 3
        def pay(self, amount):
            total = amount * RATE
            self.last = total
            return total
        def again(self):
            return self.pay(self.last)
    class Bank(Till):
        def pay(self, amount):
            return super().pay(amount)
    #- use.py
    from shop import RATE, Till
    def run(till: Till):
        # pay nothing
        print("pay", till.last, Till.limit, RATE)
        return till.pay(3)
    #- other.py
    class Door:
        def pay(self): return self.last
    """


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            "total = amount * RATE",
            "price = amount * RATE",
            ["shop.py:6:20 total -> price", "shop.py:7:15 total -> price"],
            id="a local name in its function alone",
        ),
        pytest.param(
            "def pay(self, amount):\n        total",
            "def charge(self, amount):\n        total",
            [
                "shop.py:9:20 pay -> charge",
                "shop.py:11:8 pay -> charge",
                "shop.py:12:23 pay -> charge",
                "use.py:5:16 pay -> charge",
            ],
            id="a method with calls, overrides and super calls",
        ),
        pytest.param(
            "RATE = 0.2",
            "TAX = 0.2",
            [
                "shop.py:5:25 RATE -> TAX",
                "use.py:1:17 RATE -> TAX",
                "use.py:4:40 RATE -> TAX",
            ],
            id="a value of a module with its imports",
        ),
        pytest.param(
            "self.last = total",
            "self.latest = total",
            ["shop.py:9:29 last -> latest", "use.py:4:22 last -> latest"],
            id="an attribute",
        ),
        pytest.param("limit = 3", "most = 3", ["use.py:4:33 limit -> most"], id="an attribute of a class"),
        pytest.param(
            "class Till:",
            "class Desk:",
            [
                "shop.py:10:11 Till -> Desk",
                "use.py:1:23 Till -> Desk",
                "use.py:2:14 Till -> Desk",
                "use.py:4:28 Till -> Desk",
            ],
            id="a class with imports, annotations and bases",
        ),
        pytest.param("amount * RATE", "amount * TAX", [], id="no rename where a name is only used"),
    ],
)
def test_the_uses_of_a_renamed_name(old, new, expected):
    assert offers(after(SHOP, "shop.py", (old, new))) == expected


@pytest.mark.parametrize(
    ("path", "text", "old", "new", "expected"),
    [
        pytest.param(
            "sum.go",
            """
            #- sum.go
            package sum
            func one(xs []int) []int {
                found := make([]int, 3)
                for i, x := range xs {
                    found[i] = x
                }
                return found
            }
            func two(found int) int { return found }
            """,
            "found := make",
            "sums := make",
            ["sum.go:5:8 found -> sums", "sum.go:7:11 found -> sums"],
            id="a short declaration",
        ),
        pytest.param(
            "sum.py",
            "#- sum.py\ndef one(xs):\n    for x in xs:\n        print(x)\ndef two(x):\n    print(x)\n",
            "for x in",
            "for each in",
            ["sum.py:3:14 x -> each"],
            id="the target of a loop",
        ),
    ],
)
def test_a_local_name_that_its_syntax_declares_without_a_keyword(path, text, old, new, expected):
    assert offers(after(text, path, (old, new))) == expected
