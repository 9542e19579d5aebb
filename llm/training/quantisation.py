"""8-bit weight quantisation in blocks of 32 with one 16-bit scale each, as GGUF's q8_0.

Owns the quantisation of a model, and the ONNX file that stores the 8-bit numbers. Weights are quantised once, before
all exports, so every format holds the same weights at any storage precision. Activations stay in 32 bits, so that the
output does not depend on the batching of tokens. Knows no layers.
"""

# torch is not there when types are checked without the extra `train`.
# mypy: allow-untyped-decorators

from __future__ import annotations

import os
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .model import SmallLlama

# Weights of one output that share a scale. Every width of `model.PRESETS` is a multiple.
BLOCK = 32

Blocks = tuple[NDArray[np.int8], NDArray[np.float16]]  # (outputs, blocks, 32) and (outputs, blocks, 1)


@torch.no_grad()
def quantised(model: SmallLlama) -> SmallLlama:
    """A copy with quantised and dequantised matrices. The few norm weights stay unchanged."""
    copy = deepcopy(model)
    for weight in copy.parameters():
        if weight.dim() == 2:
            numbers, scales = quantise_blocks(weight.float().numpy())
            weight.copy_(torch.from_numpy(_dequantise(numbers, scales)))
    return copy


def quantise_blocks(weight: NDArray[np.float32]) -> Blocks:
    """The quantised blocks of a matrix (outputs, inputs); the exact inverse for a dequantised matrix."""
    blocks = weight.reshape(len(weight), -1, BLOCK)
    scales = np.abs(blocks).max(-1, keepdims=True) / np.float32(127)
    # A block of zeros has the scale 0 and the numbers 0.
    numbers = np.round(np.divide(blocks, scales, out=np.zeros_like(blocks), where=scales > 0))
    return numbers.astype(np.int8), scales.astype(np.float16)


def write_int8_onnx(source: Path, target: Path) -> None:
    """Write `source`, the 32-bit export of a quantised model, with its matrices stored in 8 bits: the same values.

    Standard operations dequantise the matrices; onnxruntime folds them when it opens the file, so inference has the
    speed and the results of the 32-bit file. Raises ValueError for a model that is not quantised.
    """
    onnx: Any = import_module("onnx")
    model = onnx.load(str(source))
    graph = model.graph
    matrices = {
        tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer if len(tensor.dims) == 2
    }
    looked_up = {node.input[0] for node in graph.node if node.op_type == "Gather"} & matrices.keys()
    multiplied = {node.input[1] for node in graph.node if node.op_type == "MatMul"} & matrices.keys()
    stored: list[tuple[list[Any], list[Any]]] = [
        _quantised_tensors(onnx, name, matrices[name]) for name in sorted(looked_up)
    ]
    for name in sorted(multiplied):
        # Outputs are columns here. The output embedding is tied to the input embedding, which is stored already.
        rows = np.ascontiguousarray(matrices[name].T)
        shared = next((other for other in looked_up if np.array_equal(matrices[other], rows)), "")
        if not shared:
            stored.append(_quantised_tensors(onnx, f"{name}.rows", rows))
        turn = onnx.helper.make_node("Transpose", [shared or f"{name}.rows"], [name], perm=[1, 0])
        stored.append(([], [turn]))
    replaced = looked_up | multiplied
    tensors = [tensor for tensor in graph.initializer if tensor.name not in replaced]
    nodes = [node for _, nodes in stored for node in nodes] + list(graph.node)
    tensors += [tensor for tensors, _ in stored for tensor in tensors]
    graph.ClearField("initializer")
    graph.ClearField("node")
    graph.initializer.extend(tensors)
    graph.node.extend(nodes)
    part = target.with_suffix(".part")
    onnx.save(model, str(part))
    os.replace(part, target)


def _quantised_tensors(onnx: Any, name: str, matrix: NDArray[np.float32]) -> tuple[list[Any], list[Any]]:
    """The 8-bit tensors of the matrix `name`, and the operations that dequantise it."""
    numbers, scales = quantise_blocks(matrix)
    if not np.array_equal(_dequantise(numbers, scales), matrix):
        raise ValueError(f"{name} is not quantised to 8 bits. Export a `quantised` model.")
    values = {f"{name}.numbers": numbers, f"{name}.scales": scales, f"{name}.shape": np.array(matrix.shape)}
    make, wide = onnx.helper.make_node, onnx.TensorProto.FLOAT
    return [onnx.numpy_helper.from_array(value, each) for each, value in values.items()], [
        make("Cast", [f"{name}.numbers"], [f"{name}.wide_numbers"], to=wide),
        make("Cast", [f"{name}.scales"], [f"{name}.wide_scales"], to=wide),
        make("Mul", [f"{name}.wide_numbers", f"{name}.wide_scales"], [f"{name}.blocks"]),
        make("Reshape", [f"{name}.blocks", f"{name}.shape"], [name]),
    ]


def _dequantise(numbers: NDArray[np.int8], scales: NDArray[np.float16]) -> NDArray[np.float32]:
    weights: NDArray[np.float32] = numbers.astype(np.float32) * scales.astype(np.float32)
    return weights.reshape(len(weights), -1)
