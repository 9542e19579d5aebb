"""`weft serve --tcp` and `--http` behind HAProxy and nginx that end TLS, with the configurations of docs/serving.md."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from conftest import WAIT_S, environment, write_files
from proxies import proxy

SERVING = (Path(__file__).parents[1] / "docs" / "serving.md").read_text(encoding="utf-8")

CERTIFICATE = (
    *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=weft.example"),
    *("-addext", "subjectAltName=DNS:weft.example", "-keyout", "key.pem", "-out", "cert.pem"),
)


def documented(name: str, folder: Path, tcp: int, http: int) -> str:
    """The configuration in the chapter about TLS, with the files and ports of a test; a template for `proxy`."""
    chapter = SERVING.partition("## Weft itself behind TLS")[2].partition("\n## ")[0]
    (text,) = re.findall(rf"```{name}\n(.*?)```", chapter, re.DOTALL)
    text = text.replace("/etc/weft/", f"{folder}/").replace("127.0.0.1:8765", f"127.0.0.1:{tcp}")
    text = text.replace("127.0.0.1:8012", f"127.0.0.1:{http}")
    return text.replace("{", "{{").replace("}", "}}")


def on_ports(name: str, text: str, wanted: int) -> str:
    """The configuration with the one port that a test uses; the other listens on any."""
    if name == "haproxy":
        text = text.replace(f"bind :{wanted} ", "bind 127.0.0.1:{port} ")
        return re.sub(r"bind :\d+ ", "bind unix@{folder}/other.socket ", text)
    text = text.replace(f"listen {wanted} ", "listen 127.0.0.1:{port} ")
    text = re.sub(r"listen (\d+) ", "listen unix:{folder}/other.socket ", text)
    temporary = "".join(
        f"  {each}_temp_path {{folder}}/{each};\n" for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    text = text.replace("http {{\n", f"http {{{{\n  access_log off;\n{temporary}")
    return f"daemon off;\npid {{folder}}/nginx.pid;\nerror_log stderr;\n{text}"


@pytest.fixture
def certificate(tmp_path: Path) -> ssl.SSLContext:
    """A self-signed certificate for weft.example, in the folder of the test; what a client trusts."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl, which makes the certificate")
    subprocess.run(CERTIFICATE, cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "weft.pem").write_bytes((tmp_path / "cert.pem").read_bytes() + (tmp_path / "key.pem").read_bytes())
    return ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))


@pytest.fixture
def served(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[int, str]]:
    """The port and the token of `weft serve --tcp` or `--http`."""
    write_files(tmp_path / "project", "#- price.py\ndef price_of(basket):\n    return sum(basket)\n")
    token = tmp_path / "token"
    command = [sys.executable, "-m", "weft", "serve", request.param, "127.0.0.1:0", "--token-file", str(token)]
    if request.param == "--http":
        command.append(str(tmp_path / "project"))
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment(tmp_path))
    try:
        assert process.stderr is not None
        port = int(process.stderr.readline().rpartition(":")[2])
        yield port, token.read_text().strip()
    finally:
        process.kill()
        process.wait()


def initialize(token: str) -> bytes:
    params = {"processId": None, "capabilities": {}, "initializationOptions": {"token": token}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


@pytest.mark.servers
@pytest.mark.parametrize("served", ["--tcp"], indirect=True)
@pytest.mark.parametrize("name", ["haproxy", "nginx"])
def test_a_language_client_reaches_the_server_through_tls(name, served, certificate, tmp_path):
    port, token = served
    text = on_ports(name, documented(name, tmp_path, port, 9), 8766)
    with proxy(name, tmp_path, text) as tls_port:
        for given, expected in ((token, b'"capabilities"'), ("wrong" * 10, b"The token is wrong")):
            with (
                socket.create_connection(("127.0.0.1", tls_port), WAIT_S) as plain,
                certificate.wrap_socket(plain, server_hostname="weft.example") as connection,
            ):
                connection.sendall(initialize(given))
                received = b""
                while expected not in received and (more := connection.recv(1 << 16)):
                    received += more
                assert expected in received
        with socket.create_connection(("127.0.0.1", tls_port), WAIT_S) as plain:  # without TLS nothing is served
            plain.sendall(initialize(token))
            with contextlib.suppress(ConnectionError):
                assert b"capabilities" not in plain.recv(1000)


@pytest.mark.servers
@pytest.mark.parametrize("served", ["--tcp"], indirect=True)
def test_openssl_is_the_command_of_an_editor_that_speaks_no_tls(served, certificate, tmp_path):
    port, token = served
    (line,) = re.findall(r"openssl s_client .*", SERVING)
    with proxy("haproxy", tmp_path, on_ports("haproxy", documented("haproxy", tmp_path, port, 9), 8766)) as tls_port:
        command = (
            line.replace("weft.example:8766", f"127.0.0.1:{tls_port}").replace("/etc/weft/", f"{tmp_path}/").split()
        )
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as client:
            assert client.stdin is not None and client.stdout is not None
            client.stdin.write(initialize(token))
            client.stdin.flush()
            while (header := client.stdout.readline()) and not header.startswith(b"Content-Length"):
                pass
            client.stdout.readline()
            assert b'"capabilities"' in client.stdout.read(int(header.split()[1]))
            client.kill()


@pytest.mark.servers
@pytest.mark.parametrize("served", ["--http"], indirect=True)
@pytest.mark.parametrize("name", ["haproxy", "nginx"])
def test_an_http_client_reaches_the_server_through_tls(name, served, certificate, tmp_path):
    port, token = served
    with proxy(name, tmp_path, on_ports(name, documented(name, tmp_path, 9, port), 8013)) as tls_port:
        url = f"https://127.0.0.1:{tls_port}/v1/models"
        with httpx.Client(verify=certificate, timeout=WAIT_S) as client:
            extensions = {"sni_hostname": "weft.example"}
            answer = client.get(url, headers={"authorization": f"Bearer {token}"}, extensions=extensions)
            assert answer.json()["data"][0]["id"] == "weft"
            assert client.get(url, extensions=extensions).status_code == 401
