"""Records docs/pictures/explore-map.png and explore-place.png: the page of `weft explore` on this repository.

    python docs/pictures/explore.py

Needs Chromium, git and the extra `explore`. The page shows the files of the last commit.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from weft.benchmarks.chromium import Chromium, find_chromium
from weft.benchmarks.explore.measured_page import ANSWERED, go
from weft.benchmarks.explore.served import served

ROOT = Path(__file__).resolve().parent.parent.parent

PICTURES = (
    ("explore-map.png", "light", 1200, 800, "#/map?path=server"),
    ("explore-place.png", "dark", 1200, 760, "#/file?path=server/cli/mcp.py&line=40"),
)
"""Name, colours, width and height in pixels, and the view."""


def main() -> None:
    command = find_chromium()
    if command is None:
        raise SystemExit("There is no Chromium on this machine. Install it, or name one in CHROMIUM.")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        code = Path(folder, "weft")
        code.mkdir()
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x"], cwd=code, input=archive, check=True)
        variables = {**os.environ, "WEFT_CACHE_DIR": f"{folder}/cache", "WEFT_DATA_DIR": f"{folder}/data"}
        with served(code, variables) as server, Chromium(command, Path(folder, "profile")) as browser:
            for name, scheme, width, height, view in PICTURES:
                page = browser.page()
                page.set_scheme(scheme)
                page.set_size(width, height)
                page.open(server.address)
                page.wait_until(ANSWERED)
                go(page, view)
                (ROOT / "docs" / "pictures" / name).write_bytes(page.screenshot())
                page.close()


if __name__ == "__main__":
    main()
