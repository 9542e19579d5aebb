"""Next edits after alike edits."""

import pytest
from next_edit_cases import after, offers_of
from weft.server.next_edit.fits import _source
from weft.server.next_edit.repeated import repeated_edits, repeated_with_evidence

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
            [
                'shop.py:6:12 warn("third -> info("third: %s',
                'use.py:2:8 warn("fourth -> info("fourth: %s',
            ],
            id="a change of a name and in a text, also in other files",
        ),
        pytest.param(
            [
                ('log.warn("first", till.name)', 'log.info("first", x=till.name)'),
                ('log.warn("second", till.total)', 'log.info("second", x=till.total)'),
            ],
            [
                'shop.py:6:12 warn("third",  -> info("third", x=',
                'use.py:2:8 warn("fourth",  -> info("fourth", x=',
            ],
            id="the same change under other names, also in other files",
        ),
        pytest.param(
            [("fetch(till.name)", "await fetch(till.name)"), ("fetch(till.total)", "await fetch(till.total)")],
            ["shop.py:10:8  -> await "],
            id="a word before",
        ),
        pytest.param(
            [("fetch(till.name)", "await fetch(till.name)")],
            ["shop.py:9:8  -> await ", "shop.py:10:8  -> await "],
            id="after one, where the words around are the same",
        ),
        pytest.param(
            [('log.warn("third", till.size)', 'log.info(till.size, "third")')],
            [],
            id="after one, not where what it replaced is other",
        ),
    ],
)
def test_an_edit_that_was_made_is_offered_where_it_fits(edits, expected):
    assert offers_of(repeated_edits, after(SHOP, "shop.py", *edits)) == expected


LOCKS = """
    #- locks.py
    class Till:
        def open(self):
            lock(self)
            self.count += 1
            unlock(self)

        def close(self):
            if self.count:
                lock(self)
                self.count -= 1
                unlock(self)

        @skip_old
        @cached
        def total(self):
            return sum(self.items)  # slow: reads the disk

        @skip_old
        @cached
        def size(self):
            return len(self.items)  # slow: reads the disk

        def first(self):
            for item in self.items:
                if item is None:
                    continue
                return item

        def last(self):
            for item in self.items[::-1]:
                if item is None:
                    continue
                return item
    """


def texts(situation):
    """The changed lines of each edit and the one behind them, by the first of them."""
    now = situation.edited[0].now
    found = {}
    for edit, _ in repeated_with_evidence(situation, 0.0):
        (line, start), (end_line, end) = edit.start, edit.end
        found[line + 1] = f"{now.line(line)[:start]}{edit.new}{now.line(end_line)[end:]}"
    return found


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        pytest.param(
            ("lock(self)\n        self.count += 1", "lock(self)\n        check(self)\n        self.count += 1"),
            {11: "            check(self)\n            self.count -= 1"},
            id="a line is inserted, at the indentation of the place",
        ),
        pytest.param(
            ("    @skip_old\n    @cached\n    def total", "    @cached\n    def total"),
            {17: "    @cached"},
            id="a line is deleted",
        ),
        pytest.param(
            ("sum(self.items)  # slow: reads the disk", "sum(self.items)  # slow: reads all of the disk"),
            {21: "        return len(self.items)  # slow: reads all of the disk"},
            id="a comment is changed",
        ),
        pytest.param(
            (
                "in self.items:\n            if item is None:\n                continue\n            return item",
                "in self.items:\n            if item is not None:\n                return item",
            ),
            {30: "            if item is not None:"},
            id="several lines become fewer",
        ),
    ],
)
def test_changes_of_lines_are_repeated(edit, expected):
    found = texts(after(LOCKS, "locks.py", edit))
    assert {line: found.get(line) for line in expected} == expected


def test_an_edit_says_what_it_follows_from():
    (edit,) = repeated_edits(after(SHOP, "shop.py", ("a = fetch", "a = await fetch"), ("b = fetch", "b = await fetch")))
    assert (edit.origin.path, edit.origin.line) == ("shop.py", 8)
    assert edit.reason == "The edits of lines 8 and 9 of shop.py fit here, too."
    assert edit.evidence == "5 tokens around it are the same."


@pytest.mark.parametrize(
    "text",
    ["\r\n".join(["a = (1, 2)"] * 4), "x\t= '\U0001f600'\n" * 4, "", "(" * 5000, "\ufeff" + "a;" * 20_000, "if (\n'"],
)
def test_any_text_gives_an_answer(text):
    case = f"#- odd.py\nstart = 1\n{text}"
    assert isinstance(list(repeated_edits(after(case, "odd.py", ("start = 1", "start = (1, 2)")))), list)


OTHER_EDITS = [(f"c{n} = 1", f"c{n} = 2") for n in range(3)]
ROW = "    #- shop.py\n" + "".join(
    f"    {line}\n"
    for line in ["a = fetch(x)", "", "c0 = 1", "", "c1 = 1", "", "c2 = 1", "", "b = fetch(x)", "", "f = fetch(x)"]
)


def confidence_of_line(situation, line):
    return max(
        (edit.confidence for edit, _ in repeated_with_evidence(situation, 0.0) if edit.start[0] == line), default=0.0
    )


def test_an_edit_that_is_not_followed_gets_less_confident_until_it_is_made_again():
    first, second = ("a = fetch(x)", "a = fetch(x, 1)"), ("b = fetch(x)", "b = fetch(x, 1)")
    once = confidence_of_line(after(ROW, "shop.py", first), 10)
    later = confidence_of_line(after(ROW, "shop.py", first, *OTHER_EDITS), 10)
    again = confidence_of_line(after(ROW, "shop.py", first, *OTHER_EDITS, second), 10)
    assert once > later
    assert again > later


def test_windows_of_a_text_share_its_lines_and_not_their_blank_ones():
    source = _source("a = 1\n\n\nb = 2\nc\nd\ne\n")
    wide, near = source.window(0, 5), source.window(3, 3)
    assert source.window(0, 5) == wide
    assert [(token.line, token.end_line) for token in wide.tokens if token.text == "\n"][:2] == [(0, 3), (3, 4)]
    assert near.tokens == wide.tokens[: len(near.tokens)]
    assert near.texts == ("a", "=", "1", "\n", "b", "=", "2", "\n", "c", "\n", "d", "\n")
    assert near.at(3, 4) == 6
    assert near.at(3, 3) is None
