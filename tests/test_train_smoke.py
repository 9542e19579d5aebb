"""What `make train-smoke` runs, from installed sources to an answer of a trained memory: each step fits the next."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

for _name in ("torch", "transformers", "tokenizers", "onnx", "onnxruntime", "gguf", "safetensors"):
    pytest.importorskip(_name, reason=f"training needs {_name}: the extra train")

pytestmark = pytest.mark.local

SCRIPT = Path(__file__).parent / "train_smoke.py"


def log_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "work" / "log.jsonl").read_text("utf-8").splitlines()]


def test_both_trainers_run_from_end_to_end(tmp_path: Path):
    done = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]

    code = tmp_path / "code"
    card = (code / "card.md").read_text("utf-8")
    assert "| transformers |" in card and "NO" not in card.partition("Do the exports agree")[2]
    assert "| python |" in (code / "licences.md").read_text("utf-8")
    assert {path.name for path in (code / "onnx").glob("*.onnx")} == {"model.onnx", "model_int8.onnx"}

    assert (code / "weft-code-micro.zip").is_file() and str(tmp_path) not in card

    before, *_, after = log_of(tmp_path / "stage1")
    assert after["loss_at_2"] < before["loss_at_2"]
    assert log_of(tmp_path / "stage2")[-1]["step"] == 20
    asked = json.loads(next(line for line in done.stdout.splitlines() if line.startswith('{"memory"')))
    assert asked["memory"]["backend"] == "beacon" and asked["answer"]
