"""The fuzz campaign of messages, in its short form."""

from pathlib import Path

from weft.benchmarks.reliability import messages
from weft.benchmarks.reliability.campaign import Settings, failures
from weft.benchmarks.reliability.fuzzing import answers_of


def test_each_request_of_a_short_fuzz_has_one_answer(tmp_path: Path):
    counts = messages.run(Settings(tmp_path.resolve(), is_short=True))
    assert failures(messages, counts) == {}
    assert counts["messages"] >= 2_000 and counts["requests"] > 500 and counts["answers with a result"] > 100


def test_the_campaign_knows_which_messages_want_an_answer():
    assert answers_of(b'{"id": 1, "method": "x"}') == ("1",)
    assert answers_of(b'{"id": [], "method": "x"}') == ("null",)
    assert answers_of(b'{"method": "x"}') == answers_of(b'{"id": 1, "result": 1}') == ()
    assert answers_of(b"[]") == answers_of(b"NaN") == ("null",)
