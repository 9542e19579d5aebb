"""Both trainers of Weft from end to end, by the commands that a person types: `make train-smoke`.

    python tests/train_smoke.py [FOLDER]

First the code model, by its smoke recipe; then, on that model with a template for conversations, the beacon memory:
stage 1, the data of stage 2 from a model that says what is written here, stage 2, and a question. Everything goes into
FOLDER, which is gone at the end if it is not named. No figure of it is quality.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent

TEMPLATE = (
    "{% for message in messages %}{{ message.role }}: {{ message.content }}"
    "{% if message.role == 'assistant' %}{{ eos_token }}{% endif %}{{ '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
STORY = "Ines left the harbour because the boats were sold. She opened a school behind the church and taught music. "
PAIRS = [{"question": "Why did Ines come to teach music?", "answer": "The boats were sold"}]
CLUES = "Ines left the harbour\nthe boats were sold\nopened a school behind the church"

# Smaller than the paper's in every way, so that two cores need seconds.
SMALL = ["--window", "64", "--ratios", "2", "8", "--accumulate", "2", "--steps", "20", "--learning-rate", "3e-3"]
SMALL += ["--log-every", "5"]


def main(folder: Path) -> None:
    started = time.perf_counter()
    code, chat, stage1, stage2 = (folder / name for name in ("code", "chat", "stage1", "stage2"))
    python("weft.llm.training", "all", "--recipe", "smoke", "--out", code)
    python("weft.llm.training", "release", "--name", "weft-code-micro", "--out", code)
    shutil.copytree(code / "transformers", chat, dirs_exist_ok=True)
    (chat / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")

    training = "weft.memory.memorag.beacon.training"
    documents = ["--data", ROOT / "docs", "--held-out", ROOT / "README.md", "--lengths", "192", "384"]
    python(training, "stage1", "--model", chat, *documents, "--out", stage1, *SMALL)
    (folder / "stories.txt").write_text(STORY * 3, encoding="utf-8")
    with scripted_server() as url:
        asked = ["--backend", "openai", "--url", url, "--name", "scripted"]
        python(training, "sft-data", "--data", folder / "stories.txt", "--out", folder / "samples.jsonl", *asked)
    samples = ["--data", folder / "samples.jsonl", "--lengths", "1024"]
    python(training, "stage2", "--model", chat, "--start", stage1, "--out", stage2, *SMALL, *samples)
    ask(chat, stage2)
    print(json.dumps({"train_smoke_seconds": round(time.perf_counter() - started, 1)}))


def python(*command: object) -> None:
    """`python -m …`, shown before it is run. Ends everything when it fails."""
    words = ["-m", *map(str, command)]
    print(f"$ python {shlex.join(words)}", flush=True)
    started = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True)
    print(f"({time.perf_counter() - started:.0f} s)", flush=True)


def ask(model: Path, weights: Path) -> None:
    """A question to the memory of a text, through the strategy. The answer is noise: the model knows no English."""
    from weft.memory import Budget, Item, MeteredModel, Question, StrategyContext
    from weft.memory.memorag import MemoRAG, MemoRAGSettings
    from weft.memory.memorag.beacon.backend import BeaconSettings, open_beacon

    reader = open_beacon(BeaconSettings(str(model), str(weights), device="cpu"))
    try:
        memorag = MemoRAG(StrategyContext(MeteredModel(reader)), MemoRAGSettings(backend="beacon", segment_tokens=64))
        memorag.remember([Item("stories.txt", STORY * 8)])
        answer = memorag.answer(Question(PAIRS[0]["question"]), Budget())
        memory = next(step.detail for step in answer.recalled.trace if step.name == "memory")
        print(json.dumps({"memory": memory, "answer": answer.text}), flush=True)
    finally:
        reader.close()


@contextmanager
def scripted_server() -> Iterator[str]:
    """The address of a model that has one list of questions and one of clues, by OpenAI's protocol."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send("application/json", {"data": [{"id": "scripted", "object": "model", "max_model_len": 4096}]})

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = asked.get("prompt") or asked["messages"][-1]["content"]
            text = json.dumps(PAIRS) if "JSON list" in prompt else CLUES
            if not asked.get("stream"):
                choice = {"index": 0, "message": {"role": "assistant", "content": text}, "text": text}
                self._send("application/json", {"choices": [{**choice, "finish_reason": "stop"}]})
            else:
                choice = {"index": 0, "delta": {"content": text}, "text": text, "finish_reason": "stop"}
                self._send("text/event-stream", {"choices": [choice]}, "data: ", "\n\ndata: [DONE]\n\n")

        def _send(self, kind: str, value: object, before: str = "", after: str = "") -> None:
            content = f"{before}{json.dumps(value)}{after}".encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


if __name__ == "__main__":
    with TemporaryDirectory() as nowhere:
        main(Path(*sys.argv[1:2] or [nowhere]))
