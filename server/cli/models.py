"""`weft models`: list, get, test and use models.

`llm/library/` finds and downloads models, `models/check.py` measures them. The measurements are stored in the cache
folder, and the list shows them.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ...errors import UserError
from ...llm import Cancel, ModelConfig, ModelError
from ...llm.disk import read_text, replace_file
from ...llm.library.catalogue import CATALOGUE, CatalogueModel, find_in_catalogue
from ...llm.library.discover import FoundModel, discover, models_folder
from ...llm.library.fetch import fetch_model
from ...llm.library.release_file import file_hash, install_release
from ...llm.private_files import private_folder
from ..config import load_config, user_config_file
from ..config.edit_file import prefer_model
from ..config.options import model_configs
from ..models.check import ModelCheck, check_model
from ..models.model_argument import MODEL_SYNTAX, Table, parse_model
from ..workspace.store import cache_folder
from .exit_status import NOTHING_TO_SHOW
from .terminal import Terminal

_IDENTITY = ("backend", "path", "url", "name")


def list_models(options: argparse.Namespace) -> int:
    found = discover()
    configured = [settings_of(config) for config in model_configs(load_config()[0])]
    measured = _measured()
    rows = [_found_json(model, settings_of(model.config) in configured, measured) for model in found]
    if options.json:
        catalogue = [_catalogue_json(entry, found) for entry in CATALOGUE]
        Terminal().json({"found": rows, "configured": configured, "catalogue": catalogue})
        return 0
    Terminal().models(rows, [_catalogue_json(entry, found) for entry in CATALOGUE])
    return 0


def get_model(options: argparse.Namespace) -> int:
    if options.name.endswith(".zip"):
        return _install_release(options.name, options)
    repository, file = _repository(options.name)
    terminal = Terminal(quiet=options.json)
    with terminal.bytes_progress(options.name) as progress:
        path = fetch_model(repository, file, progress=lambda how_far: progress(how_far.done_bytes, how_far.total_bytes))
    _say_next_steps(terminal, options, path.stem if file else repository, path)
    return 0


def _install_release(name: str, options: argparse.Namespace) -> int:
    if "://" in name:
        raise UserError(
            "Weft downloads from the hub only. Download the file yourself, then run: weft models get FILE.zip"
        )
    archive, terminal = Path(name).expanduser(), Terminal(quiet=options.json)
    folder = install_release_file(archive)
    # The manifest is part of the file, so only this hash, compared with the publisher's, proves its origin.
    if not options.json:
        terminal.say(f"SHA-256 of {archive.name}: {file_hash(archive)}")
    _say_next_steps(terminal, options, folder.name, folder)
    return 0


def install_release_file(archive: Path) -> Path:
    """The folder of a release of Weft's own model, unpacked into the folder for models."""
    return install_release(archive, models_folder())


def _say_next_steps(terminal: Terminal, options: argparse.Namespace, name: str, path: Path) -> None:
    if options.json:
        terminal.json({"name": name, "path": str(path)})
    else:
        terminal.say(f"{path}", f"Test it: weft models test {name}", f"Use it: weft models use {name}")


def test_models(options: argparse.Namespace) -> int:
    config, _ = load_config()
    models = [_config_of(options.name)] if options.name else list(model_configs(config))
    if not models:
        raise UserError(
            "Only the workspace model is configured, which needs no test. Name a model: weft models test NAME"
        )
    terminal, all_passed = Terminal(quiet=options.json), True
    results: list[dict[str, Any]] = []
    for model in models:
        try:
            check = check_model(model, Cancel())
        except ModelError as error:
            results.append({**settings_of(model), "error": str(error)})
            all_passed = False
        else:
            complaints = check.complaints(config.completion)
            all_passed = all_passed and not check.verdict.broken
            store_measured(model, check)
            results.append({**settings_of(model), **check_json(check), "complaints": complaints})
    if options.json:
        terminal.json(results)
    else:
        terminal.model_tests(results)
    return 0 if all_passed else NOTHING_TO_SHOW


def use_model(options: argparse.Namespace) -> int:
    table = _named(options.name)
    path, is_changed = prefer_in_user_file(table)
    terminal = Terminal(quiet=options.json)
    if options.json:
        terminal.json({"file": str(path), "model": table, "changed": is_changed})
    elif is_changed:
        terminal.say(f"{options.name} is now the first model in {path}.", "Check it: weft doctor")
    else:
        terminal.say(f"{options.name} is already the first model in {path}.")
    return 0


