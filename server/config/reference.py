"""Reference of the settings: a Markdown table for the documentation, and a JSON schema for VS Code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args, get_origin

from ...llm.backends import ModelConfig
from .settings import RENAMED, SETTINGS, TABLES, Description, Origin, Setting

_TYPE_NAMES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "list"}
_SOURCES = {
    Origin.WORKSPACE: "",
    Origin.EDITOR: " *User file or editor only.*",
    Origin.USER: " *User file only.*",
}


def describe() -> str:
    """The reference table of every setting, in Markdown."""
    lines: list[str] = []
    for table in TABLES:
        title = f"`[{table}]`" if table else "Top level"
        title = "`[[model]]` (user file or editor only)" if table == "model" else title
        lines += ["", f"### {title}", "", "| key | type | default | description |", "|---|---|---|---|"]
        lines += [
            f"| `{setting.name}` | {type_name(setting.type)} | {_toml(setting.default)} | "
            f"{setting.description.text}{_limits(setting.description)} |"
            for setting in SETTINGS.values()
            if setting.table == table
        ]
    return "\n".join(lines).strip() + "\n"


def schema() -> dict[str, dict[str, Any]]:
    """Every setting by its dotted name, as a property of JSON Schema, old names included.

    Settings of the user's file alone are left out. `scope` is that of VS Code: `machine` for a setting that a workspace
    may not set, else `resource`.
    """
    properties = _properties(setting for setting in SETTINGS.values() if setting.table != "model")
    for key, each in properties.items():
        origin = SETTINGS[RENAMED.get(key, key)].description.origin
        each["scope"] = "machine" if origin is Origin.EDITOR else "resource"
    return properties


def type_name(kind: Any) -> str:
    """The type of a setting or of a value, for a person."""
    if get_origin(kind) is tuple:
        return "list of strings" if get_args(kind)[0] is str else "list of tables"
    return _TYPE_NAMES.get(kind) or str(kind.__name__)


def _properties(settings: Iterable[Setting]) -> dict[str, dict[str, Any]]:
    shown = {each.key: each for each in settings if each.description.origin is not Origin.USER}
    properties = {key: _property(each) for key, each in shown.items()}
    for old, new in RENAMED.items():
        if new in shown:
            name = shown[new].name if shown[new].table == "model" else f"weft.{new}"
            properties[old] = {**properties[new], "deprecationMessage": f"Renamed to {name}."}
    return properties


def _property(setting: Setting) -> dict[str, Any]:
    description, default = setting.description, setting.default
    made: dict[str, Any] = {
        "type": "array" if get_origin(setting.type) is tuple else type_name(setting.type),
        "description": description.text,
    }
    if setting.key == "model":
        options = _properties(each for each in SETTINGS.values() if each.table == "model")
        properties = {key.removeprefix("model."): each for key, each in options.items()}
        made["items"] = {"type": "object", "properties": properties, "additionalProperties": False}
        default = [{"backend": model.backend} for model in default]
    elif get_origin(setting.type) is tuple:
        made["items"] = {"type": "string"}
        default = list(default)
    if description.choices:
        made["enum"] = list(description.choices)
    for limit, name in ((description.low, "minimum"), (description.high, "maximum")):
        if limit is not None:
            made[name] = limit
    return {**made, "default": default}


def _limits(description: Description) -> str:
    text = ""
    if description.choices:
        text += f" One of {', '.join(f'`{choice}`' for choice in description.choices)}."
    if description.low is not None and description.high is not None:
        text += f" {description.low:_} to {description.high:_}."
    elif description.low is not None:
        text += f" At least {description.low:_}."
    return text + _SOURCES[description.origin]


def _toml(value: object) -> str:
    if isinstance(value, tuple) and value and isinstance(value[0], ModelConfig):
        return f'backend `"{value[0].backend}"`'
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return "`[" + ", ".join(f'"{entry}"' for entry in value) + "]`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value:_}`" if isinstance(value, int) else f"`{value}`"
