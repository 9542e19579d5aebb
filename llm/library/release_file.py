"""Release archives of Weft's own models: writing, verification, installation into the folder of models.

Owns the format: an uncompressed zip archive whose `manifest.json` lists every other file with its size and SHA-256. The
same files give the same bytes, and no archive can expand. An archive is verified first and installed atomically. Its
hashes detect damage, not forgery: for that a person compares `file_hash` with that of the publisher. Knows no engine
and no training.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from ...errors import ModelError
from ..disk import abandoned, open_regular, read_regular, remove_abandoned, temporary_folder
from ..private_files import private_folder

MOST_BYTES = 60_000_000  # of a whole archive
# Required files besides one or more ONNX files.
NEEDED = ("config.json", "tokenizer.json", "card.md", "licences.md", "LICENSE")

MANIFEST, FORMAT = "manifest.json", 1

_MOST_FILES = 32
_MOST_MANIFEST_BYTES = 100_000
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,78}[A-Za-z0-9])?")
_KINDS = (".onnx", ".json", ".md")  # no executable formats
_NO_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest date in a zip archive
_ENCRYPTED = 1


class BadRelease(ModelError):
    """The release is incomplete, or can't be written or installed. Nothing was installed."""


def write_release(path: Path, name: str, files: Mapping[str, Path]) -> None:
    """Write the archive of the model `name` atomically. Raises BadRelease, as `install_release` would."""
    if missing := [wanted for wanted in NEEDED if wanted not in files]:
        raise BadRelease(f"A release needs {', '.join(missing)}. Export and check the model first.")
    contents = {inside: files[inside].read_bytes() for inside in sorted(files)}
    entries = {inside: {"bytes": len(data), "sha256": _hash(data)} for inside, data in contents.items()}
    manifest = {"format": FORMAT, "name": name, "files": entries}
    _read_manifest(json.dumps(manifest).encode())
    part = path.with_suffix(".part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
            for inside, data in ((MANIFEST, json.dumps(manifest, indent=1).encode()), *contents.items()):
                entry = zipfile.ZipInfo(inside, _NO_TIME)
                entry.create_system, entry.external_attr = 3, (stat.S_IFREG | 0o644) << 16  # as on Unix, everywhere
                archive.writestr(entry, data)
        if (n_bytes := part.stat().st_size) > MOST_BYTES:
            raise BadRelease(
                f"{name} takes {n_bytes / 1e6:.1f} MB; the limit is {MOST_BYTES / 1e6:.0f} MB. Choose a smaller preset."
            )
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def install_release(archive: Path, models: Path) -> Path:
    """Install an archive in `models`, replacing a release with the same name; the folder. Raises BadRelease."""
    try:
        with open_regular(archive) as file:
            if os.fstat(file.fileno()).st_size > MOST_BYTES:
                raise BadRelease(
                    f"{archive} is larger than {MOST_BYTES / 1e6:.0f} MB, so it is not a release of a model. "
                    "Choose another file."
                )
            contents = _verified_contents(archive, file)
    except (OSError, ValueError, EOFError, NotImplementedError, RuntimeError, zipfile.BadZipFile) as error:
        raise BadRelease(f"{archive} can't be read as a release: {error}. Download it again.") from error
    name = str(json.loads(contents[MANIFEST])["name"])
    target = models / name
    if target.exists() and not (target / MANIFEST).is_file():
        raise BadRelease(f"{target} exists and is not a release. Move it away, and run the command again.")
    try:
        private_folder(models)
        _end_abandoned(models)
        with temporary_folder(models) as space:
            new, old = space / "new", space / "old"
            new.mkdir()
            for inside, data in contents.items():
                (new / inside).write_bytes(data)
            _exchange(new, target, old)
    except OSError as error:
        reason = error.strerror or error
        raise BadRelease(
            f"{name} can't be written to {models}: {reason}. Free some space, or close programs that use the model."
        ) from error
    return target


def file_hash(path: Path) -> str:
    """SHA-256 of the file, to compare with that of the publisher."""
    return _hash(read_regular(path))


def _end_abandoned(models: Path) -> None:
    """Remove the temporary files of a killed process, and restore a model that it had moved aside."""
    for space in abandoned(models):
        old = space / "old"
        if old.is_dir():
            name = str(_read_manifest((old / MANIFEST).read_bytes())["name"])
            if not (models / name).exists():
                os.replace(old, models / name)
    remove_abandoned(models)


def _exchange(new: Path, target: Path, old: Path) -> None:
    """Rename `target` to `old` and `new` to `target`; undone when that fails."""
    if target.exists():
        os.replace(target, old)
    try:
        os.replace(new, target)
    except OSError:
        if old.exists():
            os.replace(old, target)
        raise


def _verified_contents(archive: Path, file: BinaryIO) -> dict[str, bytes]:
    """All files of the archive by name, the manifest first; verified, and in memory only."""
    with zipfile.ZipFile(file) as entries:
        listed = entries.infolist()
        names = [entry.filename for entry in listed]
        if MANIFEST not in names or entries.getinfo(MANIFEST).file_size > _MOST_MANIFEST_BYTES:
            raise BadRelease(
                f"{archive} has no {MANIFEST}, so it is not a release of a Weft model. Choose another file."
            )
        _check_entries(archive, listed)
        contents = {MANIFEST: entries.read(MANIFEST)}
        files = _read_manifest(contents[MANIFEST])["files"]
        if sorted(names) != sorted([MANIFEST, *files]):
            odd = min({MANIFEST, *files} ^ set(names), default="a file twice")
            raise BadRelease(f"The files in {archive} differ from its manifest ({odd}). Download it again.")
        for inside, known in files.items():
            contents[inside] = entries.read(inside)
            if (len(contents[inside]), _hash(contents[inside])) != (known["bytes"], known["sha256"]):
                raise BadRelease(f"{inside} in {archive} is damaged: its hash is wrong. Download the release again.")
    return contents


def _check_entries(archive: Path, entries: list[zipfile.ZipInfo]) -> None:
    """Check before reading: few plain, uncompressed files, not larger than the archive together."""
    for entry in entries:
        is_plain = stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG) and not entry.is_dir()
        is_compressed = entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & _ENCRYPTED
        if is_compressed or not is_plain:
            raise BadRelease(
                f"{entry.filename} in {archive} is compressed or not a plain file. Use the archive as published."
            )
    if len(entries) > _MOST_FILES or sum(entry.file_size for entry in entries) > archive.stat().st_size:
        raise BadRelease(f"{archive} claims more content than its size. Download it again.")


