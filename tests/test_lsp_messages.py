"""Any message at all: each request gets one answer, nothing ends the conversation, and no answer has a traceback."""

import asyncio
import json
import logging

import pytest
from lsprotocol import types
from weft.errors import InvalidArgument, ModelError, StoreError, UserError
from weft.server.lsp import protocol, transport
from weft.server.lsp.log_limit import MAX_PER_PERIOD, RateLimit, one_line
from weft.server.lsp.serve import serve_connection
from weft.server.lsp.server import WeftServer
from weft.server.shared.workspaces import Workspaces

PARSE, REQUEST, METHOD, PARAMS, INTERNAL, CANCELLED = -32700, -32600, -32601, -32602, -32603, -32800

HELLO = {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {"capabilities": {}}}


class Out:
    def __init__(self):
        self.data = b""

    def write(self, data):
        self.data += data

    def n_unsent_bytes(self):
        return 0

    def messages(self):
        rest, found = self.data, []
        while rest:
            head, _, rest = rest.partition(b"\r\n\r\n")
            length = int(head.rpartition(b" ")[2])
            found.append(json.loads(rest[:length]))
            rest = rest[length:]
        return found


def frame(message):
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def answers(*messages, handlers=None, raw=b""):
    """What a server that is initialized answers to these messages: (id, error code or None), in order."""
    return [(each["id"], each.get("error", {}).get("code")) for each in replies(messages, handlers, raw)]


def error_answers(*messages, handlers):
    return [each["error"] for each in replies(messages, handlers)]


def replies(messages, handlers=None, raw=b""):
    """The whole answers, in order."""

    async def talk():
        server, out = WeftServer(Workspaces()), Out()
        server.protocol.set_writer(out)
        server.protocol.handlers.update(handlers or {})
        reader = asyncio.StreamReader()
        reader.feed_data(frame(HELLO) + raw + b"".join(map(frame, messages)))
        reader.feed_eof()
        await serve_connection(server, reader)
        while server.protocol._running:
            await asyncio.sleep(0.001)
        return out.messages()

    came = asyncio.run(talk())
    assert "traceback" not in json.dumps(came).lower() and all("data" not in each.get("error", {}) for each in came)
    first, *others = [each for each in came if "method" not in each]
    assert first["id"] == "hello" and "result" in first
    return others


def request(method="weft/no", id=1, **fields):
    return {"jsonrpc": "2.0", "id": id, "method": method, **fields}


@pytest.mark.parametrize("id", [[], {}, [1], {"a": 1}, None, True, 1.5, "x", "hello", 10**100])
def test_an_answer_to_no_request_of_ours_is_ignored_whatever_its_id(id):
    response = {"jsonrpc": "2.0", "id": id, "result": None}
    error = {"jsonrpc": "2.0", "id": id, "error": {"code": 1, "message": ""}}
    cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": id}}
    assert answers(response, error, cancel, request(id=7)) == [(7, METHOD)]


def test_an_answer_with_the_id_of_a_running_request_of_the_client_leaves_that_alone():
    async def slow(_):
        await asyncio.sleep(0.01)

    asked = request("slow", 5)
    assert answers(asked, {"jsonrpc": "2.0", "id": 5, "result": 1}, handlers={"slow": slow}) == [(5, None)]


@pytest.mark.parametrize(("id", "echoed"), [(1, 1), ("a", "a"), (1.5, 1.5), (10**100, 10**100), ("\ud800", "\ud800")])
def test_an_id_comes_back_as_it_was(id, echoed):
    assert answers(request(id=id)) == [(echoed, METHOD)]


@pytest.mark.parametrize("id", [None, True, [], {}, [1], {"a": 1}])
def test_an_id_that_is_none_is_an_invalid_request(id):
    assert answers(request(id=id)) == [(None, REQUEST)]


@pytest.mark.parametrize("version", ["1.0", "", None, 2, 2.0, [], {}])
def test_another_version_of_json_rpc_is_an_invalid_request(version):
    assert answers({**request(), "jsonrpc": version}, {"jsonrpc": version, "method": "x"}) == [(1, REQUEST)]


@pytest.mark.parametrize("method", [None, 5, [], {}, True])
def test_a_method_that_is_no_text_is_an_invalid_request(method):
    assert answers(request(method), {"jsonrpc": "2.0", "method": method}) == [(1, REQUEST)]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"NaN", b'{"id": NaN}', b'{"a": 1e999}', b"\xff", b"[" * 50_000, b"1" * 5000]
)
def test_what_is_no_json_is_a_parse_error(body):
    assert answers(body, request()) == [(None, PARSE), (1, METHOD)]


@pytest.mark.parametrize("body", [b"[]", b"null", b"5", b'"x"', b"[{}]"])
def test_what_is_no_object_is_an_invalid_request(body):
    assert answers(body) == [(None, REQUEST)]


def test_requests_with_one_id_have_one_answer_each():
    async def slow(_):
        await asyncio.sleep(0.01)

    same = request("slow", 5)
    assert sorted(answers(same, same, same, handlers={"slow": slow}), key=str) == [
        (5, REQUEST),
        (5, REQUEST),
        (5, None),
    ]


def test_a_cancelled_request_is_answered_once():
    async def slow(_):
        await asyncio.sleep(60)

    cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 5}}
    assert answers(request("slow", 5), cancel, cancel, handlers={"slow": slow}) == [(5, CANCELLED)]


def test_a_failure_inside_is_told_without_a_traceback_and_logged_once(caplog):
    def broken(_):
        raise KeyError("/work/secret/place")

    with caplog.at_level(logging.WARNING, "weft.lsp"):
        assert answers(request("broken", 1), request("broken", 2), handlers={"broken": broken}) == [
            (1, INTERNAL),
            (2, INTERNAL),
        ]


