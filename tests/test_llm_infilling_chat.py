"""Infilling by chat: the prompt, and the extraction of a completion from an answer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.llm.prompting.infilling_chat import FENCE_TOKENS, build_infilling_chat, extract_infill, infill_by_chat
from weft.llm.protocol import Cancel, ChatRequest, CompletionRequest, Piece, PromptFragment

CURSOR = "<CURSOR>"
FRAGMENTS = (PromptFragment(("price.py", "old/price.py"), "def total(items): ...\n", 0, 1.0),)
PIECE_LENGTHS = (1, 2, 7, 1000)


def request_at(file: str, *, single_line: bool = False, **others: object) -> CompletionRequest:
    prefix, _, suffix = file.partition(CURSOR)
    request = CompletionRequest("shop.py", "python", prefix, suffix, FRAGMENTS, single_line=single_line)
    return replace(request, **others)


def check_answer(file: str, answer: str, filled: str, **request: object) -> None:
    """The answer, cut into pieces of any length, fills the hole at the cursor with `filled`."""
    for length in PIECE_LENGTHS:
        pieces = [Piece(answer[i : i + length]) for i in range(0, len(answer), length)]
        found = "".join(piece.text for piece in extract_infill(pieces, request_at(file, **request)))
        assert found == filled, f"in pieces of {length}"


def words(text: str) -> int:
    return len(text.split())


PAY = "def pay(items):\n    return tot<CURSOR>\n\nend = 1\n"


def test_the_answer_is_what_stands_in_the_fence():
    check_answer(PAY, "Sure, here it is:\n\n```python\nal(items)\n```\nThis calls `total`.", "al(items)")


def test_a_fence_may_be_of_tildes_or_longer_and_hold_a_shorter_one():
    check_answer(PAY, "~~~\nal(items)\n~~~\n", "al(items)")
    check_answer(PAY, '````\nal("""\n```\n""")\n````\n', 'al("""\n```\n""")')


def test_an_answer_without_a_fence_is_used_as_a_whole():
    check_answer(PAY, "al(items)", "al(items)")


def test_an_answer_that_repeats_the_question_is_none():
    check_answer(PAY, "The file is shop.py (python).\n<after_hole>\n\nend = 1\n</after_hole>\nFill the hole.", "")


def test_an_answer_that_breaks_off_in_its_fence_is_used_as_far_as_it_goes():
    check_answer(PAY, "```python\nal(ite", "al(ite")


@pytest.mark.parametrize("answer", ["", "```python\n```", "```", "```python\n", "```\n\n```\n", "\n \n"])
def test_an_empty_answer_fills_nothing(answer: str):
    check_answer(PAY, answer, "")


def test_thoughts_before_the_answer_are_no_answer():
    check_answer(PAY, "<think>\nMaybe\n```\nwrong\n```\n</think>\n```\nal(items)\n```", "al(items)")
    check_answer(PAY, "<think>not finished ```\nwrong\n```", "")


def test_a_repeated_line_is_dropped_up_to_the_cursor():
    check_answer(PAY, "```\n    return total(items)\n```", "al(items)")


def test_a_line_repeated_without_its_indentation_is_dropped_too():
    check_answer(PAY, "```\nreturn total(items)\n```", "al(items)")


def test_repeated_lines_before_the_cursor_are_dropped():
    check_answer(PAY, "```\ndef pay(items):\n    return total(items)\n```", "al(items)")


def test_the_begun_word_is_dropped_when_it_is_begun_again():
    check_answer(PAY, "```\ntotal(items)\n```", "al(items)")


def test_one_letter_is_no_begun_word():
    check_answer("x = a<CURSOR>\n", "```\na + b\n```", "a + b")


def test_only_the_end_of_the_prefix_counts_as_repeated():
    check_answer("total(a)\nb = <CURSOR>\n", "```\ntotal(a)\n```", "total(a)")


def test_the_indentation_of_an_empty_line_is_not_written_twice():
    check_answer("def f():\n    <CURSOR>\n", "```\n    return 1\n```", "return 1")
    check_answer("def f():\n    <CURSOR>\n", "```\nreturn 1\n```", "return 1")


def test_indentation_of_later_lines_is_kept():
    check_answer(
        "def f(a):\n    <CURSOR>\n",
        "```\n    if a:\n        return 1\n    return 2\n```",
        "if a:\n        return 1\n    return 2",
    )


def test_the_answer_ends_where_it_runs_into_the_code_after_the_cursor():
    check_answer(PAY, "```\nal(items)\n\n\nend = 1\nmore = 2\n```", "al(items)")


def test_a_line_that_only_begins_like_the_next_one_is_part_of_the_answer():
    check_answer(PAY, "```\nal(items)\nend = 10\n```", "al(items)\nend = 10")


def test_an_answer_that_is_the_next_line_only_fills_nothing():
    check_answer("a = 1\n<CURSOR>\nend = 1\n", "```\nend = 1\n```", "")


def test_a_closing_bracket_after_the_cursor_does_not_end_an_answer():
    check_answer("f({<CURSOR>\n})\n", "```\n'a': g({\n})\nb\n```", "'a': g({\n})\nb")


def test_an_end_after_the_cursor_does_not_end_an_answer():
    check_answer("def f\n  <CURSOR>\nend\n", "```\nx do\nend\ny\n```", "x do\nend\ny")


def test_a_single_line_ends_at_its_end():
    check_answer(PAY, "```\nreturn total(items)\nx = 2\n```", "al(items)", single_line=True)


def test_stop_texts_hold():
    check_answer(PAY, "```\nal(items)  # note\n```", "al(items)", stop=("#",))


def test_line_breaks_of_the_file_do_not_matter():
    check_answer("def f():\r\n    ret<CURSOR>\r\nend = 1\r\n", "```\ndef f():\n    return 1\nend = 1\n```", "urn 1")


def test_the_answer_comes_as_soon_as_it_is_known_to_repeat_nothing():
    written: list[str] = []

    def pieces() -> Iterator[Piece]:
        for text in ("```\n", "al", "(it", "ems)"):
            written.append(text)
            yield Piece(text)

    stream = extract_infill(pieces(), request_at(PAY))
    assert next(stream).text == "al"
    assert written == ["```\n", "al"]


def test_the_answer_is_read_no_further_than_its_fence():
    closed: list[bool] = []

    def chat(asked: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        try:
            yield Piece("```\nal(items)\n```\n")
            raise AssertionError("nobody wants the explanation")
        finally:
            closed.append(True)

    request = request_at(PAY)
    question = build_infilling_chat(request, words, 1000)
    assert "".join(piece.text for piece in infill_by_chat(chat, question, request, Cancel())) == "al(items)"
    assert closed == [True]


def test_the_question_shows_fragments_then_the_code_after_then_the_code_before():
    system, user = build_infilling_chat(request_at(PAY), words, 1000).chat.messages
    assert system.role == "system"
    assert user.text == (
        '<other_file path="price.py">\ndef total(items): ...\n</other_file>\n'
        "The file is shop.py (python).\n"
        "<after_hole>\n\nend = 1\n</after_hole>\n"
        "<before_hole>def pay(items):\n    return tot</before_hole>\n"
        "Fill the hole. Stop where the code after it goes on, or sooner.\n"
    )


def test_the_prompt_before_typing_is_a_prefix_of_the_prompt_after_it():
    first = build_infilling_chat(request_at(PAY), words, 1000)
    typed = request_at(PAY.replace("tot<", "total(<"))
    second = build_infilling_chat(typed, words, 1000, first.fragments)
    before, after = (question.chat.messages[-1].text for question in (first, second))
    common = before[: before.index("</before_hole>")]
    assert after.startswith(common)


@pytest.mark.parametrize("context_tokens", [0, 200, 400, 2000])
def test_question_and_answer_fit_into_the_context(context_tokens: int):
    prefix = "\n".join(f"line number {i} of the file" for i in range(500))
    request = CompletionRequest("a.py", "python", prefix, prefix, FRAGMENTS * 30)
    question = build_infilling_chat(request, words, context_tokens).chat
    used = sum(words(message.text) for message in question.messages)
    frame = sum(
        words(m.text) for m in build_infilling_chat(CompletionRequest("a.py", "python", "", ""), words, 0).chat.messages
    )
    assert used + question.max_new_tokens <= max(context_tokens, frame + question.max_new_tokens)
    assert question.max_new_tokens == request.max_new_tokens + FENCE_TOKENS


@given(st.text("ab \n`(x", max_size=40), st.text("ab \n`(x", max_size=60), st.integers(0, 9))
def test_how_an_answer_is_cut_into_pieces_changes_nothing(prefix: str, answer: str, seed: int):
    request = request_at(prefix + CURSOR + "\nabab\n")
    whole = "".join(piece.text for piece in extract_infill([Piece(answer)], request))
    chance = random.Random(seed)
    pieces, rest = [], answer
    while rest:
        size = chance.randint(1, 5)
        pieces.append(Piece(rest[:size]))
        rest = rest[size:]
    assert "".join(piece.text for piece in extract_infill(pieces, request)) == whole
