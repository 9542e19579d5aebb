"""A model of the hub onto this machine, whole and as published, and only when somebody asks for it.

Owns what is fetched of a repository, the resume of what was interrupted, the check against the hub's own hashes and
what is said when it fails. The layout of the cache is huggingface_hub's: what is fetched here is found by everything
that reads that cache, and what is there already is not fetched again. Knows no catalogue and no engine.
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

from .installation import install_command
from .protocol import Cancel, ModelError, ModelMissing

MODEL_FILES = ("*.safetensors", "*.json", "tokenizer.model", "merges.txt", "vocab.txt", "*.jinja", "LICENSE*")
"""What a directory for transformers needs. Weights in pickles and Python files can run code: they are not fetched."""

ATTEMPTS = 5
"""Connections for one file that break off before any byte came. One that brought something is not counted."""

TIMEOUT = httpx.Timeout(30.0, connect=10.0)
SPARE_BYTES = 200_000_000  # left free on the disk

GOES_ON = "The same command goes on from there."

_BLOCK_BYTES = 1 << 20
_HTTP_LIBRARIES = ("httpx", "httpx2", "requests", "urllib3")  # what huggingface_hub asks with, by version


class FetchFailed(ModelError):
    """The model could not be fetched. The message names the next step; what came so far is kept for it."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a fetch is, over all its files."""

    file: str
    done_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    n_bytes: int
    sha256: str  # "" for a small file, which has a git hash instead
    git_sha1: str

    @property
    def blob(self) -> str:
        """The file's name in the cache, which is also what its content must hash to."""
        return self.sha256 or self.git_sha1


