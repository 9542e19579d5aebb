"""`weft setup`: finds or proposes a code model for this machine, gets it after a yes, tests it, and uses it.

Owns the plan and the order of its steps. `llm/library/` finds, proposes and downloads, `models/check.py` tests,
`config/edit_file.py` writes the setting. Nothing leaves this machine before the yes.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import UserError
from ...llm import Cancel, ModelConfig, ModelError
from ...llm.backends import OLLAMA_URL
from ...llm.installation import install_packages_command
from ...llm.library.catalogue import CATALOGUE, CatalogueModel, find_in_catalogue
from ...llm.library.discover import FoundModel, describe_directory, describe_gguf, discover, ollama_answers
from ...llm.library.fetch import fetch_model
from ...llm.library.machine import Machine, this_machine
from ...llm.library.ollama_pull import pull
from ...llm.library.proposal import Proposal, propose
from ..config import load_config
from ..config.options import model_configs
from ..models.check import check_model
from .exit_status import NOTHING_TO_SHOW
from .models import check_json, install_release_file, prefer_in_user_file, settings_of, store_measured
from .terminal import Terminal

WITH_GPU, IN_PROCESS, IN_TORCH = "Ollama", "llama.cpp", "transformers"
TEST_AND_USE = "Test whether it completes in the middle of code, and how fast, then use it first."
IN_TORCH_PACKAGES = ("torch", "transformers", "huggingface_hub")
IN_PROCESS_PACKAGES = ("llama_cpp", "huggingface_hub")
# One command for both: a second one of uv would remove what the first has installed.
IN_PROCESS_REQUIREMENTS = ("llama-cpp-python", "huggingface_hub")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to set up: `entry` is downloaded by `way`, `release` is unpacked, else the model is here, at `config`."""

    title: str
    steps: tuple[str, ...]
    config: ModelConfig | None = None
    entry: CatalogueModel | None = None
    way: str = ""
    release: Path | None = None


def setup(options: argparse.Namespace) -> int:
    terminal = Terminal(quiet=options.json)
    machine = this_machine()
    plan = _plan_of_file(options.source) if options.source is not None else _plan(machine, options.name)
    if not options.json:
        terminal.say(f"This machine: {machine.description}.", "", plan.title, *(f"  {step}" for step in plan.steps))
    if options.dry_run:
        if options.json:
            terminal.json(_plan_json(machine, plan))
        return 0
    if not options.yes and not terminal.confirm("Do that?"):
        raise UserError("Nothing was changed. Add --yes to do it without a question, or --dry-run to see the plan.")
    config = plan.config or _get(terminal, plan)
    return _test_and_use(terminal, options, machine, plan, config)


def _plan(machine: Machine, name: str | None) -> Plan:
    """The plan for this machine, or for a model of the catalogue. Raises UserError where nothing is possible."""
    entry = None if name is None else find_in_catalogue(name)
    if name is not None and entry is None:
        names = ", ".join(model.name for model in CATALOGUE)
        raise UserError(f"{name} is not in the catalogue. Give one of: {names}.")
    if entry is None:
        ready = best_ready(discover())
        if ready is not None:
            return _plan_of_found(ready)
    way = _way(machine)
    models = [model for model in CATALOGUE if _is_for(model, way)]
    if entry is not None:
        if entry not in models:
            raise UserError(
                f"{way} has no model called {name} here. Leave the name out, or run: weft models get {name}"
            )
        proposal = Proposal(entry, None)
    else:
        found = propose(machine, models, can_use_gpu=way == WITH_GPU)
        if found is None:
            raise UserError(
                f"No code model of the catalogue fits {machine.free_gb:.1f} GB of free memory. Free some memory, or "
                "use a model on another machine: docs/serving.md. The built-in model goes on without one."
            )
        proposal = found
    return _plan_of_proposal(proposal, way)


def best_ready(found: Sequence[FoundModel]) -> FoundModel | None:
    """A model that needs no download: one that infills on a running server, then in a file, then an unknown server."""
    usable = [model for model in found if not model.note and model.fills_middle is not False and _can_run(model)]
    usable.sort(key=lambda model: (model.fills_middle is None, not model.where.startswith("http")))
    return next(iter(usable), None)


def _can_run(model: FoundModel) -> bool:
    if model.where.startswith("http") or model.config.url:
        return True
    packages = {"llama.cpp": ("llama_cpp",), "transformers": ("torch", "transformers"), "onnx": ("onnxruntime",)}
    return _are_installed(packages.get(model.config.backend, ()))


def _are_installed(packages: Sequence[str]) -> bool:
    return all(importlib.util.find_spec(package) is not None for package in packages)


