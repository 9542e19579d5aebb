"""Lets the Ollama server of this machine download a model, with progress. Sends the name of the model, nothing else.

Source: docs/api.md of Ollama, "Pull a Model", and its `server/{routes,images,download}.go` for the errors.
"""

from __future__ import annotations

from collections.abc import Callable

from ...errors import ModelError
from ..http.endpoint import Endpoint, ErrorResponse
from ..protocol import Cancel, ModelUnreachable

READ_TIMEOUT_S = 120.0  # between two reports of a download; a slow network or the check of a large file takes a while

_RESUME = "run the command again to resume the download."
_NEXT_STEPS = (
    # Words in the error of the server, and what helps. The first two are those of Linux, macOS and of Windows.
    ("no space left", "Free space where Ollama stores models (OLLAMA_MODELS), and"),
    ("not enough space", "Free space where Ollama stores models (OLLAMA_MODELS), and"),
    ("newer version of ollama", "Update Ollama, and"),
    ("permission denied", "Let the user of the Ollama server write to its folder of models (OLLAMA_MODELS), and"),
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
        raise ModelError(f"Ollama could not download {name}: {error.detail}. {_next_step(error.detail)}") from error
    except ModelUnreachable as error:
        raise ModelError(f"{error} {_RESUME.capitalize()}") from error
    finally:
        endpoint.close()
    if status != "success":
        raise ModelError(f"Ollama stopped the download of {name} at {status or 'its start'!r}. {_RESUME.capitalize()}")


def _next_step(detail: str) -> str:
    words = detail.lower()
    first = next((step for sign, step in _NEXT_STEPS if sign in words), "Check the network and the name, and")
    return f"{first} {_RESUME}"
