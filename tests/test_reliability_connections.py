"""The campaign of hostile connections, in its short form, and the rules of authentication one by one."""

import asyncio
import json
import os
import socket
from pathlib import Path

import pytest
from weft.benchmarks.reliability import connections
from weft.benchmarks.reliability.campaign import Settings, failures
from weft.server.lsp import authentication
from weft.server.lsp.authentication import (
    Authenticator,
    UnsafeTokenFile,
    close,
    is_loopback,
    load_or_create_token,
    new_token,
)


def test_hostile_connections_get_no_access_and_slow_down_no_client(tmp_path: Path):
    counts = connections.run(Settings(tmp_path.resolve(), is_short=True))
    assert failures(connections, counts) == {}
    assert min(counts[name] for name in ("attacks", "exports_tried", "good_client_answers", "requests_at_their_server"))


TOKEN = new_token()


def hello(**options):
    params = {"capabilities": {}, "initializationOptions": options}
    return {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": params}


def framed(message):
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def admit(*pieces: bytes, keep_open: bool = False):
    """What a port with TOKEN hands on of a connection that sends this, and what it answers."""

    async def talk():
        rules = Authenticator(TOKEN)
        handed = asyncio.get_running_loop().create_future()

        async def attend(reader, writer):
            handed.set_result(await rules.authenticate(reader, writer))
            await close(writer)

        async with await asyncio.start_server(attend, "127.0.0.1", 0) as listening:
            reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
            writer.write(b"".join(pieces))
            if not keep_open:
                writer.write_eof()
            came = await asyncio.wait_for(reader.read(), 20)
            writer.close()
            return await handed, came

    return asyncio.run(talk())


@pytest.mark.parametrize("options", [{"token": TOKEN}, {"weft": {"token": TOKEN}}, {"token": "x", "weft": {}}])
def test_the_token_lets_in_and_goes_no_further(options):
    first, came = admit(framed(hello(**options)))
    if options["weft" if "weft" in options else "token"] in (TOKEN, {"token": TOKEN}):
        assert came == b"" and first is not None
        assert TOKEN.encode() not in first and json.loads(first)["method"] == "initialize"
    else:
        assert first is None and b"The token is wrong" in came and b'"id": 7' in came


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (framed(hello()), b"The token is missing"),
        (framed({**hello(token=TOKEN), "method": "weft/status"}), b"must be an initialize request"),
        (framed([hello(token=TOKEN)]), b"must be an initialize request"),
        (b"Content-Length: 9\r\n\r\nnot json.", b"not valid JSON"),
        (b"POST / HTTP/1.1\r\nHost: x\r\n\r\n" + framed(hello(token=TOKEN)), b"HTTP/1.1 400"),
        (b"GET / HTTP/1.1\r\n", b"HTTP/1.1 400"),
        (b"Origin: http://x\r\n" + framed(hello(token=TOKEN)), b"HTTP/1.1 400"),
        (b"X: y\r\n" * 2_000, b"header is longer"),
    ],
)
def test_any_other_first_message_gets_one_error_and_the_connection_is_closed(sent, said):
    first, came = admit(sent)
    assert first is None and said in came


def test_an_announced_body_beyond_the_limit_is_refused_before_it_comes():
    first, came = admit(b"Content-Length: 300000000\r\n\r\n", keep_open=True)
    assert first is None and b"the limit is" in came


def test_a_silent_connection_times_out(monkeypatch):
    monkeypatch.setattr(authentication, "FIRST_MESSAGE_WITHIN_S", 0.05)
    monkeypatch.setattr(authentication, "DROPPED_WITHIN_S", 0.05)
    assert b"No initialize request was received" in admit(b"Content-", keep_open=True)[1]


def test_many_silent_connections_do_not_block_a_client_with_the_token(monkeypatch):
    monkeypatch.setattr(authentication, "MAX_UNAUTHENTICATED", 3)

    async def talk():
        rules, waiting = Authenticator(TOKEN), []

        async def attend(reader, writer):
            if await rules.authenticate(reader, writer):
                waiting.append(len(rules._unauthenticated))
            await close(writer)

        async with await asyncio.start_server(attend, "127.0.0.1", 0) as listening:
            address = listening.sockets[0].getsockname()
            crowd = [socket.create_connection(address) for _ in range(20)]
            reader, writer = await asyncio.open_connection(*address)
            writer.write(framed(hello(token=TOKEN)))
            assert await asyncio.wait_for(reader.read(), 10) == b""
            writer.close()
            for each in crowd:
                each.close()
        assert waiting and waiting[0] <= 3

    asyncio.run(talk())


def test_a_token_file_is_made_for_its_owner_alone_and_read_again(tmp_path: Path):
    file = tmp_path / "token"
    token = load_or_create_token(file)
    assert len(token) >= 43 and load_or_create_token(file) == token
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_a_token_file_that_others_can_read_or_place_is_refused(tmp_path: Path):
    file = tmp_path / "token"
    load_or_create_token(file)
    file.chmod(0o640)
    with pytest.raises(UnsafeTokenFile, match="chmod 600"):
        load_or_create_token(file)
    file.chmod(0o600)
    link = tmp_path / "link"
    link.symlink_to(file)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo, 0o600)
    for odd in (link, fifo):
        with pytest.raises(UnsafeTokenFile, match="not a regular file"):
            load_or_create_token(odd)
    file.write_text("short")
    with pytest.raises(UnsafeTokenFile, match="no token"):
        load_or_create_token(file)


def test_addresses_that_only_this_machine_reaches():
    assert all(map(is_loopback, ("127.0.0.1", "127.3.2.1", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "example.org", "")))


def test_a_port_that_others_reach_is_warned_of_and_still_wants_the_token(launching, tmp_path: Path):
    async def story():
        server = await launching("--tcp", "0.0.0.0:0", "--token-file", str(tmp_path / "token"))
        try:
            said = [(await asyncio.wait_for(server.stderr.readline(), 30)).decode() for _ in range(4)]
            port = int(said[0].rpartition(":")[2])
            assert str(tmp_path / "token") in said[1] and "reachable from other machines" in said[3]
            assert (tmp_path / "token").read_text().strip() not in "".join(said)
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(framed(hello()))
            assert b"The token is missing" in await asyncio.wait_for(reader.read(), 30)
            writer.close()
        finally:
            server.kill()
            await server.communicate()

    asyncio.run(story())
