"""A catalogue of models to download, with the data of their publishers.

Licences, contexts and file names are those of the model cards and file listings; sizes are those of the named files.
Parameters are those of the reports: Qwen2.5-Coder (arXiv 2409.12186), DeepSeek-Coder (2401.14196), Granite Code
(2405.04324) and StarCoder2 (2402.19173). All were trained for fill-in-the-middle. Names at Ollama are those of its
library; its files are smaller than the ones here, with about five bits a weight.
The choice is not based on measurements: docs/models.md lists what was measured.
"""

from __future__ import annotations

from dataclasses import dataclass

RUNNING_GB = 0.5  # memory besides the weights: the KV cache of a 4,096-token context, buffers, the program


@dataclass(frozen=True, slots=True)
class CatalogueModel:
    """One model on the hub. `file` empty: a directory for `transformers`, else a GGUF file."""

    name: str
    repository: str
    file: str
    licence: str
    size_gb: float  # on disk, 1e9 bytes
    context_tokens: int  # as trained
    remark: str
    parameters_b: float  # 1e9
    quantisation: str
    ollama: str = ""  # its name in Ollama's library

    @property
    def memory_gb(self) -> float:
        return self.size_gb + RUNNING_GB

    @property
    def is_open(self) -> bool:
        """Whether its licence allows every use."""
        return self.licence == "Apache-2.0"

    @property
    def is_repository_level(self) -> bool:
        """Whether its context has room for fragments of other files."""
        return self.context_tokens > 2_048

    @property
    def local_name(self) -> str:
        """Its name once it is on this machine."""
        return self.file.removesuffix(".gguf") or self.repository

    @property
    def backend(self) -> str:
        return "llama.cpp" if self.file else "transformers"


CATALOGUE: tuple[CatalogueModel, ...] = (
    CatalogueModel(
        "qwen2.5-coder-0.5b", "ggml-org/Qwen2.5-Coder-0.5B-Q8_0-GGUF", "qwen2.5-coder-0.5b-q8_0.gguf",
        "Apache-2.0", 0.53, 32_768, "for two to four CPU cores",
        0.49, "Q8_0", "qwen2.5-coder:0.5b-base",
    ),
    CatalogueModel(
        "qwen2.5-coder-1.5b", "ggml-org/Qwen2.5-Coder-1.5B-Q8_0-GGUF", "qwen2.5-coder-1.5b-q8_0.gguf",
        "Apache-2.0", 1.65, 32_768, "for a laptop with 8 GB; the first to try",
        1.54, "Q8_0", "qwen2.5-coder:1.5b-base",
    ),
    CatalogueModel(
        "qwen2.5-coder-3b", "ggml-org/Qwen2.5-Coder-3B-Q8_0-GGUF", "qwen2.5-coder-3b-q8_0.gguf",
        "Qwen Research: no commercial use", 3.3, 32_768, "for a small GPU",
        3.09, "Q8_0", "qwen2.5-coder:3b-base",
    ),
    CatalogueModel(
        "qwen2.5-coder-7b", "ggml-org/Qwen2.5-Coder-7B-Q8_0-GGUF", "qwen2.5-coder-7b-q8_0.gguf",
        "Apache-2.0", 8.1, 32_768, "for a GPU with 12 GB",
        7.61, "Q8_0", "qwen2.5-coder:7b-base",
    ),
    CatalogueModel(
        "deepseek-coder-1.3b", "TheBloke/deepseek-coder-1.3b-base-GGUF", "deepseek-coder-1.3b-base.Q4_K_M.gguf",
        "DeepSeek licence: use with restrictions", 0.87, 16_384, "for a laptop; no repository tokens",
        1.35, "Q4_K_M", "deepseek-coder:1.3b-base",
    ),
    CatalogueModel(
        "granite-3b-code", "ibm-granite/granite-3b-code-base-2k-GGUF", "granite-3b-code-base.Q4_K_M.gguf",
        "Apache-2.0", 2.13, 2_048, "short context; little room for fragments of other files",
        3.48, "Q4_K_M",
    ),
    CatalogueModel(
        "qwen2.5-coder-0.5b-transformers", "Qwen/Qwen2.5-Coder-0.5B", "",
        "Apache-2.0", 1.0, 32_768, "in Weft's own process",
        0.49, "BF16",
    ),
    CatalogueModel(
        "qwen2.5-coder-1.5b-transformers", "Qwen/Qwen2.5-Coder-1.5B", "",
        "Apache-2.0", 3.1, 32_768, "in Weft's own process; with a GPU",
        1.54, "BF16",
    ),
    CatalogueModel(
        "starcoder2-3b-transformers", "bigcode/starcoder2-3b", "",
        "BigCode OpenRAIL-M: use with restrictions", 12.1, 16_384, "stored in 32 bits; half of it in memory on a GPU",
        3.03, "F32",
    ),
)  # fmt: skip


def find_in_catalogue(name: str) -> CatalogueModel | None:
    return next((model for model in CATALOGUE if model.name == name.lower()), None)
