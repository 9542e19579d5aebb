"""Prompts: blocks and their order, the budgets, and what stays the same between two keystrokes."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from weft.llm.prompting.formats import FIM_FORMATS, FimTokens
from weft.llm.prompting.prompts import Prompt, build_prompt, choose_blocks, fit_prefix, fit_suffix, stable_order
from weft.llm.protocol import CompletionRequest, PromptFragment

RULE = "-" * 50
GOOD = PromptFragment(("price.py", "copy/price.py"), "def total():\n\n    return 1\n", 3, 2.0)
FAIR = PromptFragment(("noise.py",), "noise = 1\n", 0, 1.0)
REQUEST = CompletionRequest(
    "shop.py", "python", "def pay():\n    return ", "\n\nend = 1\n", (GOOD, FAIR), "market", max_new_tokens=16
)


def words(text: str) -> int:
    """A tokenizer for tests: words and line breaks."""
    return len(text.replace("\n", " \n ").split(" "))


def check(
    expected: str, fim: FimTokens | None, request: CompletionRequest = REQUEST, context_tokens: int = 1000
) -> None:
    expected = textwrap.dedent(expected).lstrip("\n").replace("RULE", RULE)
    assert build_prompt(request, fim, words, context_tokens).text == expected


def test_without_fill_in_the_middle_blocks_are_comments_and_the_best_stands_next_to_the_code():
    check(
        """
        # Here are some relevant code fragments from other files of the repo:
        # RULE
        # the below code fragment can be found in:
        # noise.py
        # RULE
        # noise = 1
        # RULE
        # the below code fragment can be found in:
        # price.py
        # copy/price.py
        # RULE
        # def total():
        #\x20
        #     return 1
        # RULE

        def pay():
            return """,
        fim=None,
    )


def test_comments_are_those_of_the_language():
    check(
        """
        // Here are some relevant code fragments from other files of the repo:
        // RULE
        // the below code fragment can be found in:
        // noise.py
        // RULE
        // noise = 1
        // RULE

        x = """,
        fim=None,
        request=replace(REQUEST, language="rust", prefix="x = ", fragments=(FAIR,)),
    )


def test_without_fragments_the_prompt_is_the_code():
    check("x = ", fim=None, request=replace(REQUEST, prefix="x = ", fragments=()))


def test_letters_of_a_special_token_in_somebodys_code_stay_letters():
    request = replace(REQUEST, prefix="x = '<|fim_middle|>' + ")
    specials = [
        part.text for part in build_prompt(request, FIM_FORMATS["codegemma"], words, 1000).parts if part.special
    ]
    assert specials == ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"]


def test_a_block_that_does_not_fit_is_skipped_and_the_next_tried():
    sizes = [30, 80, 40, 30, 20]
    fragments = [PromptFragment((f"{size}.py",), "x", index, -index) for index, size in enumerate(sizes)]
    chosen = choose_blocks(fragments, lambda fragment: sizes[fragment.start_line], 100)
    assert [fragment.start_line for fragment in chosen] == [0, 2, 3]


def test_at_most_ten_blocks():
    fragments = [PromptFragment((f"{index}.py",), "x", 0, 0.0) for index in range(20)]
    assert len(choose_blocks(fragments, lambda _: 1, 1000)) == 10


def test_fragments_that_are_still_wanted_keep_their_order():
    a, b, c, d = (PromptFragment((f"{name}.py",), name, 0, 0.0) for name in "abcd")
    assert stable_order([a, b, c], ()) == (c, b, a), "best last"
    assert stable_order([b, a, c], (c, b, a)) == (c, b, a), "same blocks, same order"
    assert stable_order([d, c, a], (c, b, a)) == (c, a, d), "from the first change on, best last"


def test_two_keystrokes_give_prompts_with_a_long_common_prefix():
    long_file = "".join(f"value_{number} = load({number})\n" for number in range(400))
    first = replace(REQUEST, prefix=long_file + "    ret")
    second = replace(REQUEST, prefix=long_file + "    retu", fragments=(replace(FAIR, score=3.0), GOOD))
    for fim in (None, FIM_FORMATS["qwen"], FIM_FORMATS["codegemma"]):
        before = build_prompt(first, fim, words, 400)
        after = build_prompt(second, fim, words, 400, previous=before.fragments)
        up_to_cursor = before.text.rindex("    ret") + len("    ret")
        assert after.text[:up_to_cursor] == before.text[:up_to_cursor]


@settings(max_examples=40, deadline=None)
@given(
    lines=st.lists(st.text("abc(", min_size=4, max_size=20), min_size=30, max_size=300),
    typed=st.text("abc ", min_size=2, max_size=30),
    fim=st.sampled_from([None, *FIM_FORMATS.values()]),
)
def test_while_a_line_is_typed_the_beginning_of_the_prompt_changes_at_most_once(
    lines: list[str], typed: str, fim: FimTokens | None
):
    changes, before, shown = 0, "", ()
    for n_keys in range(len(typed) + 1):
        request = replace(REQUEST, prefix="\n".join(lines) + "\n" + typed[:n_keys])
        prompt = build_prompt(request, fim, len, 2500, shown)
        up_to_cursor = prompt.text[
            : prompt.text.rindex(lines[-1] + "\n" + typed[:n_keys]) + len(lines[-1]) + 1 + n_keys
        ]
        changes += not up_to_cursor.startswith(before)
        before, shown = up_to_cursor, prompt.fragments
    assert changes <= 1


def test_the_cut_of_the_prefix_stays_while_lines_are_added():
    lines = [f"line {number}\n" for number in range(200)]
    starts = {fit_prefix("".join(lines[:count]), words, 200).split("\n")[0] for count in range(150, 182)}
    assert len(starts) <= 3


def test_of_a_line_that_is_too_long_its_end_is_kept():
    assert fit_prefix("a " * 1000 + "end", words, 10).endswith("a end")


class BytePairs:
    """A byte-level BPE of a few merges, learnt from this file: joined texts are other tokens than their parts."""

    def __init__(self) -> None:
        learning = list(Path(__file__).read_bytes()[:6000])
        self.merges: dict[tuple[int, int], int] = {}
        for token in range(256, 400):
            ((pair, _),) = Counter(pairwise(learning)).most_common(1)
            self.merges[pair] = token
            learning = self._merged(learning, pair)

    def _merged(self, tokens: list[int], pair: tuple[int, int]) -> list[int]:
        merged: list[int] = []
        for token in tokens:
            if merged and (merged[-1], token) == pair:
                merged[-1] = self.merges[pair]
            else:
                merged.append(token)
        return merged

    def __call__(self, text: str) -> int:
        tokens = list(text.encode("utf-8", "replace"))
        while pairs := [pair for pair in pairwise(tokens) if pair in self.merges]:
            tokens = self._merged(tokens, min(pairs, key=self.merges.__getitem__))
        return len(tokens)


byte_pairs = BytePairs()


def test_the_tokenizer_of_these_tests_joins_across_lines():
    assert byte_pairs("    assert\n    assert") < byte_pairs("    assert\n") + byte_pairs("    assert")
    assert byte_pairs("é🙂") == 6


CODE = st.lists(
    st.sampled_from(["    ", "\n", "return", "x", " = ", "é", "\r\n", "\ud800", ",", "def "]), max_size=60
).map("".join)


@settings(max_examples=80, deadline=None)
@given(
    prefix=CODE,
    suffix=CODE,
    texts=st.lists(CODE, max_size=5),
    context_tokens=st.integers(0, 400),
    fim=st.sampled_from([None, *FIM_FORMATS.values()]),
    count=st.sampled_from([len, byte_pairs]),
    repository=st.sampled_from(["", "market"]),
)
def test_a_prompt_fits_its_budget(
    prefix: str,
    suffix: str,
    texts: list[str],
    context_tokens: int,
    fim: FimTokens | None,
    count: Callable[[str], int],
    repository: str,
):
    fragments = tuple(PromptFragment((f"{number}.py",), text, 0, 0.0) for number, text in enumerate(texts))
    request = CompletionRequest("a.py", "python", prefix, suffix, fragments, repository, max_new_tokens=10)

    def size(prompt: Prompt) -> int:
        return sum(1 if part.special else count(part.text) for part in prompt.parts)

    frame = size(build_prompt(replace(request, prefix="", suffix="", fragments=()), fim, count, 0))
    assert size(build_prompt(request, fim, count, context_tokens)) <= max(context_tokens - 10, frame)


@given(st.text(alphabet="ab \n", max_size=100), st.integers(0, 60))
def test_fitted_code_is_the_part_next_to_the_cursor(text: str, budget: int):
    assert text.endswith(fit_prefix(text, len, budget))
    assert text.startswith(fit_suffix(text, len, budget))
