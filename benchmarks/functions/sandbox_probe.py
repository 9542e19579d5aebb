"""The probe of a sandbox: tries to escape from inside, and prints what it could do.

Runs alone inside of the sandbox, with the standard library of any Python. Reads the facts of its parent from the
standard input; owns the list of attempts.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from typing import Any


def network_escapes(port: int) -> Iterator[str]:
    """Connections to the server of the parent, and to addresses that only a network reaches."""
    for family, address in ((socket.AF_INET, ("127.0.0.1", port)), (socket.AF_INET, ("192.0.2.1", 80))):
        with socket.socket(family, socket.SOCK_STREAM) as client:
            client.settimeout(2)
            try:
                client.connect(address)
                yield f"connected to {address}"
            except TimeoutError:
                yield f"sent a packet to {address}"
            except OSError:
                pass
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        try:
            client.connect(("192.0.2.1", 53))
            yield "found a route to the network"
        except OSError:
            pass
    others = [name for _, name in socket.if_nameindex() if name != "lo"]
    if others:
        yield f"sees the network interfaces {others}"


def file_escapes(facts: dict[str, Any]) -> Iterator[str]:
    """Files that can be written outside of the folder, and private ones that can be read."""
    for folder in facts["outside"] + facts["environment"]:
        path = os.path.join(folder, "weft-probe")
        try:
            with open(path, "w"):
                yield f"wrote {path}"
        except OSError:
            pass
    try:
        with open("/proc/sys/kernel/core_pattern", "a"):
            yield "opened a setting of the kernel for writing"
    except OSError:
        pass
    if os.path.exists(facts["private"]):
        yield "sees a file outside of its folder"
    for home in facts["homes"]:
        inside = [path for path in facts["environment"] if path.startswith(home)]
        if not inside and os.path.isdir(home) and os.listdir(home):
            yield "reads the home folder"


def environment_escapes(secret: str) -> Iterator[str]:
    """The secret of the parent in the environment of any visible process; processes that are not its own."""
    if secret in os.environ.values():
        yield "sees a variable of its parent"
    processes = [name for name in os.listdir("/proc") if name.isdigit()]
    if len(processes) > 6:
        yield f"sees {len(processes)} processes"
    for process in processes:
        try:
            with open(f"/proc/{process}/environ", "rb") as file:
                if secret.encode() in file.read():
                    yield f"reads the variables of process {process}"
        except OSError:
            pass


def capability_escapes() -> Iterator[str]:
    """Capabilities, which would allow to undo mounts."""
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith("CapEff:") and int(line.split()[1], 16):
                yield "has capabilities"


def main() -> None:
    facts = json.loads(sys.stdin.read())
    with open("written.txt", "w") as file:  # its own folder is writable
        file.write("a")
    escapes = list(network_escapes(facts["port"])) + list(file_escapes(facts))
    escapes += list(environment_escapes(facts["secret"])) + list(capability_escapes())
    print(json.dumps({"secret": facts["secret"], "escapes": escapes}))


main()