def _read_manifest(text: bytes) -> dict[str, Any]:
    """The manifest, if all its file names are safe in a folder of models. Raises BadRelease."""
    try:
        manifest = json.loads(text)
        version, name, files = manifest["format"], manifest["name"], manifest["files"]
        whole = all(isinstance(each["bytes"], int) and isinstance(each["sha256"], str) for each in files.values())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadRelease(f"The manifest can't be read ({error!r}). Download the release again.") from error
    if version != FORMAT:
        raise BadRelease(f"The release has format {version}; this Weft reads {FORMAT}. Upgrade Weft.")
    # No folders in names, so nothing is written outside.
    odd = [each for each in (name, *files) if not (isinstance(each, str) and _NAME.fullmatch(each))]
    odd += [each for each in files if each != "LICENSE" and not each.endswith(_KINDS)]
    if odd or MANIFEST in files or not whole:
        raise BadRelease(
            f"The manifest names {odd[0] if odd else MANIFEST!r}, which no release may hold. "
            "Download the release again."
        )
    missing = [wanted for wanted in NEEDED if wanted not in files]
    if missing or not any(each.endswith(".onnx") for each in files):
        raise BadRelease(f"The release has no {missing[0] if missing else 'ONNX file'}. Download the release again.")
    return dict(manifest)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
