"""Module resolution of Lua: `a.b` is the file a/b.lua or a/b/init.lua below any directory, the nearest one first.

Knows no text of any file and no `package.path`.
"""

from __future__ import annotations

from .paths import PathTables, ends_with, n_common


def find_lua_module(tables: PathTables, directory: str, module: str) -> tuple[str, ...]:
    """The file of a module that a file in a directory requires; a relative path (`./a`) is one below any directory."""
    parts = [part for part in module.removesuffix(".lua").replace("/", ".").split(".") if part]
    if not parts:
        return ()
    tail = "/".join(parts)
    names = {f"{parts[-1]}.lua": f"{tail}.lua", "init.lua": f"{tail}/init.lua"}
    found = [path for name, end in names.items() for path in tables.by_name.get(name, ()) if ends_with(path, end)]
    found = tables.nearer(directory, found)
    return (min(found, key=lambda path: (-n_common(path, f"{directory}/"), path.count("/"), path)),) if found else ()
