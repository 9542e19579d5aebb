"""`weft index`: index a folder, export its analyses, or let a cluster make them."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from ...errors import UserError
from ..base.building import FolderRows
from ..base.cluster import OnCluster
from ..base.export import ExportReport, export_index
from ..base.ray_cluster import RayCluster
from ..config import Config
from ..config.options import analysis_version, kept_analyses
from ..output.as_json import report_json
from ..workspace.files import Membership
from ..workspace.workspace import Workspace
from .common import embed_definitions, existing_folder, index_with_consent, open_workspace
from .terminal import Terminal

FILES_AT_ONCE = 2000
"""Files that a cluster analyses before their rows are dropped: about 40 MB of source."""


def index(options: argparse.Namespace) -> int:
    terminal = Terminal(quiet=options.json)
    folder = existing_folder(options.folder)
    with open_workspace(folder, terminal, options) as workspace:
        if options.export is not None:
            return _export(workspace, terminal, options, folder)
        if options.ray is not None:
            _fill(workspace.config, terminal, options, folder)
        report = index_with_consent(workspace, terminal, options, folder.name)
        embed_definitions(workspace, terminal)
        base = workspace.base
        if options.json:
            taken = {} if base is None else {"fromBase": base.n_rows, "notes": list(base.notices)}
            terminal.json({"folder": str(folder), **report_json(report), **taken})
        else:
            terminal.report(folder, report)
            if base is not None:  # its notices are in the log, on stderr
                terminal.say(f"from the base: {base.n_rows:,} files ({base.address})")
    return 0


def _export(workspace: Workspace, terminal: Terminal, options: argparse.Namespace, folder: Path) -> int:
    """Write the analyses of a folder for others. No index of the folder is built."""
    if options.keep < 1:
        raise UserError(f"--keep {options.keep} is too small. Give at least 1, which is this export.")
    for limited, reason in workspace.limited_folders.items():
        if not options.broad:
            raise UserError(f"{limited} is not exported, because it {reason}. Add --broad to export it all the same.")
    target = options.export.absolute()
    if target == folder or folder in target.resolve().parents:
        raise UserError(f"{target} is inside of {folder}, so it would be indexed. Give a folder outside of it.")
    cluster = _cluster(workspace.config, options, folder)
    rows = _rows(workspace.config, options, folder, cluster)
    with terminal.progress(f"Exporting {folder.name}") as progress:
        report = export_index(
            folder, workspace.config.index, rows, target, analysis_version(), keep=options.keep, progress=progress
        )
    _say_shares(terminal, cluster)
    if options.json:
        terminal.json({"folder": str(folder), "export": str(target), **_export_json(report)})
        return 0
    terminal.say(
        f"{report.n_files:,} contents in {report.n_parts:,} parts, {report.n_bytes / 1e6:,.1f} MB in {target} "
        f"({report.n_analysed:,} analysed now)",
        f"new: {report.n_new_parts:,} parts, {report.n_new_bytes / 1e6:,.1f} MB; removed: {report.n_removed:,} parts",
    )
    terminal.notes(f"{failed}; it is not exported." for failed in report.failed)
    return 0


def _export_json(report: ExportReport) -> dict[str, object]:
    names = {
        "n_files": "contents",
        "n_analysed": "analysed",
        "n_parts": "parts",
        "n_bytes": "bytes",
        "n_new_parts": "newParts",
        "n_new_bytes": "newBytes",
        "n_removed": "removedParts",
    }
    return {names.get(name, name): value for name, value in asdict(report).items()}


def _fill(config: Config, terminal: Terminal, options: argparse.Namespace, folder: Path) -> None:
    """Let a cluster analyse the files that are not stored; the index takes them from the store."""
    if options.no_cache or kept_analyses(config) is None:
        raise UserError(
            "--ray needs the store of analyses. Leave out --no-cache, and set `analysis_cache_mb` and "
            "`index.keep_on_disk`."
        )
    cluster = _cluster(config, options, folder)
    rows = _rows(config, options, folder, cluster)
    with terminal.progress(f"Analysing {folder.name} on the cluster"):
        files = list(Membership(folder, config.index).walk())
        for first in range(0, len(files), FILES_AT_ONCE):  # their rows are in memory
            rows.of(files[first : first + FILES_AT_ONCE])
    terminal.hint(f"the cluster analysed {rows.n_analysed:,} files; {rows.n_known:,} were stored")
    _say_shares(terminal, cluster)


def _say_shares(terminal: Terminal, cluster: OnCluster | None) -> None:
    """How evenly the work of a cluster was divided."""
    if cluster is None or not cluster.shares.by_node:
        return
    shares, times = cluster.shares, cluster.shares.by_node.values()
    lost = f"; {shares.n_lost:,} tasks were lost and done here" if shares.n_lost else ""
    terminal.hint(
        f"{shares.n_tasks:,} tasks in {len(times):,} processes, each with {min(times):.1f} to {max(times):.1f} s of "
        f"processor time{lost}"
    )


def _rows(config: Config, options: argparse.Namespace, folder: Path, cluster: OnCluster | None) -> FolderRows:
    store = None if options.no_cache or not config.index.keep_on_disk else kept_analyses(config)
    return FolderRows(folder, config.index, store, cluster)


def _cluster(config: Config, options: argparse.Namespace, folder: Path) -> OnCluster | None:
    if options.ray is None:
        return None
    return OnCluster(folder, config.index, analysis_version(), RayCluster(options.ray))
