"""Checks of the installation and the configuration, for `weft doctor` and `weft/doctor`.

Changes nothing but the cached manifest of a base. Sends a few short requests to the configured model servers, one for
the manifest of the base, and nothing else over the network.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

from ...languages import PARSED, grammar
from ...llm import Cancel, ModelConfig, ModelError, TimeLimit
from ...llm.installation import DISTRIBUTION, install_command, install_packages_command
from ...llm.library.discover import default_search_paths, describe_directory, describe_gguf, discover
from ...native import STALE, compiled, why_not
from ...version import __version__
from ..agents.set_up import agents
from ..config import Config, load_config, user_config_file
from ..config.options import base_of, kept_indexes, model_configs, uses_workspace_model
from ..models.check import check_model
from ..shared.control import log_file, running_server
from ..shared.endpoint import SharedServerUnavailable, shared_endpoint
from ..workspace.files import Membership
from ..workspace.folder_answers import FolderAnswers
from . import types as answers
from .safe_text import for_editor

PACKAGES = ("pygls", "lsprotocol", "tree-sitter", "numpy", "watchdog", "platformdirs", "httpx", "rich")
IN_PROCESS = {"transformers": ("torch", "transformers", "tokenizers"), "onnx": ("onnxruntime", "tokenizers")}
LLAMA_PACKAGES = ("llama_cpp",)
_EXTRAS = {"transformers": "local", "onnx": "onnx"}
CHECK_WITHIN_S = 20.0
ONLY_BUILT_IN = (
    "completions repeat and adapt code of the workspace, and answers quote it. A coder model also writes new code and "
    "explains"
)
NO_CODE_MODEL = f"none is configured: {ONLY_BUILT_IN}; `weft setup` proposes one for this machine"
NO_MODEL_AT_ALL = 'none is configured, and `backend = "none"` turns the built-in one off: there are no completions'
NO_USABLE_MODEL = f"none that is configured can be used now, so only the built-in model answers: {ONLY_BUILT_IN}"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check. `next_step` says what to do, "" if nothing is wrong."""

    what: str
    found: str
    next_step: str = ""


def examine(folders: Sequence[Path], editor: Mapping[str, object] | None = None) -> list[CheckResult]:
    """All checks of this installation and these folders; `editor` holds the settings of an editor."""
    config, problems = load_config(folders[0] if folders else None, editor)
    findings = [
        CheckResult("weft", f"{__version__} in {Path(__file__).resolve().parents[2]}"),
        CheckResult("python", f"{platform.python_version()} at {sys.executable} on {platform.platform(terse=True)}"),
        _packages(),
        *_other_projects(),
        CheckResult("extras", f"install with: {install_command('NAME')}"),
        _grammars(),
        _kernel(),
        CheckResult("workspace", ", ".join(map(str, folders)) or "no folder is open"),
        CheckResult("user settings", _existing(user_config_file())),
        _shared_server(),
    ]
    findings += [CheckResult("setting", str(problem), f"Correct the setting: {problem}") for problem in problems]
    findings += _base(config)
    for folder in folders:
        findings += [_cache(folder, config), _watches(folder, config)]
    findings += _models(config)
    findings += _agents(folders)
    return findings


def findings_json(findings: Sequence[CheckResult]) -> answers.Findings:
    return {
        "version": __version__,
        "ok": not any(finding.next_step for finding in findings),
        "findings": [
            {"what": for_editor(each.what), "found": for_editor(each.found), "nextStep": for_editor(each.next_step)}
            for each in findings
        ],
    }


def _shared_server() -> CheckResult:
    """The server of `weft serve --shared`."""
    what = "shared server"
    try:
        server, log = running_server(), log_file(shared_endpoint())
    except SharedServerUnavailable as reason:
        return CheckResult(what, "not available", str(reason))
    if server is None:
        return CheckResult(what, f"not running; log: {log}")
    windows = f"{server.windows} window{'s' if server.windows != 1 else ''}"
    minutes = f"{server.uptime_s / 60:.0f} min"
    return CheckResult(what, f"process {server.pid}, {windows}, up {minutes}; log: {log}")


