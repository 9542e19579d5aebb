"""`docs/client.py`, the client that others are written after, on the real server."""

import os
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent / "docs" / "client.py"
HOMES = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "WEFT_CACHE_DIR", "WEFT_DATA_DIR")


def test_the_example_client_completes_and_asks(project, tmp_path):
    shop = (Path(__file__).parent / "data" / "shop.txt").read_text(encoding="utf-8")
    new = "\n#- new.py\nfrom price import price_of\n\ndef checkout(basket):\n    total = pri\n"
    folder = project(shop + new)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    ran = subprocess.run(
        [sys.executable, str(EXAMPLE), str(folder / "new.py:4:16"), "where is price_of defined?"],
        env={**os.environ, **dict.fromkeys(HOMES, str(tmp_path)), "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    first, *streamed, citations = ran.stdout.strip().splitlines()
    assert first.startswith("completion: ['ce_of(basket)'")
    assert any("def price_of(basket):" in line for line in streamed)
    assert citations.startswith("citations:") and "price.py:1-2" in citations
