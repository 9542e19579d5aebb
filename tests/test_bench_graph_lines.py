"""Signature help in prompts: tasks, forms, the tokens that are read again, and the table."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from weft.benchmarks.completion.answering import Repository
from weft.benchmarks.completion.graph_line_forms import FORMS, in_form
from weft.benchmarks.completion.graph_line_prefill import prefilled_per_key
from weft.benchmarks.completion.graph_line_run import FormRow, answer_in_forms, table
from weft.benchmarks.completion.graph_line_tasks import call_tasks, graph_line_tasks, known_at
from weft.benchmarks.completion.signature_help import SignatureHelp
from weft.benchmarks.repoeval.sources import SourceFile, parse_source
from weft.benchmarks.repoeval.tasks import Task, build_tasks
from weft.llm import Cancel, CompletionRequest, ModelInfo, Piece
from weft.llm.protocol import Speed

SHOP = """
#- shop/price.py
def total(prices, rate=0.2):
    return sum(price * rate for price in prices)
#- shop/till.py
from shop.price import total
def pay(basket, rate):
    first = check(basket, rate)
    second = check(basket, rate)
    third = check(basket, first)
    return total(basket, rate, tax)
"""
KNOWN = SignatureHelp("total", ("prices", "rate=0.2"), "", "self", ("items", "clear()"))
CODE = "import shop\n\n\ndef pay(self):\n" + "".join(f"    step_{n}()\n" for n in range(8)) + "    total("


def shop() -> tuple[Repository, list[Task]]:
    parts = (part.partition("\n") for part in SHOP.split("#- ")[1:])
    sources: dict[str, SourceFile] = {path: parse_source(path, content, content) for path, _, content in parts}
    return Repository.of("shop", sources), build_tasks(sources, "shop")


class Writes:
    """A model that writes the same always, and keeps what it was asked."""

    info = ModelInfo("writes", "transformers", 4096, fills_middle=True, repository_level=False, local=True)
    speed = Speed()

    def __init__(self, text: str) -> None:
        self.text = text
        self.requests: list[CompletionRequest] = []

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        self.requests.append(request)
        yield Piece(self.text)


def code_in(form: str) -> str:
    request = CompletionRequest("till.py", "python", CODE, "")
    return in_form(request, KNOWN, FORMS[form], Writes("")).prefix  # type: ignore[arg-type]


def check(form: str, expected: str) -> None:
    assert code_in(form) == textwrap.dedent(expected).strip("\n")


def test_a_call_task_begins_behind_the_bracket():
    _, tasks = shop()
    (task,) = call_tasks(task for task in tasks if task.kind == "api")
    assert (task.kind, task.ground_truth_line[: task.col], task.ground_truth) == (
        *("called", "    return total(", "basket, rate, tax)"),
    )


def test_tasks_are_those_where_the_graph_knows_the_callee_and_halves_share_none():
    repository, tasks = shop()
    halves = [graph_line_tasks(repository, tasks, half, 20) for half in ("choosing", "reporting")]
    ids = [{task.task_id for task in half} for half in halves]
    assert ids[0] | ids[1] and not ids[0] & ids[1]
    assert all(known_at(repository, task).callee == "total" for half in halves for task in half)


def test_the_form_near_is_some_lines_above():
    check(
        "near",
        """
        import shop


        def pay(self):
            step_0()
            step_1()
            # total(prices, rate=0.2)
            step_2()
            step_3()
            step_4()
            step_5()
            step_6()
            step_7()
            total(
        """.rstrip(),
    )


def test_forms_have_their_lines_in_their_places():
    callee, receiver = "# total(prices, rate=0.2)\n", "# self: items, clear()\n"
    assert code_in("none") == CODE
    assert code_in("callee").endswith(f"    step_7()\n    {callee}    total(")
    assert code_in("line").endswith(f"    {receiver}    {callee}    total(")
    assert code_in("words").endswith("    # total takes prices, rate\n    total(")
    assert f"\n\n\n{receiver}{callee}def pay(self):\n" in code_in("function")
    assert code_in("top").startswith(f"{receiver}{callee}import shop\n")


def test_equal_prompts_are_answered_once():
    repository, tasks = shop()
    (task,) = call_tasks(task for task in tasks if task.kind == "api")
    model = Writes("basket, rate, tax)")
    rows = answer_in_forms(repository, task, ["none", "members", "callee"], model)  # type: ignore[arg-type]
    assert [(row.form, row.exact_match) for row in rows] == [("none", 1.0), ("members", 1.0), ("callee", 1.0)]
    assert len(model.requests) == 2


def test_tokens_below_a_changed_comment_are_read_again():
    repository, tasks = shop()
    (task,) = call_tasks(task for task in tasks if task.kind == "api")

    def comment(at: Task) -> str:
        return "#" if "(" in at.ground_truth_line[: at.col] else ""

    def request_of(at: Task, *, has_comment: bool) -> CompletionRequest:
        typed = at.ground_truth_line[: at.col].strip()
        return CompletionRequest("till.py", "python", (comment(at) if has_comment else "") + typed, "")

    def characters(request: CompletionRequest) -> list[int]:
        return list(map(ord, request.prefix))

    plain = prefilled_per_key(repository, task, lambda at: request_of(at, has_comment=False), characters)
    commented = prefilled_per_key(repository, task, lambda at: request_of(at, has_comment=True), characters)
    assert plain <= 1.0 < commented


def test_the_table_has_differences_to_the_first_form():
    def row(number: int, form: str, right: float) -> FormRow:
        return FormRow(
            f"r/begun/{number}", form, unique=False, text="", exact_match=right, edit_similarity=right, prompt_tokens=9
        )

    forms = {"none": [row(0, "none", 0.0), row(1, "none", 1.0)], "near": [row(0, "near", 1.0), row(1, "near", 1.0)]}
    lines = table(forms, {"none": [1.0], "near": [3.0]}).split("\n")
    assert lines[2].startswith("| none | 50.0 | 50.0 | 50.0 | 50.0 | - | - | 9 | 1.0 |")
    assert lines[3].startswith("| near | 100.0 [+0.0, +100.0] |")
