"""Next edits after a change of parameters."""

import pytest
from next_edit_cases import after, offers

SHOP = """
    #- shop.py
    class Till:
        def __init__(self, size):
            self.size = size
            self.currency = "EUR"
        def pay(self, amount, tip=0, *, note=""):
            return amount + tip
        def again(self):
            return self.pay(3, 1, note="x")
    class Bank(Till):
        def pay(self, amount, tip=0, *, note=""):
            return super().pay(amount, tip, note=note)
    def total(a, b):
        return a - b
    #- use.py
    from shop import Till, total
    def run(till: Till, currency):
        till.pay(amount=3)
        total(1, b=2)
        total(*till)
        return total(
            1,
            2,
        )
    def make():
        return Till(3)
    """


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            'def pay(self, amount, tip=0, *, note=""):\n        return amount',
            'def pay(self, amount, currency, tip=0, *, note=""):\n        return amount',
            [
                "shop.py:8:27  -> self.currency, ",
                "shop.py:10:26  -> currency, ",
                "shop.py:11:35  -> currency, ",
                "use.py:3:21  -> , currency=currency",
            ],
            id="a parameter in the middle: from an attribute, a parameter, a keyword after keywords",
        ),
        pytest.param(
            "total(a, b)",
            "total(b, a)",
            ["use.py:4:10  -> a=", "use.py:7:8 1,\n        2 -> 2,\n        1"],
            id="another order",
        ),
        pytest.param(
            "total(a, b)",
            "total(a)",
            ["use.py:4:11 , b=2 -> ", "use.py:8:4     2,\n     -> "],
            id="a parameter less, on lines of their own",
        ),
        pytest.param("total(a, b)", "total(a, c)", ["shop.py:13:15 b -> c", "use.py:4:13 b -> c"], id="another name"),
        pytest.param("total(a, b)", "total(a, b, c=3)", [], id="a default changes no call"),
        pytest.param(
            "total(a, b)",
            "total(a, *, b)",
            ["use.py:8:8  -> b="],
            id="keywords only",
        ),
        pytest.param("total(a, b)", "total(a, b,", [], id="a half-typed list"),
        pytest.param(
            "def __init__(self, size):",
            "def __init__(self, size, name):",
            ["use.py:11:17  -> , name"],
            id="a constructor is called by its class",
        ),
    ],
)
def test_calls_and_overrides_follow_changed_parameters(old, new, expected):
    assert offers(after(SHOP, "shop.py", (old, new))) == expected


STUBBED = """
    #- shop.py
    class Till:
        def pay(self, amount):
            return amount
    #- shop.pyi
    class Till:
        def pay(self, amount: int) -> int: ...
    """


@pytest.mark.parametrize(
    ("path", "old", "new", "expected"),
    [
        pytest.param("shop.py", "amount):", "amount, tip=0):", ["shop.pyi:2:29  -> , tip=..."], id="a stub"),
        pytest.param("shop.py", "amount):", "total):", ["shop.pyi:2:18 amount -> total"], id="another name in a stub"),
        pytest.param(
            "shop.pyi", "amount: int)", "amount: int, tip: int)", ["shop.py:2:24  -> , tip: int"], id="a module"
        ),
    ],
)
def test_stubs_follow_changed_parameters(path, old, new, expected):
    found = [each for each in offers(after(STUBBED, path, (old, new))) if not each.startswith(f"{path}:")]
    assert found == expected