def _way(machine: Machine) -> str:
    """How a model can run here. Raises UserError with the ways to make one possible."""
    if ollama_answers(OLLAMA_URL):
        return WITH_GPU
    if _are_installed(IN_PROCESS_PACKAGES):
        return IN_PROCESS
    if _are_installed(IN_TORCH_PACKAGES):
        return IN_TORCH
    gpu = " It uses the GPU." if machine.gpus else ""
    raise UserError(
        f"No program that runs a model was found. Install and start Ollama (https://ollama.com/download), then run "
        f"`weft setup` again.{gpu} Or without a server: {install_packages_command(*IN_PROCESS_REQUIREMENTS)}. "
        "A model file that is here already: weft setup --from FILE"
    )


def _is_for(model: CatalogueModel, way: str) -> bool:
    return bool(model.ollama) if way == WITH_GPU else model.backend == way


def _plan_of_proposal(proposal: Proposal, way: str) -> Plan:
    model = proposal.model
    source = f"with Ollama, as {model.ollama}" if way == WITH_GPU else f"from the hub, {model.repository}"
    where = f"on {proposal.gpu.name}" if proposal.gpu else "on the CPU"
    limit = "at most " if way == WITH_GPU else ""
    return Plan(
        f"Proposed: {model.name} ({model.parameters_b:g} billion parameters, {model.licence}), {where}.",
        (
            f"Download {limit}{model.size_gb:.1f} GB {source}.",
            f"It takes {limit}{model.memory_gb:.1f} GB of memory. Expected, not measured: up to "
            f"{proposal.expected_tokens_s:,.0f} tokens/s.",
            TEST_AND_USE,
        ),
        entry=model,
        way=way,
    )


def _plan_of_found(model: FoundModel) -> Plan:
    infills = "infills" if model.fills_middle else "the test shows whether it infills"
    return Plan(
        f"Found: {model.name} at {model.where} ({model.details or model.config.backend}; {infills}).",
        ("Download nothing.", TEST_AND_USE),
        config=model.config,
    )


def _plan_of_file(source: Path) -> Plan:
    """The plan for a model file or directory of this machine. Raises UserError."""
    path = Path(os.path.realpath(source.expanduser()))
    if path.suffix == ".zip":
        return Plan(
            f"A release: {path.name}.", ("Check its hashes and unpack it into ~/models.", TEST_AND_USE), release=path
        )
    found = describe_directory(path) if path.is_dir() else describe_gguf(path)
    if found is None:
        raise UserError(
            f"{source} is no model. Give a GGUF file, a directory with config.json and safetensors or ONNX files, or a "
            "release of Weft (FILE.zip)."
        )
    return _plan_of_found(found)


def _get(terminal: Terminal, plan: Plan) -> ModelConfig:
    """Download or unpack the model; its settings. Raises ModelError and UserError."""
    if plan.release is not None:
        return ModelConfig(backend="onnx", path=str(install_release_file(plan.release)))
    entry = plan.entry
    assert entry is not None
    with terminal.bytes_progress(entry.name) as progress:
        if plan.way == WITH_GPU:
            pull(OLLAMA_URL, entry.ollama, progress)
            return ModelConfig(backend="ollama", name=entry.ollama)
        path = fetch_model(entry.repository, entry.file, progress=lambda at: progress(at.done_bytes, at.total_bytes))
    return ModelConfig(backend=entry.backend, path=str(path) if entry.file else entry.repository)


def _test_and_use(
    terminal: Terminal, options: argparse.Namespace, machine: Machine, plan: Plan, config: ModelConfig
) -> int:
    try:
        check = check_model(config, Cancel())
    except ModelError as error:
        raise UserError(f"The model does not run, so it is not used. {error}") from error
    store_measured(config, check)
    complaints = check.complaints(load_config()[0].completion)
    test = {**settings_of(config), **check_json(check), "complaints": complaints}
    path = None if check.verdict.broken else prefer_in_user_file(settings_of(config))[0]
    if options.json:
        terminal.json({**_plan_json(machine, plan), "test": test, "file": str(path) if path else ""})
    else:
        terminal.say("")
        terminal.model_tests([test])
        if path is None:
            terminal.say(
                "", "It failed the test, so it is not used. Another model: weft setup NAME; weft models lists them."
            )
        else:
            terminal.say(
                "", f"It is now the first model in {path}.", "Open editors use it after a restart of the server."
            )
    return NOTHING_TO_SHOW if path is None else 0


def _plan_json(machine: Machine, plan: Plan) -> dict[str, Any]:
    return {
        "machine": machine.description,
        "plan": plan.title,
        "steps": list(plan.steps),
        "download": plan.entry.name if plan.entry else "",
        "with": plan.way,
        "configured": [settings_of(config) for config in model_configs(load_config()[0])],
    }