def _agents(folders: Sequence[Path]) -> Iterator[CheckResult]:
    """The agents on this machine that know Weft, and the lines for the others. None of this is a problem."""
    project = [str(folder) for folder in folders[:1]]
    found = [agent for agent in agents(*project) if agent.is_here or agent.known_in(folders)]
    if not found:
        yield CheckResult("agents", f"none on this machine; Weft knows {', '.join(agent.name for agent in agents())}")
        return
    if importlib.util.find_spec("mcp") is None:
        yield CheckResult("agents", f"`weft mcp` needs an extra: {install_command('mcp')}")
    for agent in found:
        yield CheckResult(f"agent {agent.name}", agent.state(folders))


def _packages() -> CheckResult:
    found, missing = [], []
    for package in PACKAGES:
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            missing.append(package)
    step = f"Install the missing packages: {install_packages_command(*missing)}" if missing else ""
    return CheckResult("packages", ", ".join(found), step)


def _other_projects() -> Iterator[CheckResult]:
    """Another distribution called `weft`: an unrelated project on PyPI, or an old version of this one."""
    found = next(iter(metadata.distributions(name="weft")), None)
    # An editable installation of this folder under the old name is harmless.
    if found is None or Path(__file__).resolve().parents[2].as_uri() in (found.read_text("direct_url.json") or ""):
        return
    step = f"Both install a package `weft`. Uninstall both, then install {DISTRIBUTION} in a new environment."
    yield CheckResult(
        "other packages", f"the distribution weft {found.version} is installed beside {DISTRIBUTION}", step
    )


def _grammars() -> CheckResult:
    broken = []
    for language in PARSED:
        try:
            grammar(language)
        except (ImportError, ValueError, AttributeError) as error:
            broken.append(f"{language} ({error})")
    if not broken:
        return CheckResult("grammars", ", ".join(PARSED))
    return CheckResult("grammars", f"broken: {', '.join(broken)}", "Reinstall Weft, which includes the grammars.")


def _kernel() -> CheckResult:
    """Whether the compiled functions of `native` are used."""
    if compiled is not None:
        return CheckResult("C kernel", "used: files are indexed faster")
    return CheckResult("C kernel", f"not used: {why_not}", "Install Weft again." if why_not == STALE else "")


def _existing(path: Path) -> str:
    return str(path) if path.is_file() else f"none ({path} does not exist); using the defaults"


def _cache(folder: Path, config: Config) -> CheckResult:
    location = kept_indexes(config).location(folder)
    directory = location.parent
    sizes = list(_sizes_in(directory))
    size_mb = sum(sizes) / 1e6
    here = "this workspace is cached" if location.is_file() else "this workspace is not cached yet"
    nearest = next(path for path in (directory, *directory.parents) if path.exists())
    step = (
        "" if os.access(nearest, os.W_OK) else f"Make {nearest} writable, or set `cache_dir` in {user_config_file()}."
    )
    return CheckResult("index cache", f"{len(sizes)} indexes, {size_mb:.1f} MB, in {directory}; {here}", step)


def _base(config: Config) -> Iterator[CheckResult]:
    """The export that an index begins from."""
    base = base_of(config)
    if base is None:
        return
    manifest = base.check(Cancel())
    if manifest is None:
        yield CheckResult("base", f"{base.address}: not used", " ".join(base.notices))
        return
    n_contents = sum(len(part.keys) for part in manifest.parts)
    commit = f"commit {manifest.commit[:12]}" if manifest.commit else "no commit"
    n_files, before = base.last_use()
    taken = f"{n_files:,} files of the last index came from it" + (f" (commit {before[:12]})" if before else "")
    yield CheckResult(
        "base",
        f"{base.address}: {n_contents:,} contents in {len(manifest.parts):,} parts, {commit}, made {manifest.created}; "
        f"{taken}",
    )


def _sizes_in(directory: Path) -> Iterator[int]:
    """The sizes of the files; skips a file that another process replaces or removes meanwhile."""
    if directory.is_dir():
        for path in directory.iterdir():
            with suppress(FileNotFoundError):
                found = path.stat()
                if stat.S_ISREG(found.st_mode):
                    yield found.st_size


