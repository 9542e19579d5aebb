"""RepoEval-style records of any checkout, drawn by the rules of `weft bench retrieval`.

Owns the record's form. What a task is, is in `benchmarks/repoeval/tasks`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...repoeval.sources import read_sources
from ...repoeval.tasks import build_tasks


def completions(tree: Path, n_line: int = 200, n_api: int = 200) -> Iterator[dict[str, object]]:
    """One record for each task, in RepoEval's form: the prompt is the file before the target."""
    sources, repo = read_sources(tree), tree.resolve().name
    for task in build_tasks(sources, repo, n_line, n_api):
        yield {
            "prompt": sources[task.path].text[: task.prefix_end],
            "metadata": {
                "task_id": task.task_id,
                "ground_truth": task.ground_truth,
                "fpath_tuple": [repo, *task.path.split("/")],
                "context_start_lineno": task.context_start_lineno,
                "line_no": task.line,
            },
        }
