"""Downloads models from the Hugging Face hub, with resume and verification of hashes; only on request.

Owns the selection of files and the error messages. Uses the cache layout of huggingface_hub, so other programs find the
files, and existing ones are not downloaded again. Knows no catalogue and no engine.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx

from ...errors import ModelError
from ..installation import install_command
from ..protocol import Cancel, ModelMissing

# Files of a transformers directory. Pickled weights and Python files can run code: they are never downloaded.
MODEL_FILES = ("*.safetensors", "*.json", "tokenizer.model", "merges.txt", "vocab.txt", "*.jinja", "LICENSE*")
ATTEMPTS = 5  # consecutive connections for one file that fail without a byte
TIMEOUT = httpx.Timeout(30.0, connect=10.0)
SPARE_BYTES = 200_000_000  # left free on the disk

RESUMES = "The same command resumes the download."

_BLOCK_BYTES = 1 << 20
_HTTP_LIBRARIES = ("httpx", "httpx2", "requests", "urllib3")  # of huggingface_hub, by version


class FetchFailed(ModelError):
    """The download failed. The message names the next step; a later download resumes from the received bytes."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a download, over all its files."""

    file: str
    done_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    n_bytes: int
    sha256: str  # "" for a small file, which has a git hash
    git_sha1: str

    @property
    def blob(self) -> str:
        """The name of the file in the cache, which is the expected hash of its content."""
        return self.sha256 or self.git_sha1


def fetch_model(
    repository: str,
    file: str = "",
    *,
    revision: str = "main",
    endpoint: str = "",
    cache: Path | None = None,
    progress: Callable[[Progress], None] = lambda progress: None,
    cancel: Cancel | None = None,
) -> Path:
    """The path of the GGUF file `file` of a repository, or of the model directory without one, in the hub's cache.

    `endpoint` defaults to the environment's HF_ENDPOINT, then to the hub. A repository of GGUF files needs `file`.
    Raises ModelMissing without huggingface_hub, else FetchFailed.
    """
    hub = _hub()
    cancel = cancel or Cancel()
    cache = Path(hub.constants.HF_HUB_CACHE) if cache is None else cache
    with _explained(hub, repository):
        commit, files = _listing(hub, repository, revision, endpoint)
        wanted = _wanted(repository, files, file)
        blobs = cache / hub.file_download.repo_folder_name(repo_id=repository, repo_type="model") / "blobs"
        blobs.mkdir(parents=True, exist_ok=True)
        missing = [each for each in wanted if not (blobs / each.blob).is_file()]
        _check_disk_space(blobs, missing)
        total = sum(each.n_bytes for each in wanted)
        done = total - sum(each.n_bytes for each in missing)
        for each in missing:
            url = hub.hf_hub_url(repository, each.name, revision=commit, endpoint=endpoint or None)
            for n_bytes in _fetch_file(url, hub.utils.build_hf_headers(), each, blobs, cancel):
                progress(Progress(each.name, done + n_bytes, total))
            done += each.n_bytes
        # The library makes the names and links of the cache; every blob exists, so it downloads none.
        paths = [
            Path(
                hub.hf_hub_download(
                    repository, each.name, revision=revision, cache_dir=cache, endpoint=endpoint or None
                )
            )
            for each in wanted
        ]
        return paths[0] if file else paths[0].parents[wanted[0].name.count("/")]


def _hub() -> Any:
    try:
        hub = import_module("huggingface_hub")
        for part in ("constants", "errors", "file_download", "utils"):
            import_module(f"huggingface_hub.{part}")
        return hub
    except ImportError as error:
        raise ModelMissing(f"Downloading models needs huggingface_hub. Run: {install_command('models')}") from error


def _listing(hub: Any, repository: str, revision: str, endpoint: str) -> tuple[str, list[_File]]:
    info = hub.HfApi(endpoint=endpoint or None).model_info(
        repository, revision=revision, files_metadata=True, timeout=TIMEOUT.read
    )
    files = [
        _File(each.rfilename, each.size or 0, each.lfs.sha256 if each.lfs else "", each.blob_id or "")
        for each in info.siblings or ()
    ]
    return str(info.sha), files


def _wanted(repository: str, files: list[_File], file: str) -> list[_File]:
    if file:
        found = [each for each in files if each.name == file]
        if not found:
            others = ", ".join(sorted(each.name for each in files if each.name.endswith(".gguf"))) or "no GGUF file"
            raise FetchFailed(f"{repository} has no file {file}. Choose one of its files: {others}.")
        return found
    wanted = [each for each in files if "/" not in each.name and any(fnmatch(each.name, glob) for glob in MODEL_FILES)]
    names = {each.name for each in wanted}
    if "config.json" in names and any(name.endswith(".safetensors") for name in names):
        return wanted
    if gguf := sorted(each.name for each in files if each.name.endswith(".gguf")):
        raise FetchFailed(f"{repository} has GGUF files: {', '.join(gguf)}. Choose one: {repository}:{gguf[0]}")
    raise FetchFailed(
        f"{repository} has no model in safetensors files with a config.json. Choose another repository of the model."
    )


