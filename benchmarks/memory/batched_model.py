"""A chat model in this process that answers many calls at once: requests of all threads share the rows of a batch.

    transformers=DIRECTORY with `--parallel N` and `--device cuda`

Greedy answers, and sampled ones, whose random numbers depend on the request and on how often it was asked alone. So an
answer does not depend on the other requests of its batch, as far as the device computes the same in every batch.

Owns the queue and the thread of the model. `batched_llama` computes; it knows the architectures of `lean_llama`. Models
behind an address need none of this: they take concurrent requests.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Any

from ...errors import ModelError
from ...llm.local.tokenizer import HfTokenizer
from ...llm.local.transformers_model import find_directory, load_pretrained
from ...llm.prompting.chat_template import ChatTokens, load_chat_template, template_in
from ...llm.prompting.conversation import fit_messages
from ...llm.protocol import (
    Cancel,
    ChatRequest,
    CodeModel,
    CompletionRequest,
    Message,
    ModelInfo,
    ModelMissing,
    Piece,
    Speed,
)

STEPS = 16  # tokens between two looks at the queue
SHORT_TOKENS = 1520  # rows of at most so many tokens have a batch of their own: attention reads as far as the longest
CACHE_SHARE = 0.4  # of the free memory of a GPU, for keys and values: two processes may share it
CACHE_BYTES = 2_000_000_000  # on a CPU


@dataclass(eq=False)
class _Job:
    prompt: list[int]
    request: ChatRequest
    seed: int
    written: list[int] = field(default_factory=list)
    done: Future[str] = field(default_factory=Future)
    is_cancelled: bool = False


class BatchedModel(CodeModel):
    """A `CodeModel` that only chats. `n_rows` calls run at once; more wait. `close` ends its thread."""

    def __init__(
        self, lean: Any, tokenizer: HfTokenizer, chat_tokens: ChatTokens, name: str, n_rows: int, context: int
    ):
        """`lean` is a `LeanLlama`, `context` the most tokens of messages and answer; the chat template comes on top."""
        self._tokenizer, self._chat_tokens, self._name = tokenizer, chat_tokens, name
        frame = len(chat_tokens([Message("user", "")]))
        self._context = min(context, lean.context_tokens - frame)
        self._room = self._context + frame
        self._count = lru_cache(maxsize=1 << 17)(lambda text: len(tokenizer.encode(text)))
        self._wake = threading.Condition()
        self._waiting: deque[_Job] = deque()
        self._is_closed = False
        self._n_asked: Counter[ChatRequest] = Counter()
        self._batches = _batches(lean, n_rows, self._room)
        self._thread = threading.Thread(target=self._serve, name="weft-batches", daemon=True)
        self._thread.start()

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(
            self._name,
            "transformers",
            self._context,
            fills_middle=False,
            repository_level=False,
            local=True,
            chats=True,
            chat_tokens=self._context,
            answers_together=True,
        )

    @property
    def speed(self) -> Speed:
        return Speed()

    def count_tokens(self, text: str) -> int:
        return self._count(text)

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        raise ModelError(f"{self._name} answers chats only, many at once. Leave `--parallel` out for completions.")

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        """The whole answer in one piece. Raises ModelError."""
        if request.repetition_penalty != 1 or request.top_p < 1:
            raise ModelError(
                f"{self._name} has no repetition penalty and no top_p in batches. Leave `--parallel` out for this "
                "strategy."
            )
        job = _Job(self._prompt(request), request, self._seed(request))
        with self._wake:
            if self._is_closed:
                raise ModelError(f"{self._name} was closed. Open it again.")
            self._waiting.append(job)
            self._wake.notify()

        def give_up() -> None:
            job.is_cancelled = True

        forget = cancel.on_cancel(give_up)
        try:
            text = job.done.result()
        finally:
            forget()
        if text:
            yield Piece(text)

    def close(self) -> None:
        with self._wake:
            self._is_closed = True
            self._wake.notify()
        self._thread.join()

    def _prompt(self, request: ChatRequest) -> list[int]:
        room = self._room - request.max_new_tokens
        prompt = self._chat_tokens(request.messages)
        if len(prompt) > room:
            prompt = self._chat_tokens(fit_messages(request.messages, self._count, room))
        if len(prompt) > room:
            raise ModelError(
                f"The prompt takes {len(prompt)} tokens and its answer {request.max_new_tokens}, but {self._name} has "
                f"room for {self._room}. Raise `--context`, or shorten the prompt."
            )
        return prompt

    def _seed(self, request: ChatRequest) -> int:
        """The seed of a sampled request: another one each time that it is asked."""
        if request.is_greedy:
            return 0
        with self._wake:
            number = self._n_asked[request]
            self._n_asked[request] += 1
        return int.from_bytes(sha256(f"{number} {request!r}".encode("utf-8", "replace")).digest()[:8], "big")

    # In the thread of the model.

    def _serve(self) -> None:
        error: Exception = ModelError(f"{self._name} was closed before it answered. Open it again.")
        try:
            while self._take_jobs():
                for batch in self._batches:
                    batch.advance(self._tokenizer)
        except Exception as failed:  # a library of the device: every caller has to hear of it
            error = ModelError(f"{self._name} stopped: {failed}. Use fewer rows with `--parallel`, or another model.")
        with self._wake:
            self._is_closed = True
            left = [*self._waiting, *(job for batch in self._batches for job in batch.jobs)]
            self._waiting.clear()
        for job in left:
            job.done.set_exception(error)

    def _take_jobs(self) -> bool:
        """Pass the waiting jobs to their batches; waits while there is nothing to do. False when closed."""
        with self._wake:
            while not (self._waiting or self._is_closed or any(batch.jobs for batch in self._batches)):
                self._wake.wait()
            jobs = list(self._waiting)
            self._waiting.clear()
            is_closed = self._is_closed
        for job in jobs:
            needed = len(job.prompt) + job.request.max_new_tokens
            next(batch for batch in self._batches if needed <= batch.n_tokens).waiting.append(job)
        return not is_closed


class _Batch:
    """The rows of one length, and the jobs that wait for them."""

    def __init__(self, llama: Any, n_tokens: int) -> None:
        self._llama, self.n_tokens = llama, n_tokens
        self.waiting: deque[_Job] = deque()
        self._running: dict[int, _Job] = {}
        self._free = list(range(llama.n_rows))

    @property
    def jobs(self) -> list[_Job]:
        return [*self.waiting, *self._running.values()]

    def advance(self, tokenizer: HfTokenizer) -> None:
        """Begin waiting jobs in free rows, write some tokens of each row, and end the rows that are done."""
        self._begin(tokenizer)
        if not self._running:
            return
        longest = max(len(job.prompt) + len(job.written) for job in self._running.values())
        for tokens in self._llama.decode(STEPS, longest):
            for row, job in self._running.items():
                job.written.append(tokens[row])
        self._end_rows(tokenizer)

    def _begin(self, tokenizer: HfTokenizer) -> None:
        from .batched_llama import RowStart

        for job in [job for job in self.waiting if job.is_cancelled]:
            self.waiting.remove(job)
            job.done.set_result("")
        n = min(len(self.waiting), len(self._free))
        jobs = [self.waiting.popleft() for _ in range(n)]
        rows = [self._free.pop() for _ in range(n)]
        if not jobs:
            return
        self._running |= dict(zip(rows, jobs, strict=True))
        starts = [
            RowStart(job.prompt, job.request.max_new_tokens, max(0.0, job.request.temperature), job.seed)
            for job in jobs
        ]
        for job, token in zip(jobs, self._llama.prefill(rows, starts), strict=True):
            job.written.append(token)
        self._end_rows(tokenizer)

    def _end_rows(self, tokenizer: HfTokenizer) -> None:
        texts = {row: text for row, job in self._running.items() if (text := _text_if_done(job, tokenizer)) is not None}
        if texts:
            self._llama.end(list(texts))
        for row, text in texts.items():
            self._free.append(row)
            self._running.pop(row).done.set_result(text)


def _text_if_done(job: _Job, tokenizer: HfTokenizer) -> str | None:
    """The answer, up to an end token, a stop text or its most tokens; None while it goes on."""
    n = min(len(job.written), job.request.max_new_tokens)
    # Earlier tokens were looked at before.
    end = next((at for at in range(max(0, n - STEPS), n) if job.written[at] in tokenizer.ends), None)
    is_done = end is not None or n == job.request.max_new_tokens or job.is_cancelled
    if not is_done and not job.request.stop:
        return None
    text = tokenizer.decode(job.written[: n if end is None else end])
    stops = [at for stop in job.request.stop if (at := text.find(stop)) >= 0]
    return text[: min(stops)] if stops else text if is_done else None


def _batches(lean: Any, n_rows: int, room: int) -> list[_Batch]:
    """A batch of short rows and one of half as many long rows, each with half the memory for keys and values."""
    import torch

    from .batched_llama import BatchedLlama

    device = lean.embedding.device
    memory = CACHE_SHARE * torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else CACHE_BYTES
    lengths = sorted({min(SHORT_TOKENS, room), room})
    made = []
    for part, length in enumerate(lengths, 1):
        n_columns = length + STEPS
        fitting = int(memory / len(lengths) / (lean.cache_bytes_per_token * n_columns))
        made.append(_Batch(BatchedLlama(lean, max(1, min(n_rows // part, fitting)), n_columns), length))
    return made


def open_batched(path: str, n_rows: int, context_tokens: int, device: str = "auto") -> BatchedModel:
    """The model in a directory of transformers. Raises ModelMissing for one that is no plain Llama or does not chat."""
    from ...llm.local.engines.lean_llama import lean_llama

    directory, name = find_directory(path)
    tokenizer = HfTokenizer.open(directory)
    chat_tokens, notes = load_chat_template(tokenizer=tokenizer, **template_in(directory))
    if chat_tokens is None:
        raise ModelMissing(" ".join([f"{name} has no chat template.", *notes, "Choose a chat model."]))
    model = load_pretrained(directory, name, device=device)
    if model.device.type == "cuda":
        _halve(model)
    lean = lean_llama(model, model.config.max_position_embeddings)
    if lean is None:
        raise ModelMissing(
            f"{name} has another architecture than Llama, Mistral or Qwen. Use one, or a server (`openai=URL`)."
        )
    return BatchedModel(lean, tokenizer, chat_tokens, name, n_rows, context_tokens)


def _halve(model: Any) -> None:
    """Weights in bfloat16. The frequencies of the positions, which are no weights, keep their precision."""
    import torch

    for parameter in model.parameters():
        parameter.data = parameter.data.to(torch.bfloat16)
