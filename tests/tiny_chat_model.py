"""A random chat model of a few kilobytes, in the files of transformers. Needs the extra train."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
from weft.llm.training.export import export_transformers, padded_shape
from weft.llm.training.model import PRESETS, SmallLlama
from weft.llm.training.tokenizer import TrainingTokenizer, train_tokenizer

TEMPLATE = (
    "{% for message in messages %}{{ message.role }}: {{ message.content }}"
    "{% if message.role == 'assistant' %}{{ eos_token }}{% endif %}{{ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


def write_chat_model(folder: Path, texts: Iterable[str], n_vocabulary: int) -> SmallLlama:
    """Writes `folder/tokenizer.json`, with the words of the texts, and the model to `folder/model`."""
    train_tokenizer(texts, n_vocabulary).save(folder / "tokenizer.json")
    tokenizer = TrainingTokenizer.load(folder / "tokenizer.json")
    torch.manual_seed(0)
    model = SmallLlama(padded_shape(PRESETS["micro"], tokenizer))
    for weight in model.parameters():
        weight.data.mul_(4)  # spread out, so that attention chooses
    export_transformers(model, folder / "tokenizer.json", folder / "model")
    (folder / "model" / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    return model
