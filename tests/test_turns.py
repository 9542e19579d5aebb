"""Turns of sessions: round robin over sessions, the newest request of a session first. Counted, not timed."""

import threading
from contextlib import ExitStack

import pytest
from weft.llm import Cancel
from weft.server.workspace.turns import Turns, let_others_first, waiting

LONG_S = 30.0  # a test that waits so long has failed


class Requests:
    """Requests in threads, each of which notes its name when its turn comes."""

    def __init__(self, turns):
        self.turns = turns
        self.order = []
        self.threads = []

    def add(self, session, name, cancel=None, at_most_s=LONG_S):
        def compute():
            with self.turns.turn(session, cancel or Cancel(), at_most_s) as has_turn:
                self.order.append(name if has_turn else f"not {name}")

        n = self.turns.n_waiting
        thread = threading.Thread(target=compute)
        self.threads.append(thread)
        thread.start()
        while at_most_s and thread.is_alive() and self.turns.n_waiting == n:
            pass  # until it is in the queue

    def finish(self):
        for thread in self.threads:
            thread.join(LONG_S)
            assert not thread.is_alive()


def test_sessions_take_turns_and_the_newest_request_of_each_comes_first():
    turns = Turns(1)
    requests = Requests(turns)
    with turns.turn("busy", Cancel(), LONG_S) as has_turn:
        assert has_turn
        for at in range(3):
            requests.add("flood", f"flood {at}")
        requests.add("one", "one 0")
        requests.add("two", "two 0")
        assert turns.n_waiting == 5
    requests.finish()
    assert requests.order == ["flood 2", "one 0", "two 0", "flood 1", "flood 0"]
    assert turns.n_waiting == 0


def test_who_is_cancelled_or_waits_too_long_leaves_the_queue():
    turns = Turns(1)
    requests, cancel = Requests(turns), Cancel()
    with turns.turn("busy", Cancel(), LONG_S):
        requests.add("a", "late", at_most_s=0.0)
        requests.add("b", "cancelled", cancel)
        requests.add("c", "patient")
        cancel.cancel()
        requests.threads[0].join(LONG_S)
        requests.threads[1].join(LONG_S)
        assert turns.n_waiting == 1
    requests.finish()
    assert sorted(requests.order[:2]) == ["not cancelled", "not late"]
    assert requests.order[2:] == ["patient"]


def test_who_waits_for_a_model_lets_others_compute_and_goes_on_after_them():
    turns = Turns(1)
    requests = Requests(turns)
    with turns.turn("a", Cancel(), LONG_S):
        requests.add("b", "meanwhile")
        with waiting():
            requests.finish()
        assert requests.order == ["meanwhile"]
        requests.add("b", "after")
        assert requests.order == ["meanwhile"]  # the turn was taken again
    requests.finish()
    assert requests.order == ["meanwhile", "after"]


def test_waiting_without_a_turn_changes_nothing():
    turns = Turns(1)
    with waiting(), turns.turn("a", Cancel(), LONG_S) as has_turn:
        assert has_turn
    with turns.turn("b", Cancel(), 0.0) as has_turn:
        assert has_turn


@pytest.mark.parametrize("n", [1, 2, 3])
def test_an_error_gives_the_turn_back(n):
    turns = Turns(n)
    for _ in range(2 * n):
        with pytest.raises(ValueError, match="bug"), turns.turn("a", Cancel(), 0.0) as has_turn:
            assert has_turn
            raise ValueError("bug")
    with ExitStack() as stack:
        held = [stack.enter_context(turns.turn(f"{at}", Cancel(), 0.0)) for at in range(n)]
        assert all(held)
        assert not stack.enter_context(turns.turn("more", Cancel(), 0.0))


def test_work_behind_turns_goes_on_when_there_are_none():
    turns, steps = Turns(1), []
    begun, may_go_on = threading.Event(), threading.Event()

    def compute():
        with turns.behind(Cancel()):
            steps.append("first piece")
            begun.set()
            may_go_on.wait(LONG_S)
            let_others_first()
            steps.append("second piece")

    thread = threading.Thread(target=compute)
    thread.start()
    begun.wait(LONG_S)
    with turns.turn("a", Cancel(), LONG_S) as has_turn:  # at once
        assert has_turn
        may_go_on.set()
        steps.append("completion")
    thread.join(LONG_S)
    assert steps == ["first piece", "completion", "second piece"]


def test_work_behind_turns_waits_no_longer_when_it_is_cancelled_or_has_waited_long():
    turns, cancel = Turns(1), Cancel()
    cancel.cancel()
    with turns.turn("a", Cancel(), LONG_S):
        assert not turns.wait_until_idle(0.0)
        with turns.behind(cancel):
            let_others_first()
        with turns.behind(Cancel()):  # a second at most
            let_others_first()
            let_others_first()
    assert turns.wait_until_idle(0.0)
    let_others_first()  # behind no turns
