"""Name resolution of expressions and calls.

Owns the list of the ways to resolve a name, and the pass over the calls of a file. An ambiguous name is not resolved:
an import, a receiver or a scope must select one definition, or the name must be unique in the repository
(`resolver.global_name_key` selects the names).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from .file_graph import MODULE_SCOPE, FileGraph
from .resolver import Dependency, Resolution, ResolutionSource, parse_dotted
from .symbol_table import MODULE
from .typed_resolver import TypedResolver
from .values import CLASS_VALUE, FUNCTION_VALUE, INSTANCE_VALUE, SUPER_VALUE

if TYPE_CHECKING:
    from .graph import CodeGraph

SAME_NAME, THROUGH_INTERFACE = "same name", "implementation"
"""Ways of `HOW`. A call that is resolved by the same name alone counts as unresolved; one through an interface counts
for a caller and a call path, but not for a callee."""

HOW = (
    "same file",  # a definition of this file, by its generic name
    "import",  # imported from the file that defines it
    "re-export",  # imported from a file that imports it itself
    "module attribute",  # module.name
    "class attribute",  # Class.name
    "self",  # a member of the class around, as self.name or as a plain name
    "inherited",  # found in a base class of the receiver's class
    "super",  # super().name, super.name, base.name
    "typed local",  # the receiver is a variable with an annotation or a known value
    "typed attribute",  # the receiver is an attribute with an annotation or a known value
    "returned type",  # the receiver is the result of a call
    "constructor",  # the constructor of a class that is called
    THROUGH_INTERFACE,  # a method of a type that implements the interface of the receiver
    "trait",  # a method of a trait in scope; the receiver has no such member that is known
    "same package",  # defined in another file of the package or namespace
    "unique name",  # the only definition of that name in the repository
    SAME_NAME,  # one of the few definitions of that name; the receiver is unknown
)
"""The ways a name is resolved."""


def resolve(graph: CodeGraph, path: str, scope: int, dotted: str, line: int | None = None) -> tuple[Resolution, ...]:
    """The definitions of `dotted` in a scope of `path` (a definition's index, or MODULE_SCOPE).

    A variable or attribute of a known type gives its class, and `line` selects among several values of a
    local variable. () when the name is unknown, from outside of the repository, or ambiguous.
    """
    symbols = graph.symbols(path)
    if symbols is None or not dotted:
        return ()
    within = MODULE if scope == MODULE_SCOPE else symbols.scopes[scope]
    found = TypedResolver(graph).read(path, within, parse_dotted(dotted), line)
    if found is None or found.kind not in (CLASS_VALUE, FUNCTION_VALUE, INSTANCE_VALUE, SUPER_VALUE):
        return ()
    if graph.definition(found.path, found.name) is None:
        return ()  # a namespace
    return (Resolution(found.path, found.name, found.how),)


def resolve_calls(
    source: ResolutionSource, file: FileGraph, lines: Collection[int] | None = None
) -> tuple[list[tuple[int, Resolution]], set[Dependency]]:
    """The resolved calls of a file, by index and in source order, and the dependencies of the resolution.

    Calls on other lines than `lines` are left out.
    """
    symbols = source.symbols(file.path)
    if symbols is None:
        return [], set()
    resolver = TypedResolver(source)
    # The same call in the same scope resolves alike, unless its first name has several values there or may belong to
    # the object around a lambda.
    known: dict[tuple[int, str, int | None], tuple[Resolution, ...]] = {}
    found = []
    for index, (callee, _, _, at, scope) in enumerate(file.calls):
        if lines is not None and at not in lines:
            continue
        line = at if symbols.depends_on_line(parse_dotted(callee)[0].name) else None
        targets = known.get((scope, callee, line))
        if targets is None:
            within = MODULE if scope == MODULE_SCOPE else symbols.scopes[scope]
            targets = resolver.targets(file.path, within, callee, line)
            known[scope, callee, line] = targets
        for target in targets:
            found.append((index, target))
    return found, resolver.dependencies
