"""What is installed, what is configured, whether it can work, and what to do next.

Owns the questions that `weft doctor` asks of a machine. Changes nothing; asks the configured model servers a few
short questions and nothing else on the network.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import stat
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

from ... import __version__
from ...languages import PARSED, grammar
from ...llm import Cancel, ModelConfig, ModelError
from ...llm.installation import DISTRIBUTION, install_command, install_packages_command
from ...llm.library.discover import default_search_paths, describe_directory, describe_gguf, discover
from ..config import Config, load_config, user_config_file
from ..config.options import kept_indexes, model_configs, uses_workspace_model
from ..models.check import check_model
from ..shared.control import log_file, running_server
from ..shared.endpoint import SharedServerUnavailable, can_share, shared_endpoint
from . import types as answers
from .safe_text import for_editor

PACKAGES = ("pygls", "lsprotocol", "tree-sitter", "numpy", "watchdog", "platformdirs", "httpx", "rich")
IN_PROCESS = {"transformers": ("torch", "transformers", "tokenizers"), "onnx": ("onnxruntime", "tokenizers")}
LLAMA_PACKAGES = ("llama_cpp",)
_EXTRAS = {"transformers": "local", "onnx": "onnx"}
CHECK_WITHIN_S = 20.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One answer. `next_step` says what to do, "" when nothing is wrong."""

    what: str
    found: str
    next_step: str = ""


def examine(folders: Sequence[Path], editor: Mapping[str, object] | None = None) -> list[Finding]:
    """Everything worth knowing about this installation and this workspace; `editor` has the settings of an editor."""
    config, problems = load_config(folders[0] if folders else None, editor)
    findings = [
        Finding("weft", f"{__version__} in {Path(__file__).resolve().parents[2]}"),
        Finding("python", f"{platform.python_version()} at {sys.executable} on {platform.platform(terse=True)}"),
        _packages(),
        *_other_projects(),
        Finding("extras", f"added with: {install_command('NAME')}"),
        _grammars(),
        Finding("workspace", ", ".join(map(str, folders)) or "no folder is open"),
        Finding("user settings", _existing(user_config_file())),
        _shared_server(),
    ]
    findings += [Finding("setting", str(problem), f"Correct it: {problem}") for problem in problems]
    for folder in folders:
        findings += [_cache(folder, config), _watches(folder)]
    findings += _models(config)
    return findings


def findings_json(findings: Sequence[Finding]) -> answers.Findings:
    return {
        "version": __version__,
        "ok": not any(finding.next_step for finding in findings),
        "findings": [
            {"what": for_editor(each.what), "found": for_editor(each.found), "nextStep": for_editor(each.next_step)}
            for each in findings
        ],
    }


def _shared_server() -> Finding:
    """The one that editor windows attach to with `weft serve --shared`."""
    what = "shared server"
    try:
        server, log = running_server(), log_file(shared_endpoint())
    except SharedServerUnavailable as reason:
        return Finding(what, "none can be reached", str(reason) if can_share() else "")
    if server is None:
        return Finding(what, f"none runs; its log is {log}")
    windows = f"{server.windows} window{'s' if server.windows != 1 else ''}"
    minutes = f"{server.uptime_s / 60:.0f} min"
    return Finding(what, f"process {server.pid} serves {windows}, for {minutes}; its log is {log}")


def _packages() -> Finding:
    found, missing = [], []
    for package in PACKAGES:
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            missing.append(package)
    step = f"Install what is missing: {install_packages_command(*missing)}" if missing else ""
    return Finding("packages", ", ".join(found), step)


def _other_projects() -> Iterator[Finding]:
    """The project that is called `weft` on the Python package index, or a Weft from before it had its name."""
    found = next(iter(metadata.distributions(name="weft")), None)
    # An editable installation of this very folder under the earlier name disturbs nothing.
    if found is None or Path(__file__).resolve().parents[2].as_uri() in (found.read_text("direct_url.json") or ""):
        return
    step = f"Both write a package `weft`: uninstall both, then install {DISTRIBUTION} in an environment of its own."
    yield Finding("other packages", f"the distribution weft {found.version} beside {DISTRIBUTION}", step)


def _grammars() -> Finding:
    broken = []
    for language in PARSED:
        try:
            grammar(language)
        except (ImportError, ValueError, AttributeError) as error:
            broken.append(f"{language} ({error})")
    if not broken:
        return Finding("grammars", ", ".join(PARSED))
    return Finding("grammars", f"broken: {', '.join(broken)}", "Install Weft again: its grammars come with it.")


