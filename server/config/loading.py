"""Loading of settings: the defaults, the user's file, the workspace's file and the editor, each overriding the last.

The workspace's file is `weft.toml`, or `[tool.weft]` in `pyproject.toml`. A mistake never stops anything: it becomes a
`ConfigProblem`, and the setting keeps its value from the layer below.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_origin

import platformdirs

from ...llm.backends import ModelConfig
from ...llm.disk import open_regular
from .reference import type_name
from .settings import REMOVED, RENAMED, SETTINGS, TABLES, Config, Origin, Setting

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WORKSPACE_FILE = "weft.toml"
PROJECT_FILE = "pyproject.toml"
MAX_CONFIG_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One mistake: its source, its key ("" for the whole file), and a message that says what is wrong."""

    source: str
    key: str
    message: str
    line: int | None = None  # 1-based, of a syntax error

    def __str__(self) -> str:
        where = self.source if self.line is None else f"{self.source}:{self.line}"
        return f"{where}: {self.key}: {self.message}" if self.key else f"{where}: {self.message}"


def load_config(
    folder: Path | None = None, editor: Mapping[str, object] | None = None, *, user_file: Path | None = None
) -> tuple[Config, tuple[ConfigProblem, ...]]:
    """The settings of one workspace folder, and all mistakes in them. Never raises for a user's mistake.

    `editor` holds the editor's settings below `weft`, nested as in the files; null means "not set".
    `user_file` defaults to `user_config_file()`.
    """
    problems: list[ConfigProblem] = []
    config = Config()
    user_file = user_file or user_config_file()
    layers: list[tuple[str, object, Origin]] = [(str(user_file), _read_toml(user_file, problems), Origin.USER)]
    if folder is not None:
        layers.append((*_workspace_table(folder, problems), Origin.WORKSPACE))
    layers.append(("editor settings", editor or {}, Origin.EDITOR))
    for source, table, origin in layers:
        before = config.memory
        layer = _Layer(source, origin, user_file)
        config = layer.applied_to(config, table)
        if before.embeddings_key_variable and config.memory.embeddings_url != before.embeddings_url:
            layer.mistake("memory.embeddings_url", f"the API key is not sent there. Set the URL in {user_file} as well")
            config = replace(config, memory=replace(config.memory, embeddings_key_variable=""))
        problems += layer.problems
    return config, tuple(problems)


def user_config_file() -> Path:
    """The user's `weft.toml`, in the configuration folder of the platform."""
    return Path(platformdirs.user_config_dir("weft", appauthor=False)) / WORKSPACE_FILE


class _Layer:
    """The settings of one source, checked against `SETTINGS` and against what this source may set."""

    def __init__(self, source: str, origin: Origin, user_file: Path) -> None:
        self.problems: list[ConfigProblem] = []
        self._source, self._origin, self._user_file = source, origin, user_file
        self._n_mistakes = 0

    def mistake(self, key: str, message: str) -> None:
        self._n_mistakes += 1
        self._notice(key, message)

    def applied_to(self, base: Any, values: object, table: str = "", shown: str = "") -> Any:
        """`base` with the settings of `table`. `shown` is the name of the table in messages, such as `model[2]`."""
        if not isinstance(values, Mapping):
            self.mistake(shown, f"expected a table, found {_found(values)}")
            return base
        for name, value in values.items():
            shown_key = _joined(shown, name)
            # A dot inside of a name separates no tables.
            key = _joined(table, name) if name and "." not in str(name) else ""
            if (new := RENAMED.get(key)) is not None:
                self._notice(shown_key, f"renamed to `{new}`. The next version ignores the old name. Use the new one")
                if SETTINGS[new].name in values:
                    continue
                key = new
            setting = SETTINGS.get(key)
            if value is None:
                continue
            if setting is None and key and key in TABLES:
                base = self.applied_to(base, value, key, shown_key)
            elif setting is None:
                hint = f"removed. {REMOVED[key]}" if key in REMOVED else f"no such setting{_nearest(str(name), table)}"
                self.mistake(shown_key, hint)
            elif setting.description.origin > self._origin:
                self.mistake(shown_key, self._not_from_here(setting.description.origin))
            elif key == "model":
                base = replace(base, model=self._models(value) or base.model)
            elif (problem := _misfit(value, setting)) is not None:
                self.mistake(shown_key, problem)
            else:
                base = _with(base, setting.path, _converted(value, setting.type))
        return base

    def _models(self, value: object) -> tuple[ModelConfig, ...]:
        tables = value if isinstance(value, list | tuple) else [value]
        models = []
        for number, table in enumerate(tables, 1):
            before = self._n_mistakes
            shown = "model" if len(tables) == 1 else f"model[{number}]"
            model = self.applied_to(ModelConfig(), table, "model", shown)
            # A model with a mistake is left out: the default backend would silently replace it.
            if self._n_mistakes == before:
                models.append(model)
        return tuple(models)

    def _not_from_here(self, origin: Origin) -> str:
        source = "a workspace file" if self._origin is Origin.WORKSPACE else "an editor"
        where = f"{self._user_file} or in the editor" if origin is Origin.EDITOR else str(self._user_file)
        return f"{source} may not set this; set it in {where}"

    def _notice(self, key: str, message: str) -> None:
        self.problems.append(ConfigProblem(self._source, key, message))


