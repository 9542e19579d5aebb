"""Every error of the package is in the tree of errors.py, and its message ends with the next step."""

import ast
import builtins
import re
from pathlib import Path

import pytest
import weft
from weft import errors
from weft.server.agents.hints import Hint

ROOT = Path(weft.__file__).resolve().parent
ROOMS = ("languages", "codegraph", "retrieval", "memory", "llm", "server", "benchmarks")
PATHS = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py") if ".work" not in path.parts)
TREES = {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in PATHS}
BUILTIN = {
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
}
KINDS = {
    name: {each for each in kind.__mro__ if issubclass(each, errors.WeftError)}
    for name, kind in vars(errors).items()
    if isinstance(kind, type)
}

NEXT_STEPS = """
    add allow ask begin call change check choose clone close complete configure convert copy correct create delete
    disable do download end exclude export fetch find free give go install leave let list load log look lower make
    memorize move name open put raise read remove rename repair replace reload restart resume reuse run save search see
    send set shorten start supply switch take train try update upgrade use wait weft write
"""
"""The verbs a next step begins with."""

NEXT_STEP = re.compile(rf"(?:^|[.:;,?)}}]\s+|\bor,?\s+|[.}}]\s`)(?:{'|'.join(NEXT_STEPS.split())})\b", re.IGNORECASE)


def error_classes() -> dict[str, list[str]]:
    """The exception classes of all rooms with the names of their bases; found without an import of torch."""
    bases = {
        node.name: [base.id if isinstance(base, ast.Name) else base.attr for base in node.bases if not is_generic(base)]
        for tree in TREES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = BUILTIN | set(KINDS)
    while True:
        more = {name for name, names in bases.items() if found & set(names)} - found
        if not more:
            return {name: bases[name] for name in found if name in bases}
        found |= more


def is_generic(base: ast.expr) -> bool:
    return not isinstance(base, ast.Name | ast.Attribute)


CLASSES = error_classes()


def kinds_of(name: str) -> set[type]:
    """The classes of errors.py that an error class derives from."""
    if name in KINDS:
        return KINDS[name]
    return set().union(*map(kinds_of, CLASSES.get(name, ())))


def test_the_check_sees_the_errors_of_every_room():
    assert {"ModelMissing", "UnknownStrategy", "TimeLimitExceeded", "StoreTooNew", "CannotEdit"} <= set(CLASSES)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_an_error_is_of_one_of_the_kinds(name):
    assert kinds_of(name) - {errors.WeftError}, f"derive {name} from one of the kinds in errors.py"


@pytest.mark.parametrize("name", sorted(set(KINDS) - {"WeftError"}))
def test_a_kind_of_error_names_what_a_caller_does(name):
    assert issubclass(getattr(errors, name), errors.WeftError)
    assert getattr(errors, name).__doc__.count(".") >= 2
    assert name == "ControlFlow" or name in weft.__all__


def test_errors_imports_nothing():
    tree = ast.parse((ROOT / "errors.py").read_text(encoding="utf-8"))
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [node.module for node in imported if isinstance(node, ast.ImportFrom)] == ["__future__"] and len(
        imported
    ) == 1


def messages():
    """Where an error with a literal message is made, and the message; `{}` for a value inside."""
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
                continue
            kinds = kinds_of(node.func.id)
            if kinds and not kinds & {errors.Cancelled, errors.ControlFlow} and (text := literal(node.args[0])):
                yield path, " ".join((text, *map(hint, node.args[1:])))


def hint(node: ast.expr) -> str:
    """What an agent is told by a `Hint`; empty for another argument."""
    is_named = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Hint"
    return Hint[node.attr].for_agents if is_named else "{}" if isinstance(node, ast.Name) else ""


@pytest.mark.parametrize("each", Hint)
def test_a_hint_is_a_next_step_for_both_readers(each):
    assert has_next_step(each.for_agents) and NEXT_STEP.search(each.for_page) and "`outline`" not in each.for_page


def literal(node: ast.expr) -> str:
    """The text of a literal; empty for a message that is computed."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return ""


def has_next_step(text: str) -> bool:
    """Whether a message holds a next step, or a value where one is expected, such as another error's message."""
    return bool(NEXT_STEP.search(text) or re.search(r"^{}$|[.?] ?{}[.]?$|^--[a-z-]+: {}$|Did you mean {}\?$", text))


@pytest.mark.parametrize("text", ["x is not a file.", "x failed: the disk is full.", "x was not used."])
def test_a_message_without_a_next_step_is_found(text):
    assert not has_next_step(text)


def test_messages_end_with_a_next_step():
    all_messages = list(messages())
    assert len(all_messages) > 200
    assert [(path, text) for path, text in all_messages if not has_next_step(text)] == []
