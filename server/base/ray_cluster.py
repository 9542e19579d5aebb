"""A Ray cluster as `cluster.Cluster`, with the extra `ray`.

Owns the connection to Ray and its errors. Tasks are sent to this module by name, so each node has to have Weft; Ray
runs a task again, on another node, when its node dies.
"""

from __future__ import annotations

import importlib
import os
import socket
from collections.abc import Sequence
from typing import Any

from ...llm.installation import install_command
from .cluster import ClusterFailed, TaskFile, TaskLost, TaskResult, analyse_task

MAX_RETRIES = 3
"""A task is run again this many times when its node dies."""

CONNECT_TIMEOUT_S = 5.0

GET_LIMIT_S = 10.0
"""Time to fetch the result of a task that is done."""


def run_task(version: str, task: Sequence[TaskFile]) -> TaskResult:
    """The task of a node, in a process of Ray."""
    return analyse_task(version, task, f"{socket.gethostname()} {os.getpid()}")


class RayCluster:
    """The cluster at an address: `auto` for one that runs on this machine, `local` for a new one there."""

    def __init__(self, address: str, n_workers: int | None = None) -> None:
        """`n_workers` is the number of processes of a `local` cluster; None for one on each core."""
        try:
            self._ray: Any = importlib.import_module("ray")
        except ImportError as error:
            raise ClusterFailed(f"--ray needs the package ray. Install it: {install_command('ray')}") from error
        self._address = address
        self._n_workers = n_workers
        self._remote: Any = None

    def start(self) -> int:
        """See `Cluster`."""
        ray = self._ray
        self._check_address()
        where = {"num_cpus": self._n_workers} if self._address == "local" else {}
        try:
            ray.init(address=self._address, log_to_driver=False, include_dashboard=False if where else None, **where)
            n_cpus = ray.cluster_resources().get("CPU", 0)
        except Exception as error:  # Ray has no common class of its errors
            raise ClusterFailed(
                f"The Ray cluster at {self._address} can't be used: {error}. Check the address, and that the cluster "
                "runs (ray status)."
            ) from error
        self._remote = ray.remote(max_retries=MAX_RETRIES, num_cpus=1)(run_task)
        return max(1, int(n_cpus))

    def _check_address(self) -> None:
        """Raise ClusterFailed if nothing answers at a host and a port: Ray itself waits for minutes."""
        host, _, port = self._address.removeprefix("ray://").rpartition(":")
        if not (host and port.isdigit()):
            return
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_TIMEOUT_S).close()
        except (OSError, OverflowError) as error:
            raise ClusterFailed(
                f"Nothing answers at {self._address}: {error}. Check the address, and that the cluster runs "
                "(ray status)."
            ) from error

    def submit(self, version: str, task: Sequence[TaskFile]) -> Any:
        """See `Cluster`."""
        return self._remote.remote(version, list(task))

    def wait(self, handles: Sequence[Any], limit_s: float) -> Sequence[Any]:
        """See `Cluster`."""
        done: Sequence[Any] = self._ray.wait(list(handles), num_returns=1, timeout=limit_s)[0]
        return done

    def result(self, handle: Any) -> TaskResult:
        """See `Cluster`. Raises ClusterFailed if a node has no Weft."""
        exceptions = self._ray.exceptions
        try:
            result: TaskResult = self._ray.get(handle, timeout=GET_LIMIT_S)
        except exceptions.GetTimeoutError as error:
            self._ray.cancel(handle, force=True)
            raise TaskLost("it takes too long") from error
        except (exceptions.RaySystemError, exceptions.RayTaskError) as error:
            if "No module named" in str(error):
                raise ClusterFailed(
                    "A node of the cluster has no Weft. Install the same version on all nodes."
                ) from error
            raise TaskLost(str(error)) from error
        except exceptions.RayError as error:
            raise TaskLost(str(error)) from error
        return result

    def close(self) -> None:
        """Leave the cluster; a `local` one ends."""
        self._ray.shutdown()
