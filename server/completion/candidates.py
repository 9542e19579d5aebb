"""Alternative completions for one cursor: lines of the workspace model, import names, other models, other lengths.

Owns their order, and which texts count as different. First the texts that are found in milliseconds: lines of the
workspace model that begin with other tokens, or names of an import line. Then all other models, then all models with
the other length, one line or several. Knows no cache.

Each alternative of a neural model costs a full generation; such a model contributes only its greedy text for each
length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ...llm import Cancel, CodeModel, CompletionRequest, WorkspaceModel
from .import_names import import_texts
from .values import Completion, Request, Written


def further_requests(request: Request, models: Sequence[CodeModel], first: str) -> Iterator[tuple[Request, CodeModel]]:
    """Requests and models for alternatives, after a completion by the model named `first`; most useful first."""
    for further in (request, replace(request, multi_line=request.single_line)):
        for model in models:
            if further is not request or model.info.name != first:
                yield replace(further, timings_ms={}), model


def workspace_alternatives(
    request: Request, model: WorkspaceModel, prompt: CompletionRequest, first: str, n: int, cancel: Cancel
) -> Iterator[Written]:
    """Texts for the cursor's line from the index: names of an import line, then lines of the workspace model."""
    language, info = request.cursor.language, model.info
    names = import_texts(request.snapshot, request.cursor)
    if names is not None:
        yield from (Written(((text, None),), info.name) for text in names[:n])
        return
    for line in model.alternatives(prompt, first, n, cancel):
        piece = line.text, max(line.adapted, line.copied)
        yield Written((piece,), info.name, info.backend, language.family or language.name)


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