def fetch_model(
    repository: str,
    file: str = "",
    *,
    revision: str = "main",
    endpoint: str = "",
    cache: Path | None = None,
    progress: Callable[[Progress], None] = lambda how_far: None,
    cancel: Cancel | None = None,
) -> Path:
    """The GGUF file `file` of a repository, or without one the directory of its model, in the hub's cache.

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
        _check_room(blobs, missing)
        total = sum(each.n_bytes for each in wanted)
        done = total - sum(each.n_bytes for each in missing)
        for each in missing:
            url = hub.hf_hub_url(repository, each.name, revision=commit, endpoint=endpoint or None)
            for n_bytes in _fetch_file(url, hub.utils.build_hf_headers(), each, blobs, cancel):
                progress(Progress(each.name, done + n_bytes, total))
            done += each.n_bytes
        # Names and links of the cache are the library's business; every blob is there, so it fetches none.
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
        raise ModelMissing(f"Fetching models needs huggingface_hub. Run: {install_command('models')}") from error


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
            raise FetchFailed(f"{repository} has no file {file}. It has {others}.")
        return found
    wanted = [each for each in files if "/" not in each.name and any(fnmatch(each.name, glob) for glob in MODEL_FILES)]
    names = {each.name for each in wanted}
    if "config.json" in names and any(name.endswith(".safetensors") for name in names):
        return wanted
    if gguf := sorted(each.name for each in files if each.name.endswith(".gguf")):
        raise FetchFailed(f"{repository} has GGUF files; name one: {repository}:{gguf[0]}. It has {', '.join(gguf)}.")
    raise FetchFailed(
        f"{repository} has no model in safetensors files with a config.json. Choose another repository of the model."
    )


def _check_room(folder: Path, missing: list[_File]) -> None:
    needed = sum(each.n_bytes - _size(_part(folder, each)) for each in missing)
    free = shutil.disk_usage(folder).free
    if needed and needed + SPARE_BYTES > free:
        raise FetchFailed(
            f"{needed / 1e9:.1f} GB are needed and {free / 1e9:.1f} GB are free in {folder}. "
            "Make room, or let HF_HOME name a folder on another disk."
        )


def _fetch_file(url: str, headers: dict[str, str], file: _File, blobs: Path, cancel: Cancel) -> Iterator[int]:
    """Bytes that are there, again and again until the file is whole and proven. What came is kept in a part file."""
    part = _part(blobs, file)
    failures, broke_off = 0, ""
    while (size := _size(part)) < file.n_bytes:
        if cancel.cancelled:
            raise FetchFailed(f"{file.name} was not fetched to its end. {GOES_ON}")
        if failures == ATTEMPTS:
            raise FetchFailed(f"The connection for {file.name} breaks off again and again ({broke_off}). {GOES_ON}")
        try:
            yield from _append(url, headers, file, part, cancel)
        except httpx.TransportError as error:
            broke_off = str(error)
        failures = 0 if _size(part) > size else failures + 1
    if file.n_bytes == 0:
        part.touch()
    if _hash(part, file) != file.blob:
        part.unlink()
        raise FetchFailed(
            f"{file.name} is not what the hub says it is: its hash is wrong. It was deleted; fetch it again. "
            "When that repeats, something between here and the hub changes files."
        )
    os.replace(part, blobs / file.blob)


def _append(url: str, headers: dict[str, str], file: _File, part: Path, cancel: Cancel) -> Iterator[int]:
    """One connection: from where the part file ends. A server that begins anew is let."""
    begin = _size(part)
    if begin:
        headers = {**headers, "Range": f"bytes={begin}-"}
    # Bytes as they are stored: a compressed answer has other lengths than the file.
    headers = {**headers, "Accept-Encoding": "identity"}
    with (
        httpx.Client(timeout=TIMEOUT, follow_redirects=True) as client,
        client.stream("GET", url, headers=headers) as response,
    ):
        if response.status_code == 416:
            part.unlink()  # longer than the file: another one's part
            return
        response.raise_for_status()
        goes_on = response.status_code == 206
        with part.open("ab" if goes_on else "wb") as out:
            n_bytes = begin if goes_on else 0
            for block in response.iter_bytes(_BLOCK_BYTES):
                if cancel.cancelled:
                    return
                n_bytes += len(block)
                if n_bytes > file.n_bytes:
                    raise FetchFailed(f"{file.name} is longer than the hub says. Try again later.")
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
    """Every failure of the network, the hub and the disk as a FetchFailed with the next step."""
    try:
        yield
    except hub.errors.HFValidationError as error:
        raise FetchFailed(f"{repository!r} is no name of a repository. Write it as owner/name.") from error
    except (hub.errors.OfflineModeIsEnabled, hub.errors.LocalEntryNotFoundError) as error:
        raise _unreachable(error) from error
    except hub.errors.GatedRepoError as error:
        raise FetchFailed(
            f"{repository} wants its conditions accepted first. Do that on its page, then log in: hf auth login."
        ) from error
    except hub.errors.RepositoryNotFoundError as error:
        # The hub says the same of a private repository to who may not see it.
        raise FetchFailed(f"The hub has no model {repository}, or not for you. Check the name, or log in.") from error
    except (hub.errors.RevisionNotFoundError, hub.errors.EntryNotFoundError) as error:
        raise FetchFailed(f"{repository} does not have that: {error}") from error
    except (httpx.HTTPStatusError, hub.errors.HfHubHTTPError) as error:
        status = error.response.status_code
        if status in (401, 403):
            raise FetchFailed(f"The hub refuses {repository} ({status}). Log in: hf auth login.") from error
        raise FetchFailed(f"The hub answers {status} for {repository}. Try again later. {GOES_ON}") from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] in _HTTP_LIBRARIES:
            raise _unreachable(error) from error
        if not isinstance(error, OSError):
            raise
        message = f"{repository} could not be kept: {error.strerror or error}. Make room, or set HF_HOME."
        raise FetchFailed(message) from error


def _unreachable(error: Exception) -> FetchFailed:
    return FetchFailed(
        f"The hub can't be reached ({error}). Check the network, HF_ENDPOINT and HF_HUB_OFFLINE. {GOES_ON}"
    )