def _check_disk_space(folder: Path, missing: list[_File]) -> None:
    needed = sum(each.n_bytes - _size(_part(folder, each)) for each in missing)
    free = shutil.disk_usage(folder).free
    if needed and needed + SPARE_BYTES > free:
        raise FetchFailed(
            f"Not enough disk space in {folder}: {needed / 1e9:.1f} GB are needed and {free / 1e9:.1f} GB are free. "
            "Free some space, or set HF_HOME to a folder on another disk."
        )


def _fetch_file(url: str, headers: dict[str, str], file: _File, blobs: Path, cancel: Cancel) -> Iterator[int]:
    """Yield the bytes so far until the file is complete and verified. A part file keeps them for a resume."""
    part = _part(blobs, file)
    failures, last_error = 0, ""
    while (size := _size(part)) < file.n_bytes:
        if cancel.cancelled:
            raise FetchFailed(f"The download of {file.name} was cancelled. {RESUMES}")
        if failures == ATTEMPTS:
            raise FetchFailed(f"The connection for {file.name} failed {ATTEMPTS} times ({last_error}). {RESUMES}")
        try:
            yield from _append(url, headers, file, part, cancel)
        except httpx.TransportError as error:
            last_error = str(error)
        failures = 0 if _size(part) > size else failures + 1
    if file.n_bytes == 0:
        part.touch()
    if _hash(part, file) != file.blob:
        part.unlink()
        raise FetchFailed(
            f"The hash of {file.name} differs from that of the hub, so the file was deleted. Download it again. "
            "If that repeats, check for a proxy that changes files."
        )
    os.replace(part, blobs / file.blob)


def _append(url: str, headers: dict[str, str], file: _File, part: Path, cancel: Cancel) -> Iterator[int]:
    """One connection, from the end of the part file; or from the start if the server ignores the range."""
    begin = _size(part)
    if begin:
        headers = {**headers, "Range": f"bytes={begin}-"}
    # Uncompressed: a compressed response has other lengths than the file.
    headers = {**headers, "Accept-Encoding": "identity"}
    with (
        httpx.Client(timeout=TIMEOUT, follow_redirects=True) as client,
        client.stream("GET", url, headers=headers) as response,
    ):
        if response.status_code == 416:
            part.unlink()  # longer than the file: a part of another file
            return
        response.raise_for_status()
        resumed = response.status_code == 206
        with part.open("ab" if resumed else "wb") as out:
            n_bytes = begin if resumed else 0
            for block in response.iter_bytes(_BLOCK_BYTES):
                if cancel.cancelled:
                    return
                n_bytes += len(block)
                if n_bytes > file.n_bytes:
                    raise FetchFailed(f"{file.name} is longer than its entry on the hub. Try again later.")
                out.write(block)
                yield n_bytes


def _hash(part: Path, file: _File) -> str:
    digest = hashlib.sha256() if file.sha256 else hashlib.sha1(f"blob {file.n_bytes}\0".encode(), usedforsecurity=False)
    with part.open("rb") as data:
        while block := data.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _part(blobs: Path, file: _File) -> Path:
    return blobs / f"{file.blob}.weft-part"


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


@contextmanager
def _explained(hub: Any, repository: str) -> Iterator[None]:
    """Map every failure of the network, the hub and the disk to FetchFailed with the next step."""
    try:
        yield
    except hub.errors.HFValidationError as error:
        raise FetchFailed(f"{repository!r} is not the name of a repository. Write it as owner/name.") from error
    except (hub.errors.OfflineModeIsEnabled, hub.errors.LocalEntryNotFoundError) as error:
        raise _unreachable(error) from error
    except hub.errors.GatedRepoError as error:
        raise FetchFailed(
            f"{repository} requires that you accept its conditions. Do that on its page, then log in: hf auth login."
        ) from error
    except hub.errors.RepositoryNotFoundError as error:
        # The hub returns the same error for a private repository without access.
        raise FetchFailed(
            f"The hub has no model {repository}, or it is private. Check the name, or log in: hf auth login."
        ) from error
    except (hub.errors.RevisionNotFoundError, hub.errors.EntryNotFoundError) as error:
        raise FetchFailed(f"{repository} has no such revision or file: {error}. Check the name of the file.") from error
    except (httpx.HTTPStatusError, hub.errors.HfHubHTTPError) as error:
        status = error.response.status_code
        if status in (401, 403):
            raise FetchFailed(
                f"The hub refuses access to {repository} (HTTP {status}). Log in: hf auth login."
            ) from error
        raise FetchFailed(f"The hub returned HTTP {status} for {repository}. Try again later. {RESUMES}") from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] in _HTTP_LIBRARIES:
            raise _unreachable(error) from error
        if not isinstance(error, OSError):
            raise
        message = f"{repository} can't be written: {error.strerror or error}. Free some space, or set HF_HOME."
        raise FetchFailed(message) from error


def _unreachable(error: Exception) -> FetchFailed:
    return FetchFailed(
        f"The hub can't be reached ({error}). Check the network, HF_ENDPOINT and HF_HUB_OFFLINE. {RESUMES}"
    )
