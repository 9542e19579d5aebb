"""Next edits of docstrings and comments after a change of parameters or of an exception."""

import pytest
from next_edit_cases import after, offers

FIELDS = '''
    #- shop.py
    def pay(amount, tip):
        """Pay.

        :param amount: what `amount` of money
            is due
        :type tip: int
        :param int tip: for the waiter
        :raises KeyError: without a till
        """
        if not tip:
            raise KeyError(tip)
    '''

GOOGLE = '''
    #- shop.py
    def pay(amount, tip):
        """Pay.

        Args:
            amount (int): what is due
            tip: for the waiter,
                who is tired

        Raises:
            KeyError: without a till
        """
        if not tip:
            raise KeyError(tip)
    '''

NUMPY = '''
    #- shop.py
    def pay(amount, tip):
        """Pay.

        Parameters
        ----------
        amount : int
            what is due
        tip
            for the waiter

        Returns
        -------
        tip
            not this one
        """
        return tip
    '''

JSDOC = """
    #- shop.ts
    /**
     * Pays.
     * @param {number} amount - what is due
     * @param tip for the waiter
     * @throws {RangeError} without a till
     */
    export function pay(amount: number, tip: number) {
      throw new RangeError("no");
    }
    """


@pytest.mark.parametrize(
    ("text", "path", "edit", "expected"),
    [
        pytest.param(
            FIELDS,
            "shop.py",
            ("pay(amount, tip)", "pay(total, tip)"),
            ["shop.py:4:11 amount -> total", "shop.py:4:25 amount -> total"],
            id="a field and a mention as code",
        ),
        pytest.param(
            FIELDS,
            "shop.py",
            ("pay(amount, tip)", "pay(amount)"),
            ["shop.py:7:0     :param int tip: for the waiter\n -> "],
            id="a removed field",
        ),
        pytest.param(
            FIELDS,
            "shop.py",
            ("pay(amount, tip)", "pay(amount, currency, tip)"),
            ["shop.py:6:0  ->     :param currency:\n"],
            id="a new field below its neighbour",
        ),
        pytest.param(
            FIELDS,
            "shop.py",
            ("raise KeyError", "raise LookupError"),
            ["shop.py:8:12 KeyError -> LookupError"],
            id="an exception in a field",
        ),
        pytest.param(
            GOOGLE,
            "shop.py",
            ("pay(amount, tip)", "pay(amount)"),
            ["shop.py:6:0         tip: for the waiter,\n            who is tired\n -> "],
            id="a removed entry with its lines",
        ),
        pytest.param(
            GOOGLE,
            "shop.py",
            ("pay(amount, tip)", "pay(total, tip)"),
            ["shop.py:5:8 amount -> total"],
            id="an entry of a section",
        ),
        pytest.param(
            GOOGLE,
            "shop.py",
            ("raise KeyError", "raise LookupError"),
            ["shop.py:10:8 KeyError -> LookupError"],
            id="an exception in a section",
        ),
        pytest.param(
            NUMPY,
            "shop.py",
            ("pay(amount, tip)", "pay(amount, gift)"),
            ["shop.py:8:4 tip -> gift"],
            id="an entry without a type, and none of another section",
        ),
        pytest.param(
            JSDOC,
            "shop.ts",
            ("amount: number, tip", "total: number, tip"),
            ["shop.ts:3:19 amount -> total"],
            id="a tag with a type",
        ),
        pytest.param(
            JSDOC,
            "shop.ts",
            ("new RangeError", "new TypeError"),
            ["shop.ts:5:12 RangeError -> TypeError"],
            id="a tag of an exception",
        ),
        pytest.param(FIELDS, "shop.py", ("if not tip", "if tip"), [], id="an edit of the body"),
    ],
)
def test_documentation_follows_parameters_and_exceptions(text, path, edit, expected):
    assert [each for each in offers(after(text, path, edit)) if each.split()[0] not in USES] == expected


USES = {"shop.py:12:7", "shop.py:13:23", "shop.py:13:14", "shop.py:16:11"}
"""Places of uses in the body, which other kinds offer."""
