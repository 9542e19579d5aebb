"""Next edits of imports."""

import pytest
from next_edit_cases import after, after_moving, offers

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
            ["empty.py:3:0  -> from shop import charge\n\n\n"],
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


STYLES = """
    #- shop/__init__.py
    #- shop/till.py
    def pay(): ...
    #- shop/prices.py
    TOTAL = 1
    #- shop/use.py
    from __future__ import annotations

    import json
    import sys
    from pathlib import Path

    import requests

    from .till import pay
    from .tools import (
        door,
        key,  # the old one
    )

    def run(a):
        json.dumps(sys.argv), Path, requests, door, key
        return pay()
    #- shop/tools.py
    import os
    import requests
    door = key = lamp = 1
    #- tests/other.py
    from shop.tools import lamp
    print(lamp)
    """

GO = """
    #- go.mod
    module example.com/shop
    #- till/till.go
    package till

    func Pay() {}
    #- door/door.go
    package door

    func Open() {}
    #- main.go
    package main

    import (
    \t"fmt"
    \t"strings"

    \t"example.com/shop/till"
    )

    func main() {
    \tfmt.Println(strings.ToUpper("a"))
    \ttill.Pay()
    }
    #- one.go
    package main

    import "fmt"

    func one() { fmt.Println(1) }
    """

WEB = """
    #- src/till.ts
    export type Price = number;
    export function pay() {}
    function hidden() {}
    #- src/door.ts
    import { pay } from './till';
    export const unlock = () => pay();
    #- test/use.ts
    import type { Door } from 'doors';
    import { shut } from 'doors';
    import fs from 'node:fs';

    export function run(door: Door) {
      return shut(fs);
    }
    #- test/first.ts
    // Doors.

    /** Runs. */
    export function run() {
      return 1;
    }
    #- test/deep/other.ts
    import fs, { read } from 'node:fs';
    import { unlock } from '../../src/door';
    fs(read, unlock);
    """


@pytest.mark.parametrize(
    ("text", "path", "edit", "expected"),
    [
        pytest.param(
            STYLES,
            "shop/use.py",
            ("return pay()", "return pay(TOTAL)"),
            ["shop/use.py:9:0  -> from .prices import TOTAL\n"],
            id="a name that one file defines, in order of the relative imports",
        ),
        pytest.param(
            STYLES,
            "shop/use.py",
            ("return pay()", "return pay(lamp)"),
            ["shop/use.py:13:0  ->     lamp,\n"],
            id="a line of a list with comments",
        ),
        pytest.param(
            STYLES,
            "shop/use.py",
            ("return pay()", "return pay(zlib.crc32(a), os.sep)"),
            ["shop/use.py:5:0  -> import zlib\n", "shop/use.py:4:0  -> import os\n"],
            id="modules of the standard library, one of which no file imports",
        ),
        pytest.param(
            STYLES,
            "shop/use.py",
            ("Path, requests, door, key", "Path, requests"),
            ["shop/use.py:10:0 from .tools import (\n    door,\n    key,  # the old one\n)\n -> "],
            id="all names of a list",
        ),
        pytest.param(
            STYLES,
            "shop/use.py",
            ("requests, door, key", "door, key"),
            ["shop/use.py:7:0 import requests\n\n -> "],
            id="the only one of a block, with its blank line",
        ),
        pytest.param(
            GO,
            "main.go",
            ("till.Pay()", "till.Pay()\n\tdoor.Open()\n\terrors.New(os.Args[0])"),
            [
                'main.go:7:0  -> \t"example.com/shop/door"\n',
                'main.go:4:0  -> \t"errors"\n',
                'main.go:5:0  -> \t"os"\n',
            ],
            id="Go: in the blocks of a declaration",
        ),
        pytest.param(
            GO,
            "one.go",
            ("fmt.Println(1)", "fmt.Println(errors.New)"),
            ['one.go:3:0 import "fmt"\n -> import (\n\t"errors"\n\t"fmt"\n)\n'],
            id="Go: a block in place of one import",
        ),
        pytest.param(
            GO,
            "main.go",
            ('\tfmt.Println(strings.ToUpper("a"))\n', ""),
            ['main.go:4:0 \t"fmt"\n -> ', 'main.go:5:0 \t"strings"\n -> '],
            id="Go: unused packages",
        ),
        pytest.param(
            WEB,
            "test/use.ts",
            ("return shut(fs)", "const price: Price = pay();\n  return shut(fs, hidden)"),
            ["test/use.ts:4:0  -> import { pay, Price } from '../src/till';\n"],
            id="TypeScript: a relative module for two names, none that is not exported",
        ),
        pytest.param(
            WEB,
            "test/use.ts",
            ("return shut(fs)", "return unlock(fs)"),
            [
                "test/use.ts:2:0 import { shut } from 'doors';\n -> ",
                "test/use.ts:4:0  -> import { unlock } from '../src/door';\n",
            ],
            id="TypeScript: as another folder imports it",
        ),
        pytest.param(
            WEB,
            "test/first.ts",
            ("return 1", "return pay()"),
            ["test/first.ts:3:0  -> import { pay } from '../src/till';\n\n"],
            id="TypeScript: the first import, above the comment of the first statement",
        ),
    ],
)
def test_imports_are_written_as_the_file_writes_them(text, path, edit, expected):
    found = [each for each in offers(after(text, path, edit)) if each.startswith(path)]
    assert sorted(found) == sorted(expected)


def test_the_older_of_two_imports_of_a_name_is_removed():
    edit = ("import requests\n\n", "import requests\nfrom doors import door\n\n")
    assert offers(after(STYLES, "shop/use.py", edit)) == ["shop/use.py:12:0     door,\n -> "]


MOVED = """
    #- shop/till.py
    def pay(): ...
    def keep(): ...
    #- shop/prices.py
    TOTAL = 1
    #- shop/use.py
    from .till import keep, pay
    pay(keep)
    #- main.py
    from shop.till import pay as charge
    charge()
    #- shop/__init__.py
    """


def test_imports_follow_a_name_that_moved_to_another_file():
    assert sorted(offers(after_moving(MOVED, "def pay(): ...\n", "shop/till.py", "shop/prices.py"))) == [
        "main.py:1:0 from shop.till import pay as charge\n -> from shop.prices import pay as charge\n",
        "shop/use.py:1:0  -> from .prices import pay\n",
        "shop/use.py:1:22 , pay -> ",
    ]
