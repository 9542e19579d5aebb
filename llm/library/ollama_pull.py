"""Lets the Ollama server of this machine download a model, with progress. Sends the name of the model, nothing else."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import ModelError
from ..http.endpoint import Endpoint, ErrorResponse
from ..protocol import Cancel, ModelUnreachable

READ_TIMEOUT_S = 120.0  # between two reports of a download; a slow network or the check of a large file takes a while


def pull(url: str, name: str, progress: Callable[[int, int], None], cancel: Cancel | None = None) -> None:
    """Download `name` with the server at `url`. `progress` takes the bytes so far and in total, of the newest layer.

    Raises ModelError with the next step.
    """
    endpoint = Endpoint(url, read_timeout_s=READ_TIMEOUT_S)
    status = ""
    try:
        for event in endpoint.events("/api/pull", {"model": name, "stream": True}, cancel or Cancel()):
            status = str(event.get("status", ""))
            done, total = event.get("completed"), event.get("total")
            if isinstance(done, int) and isinstance(total, int):
                progress(done, total)
    except ErrorResponse as error:
        raise ModelError(
            f"Ollama could not download {name}: {error.detail}. Check the network and the name, and run the "
            "command again to resume the download."
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