def prefer_in_user_file(table: Table) -> tuple[Path, bool]:
    """Make a model the first one in the user's settings; their file, and whether it changed. Raises UserError."""
    path = user_config_file()
    try:
        return path, prefer_model(path, table)
    except OSError as error:
        raise UserError(f"Can't write {path}: {error.strerror}. Make it writable.") from error


def _named(name: str) -> Table:
    """The settings of the model that `weft models` lists as `name`, or that `name` describes. Raises UserError."""
    table = parse_model(name)
    if table is not None:
        if table["backend"] != "transformers" and "path" in table:
            # Settings must not depend on the current folder.
            table["path"] = os.path.realpath(Path(table["path"]).expanduser())
        return table
    found = discover()
    entry = find_in_catalogue(name)
    names = {name} if entry is None else {name, entry.local_name}
    for model in found:
        if model.name in names:
            return settings_of(model.config)
    if entry is not None:
        raise UserError(f"{name} is not on this machine. Download it first: weft models get {entry.name}")
    near = get_close_matches(name, [*(model.name for model in found), *(entry.name for entry in CATALOGUE)], 1)
    guess = f" Did you mean {near[0]}?" if near else ""
    raise UserError(f"No model is called {name}.{guess} Give a name that `weft models` lists, or {MODEL_SYNTAX}.")


def _config_of(name: str) -> ModelConfig:
    settings: dict[str, Any] = {**_named(name)}
    return ModelConfig(**settings)


def _repository(name: str) -> tuple[str, str]:
    entry = find_in_catalogue(name)
    if entry is not None:
        return entry.repository, entry.file
    repository, _, file = name.partition(":")
    if repository.count("/") != 1:
        near = get_close_matches(name, [entry.name for entry in CATALOGUE], 1)
        guess = f" Did you mean {near[0]}?" if near else ""
        raise UserError(
            f"{name} is not in the catalogue.{guess} Give a name that `weft models` lists, or OWNER/NAME[:FILE]."
        )
    return repository, file


def settings_of(config: ModelConfig) -> Table:
    """The `[[model]]` table of this model."""
    return {key: value for key in _IDENTITY if (value := str(getattr(config, key)))}


def _found_json(model: FoundModel, is_configured: bool, measured: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": model.name,
        "where": model.where,
        "settings": settings_of(model.config),
        "configured": is_configured,
        "bytes": model.size_bytes,
        "contextTokens": model.context_tokens,
        "fillsMiddle": model.fills_middle,
        "repositoryLevel": model.repository_level,
        "details": model.details,
        "note": model.note,
        "measured": measured.get(_key(model.config)),
    }


def _catalogue_json(entry: CatalogueModel, found: Sequence[FoundModel]) -> dict[str, Any]:
    return {
        "name": entry.name,
        "repository": entry.repository,
        "file": entry.file,
        "backend": entry.backend,
        "licence": entry.licence,
        "diskGb": entry.size_gb,
        "memoryGb": entry.memory_gb,
        "contextTokens": entry.context_tokens,
        "remark": entry.remark,
        "here": any(model.name == entry.local_name for model in found),
    }


def check_json(check: ModelCheck) -> dict[str, Any]:
    return {
        "answersAs": check.info.name,
        "contextTokens": check.info.context_tokens,
        "fillsMiddle": check.info.fills_middle,
        "repositoryLevel": check.info.repository_level,
        "selfTest": check.verdict.kind,
        "coldMs": round(check.cold_ms, 1),
        "warmMs": round(check.warm_ms, 1),
        "readsTokensPerSecond": round(check.speed.prefill, 1),
        "writesTokensPerSecond": round(check.speed.decode, 1),
    }


def _key(config: ModelConfig) -> str:
    return json.dumps(settings_of(config), sort_keys=True)


def _measured_file() -> Path:
    return cache_folder() / "models.json"


def _measured() -> dict[str, Any]:
    """Earlier results of `weft models test`; empty if the file is missing or damaged."""
    try:
        stored = json.loads(read_text(_measured_file()))
    except (OSError, ValueError):
        return {}
    return stored if isinstance(stored, dict) else {}


def store_measured(config: ModelConfig, check: ModelCheck) -> None:
    stored = {**_measured(), _key(config): {**check_json(check), "on": time.strftime("%Y-%m-%d")}}
    with suppress(OSError):
        private_folder(_measured_file().parent)
        replace_file(_measured_file(), json.dumps(stored, indent=1).encode())