def _existing(path: Path) -> str:
    return str(path) if path.is_file() else f"none ({path} does not exist; the defaults hold)"


def _cache(folder: Path, config: Config) -> Finding:
    location = kept_indexes(config).location(folder)
    directory = location.parent
    sizes = list(_sizes_in(directory))
    size_mb = sum(sizes) / 1e6
    here = "this workspace is kept" if location.is_file() else "this workspace is not kept yet"
    nearest = next(path for path in (directory, *directory.parents) if path.exists())
    step = "" if os.access(nearest, os.W_OK) else f"Make {nearest} writable, or set cache_dir in {user_config_file()}."
    return Finding("kept indexes", f"{len(sizes)} with {size_mb:.1f} MB in {directory}; {here}", step)


def _sizes_in(directory: Path) -> Iterator[int]:
    """Of the files; what another process replaces or removes meanwhile is passed over."""
    if directory.is_dir():
        for path in directory.iterdir():
            with suppress(FileNotFoundError):
                found = path.stat()
                if stat.S_ISREG(found.st_mode):
                    yield found.st_size


def _watches(folder: Path) -> Finding:
    """Linux limits how many folders may be watched; editors that report changes themselves do not need it."""
    limit_file = Path("/proc/sys/fs/inotify/max_user_watches")
    try:
        limit = int(limit_file.read_text())
    except (OSError, ValueError):
        return Finding("watching", "the system sets no limit that can be read")
    n_folders = sum(1 for _ in os.walk(folder))
    step = ""
    if n_folders > limit:
        step = f"Raise the limit: sudo sysctl fs.inotify.max_user_watches={2 * n_folders}"
    return Finding("watching", f"{n_folders:,} folder{'' if n_folders == 1 else 's'}, {limit:,} allowed", step)


def _models(config: Config) -> Iterator[Finding]:
    for model in model_configs(config):
        reads_weights = model.backend in IN_PROCESS or bool(model.path)
        yield from _local_model(model) if reads_weights else _served_model(model, config)
    if uses_workspace_model(config):
        yield Finding("model workspace", "learns from the index, needs nothing else")


def _local_model(model: ModelConfig) -> Iterator[Finding]:
    # Not opened: that would load its weights. `weft models test` does.
    what = f"model {model.backend}"
    packages = IN_PROCESS.get(model.backend, LLAMA_PACKAGES)
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        extra = _EXTRAS.get(model.backend)
        command = install_command(extra) if extra else install_packages_command("llama-cpp-python")
        yield Finding(what, f"{' and '.join(missing)} not installed", f"Install: {command}")
        return
    path = Path(model.path).expanduser()
    found = describe_gguf(path) if model.backend == "llama.cpp" else describe_directory(path)
    if found is None and model.backend == "transformers" and not path.exists():
        # A name in the hub's cache.
        found = next(
            (each for each in discover(replace(default_search_paths(), server_urls=())) if each.name == model.path),
            None,
        )
    if found is None:
        step = f"Set path of this [[model]] in {user_config_file()}, or fetch one: weft models get NAME."
        yield Finding(what, f"no model in {model.path or 'an unnamed place'}", step)
        return
    ability = (
        "fills the middle"
        if found.fills_middle
        else "has no fill-in-the-middle tokens: only the code before the cursor counts"
    )
    step = f"{model.path}: {found.note}." if found.note else ""
    yield Finding(what, f"{model.path}: {found.details}, {ability}; try it with: weft models test", step)


def _served_model(model: ModelConfig, config: Config) -> Iterator[Finding]:
    what = f"model {model.backend}"
    cancel = Cancel()
    timer = threading.Timer(CHECK_WITHIN_S, cancel.cancel)
    timer.start()
    try:
        check = check_model(model, cancel)
    except ModelError as error:
        yield Finding(what, "not usable as configured", str(error))
        return
    finally:
        timer.cancel()
    where = f"{check.info.name} at {model.url}" if model.url else check.info.name
    if cancel.cancelled:
        step = f"{where} did not answer a few short requests within {CHECK_WITHIN_S:.0f} s. Use a smaller model."
        yield Finding(what, f"{where} is too slow to be tested", step)
        return
    ability = "fills the middle" if check.info.fills_middle else "sees only the code before the cursor"
    said = f"{where}: {ability}, self-test: {check.verdict.kind}, first word after {check.warm_ms:.0f} ms"
    yield Finding(what, said)
    for complaint in check.complaints(config.completion):
        yield Finding(what, "could do better", complaint)