def _joined(table: str, name: object) -> str:
    return f"{table}.{name}" if table else str(name)


def _with(options: Any, path: tuple[str, ...], value: object) -> Any:
    """`options` with another value of a nested attribute."""
    name, *rest = path
    return replace(options, **{name: _with(getattr(options, name), tuple(rest), value) if rest else value})


def _workspace_table(folder: Path, problems: list[ConfigProblem]) -> tuple[str, object]:
    own, project = folder / WORKSPACE_FILE, folder / PROJECT_FILE
    # Mistakes in a pyproject.toml without `tool.weft` are not reported: other tools own that file.
    names_weft = "tool.weft" in _text(project, [])
    if own.exists() and not own.is_dir():
        if names_weft:
            problems.append(ConfigProblem(str(project), "tool.weft", f"not read, because {WORKSPACE_FILE} exists"))
        return str(own), _read_toml(own, problems)
    if not names_weft:
        return str(project), {}
    tool = _read_toml(project, problems).get("tool", {})
    return str(project), tool.get("weft", {}) if isinstance(tool, dict) else {}


def _read_toml(path: Path, problems: list[ConfigProblem]) -> dict[str, object]:
    try:
        return tomllib.loads(_text(path, problems))
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        line = int(found[1]) if found else None
        problems.append(ConfigProblem(str(path), "", f"not valid TOML, so the file is ignored: {error}", line))
    except RecursionError:
        problems.append(ConfigProblem(str(path), "", "nested too deeply, so the file is ignored"))
    return {}


def _text(path: Path, problems: list[ConfigProblem]) -> str:
    """The text of the file; empty if it does not exist, and, with a problem, if it can't be read."""
    try:
        with open_regular(path) as file:
            data = file.read(MAX_CONFIG_BYTES + 1)
        if len(data) > MAX_CONFIG_BYTES:
            problems.append(
                ConfigProblem(str(path), "", f"larger than {MAX_CONFIG_BYTES} bytes, so the file is ignored")
            )
            return ""
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.append(ConfigProblem(str(path), "", "not UTF-8, so the file is ignored", line))
    except OSError as error:
        if path.exists() and not path.is_dir():
            problems.append(ConfigProblem(str(path), "", f"can't be read: {error.strerror}"))
    return ""


def _misfit(value: object, setting: Setting) -> str | None:
    """Why `value` is invalid; None if it is valid."""
    if get_origin(setting.type) is tuple:
        if not isinstance(value, list | tuple):
            return f"expected a {type_name(setting.type)}, found {_found(value)}"
        wrong = next((entry for entry in value if not isinstance(entry, str)), None)
        return None if wrong is None else f"expected a {type_name(setting.type)}, found {_found(wrong)} in it"
    accepted: Any = int | float if setting.type is float else setting.type
    if not isinstance(value, accepted) or (isinstance(value, bool) and setting.type is not bool):
        return f"expected {type_name(setting.type)}, found {_found(value)}"
    description = setting.description
    if description.choices and value not in description.choices:
        near = difflib.get_close_matches(str(value), description.choices, 1, 0.6)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return f"expected one of {', '.join(map(repr, description.choices))}, found {value!r}{hint}"
    # `not >=` instead of `<`: a NaN compares false with everything and must be rejected.
    if description.low is not None and not value >= description.low:
        return f"expected at least {description.low:_}, found {value}"
    if description.high is not None and not value <= description.high:
        return f"expected at most {description.high:_}, found {value}"
    return None


def _converted(value: Any, kind: Any) -> object:
    return tuple(value) if get_origin(kind) is tuple else kind(value)


def _nearest(name: str, table: str) -> str:
    """The nearest valid key, as a question: the same name in another table, a similar one in this table, then any."""
    keys = [*SETTINGS, *filter(None, TABLES)]
    anywhere = {key.rpartition(".")[2]: key for key in keys}
    here = {key.rpartition(".")[2]: key for key in keys if key.rpartition(".")[0] == table}
    near = anywhere.get(name)
    for names in (here, anywhere):
        if near is None and (similar := difflib.get_close_matches(name, names, 1, 0.7)):
            near = names[similar[0]]
    return f"; did you mean {near!r}?" if near else ""


def _found(value: object) -> str:
    if isinstance(value, Mapping):
        return "table"
    name = type_name(type(value))
    return f"{name} ({str(value).lower()})" if isinstance(value, bool | int | float) else name
