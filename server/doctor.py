"""What is installed, what is configured, whether it can work, and what to do next.

Owns the questions that `weft doctor` asks of a machine. Changes nothing; asks model endpoints for a sign of
life and nothing else on the network.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from .. import __version__
from ..codegraph.languages import LANGUAGES, grammar
from ..llm import ModelConfig, ModelError, open_model
from .config import Config, load_config, user_config_file
from .settings import kept_indexes, model_configs, uses_workspace_model

PACKAGES = ("pygls", "lsprotocol", "tree-sitter", "numpy", "watchdog", "platformdirs", "httpx", "rich")
LOCAL_PACKAGES = ("torch", "transformers")
ANSWER_WITHIN_S = 2.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One answer. `next_step` says what to do, "" when nothing is wrong."""

    what: str
    found: str
    next_step: str = ""


def examine(folder: Path) -> list[Finding]:
    """Everything worth knowing about this installation and this workspace."""
    config, problems = load_config(folder)
    findings = [
        Finding("weft", f"{__version__} in {Path(__file__).resolve().parents[1]}"),
        Finding("python", f"{platform.python_version()} at {sys.executable} on {platform.platform(terse=True)}"),
        _packages(),
        _grammars(),
        Finding("workspace", str(folder)),
        Finding("user settings", _existing(user_config_file())),
    ]
    findings += [Finding("setting", str(problem), f"Correct it: {problem}") for problem in problems]
    findings += [_cache(folder, config), _watches(folder)]
    findings += _models(config)
    return findings


def findings_json(findings: Sequence[Finding]) -> dict[str, Any]:
    return {
        "version": __version__,
        "findings": [asdict(finding) for finding in findings],
        "ok": not any(finding.next_step for finding in findings),
    }


def _packages() -> Finding:
    found, missing = [], []
    for package in PACKAGES:
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            missing.append(package)
    step = f"Install what is missing: pip install {' '.join(missing)}" if missing else ""
    return Finding("packages", ", ".join(found), step)


def _grammars() -> Finding:
    broken = []
    for language in LANGUAGES:
        try:
            grammar(language)
        except (ImportError, ValueError, AttributeError) as error:
            broken.append(f"{language} ({error})")
    if not broken:
        return Finding("grammars", ", ".join(LANGUAGES))
    return Finding("grammars", f"broken: {', '.join(broken)}", "Install Weft again: its grammars come with it.")


def _existing(path: Path) -> str:
    return str(path) if path.is_file() else f"none ({path} does not exist; the defaults hold)"


def _cache(folder: Path, config: Config) -> Finding:
    location = kept_indexes(config).location(folder)
    directory = location.parent
    files = list(_files_in(directory))
    size_mb = sum(path.stat().st_size for path in files) / 1e6
    here = "this workspace is kept" if location.is_file() else "this workspace is not kept yet"
    nearest = next(path for path in (directory, *directory.parents) if path.exists())
    step = "" if os.access(nearest, os.W_OK) else f"Make {nearest} writable, or set cache_dir in {user_config_file()}."
    return Finding("kept indexes", f"{len(files)} with {size_mb:.1f} MB in {directory}; {here}", step)


def _files_in(directory: Path) -> Iterator[Path]:
    if directory.is_dir():
        yield from (path for path in directory.iterdir() if path.is_file())


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
    return Finding("watching", f"{n_folders:,} folders, {limit:,} allowed", step)


def _models(config: Config) -> Iterator[Finding]:
    for model in model_configs(config):
        what = f"model {model.backend}"
        yield _local_model(what, model) if model.backend == "transformers" else _endpoint(what, model)
    if uses_workspace_model(config):
        yield Finding("model workspace", "learns from the index, needs nothing else")


def _local_model(what: str, model: ModelConfig) -> Finding:
    # Not opened: that would load its weights.
    missing = [package for package in LOCAL_PACKAGES if importlib.util.find_spec(package) is None]
    if missing:
        return Finding(what, f"{' and '.join(missing)} not installed", 'Install them: pip install "weft[local]"')
    if not (Path(model.path) / "config.json").is_file():
        step = f"Set path of this [[model]] in {user_config_file()}."
        return Finding(what, f"no model in {model.path or 'an unnamed directory'}", step)
    return Finding(what, model.path)


def _endpoint(what: str, model: ModelConfig) -> Finding:
    import httpx

    try:
        opened = open_model(model)
        local = opened is not None and opened.info.local  # then a proxy can only be in the way
        answer = httpx.get(model.url, timeout=ANSWER_WITHIN_S, trust_env=not local)
    except ModelError as error:
        return Finding(what, "not usable as configured", str(error))
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        step = f"Start the server, or correct the url in {user_config_file()}."
        return Finding(what, f"{model.url}: {error}", step)
    return Finding(what, f"{model.url} answers ({answer.status_code})")
