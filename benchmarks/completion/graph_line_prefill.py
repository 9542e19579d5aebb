"""Tokens that a model reads again at each key, with signature help in the prompt.

Owns the typing: each key of the line of a task, and the begin of the next line. A model computes what follows the
common prefix of two prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean

from ...llm import CompletionRequest
from ...llm.local.kv_cache import common_prefix_length
from ..repoeval.tasks import Task
from .answering import Repository

PromptTokens = Callable[[CompletionRequest], Sequence[int]]


def prefilled_per_key(
    repository: Repository, task: Task, request_of: Callable[[Task], CompletionRequest], prompt_tokens: PromptTokens
) -> float:
    """The mean over the keys of the line; `request_of` gives the request at the cursor of a task."""
    prompts = [list(prompt_tokens(request_of(at))) for at in _keys(repository, task)]
    return fmean(len(after) - common_prefix_length(before, after) for before, after in pairwise(prompts))


def _keys(repository: Repository, task: Task) -> Iterator[Task]:
    line = task.ground_truth_line
    for column in range(len(line) - len(line.lstrip()), len(line) + 1):
        yield replace(task, col=column)
    rest = repository.sources[task.path].text[task.prefix_end + len(line) + 1 :]
    yield replace(task, col=len(line) + 1 + len(rest) - len(rest.lstrip(" \t")))
