"""`weft search`: definitions, code and documents of a workspace by name and words."""

from __future__ import annotations

import argparse

from ...errors import UserError
from ..search import read_filter
from ..search.as_json import hit_json
from .common import embed_definitions, indexed_workspace, workspace_folder
from .exit_status import NOTHING_TO_SHOW
from .terminal import Terminal

MAX_HITS = 1000


def search(options: argparse.Namespace) -> int:
    if not 1 <= options.limit <= MAX_HITS:
        raise UserError(f"--limit {options.limit} is not possible. Give 1 to {MAX_HITS:,}.")
    filters = {"languages": options.language, "paths": options.path, "kinds": options.kind}
    read_filter(**filters)  # an error comes before the index is read
    terminal = Terminal(quiet=options.json)
    folder = workspace_folder(options.folder, terminal)
    with indexed_workspace(folder, terminal, options) as workspace:
        embed_definitions(workspace, terminal)
        found = workspace.search(" ".join(options.query), options.limit, **filters)
    if options.json:
        terminal.json({"hits": list(map(hit_json, found.hits)), "notes": list(found.notes)})
    else:
        terminal.hits(found.hits, details=options.explain)
        terminal.notes(found.notes)
    return 0 if found.hits else NOTHING_TO_SHOW
