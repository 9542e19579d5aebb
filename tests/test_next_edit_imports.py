"""Next edits of imports."""

import pytest
from next_edit_cases import after, offers

PYTHON = """
    #- shop.py
    def pay(): ...
    def charge(): ...
    #- other.py
    import os
    from json import dumps
    from shop import charge
    print(charge(), os.sep, dumps)
    #- use.py
    import sys

    from shop import pay

    def run():
        print(sys.argv)
        return pay()
    #- empty.py
    \"\"\"Words.\"\"\"

    def run():
        return 1
    """

TYPESCRIPT = """
    #- shop.ts
    export function pay() {}
    export function charge() {}
    #- other.ts
    import { charge } from "./shop";
    charge();
    #- use.ts
    import {
      pay,
      zip,
    } from "./shop";
    pay();
    zip();
    """


@pytest.mark.parametrize(
    ("text", "path", "edit", "expected"),
    [
        pytest.param(
            PYTHON, "use.py", ("return pay()", "return pay(charge())"), ["use.py:3:17  -> charge, "], id="into a list"
        ),
        pytest.param(
            PYTHON.replace("from shop import charge\n", "").replace("charge(), ", ""),
            "use.py",
            ("return pay()", "return pay(charge())"),
            ["use.py:3:17  -> charge, "],
            id="a name that no other file imports, of a module that this one imports from",
        ),
        pytest.param(
            PYTHON,
            "use.py",
            ("return pay()", "return pay(os.sep)"),
            ["use.py:1:0  -> import os\n"],
            id="in order of the imports",
        ),
        pytest.param(
            PYTHON,
            "use.py",
            ("return pay()", "return pay(dumps(1))"),
            ["use.py:2:0  -> from json import dumps\n"],
            id="a line of its own in the block of the standard library",
        ),
        pytest.param(
            PYTHON,
            "empty.py",
            ("return 1", "return charge()"),
            ["empty.py:3:0  -> from shop import charge\n"],
            id="below the text at the top",
        ),
        pytest.param(PYTHON, "use.py", ("return pay()", "return pay(unknown)"), [], id="a name that nobody imports"),
        pytest.param(
            PYTHON,
            "use.py",
            ("return pay()", "return 1"),
            ["use.py:3:0 from shop import pay\n -> "],
            id="an unused one",
        ),
        pytest.param(
            TYPESCRIPT,
            "use.ts",
            ("zip();", "charge();"),
            ["use.ts:3:0   zip,\n -> ", "use.ts:2:0  ->   charge,\n"],
            id="a list on several lines",
        ),
    ],
)
def test_imports_follow_the_names_that_are_used(text, path, edit, expected):
    assert offers(after(text, path, edit)) == expected
