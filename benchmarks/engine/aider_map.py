"""`PYTHON aider_map.py FOLDER`: time of aider's repository map, as one JSON line.

Runs in an environment of its own, because aider-chat pins its dependencies. The map lists the most relevant definitions
of a folder in 1024 tokens; its cache of tags is empty before and is not left in the folder. Imports nothing of Weft.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from aider.repomap import RepoMap

MAP_TOKENS = 1024


class Model:
    """The only member of a model that the map uses."""

    def token_count(self, text: str) -> int:
        return len(text) // 4


class Output:
    """Messages of the map, on stderr."""

    def tool_output(self, *words: object, **_: object) -> None:
        print(*words, file=sys.stderr)

    tool_warning = tool_error = tool_output

    def read_text(self, path: str, silent: bool = False) -> str:
        return Path(path).read_text("utf-8", "replace")


def main(folder: Path) -> None:
    files = [str(path) for path in sorted(folder.rglob("*.py"))]
    with tempfile.TemporaryDirectory() as cache:
        repository_map = RepoMap(map_tokens=MAP_TOKENS, root=cache, main_model=Model(), io=Output())
        started, started_cpu = time.perf_counter(), time.process_time()
        text = repository_map.get_repo_map([], files)
        figures = {"aider_s": time.perf_counter() - started, "aider_cpu_s": time.process_time() - started_cpu}
    if not text:
        raise SystemExit(f"aider made no map of {folder}.")
    print(json.dumps(figures))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
