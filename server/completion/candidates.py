"""Alternative completions for one cursor: other models, names and lines of the index, other lengths.

Owns the texts that the index contributes, and which texts count as different. Knows no cache and no neural model: each
alternative of such a model costs a full generation, and is its greedy text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...llm import CompletionRequest, WorkspaceModel
from .import_names import import_texts
from .values import Completion, Request, Written


def index_alternatives(
    request: Request, model: WorkspaceModel, prompt: CompletionRequest, first: str
) -> Iterator[Written]:
    """Texts for the cursor's line that differ from `first`: names of an import line, else lines of the workspace model.

    Each takes some milliseconds.
    """
    names = import_texts(request.snapshot, request.cursor)
    if names is not None:
        yield from (Written(((text, None),), model.info.name) for text in names)
        return
    language = request.cursor.language
    for line in model.alternatives(prompt, first, request.cancel):
        pieces = ((line.text, line.probability),)
        yield Written(pieces, model.info.name, model.info.backend, language.family or language.name)


def distinct(completions: Iterable[Completion], n: int) -> list[Completion]:
    """The first `n` non-empty completions that result in texts that differ in more than white space, in their order."""
    found: dict[tuple[str, tuple[int, int]], Completion] = {}
    for completion in completions:
        if completion.text:
            found.setdefault((_WHITE_SPACE.sub("", completion.text), completion.end), completion)
        if len(found) >= n:
            break
    return list(found.values())


_WHITE_SPACE = re.compile(r"\s+")
