"""Steps are done once after the last thing that happened, however often something happens."""

import threading
import time

from weft.server.workspace.quiet_timer import QuietTimer

LONG_S = 30.0


def test_the_steps_come_in_order_after_what_happened():
    done, ended = [], threading.Event()
    pauses = QuietTimer((0.0, lambda: done.append("first")), (0.001, ended.set))
    pauses.begin()
    assert ended.wait(LONG_S) and done == ["first"]
    pauses.close()


def test_nothing_is_done_while_things_happen_and_all_of_it_once_afterwards():
    done, ended = [], threading.Event()
    pauses = QuietTimer((0.05, lambda: done.append(time.monotonic())), (0.06, ended.set))
    for _ in range(200):
        pauses.begin()
        last = time.monotonic()
    assert ended.wait(LONG_S)
    assert len(done) == 1 and done[0] - last > 0.04
    pauses.close()


def test_a_pause_that_is_broken_off_begins_with_the_first_step_again():
    done, ended = [], threading.Event()

    def first():
        done.append("first")
        if len(done) == 1:
            pauses.begin()

    def second():
        done.append("second")
        ended.set()

    pauses = QuietTimer((0.0, first), (0.01, second))
    pauses.begin()
    assert ended.wait(LONG_S) and done == ["first", "first", "second"]
    pauses.close()


def test_a_step_that_fails_ends_neither_the_others_nor_the_next_pause(caplog):
    ended = threading.Event()
    pauses = QuietTimer((0.0, lambda: 1 / 0), (0.0, ended.set))
    for _ in range(2):
        ended.clear()
        pauses.begin()
        assert ended.wait(LONG_S)
    assert "division" in caplog.text
    pauses.close()


def test_nothing_is_done_after_the_end():
    done = []
    pauses = QuietTimer((0.0, lambda: done.append(1)))
    pauses.close()
    pauses.begin()
    assert not [thread for thread in threading.enumerate() if thread.name == "weft-pauses"] or not done