def _watches(folder: Path, config: Config) -> CheckResult:
    """The limit of watched folders on Linux; editors that report changes themselves do not need it."""
    reason = FolderAnswers(config, on_disk=True).limit_reason(folder)
    if reason:
        return CheckResult("file watching", f"not needed: the folder {reason}, so only open files are indexed")
    limit_file = Path("/proc/sys/fs/inotify/max_user_watches")
    try:
        limit = int(limit_file.read_text())
    except (OSError, ValueError):
        return CheckResult("file watching", "no system limit found")
    n_watched = sum(1 for _ in os.walk(folder))  # the system watches ignored folders, too
    n_indexed = len({os.path.dirname(file.path) for file in Membership(folder, config.index).walk()})
    step = ""
    if n_watched > limit:
        step = f"Raise the limit: sudo sysctl fs.inotify.max_user_watches={2 * n_watched}"
    return CheckResult(
        "file watching",
        f"{n_indexed:,} folder{'' if n_indexed == 1 else 's'} with indexed files, {n_watched:,} with all others; "
        f"system limit {limit:,}",
        step,
    )


def _models(config: Config) -> Iterator[CheckResult]:
    configured = model_configs(config)
    if not configured:
        yield CheckResult("code model", NO_CODE_MODEL if uses_workspace_model(config) else NO_MODEL_AT_ALL)
    n_usable = 0
    for model in configured:
        reads_weights = model.backend in IN_PROCESS or bool(model.path)
        results = list(_local_model(model) if reads_weights else _served_model(model, config))
        n_usable += not results[0].next_step
        yield from results
    if configured and not n_usable and uses_workspace_model(config):
        yield CheckResult("code model", NO_USABLE_MODEL)
    if uses_workspace_model(config):
        yield CheckResult("model workspace", "built from the index; needs no installation")


def _local_model(model: ModelConfig) -> Iterator[CheckResult]:
    # Not opened, because that loads the weights; `weft models test` does.
    what = f"model {model.backend}"
    packages = IN_PROCESS.get(model.backend, LLAMA_PACKAGES)
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        extra = _EXTRAS.get(model.backend)
        command = install_command(extra) if extra else install_packages_command("llama-cpp-python")
        yield CheckResult(what, f"{' and '.join(missing)} not installed", f"Install: {command}")
        return
    path = Path(model.path).expanduser()
    found = describe_gguf(path) if model.backend == "llama.cpp" else describe_directory(path)
    if found is None and model.backend == "transformers" and not path.exists():
        # The path may be a name in the hub's cache.
        found = next(
            (each for each in discover(replace(default_search_paths(), server_urls=())) if each.name == model.path),
            None,
        )
    if found is None:
        step = f"Set `path` of this `[[model]]` in {user_config_file()}, or download one: weft models get NAME."
        yield CheckResult(what, f"no model in {model.path}" if model.path else "no model path configured", step)
        return
    infilling = "supports infilling" if found.fills_middle else "no FIM tokens: uses only the code before the cursor"
    step = f"{model.path}: {found.note}." if found.note else ""
    yield CheckResult(what, f"{model.path}: {found.details}, {infilling}; test it with: weft models test", step)


def _served_model(model: ModelConfig, config: Config) -> Iterator[CheckResult]:
    what = f"model {model.backend}"
    try:
        with TimeLimit(Cancel(), CHECK_WITHIN_S) as limit:
            check = check_model(model, limit)
    except ModelError as error:
        yield CheckResult(what, "can't be used", str(error))
        return
    where = f"{check.info.name} at {model.url}" if model.url else check.info.name
    if limit.is_reached:
        step = f"{where} did not answer a few short requests within {CHECK_WITHIN_S:.0f} s. Use a smaller model."
        yield CheckResult(what, f"{where} is too slow for the test", step)
        return
    infilling = "supports infilling" if check.info.fills_middle else "uses only the code before the cursor"
    latency = f"first token after {check.warm_ms:.0f} ms"
    yield CheckResult(what, f"{where}: {infilling}, self-test: {check.verdict.kind}, {latency}")
    for complaint in check.complaints(config.completion):
        yield CheckResult(what, "has a problem", complaint)
