"""What does a name or a call lead to? The door to `python_names` and `plain_names`.

Owns the words for how something was found, and one pass over the calls of a file. A name with several
definitions is never guessed: an import, a receiver or a scope leads to one of them, or the name is unique
in the repository (`lookup.unique_key` says which names may count as that).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .facts import MODULE_SCOPE, FileGraph
from .lookup import Question, Sources, Target, parse_dotted
from .plain_names import PlainNames
from .python_names import MODULE_VALUE, OUTSIDE_VALUE, PythonNames
from .symbols import MODULE, resolves_types

if TYPE_CHECKING:
    from .graph import CodeGraph

HOW = (
    "same file",  # a definition of this file, by its plain name
    "import",  # imported from the file that defines it
    "re-export",  # imported from a file that imports it itself
    "module attribute",  # module.name
    "class attribute",  # Class.name
    "self",  # self.name or cls.name, in the class itself
    "inherited",  # found in a base class of the receiver's class
    "super",  # super().name
    "typed local",  # the receiver is a variable with an annotation or a known value
    "typed attribute",  # the receiver is an attribute with an annotation or a known value
    "returned type",  # the receiver is the result of a call
    "constructor",  # the __init__ of a class that is called
    "same package",  # defined in another file of the directory (Go, Java, C#)
    "unique name",  # the only definition of that name in the repository
)
"""The ways a name is resolved."""


def resolve(graph: CodeGraph, path: str, scope: int, dotted: str, line: int | None = None) -> tuple[Target, ...]:
    """The definitions that `dotted` stands for in a scope of `path` (a definition's index, or MODULE_SCOPE).

    In Python a variable or attribute whose type is known gives its class, and `line` chooses among several
    values of a local variable. () when the name is unknown, leads out of the repository, or could be several things.
    """
    symbols = graph.symbols(path)
    if symbols is None or not dotted:
        return ()
    within = MODULE if scope == MODULE_SCOPE else symbols.scopes[scope]
    if not resolves_types(symbols.language):
        return PlainNames(graph).targets(path, within, dotted)
    found = PythonNames(graph).read(path, within, parse_dotted(dotted), line)
    if found is None or found.kind in (OUTSIDE_VALUE, MODULE_VALUE):
        return ()
    return (Target(found.path, found.name, found.how),)


def resolve_calls(sources: Sources, file: FileGraph) -> tuple[list[tuple[int, Target]], set[Question]]:
    """The calls of a file, by index and in source order, with what they lead to; and what that depends on."""
    symbols = sources.symbols(file.path)
    if symbols is None:
        return [], set()
    python, plain = PythonNames(sources), PlainNames(sources)
    is_python = resolves_types(symbols.language)
    # The same call in the same scope leads to the same place, unless its head is given several values there.
    several = {key.rpartition(".")[2] for key in symbols.lines} if is_python else set()
    known: dict[tuple[int, str, int], tuple[Target, ...]] = {}
    found = []
    for index, call in enumerate(file.calls):
        line = call.line if several and parse_dotted(call.callee)[0].name in several else -1
        targets = known.get((call.scope, call.callee, line))
        if targets is None:
            within = MODULE if call.scope == MODULE_SCOPE else symbols.scopes[call.scope]
            if is_python:
                targets = python.targets(file.path, within, call.callee, call.line)
            else:
                targets = plain.targets(file.path, within, call.callee)
            known[call.scope, call.callee, line] = targets
        for target in targets:
            found.append((index, target))
    return found, (python if is_python else plain).asked
