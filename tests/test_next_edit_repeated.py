"""Next edits after two alike edits."""

import pytest
from next_edit_cases import after, offers

SHOP = """
    #- shop.py
    def run(till, log):
        till.open(1)
        log.warn("first", till.name)
        log.warn("second", till.total)
        if till.ready:
            log.warn("third", till.size)
        log.warn(till)
        a = fetch(till.name)
        b = fetch(till.total)
        c = fetch(till.size)
    #- use.py
    def go(log, till):
        log.warn("fourth", till.key)
        log.warn("fourth", log.key)
    #- words.md
    log.warn("fifth", x.y)
    """


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        pytest.param(
            [
                ('log.warn("first", till.name)', 'log.info("first: %s", till.name)'),
                ('log.warn("second", till.total)', 'log.info("second: %s", till.total)'),
            ],
            ["shop.py:6:12 warn -> info", "shop.py:7:8 warn -> info", "use.py:2:8 warn -> info"],
            id="texts that differ in their parts are not generalised, but a replaced name is",
        ),
        pytest.param(
            [
                ('log.warn("first", till.name)', 'log.info("first", x=till.name)'),
                ('log.warn("second", till.total)', 'log.info("second", x=till.total)'),
            ],
            [
                'shop.py:6:12 warn("third",  -> info("third", x=',
                "shop.py:7:8 warn -> info",
                'use.py:2:8 warn("fourth",  -> info("fourth", x=',
            ],
            id="the same change under other names, also in other files",
        ),
        pytest.param(
            [("fetch(till.name)", "await fetch(till.name)"), ("fetch(till.total)", "await fetch(till.total)")],
            ["shop.py:10:8  -> await "],
            id="a word before",
        ),
        pytest.param([("fetch(till.name)", "await fetch(till.name)")], [], id="one edit is no repetition"),
    ],
)
def test_an_edit_that_was_made_twice_is_offered_where_it_fits(edits, expected):
    assert offers(after(SHOP, "shop.py", *edits)) == expected
