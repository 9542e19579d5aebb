"""Lets the Ollama server of this machine download a model, with progress. Sends the name of the model, nothing else.

Source: docs/api.md of Ollama, "Pull a Model", and its `server/{routes,images,download}.go` for the errors.
"""

from __future__ import annotations

from collections.abc import Callable

from ...errors import ModelError
from ..http.endpoint import Endpoint, ErrorResponse
from ..protocol import Cancel, ModelUnreachable

READ_TIMEOUT_S = 120.0  # between two reports of a download; a slow network or the check of a large file takes a while

_REMEDIES = (
    # Words in the error of the server, and what helps. The first two are those of Linux, macOS and of Windows.
    ("no space left", "Free space where Ollama stores models (OLLAMA_MODELS)"),
    ("not enough space", "Free space where Ollama stores models (OLLAMA_MODELS)"),
    ("newer version of ollama", "Update Ollama"),
    ("permission denied", "Let the user of the Ollama server write to its folder of models (OLLAMA_MODELS)"),
)


def pull(url: str, name: str, progress: Callable[[int, int], None], cancel: Cancel | None = None) -> None:
    """Download `name` with the server at `url`. `progress` takes the bytes so far and in total, of the layers so far.

    Raises ModelError with the next step.
    """
    endpoint = Endpoint(url, read_timeout_s=READ_TIMEOUT_S)
    status = ""
    layers: dict[str, tuple[int, int]] = {}  # a model has its weights in one, and small ones for template and licence
    try:
        for event in endpoint.events("/api/pull", {"model": name, "stream": True}, cancel or Cancel()):
            status = str(event.get("status", ""))
            done, total = event.get("completed", 0), event.get("total")
            if isinstance(done, int) and isinstance(total, int):
                layers[str(event.get("digest", ""))] = done, total
                progress(sum(done for done, _ in layers.values()), sum(total for _, total in layers.values()))
    except ErrorResponse as error:
        raise ModelError(
            f"Ollama could not download {name}: {error.detail}. {_remedy(error.detail)}. Run the command again to "
            "resume the download."
        ) from error
    except ModelUnreachable as error:
        raise ModelError(f"{error} Run the command again to resume the download.") from error
    finally:
        endpoint.close()
    if status != "success":
        raise ModelError(
            f"Ollama stopped the download of {name} at {status or 'its start'!r}. Run the command again to resume the "
            "download."
        )


def _remedy(detail: str) -> str:
    words = detail.lower()
    return next((remedy for sign, remedy in _REMEDIES if sign in words), "Check the network and the name")
