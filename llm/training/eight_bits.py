"""8-bit weight quantization in blocks of 32 with one 16-bit scale each, as GGUF's q8_0.

Owns the rounding of a model to such numbers, and an ONNX file that stores them so. Weights are rounded once, before
any export: then every form holds the same model, in as many bits as it likes. Activations stay in 32 bits, so that
no text depends on what was read together. Knows no layers.
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

BLOCK = 32
"""Weights of one output that share a scale. Every width of `model.PRESETS` is a multiple."""

Blocks = tuple[NDArray[np.int8], NDArray[np.float16]]  # (outputs, blocks, 32) and (outputs, blocks, 1)


@torch.no_grad()
def rounded(model: SmallLlama) -> SmallLlama:
    """A copy whose matrices hold numbers of 8 bits times their scales. Norms stay as they are; they are few."""
    copy = deepcopy(model)
    for weight in copy.parameters():
        if weight.dim() == 2:
            numbers, scales = to_blocks(weight.float().numpy())
            weight.copy_(torch.from_numpy(_from_blocks(numbers, scales)))
    return copy


def to_blocks(weight: NDArray[np.float32]) -> Blocks:
    """The nearest blocks to a matrix (outputs, inputs); exactly those that it was made of, if it was."""
    blocks = weight.reshape(len(weight), -1, BLOCK)
    scales = np.abs(blocks).max(-1, keepdims=True) / np.float32(127)
    # A block of nothing but zeros has the scale 0, and zeros for numbers.
    numbers = np.round(np.divide(blocks, scales, out=np.zeros_like(blocks), where=scales > 0))
    return numbers.astype(np.int8), scales.astype(np.float16)


def write_eight_bit_onnx(source: Path, target: Path) -> None:
    """`source`, the export of a rounded model in 32 bits, with its matrices stored in 8: the same numbers.

    The file multiplies numbers with scales by operations that every runtime knows, and that onnxruntime carries out
    once, when it opens the file. So it computes as fast and exactly as the file in 32 bits, from fewer bytes.
    Raises ValueError for a model that is not rounded.
    """
    onnx: Any = import_module("onnx")
    model = onnx.load(str(source))
    graph = model.graph
    matrices = {
        tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer if len(tensor.dims) == 2
    }
    looked_up = {node.input[0] for node in graph.node if node.op_type == "Gather"} & matrices.keys()
    multiplied = {node.input[1] for node in graph.node if node.op_type == "MatMul"} & matrices.keys()
    stored: list[tuple[list[Any], list[Any]]] = [_stored(onnx, name, matrices[name]) for name in sorted(looked_up)]
    for name in sorted(multiplied):
        # Outputs are columns here. The output embedding is the input embedding, which is stored already.
        rows = np.ascontiguousarray(matrices[name].T)
        shared = next((other for other in looked_up if np.array_equal(matrices[other], rows)), "")
        if not shared:
            stored.append(_stored(onnx, f"{name}.rows", rows))
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


def _stored(onnx: Any, name: str, matrix: NDArray[np.float32]) -> tuple[list[Any], list[Any]]:
    """Tensors in 8 bits, and the operations that make the matrix `name` of them."""
    numbers, scales = to_blocks(matrix)
    if not np.array_equal(_from_blocks(numbers, scales), matrix):
        raise ValueError(f"{name} is not rounded to 8 bits. Export a `rounded` model.")
    values = {f"{name}.numbers": numbers, f"{name}.scales": scales, f"{name}.shape": np.array(matrix.shape)}
    make, wide = onnx.helper.make_node, onnx.TensorProto.FLOAT
    return [onnx.numpy_helper.from_array(value, each) for each, value in values.items()], [
        make("Cast", [f"{name}.numbers"], [f"{name}.wide_numbers"], to=wide),
        make("Cast", [f"{name}.scales"], [f"{name}.wide_scales"], to=wide),
        make("Mul", [f"{name}.wide_numbers", f"{name}.wide_scales"], [f"{name}.blocks"]),
        make("Reshape", [f"{name}.blocks", f"{name}.shape"], [name]),
    ]


def _from_blocks(numbers: NDArray[np.int8], scales: NDArray[np.float16]) -> NDArray[np.float32]:
    weights: NDArray[np.float32] = numbers.astype(np.float32) * scales.astype(np.float32)
    return weights.reshape(len(weights), -1)