@pytest.mark.parametrize(
    ("kind", "code"),
    [(UserError, PARAMS), (InvalidArgument, PARAMS), (ModelError, INTERNAL), (StoreError, INTERNAL)],
)
def test_an_error_of_the_tree_is_answered_with_its_message_and_logged_without_a_traceback(kind, code, caplog):
    def fails(_):
        raise kind("The file is locked. Try again.")

    async def fails_later(_):
        fails(_)

    handlers = {"now": fails, "later": fails_later}
    with caplog.at_level(logging.WARNING, "weft.lsp"):
        came = error_answers(request("now", 1), request("later", 2), handlers=handlers)
    assert [(each["code"], each["message"]) for each in came] == [(code, "The file is locked. Try again.")] * 2
    assert [record.exc_info for record in caplog.records] == [None, None]


def test_a_result_that_is_no_json_is_a_failure_inside():
    assert answers(request("odd"), handlers={"odd": lambda _: {"share": float("nan")}}) == [(1, INTERNAL)]


POSITION = {"line": 0, "character": 0}
AT = {"textDocument": {"uri": "file:///x.py"}, "position": POSITION}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("weft/ask", {"question": "what is \ud800?"}),
        ("weft/ask", {"question": 5}),
        ("weft/ask", {"question": {"a": 1}}),
        ("weft/ask", {"question": "x" * 100_001}),
        ("weft/ask", {"question": "x", "partialResultToken": {"a": 1}}),
        ("weft/ask", []),
        ("weft/conversations", {"limit": 1e308}),
        ("weft/conversations", {"limit": -1}),
        ("weft/conversations", {"limit": 2**63}),
        ("weft/conversations", {"limit": "5"}),
        ("weft/conversations", {"limit": True}),
        ("weft/conversations", {"text": "\udfff"}),
        ("weft/complete", {**AT, "candidates": 1.5}),
        ("weft/complete", {**AT, "candidates": -3}),
        ("weft/pause", {"paused": "yes"}),
        ("weft/explain", {**AT, "position": {"line": -1, "character": 0}}),
        ("weft/explain", {**AT, "position": {"line": 1e308, "character": 0}}),
        ("weft/explain", {**AT, "position": {"line": "1", "character": 0}}),
        ("weft/explain", {**AT, "textDocument": {"uri": "file:///\ud800.py"}}),
        ("textDocument/inlineCompletion", {**AT, "context": {"triggerKind": 9}}),
        ("workspace/executeCommand", {"command": "no"}),
        ("workspace/executeCommand", {"command": ["weft.didAccept"]}),
    ],
)
def test_wrong_parameters_are_invalid_params(method, params):
    assert answers(request(method, params=params)) == [(1, PARAMS)]


def test_whole_numbers_may_be_written_as_floats():
    assert answers(request("weft/explain", params={**AT, "position": {"line": 1.0, "character": 0.0}})) == [(1, None)]


@pytest.mark.parametrize(
    "junk",
    [
        b"\r\n\r\n",
        b"hello\r\n",
        b"Content-Length: many\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"\0" * 100,
        b"no end of line",
        b"x" * 100_000,
        b"x" * 200_000 + b"\n",
    ],
)
def test_bytes_between_messages_cost_no_message(junk):
    assert answers(request(), raw=junk) == [(1, METHOD)]


def test_a_message_beyond_the_limit_is_refused_and_the_next_is_read(monkeypatch):
    monkeypatch.setattr(transport, "MAX_MESSAGE_BYTES", 1_000)
    assert answers(request(params="x" * 2_000), request(id=2)) == [(None, REQUEST), (2, METHOD)]


def test_more_requests_than_may_run_are_refused(monkeypatch):
    monkeypatch.setattr(protocol, "MAX_RUNNING", 2)

    async def slow(_):
        await asyncio.sleep(0.01)

    came = answers(*(request("slow", number) for number in range(4)), handlers={"slow": slow})
    assert sorted(came) == [(0, None), (1, None), (2, -32803), (3, -32803)]


def test_nothing_is_kept_of_what_was_answered():
    async def talk():
        server, out = WeftServer(Workspaces()), Out()
        server.protocol.set_writer(out)

        async def failing(_):
            raise ValueError

        server.protocol.handlers.update({"fails": failing})
        reader = asyncio.StreamReader()
        reader.feed_data(frame(HELLO))
        notices = [{"jsonrpc": "2.0", "method": "fails"}, {"jsonrpc": "2.0", "method": "no/such", "params": {"a": {}}}]
        reader.feed_data(b"".join(map(frame, [*notices, request("fails", 1), request("fails", 2)] * 20)))
        asked = server.protocol.send_request_async("workspace/configuration", types.ConfigurationParams([]))
        asked.cancel()
        reader.feed_eof()
        await serve_connection(server, reader)
        return server.protocol

    made = asyncio.run(talk())
    assert not made._running and not made._request_futures and not made._result_types


def test_the_log_repeats_no_message_without_end(caplog):
    log = logging.getLogger("weft-test-limit")
    limit = RateLimit()
    log.addFilter(limit)
    for number in range(1_000):
        log.warning("number %d", number)
        log.info("number %d", number)
        try:
            raise ValueError(number)
        except ValueError:
            log.exception("failed")
    warnings = [each for each in caplog.records if each.levelno == logging.WARNING]
    errors = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert (len(warnings), len(errors)) == (MAX_PER_PERIOD, 1)
    assert "Traceback" in errors[0].exc_text
    log.removeFilter(limit)


def test_a_line_of_the_log_is_one_line():
    assert one_line("a\nb\x1b[31m\u202e", 100) == "a b [31m "
    assert one_line("x" * 500, 10) == "x" * 10 + "…"
