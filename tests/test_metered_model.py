"""Calls to a model: counted, kept, repeated, limited, cancelled."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from weft.errors import ModelError
from weft.llm.protocol import Cancel, Message, ModelUnreachable, Piece, Speed
from weft.memory import Call, Cost, LimitReached, Limits, MeteredModel, UnparsableAnswer, UsageTracker
from weft.memory.metered_model import RETRY_TEMPERATURE, CallCancelled, PromptTooLong
from weft.memory.strategy import InProcessCache
from weft.memory.usage import describe_cost, with_expected_seconds

HELLO = Call("greet", (Message("system", "be brief"), Message("user", "say hello now")), 10)


class Waits:
    """Stands for waiting: notes how long, and may cancel meanwhile."""

    def __init__(self, *, cancels: bool = False) -> None:
        self.seconds: list[float] = []
        self._cancels = cancels

    def __call__(self, cancel: Cancel, seconds: float) -> bool:
        self.seconds.append(seconds)
        if self._cancels:
            cancel.cancel()
        return cancel.cancelled


class Busy(ModelUnreachable):
    status = 429


class Denied(ModelUnreachable):
    status = 401


def test_an_answer_is_counted_under_its_strategy_and_purpose(scripted_chat):
    metered = MeteredModel(scripted_chat([("hello", " good day \n")]), "memorag")
    assert metered.ask(HELLO) == "good day"
    cost = metered.usage.rows["memorag", "greet"]
    assert (cost.n_calls, cost.tokens_in, cost.tokens_out, cost.n_cached) == (1, 5, 2, 0)
    assert (metered.usage.of("memorag").n_calls, metered.usage.of("qrmem").n_calls) == (1, 0)


def test_settings_of_a_call_reach_the_model(scripted_chat):
    model = scripted_chat([("hello", "hi")])
    MeteredModel(model).ask(Call("greet", HELLO.messages, 7, 0.3, 0.9, 1.2, ("\n",)))
    request = model.asked[0]
    assert (request.max_new_tokens, request.stop) == (7, ("\n",))
    assert (request.temperature, request.top_p, request.repetition_penalty) == (0.3, 0.9, 1.2)


def test_a_kept_answer_costs_nothing_in_another_session(scripted_chat):
    cache = InProcessCache()
    MeteredModel(scripted_chat([("hello", "hi there")]), cache=cache).ask(HELLO)
    later = MeteredModel(scripted_chat([]), cache=cache)
    assert later.ask(HELLO) == "hi there"
    assert later.usage.total == Cost(n_cached=1)


def test_a_kept_answer_streams_in_one_piece_and_a_streamed_one_is_kept(scripted_chat):
    metered = MeteredModel(scripted_chat([("hello", ["hi there", "other"])]), cache=InProcessCache())
    assert [piece.text for piece in metered.stream(HELLO, Cancel())] == ["hi", " there"]
    assert [piece.text for piece in metered.stream(HELLO, Cancel())] == ["hi there"]


@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_a_drawn_answer_is_not_kept(scripted_chat, temperature):
    metered = MeteredModel(scripted_chat([("hello", ["one", "two"])]), cache=InProcessCache())
    call = Call("greet", HELLO.messages, temperature=temperature)
    assert [metered.ask(call), metered.ask(call)] == ["one", "two"]


def test_another_prompt_and_another_model_are_other_answers(scripted_chat):
    cache = InProcessCache()
    assert MeteredModel(scripted_chat([("", "a")]), cache=cache).ask(Call.of("p", "x")) == "a"
    assert MeteredModel(scripted_chat([("", "b")]), cache=cache).ask(Call.of("p", "y")) == "b"
    assert MeteredModel(scripted_chat([("", "c")], name="other"), cache=cache).ask(Call.of("p", "x")) == "c"


def test_a_model_that_is_only_known_by_name_when_asked_has_its_answers_kept_from_the_first(scripted_chat):
    def unnamed(script):
        model = scripted_chat(script)
        named = model.info
        model.info = replace(named, name="http://somewhere")
        model.prepare = lambda cancel: setattr(model, "info", named)
        return model

    cache = InProcessCache()
    MeteredModel(unnamed([("hello", "hi")]), cache=cache).ask(HELLO)
    assert MeteredModel(unnamed([]), cache=cache).ask(HELLO) == "hi"


def test_a_kept_answer_needs_no_server(scripted_chat):
    cache = InProcessCache()
    MeteredModel(scripted_chat([("hello", "hi")]), cache=cache).ask(HELLO)
    model = scripted_chat([])

    def prepare(cancel):
        raise ModelUnreachable("gone")

    model.prepare = prepare
    assert MeteredModel(model, cache=cache).ask(HELLO) == "hi"


def test_an_empty_answer_is_not_kept(scripted_chat):
    metered = MeteredModel(scripted_chat([("hello", ["", "hi"])]), cache=InProcessCache())
    assert [metered.ask(HELLO), metered.ask(HELLO)] == ["", "hi"]


def test_thoughts_are_left_out(scripted_chat):
    metered = MeteredModel(scripted_chat([("", "<think> hm hm </think> yes")]))
    assert metered.ask(HELLO) == "yes"
    assert metered.usage.total.tokens_out == 5, "they were written all the same"


# Cancel


def test_who_has_cancelled_asks_nobody(scripted_chat):
    model, cancel = scripted_chat([]), Cancel()
    cancel.cancel()
    assert MeteredModel(model).ask(HELLO, cancel) == ""
    assert list(MeteredModel(model).stream(HELLO, cancel)) == []
    assert model.asked == []


def test_a_cancelled_answer_is_what_came_and_is_never_kept(scripted_chat):
    cancel = Cancel()

    def script(messages):
        cancel.cancel()
        return "half an answer"

    cache = InProcessCache()
    metered = MeteredModel(scripted_chat(script), cache=cache)
    assert metered.ask(HELLO, cancel) == ""
    with pytest.raises(CallCancelled):
        metered.ask_parsed(HELLO, str, cancel)
    assert MeteredModel(scripted_chat([("", "whole")]), cache=cache).ask(HELLO) == "whole"


def test_a_stream_that_is_left_early_is_counted_and_not_kept(scripted_chat):
    cache = InProcessCache()
    metered = MeteredModel(scripted_chat([("", ["a b c d", "new"])]), "s", cache)
    stream = metered.stream(HELLO, Cancel())
    next(stream)
    stream.close()
    assert metered.usage.rows["s", "greet"].tokens_out == 1
    assert metered.ask(HELLO) == "new"


# Servers that fail


def test_a_server_elsewhere_is_tried_again_with_growing_waits(scripted_chat):
    waits = Waits()
    model = scripted_chat([("", [ModelUnreachable("gone"), Busy("busy"), "hi"])], local=False)
    metered = MeteredModel(model, pause=waits)
    assert metered.ask(HELLO) == "hi"
    assert waits.seconds == [0.5, 1.0]
    assert metered.usage.total.n_calls == 3
    assert metered.usage.total.tokens_in == 5, "only the last try was read by anybody"


def test_tries_are_bounded(scripted_chat):
    model = scripted_chat([("", ModelUnreachable("Nothing answers at URL."))], local=False)
    with pytest.raises(ModelUnreachable, match="Nothing answers"):
        MeteredModel(model, pause=Waits()).ask(HELLO)
    assert len(model.asked) == 4


def test_tries_are_bounded_where_the_model_cannot_even_be_prepared(scripted_chat):
    model, tries = scripted_chat([], local=False), []

    def prepare(cancel):
        tries.append(1)
        raise ModelUnreachable("Nothing answers at URL.")

    model.prepare = prepare
    with pytest.raises(ModelUnreachable):
        MeteredModel(model, pause=Waits()).ask(HELLO)
    assert len(tries) == 4


@pytest.mark.parametrize(
    ("local", "error"), [(True, ModelUnreachable("gone")), (False, Denied("no")), (False, ModelError("x"))]
)
def test_what_will_not_pass_is_not_tried_again(scripted_chat, local, error):
    model = scripted_chat([("", error)], local=local)
    with pytest.raises(ModelError):
        MeteredModel(model, pause=Waits()).ask(HELLO)
    assert len(model.asked) == 1


def test_waiting_for_a_server_can_be_cancelled(scripted_chat):
    model = scripted_chat([("", ModelUnreachable("gone"))], local=False)
    assert MeteredModel(model, pause=Waits(cancels=True)).ask(HELLO, Cancel()) == ""
    assert len(model.asked) == 1


class BreaksOff:
    """A model elsewhere whose first answer breaks off in the middle."""

    def __init__(self, model) -> None:
        self._model, self.has_broken = model, False

    def __getattr__(self, name):
        return getattr(self._model, name)

    def chat(self, request, cancel) -> Iterator[Piece]:
        pieces = self._model.chat(request, cancel)
        if not self.has_broken:
            self.has_broken = True
            yield next(pieces)
            raise ModelUnreachable("broke off")
        yield from pieces


def test_an_answer_that_broke_off_is_asked_for_again_as_a_whole(scripted_chat):
    model = BreaksOff(scripted_chat([("", "one two")], local=False))
    assert MeteredModel(model, pause=Waits()).ask(HELLO) == "one two"


def test_a_stream_that_broke_off_is_not_begun_again(scripted_chat):
    stream = MeteredModel(BreaksOff(scripted_chat([("", "one two")], local=False)), pause=Waits()).stream(
        HELLO, Cancel()
    )
    assert next(stream).text == "one"
    with pytest.raises(ModelUnreachable):
        next(stream)


def test_a_stream_waits_for_its_first_piece(scripted_chat):
    metered = MeteredModel(scripted_chat([("", [Busy("busy"), "one two"])], local=False), pause=Waits())
    assert "".join(piece.text for piece in metered.stream(HELLO, Cancel())) == "one two"


# Answers that cannot be read


def test_an_unreadable_answer_is_asked_for_again_at_a_higher_temperature(scripted_chat):
    model = scripted_chat([("", ["what?", "hm", "7"])])
    assert MeteredModel(model).ask_parsed(HELLO, int) == 7
    assert [request.temperature for request in model.asked] == [0.0, RETRY_TEMPERATURE, RETRY_TEMPERATURE]


def test_after_four_more_tries_an_answer_is_unreadable(scripted_chat):
    model = scripted_chat([("", "what?")])
    with pytest.raises(UnparsableAnswer, match="scripted returned an unparsable response to `greet`"):
        MeteredModel(model).ask_parsed(HELLO, int)
    assert len(model.asked) == 5


def test_what_was_read_in_the_end_is_kept_and_what_was_not_is_not(scripted_chat):
    cache = InProcessCache()
    assert MeteredModel(scripted_chat([("", ["what?", "7"])]), cache=cache).ask_parsed(HELLO, int) == 7
    assert MeteredModel(scripted_chat([]), cache=cache).ask_parsed(HELLO, int) == 7


def test_a_kept_answer_that_another_reader_cannot_read_is_asked_for_again(scripted_chat):
    cache = InProcessCache()
    MeteredModel(scripted_chat([("", "seven")]), cache=cache).ask(HELLO)
    model = scripted_chat([("", "7")])
    assert MeteredModel(model, cache=cache).ask_parsed(HELLO, int) == 7
    assert [request.temperature for request in model.asked] == [RETRY_TEMPERATURE]


def test_json_is_mended_before_it_is_unreadable(scripted_chat):
    model = scripted_chat([("", "Sure:\n```json\n{'label': 'keep',}\n```")])
    assert MeteredModel(model).ask_json(HELLO, lambda value: value["label"]) == "keep"
    assert len(model.asked) == 1


def test_json_of_another_shape_is_asked_for_again(scripted_chat):
    model = scripted_chat([("", ["[1]", '{"lable": 1}', '{"label": "remove"}'])])
    assert MeteredModel(model).ask_json(HELLO, lambda value: value["label"]) == "remove"


# Limits and the window


def test_the_call_over_the_limit_is_not_made(scripted_chat):
    model = scripted_chat([("", "hi")])
    metered = MeteredModel(model, limits=Limits(n_calls=1))
    metered.ask(HELLO)
    with pytest.raises(LimitReached, match="1 calls were made"):
        metered.ask(HELLO)
    assert len(model.asked) == 1


def test_tokens_count_the_longest_answer_before_the_call(scripted_chat):
    model = scripted_chat([("", "hi")])
    with pytest.raises(LimitReached, match="0 of 14 tokens are used, and the next call can take 15"):
        MeteredModel(model, limits=Limits(tokens=14)).ask(HELLO)
    assert MeteredModel(model, limits=Limits(tokens=15)).ask(HELLO) == "hi"


def test_limits_are_shared_by_the_strategies_of_one_metered_model(scripted_chat):
    metered = MeteredModel(scripted_chat([("", "hi")]), "auto", limits=Limits(n_calls=1))
    metered.for_strategy("qrmem").ask(HELLO)
    with pytest.raises(LimitReached):
        metered.ask(HELLO)
    assert list(metered.usage.rows) == [("qrmem", "greet")]


def test_calls_at_the_same_time_count_each_other():
    usage, limits = UsageTracker(), Limits(tokens=15)
    with usage.reserved(10, limits):
        with pytest.raises(LimitReached), usage.reserved(10, limits):
            pass
        with usage.reserved(5, limits):
            pass
    with usage.reserved(15, limits):
        pass


def test_what_does_not_fit_the_window_is_an_error_with_both_numbers(scripted_chat):
    model = scripted_chat([("", "hi")], context_tokens=30)
    with pytest.raises(PromptTooLong, match=r"needs 31 tokens with its answer, but the window of scripted is 30"):
        MeteredModel(model).ask(HELLO)  # 5 words, 2 frames of 8, 10 to write
    assert model.asked == []


def test_who_allows_a_cut_loses_the_oldest_turns(scripted_chat):
    model = scripted_chat([("", "hi")], context_tokens=30)
    turns = (Message("user", "old " * 9), Message("assistant", "older"), Message("user", "new question"))
    MeteredModel(model).ask(Call("chat", turns, 10, may_be_cut=True))
    assert [message.text for message in model.asked[0].messages] == ["new question"]


# Several at once


def test_a_remote_model_is_asked_by_several_at_once_and_answers_stay_in_order(scripted_chat):
    meeting = threading.Barrier(3, timeout=10)

    def task(number):
        meeting.wait()  # breaks unless three run at once
        return number

    metered = MeteredModel(scripted_chat([], local=False), n_workers=3)
    assert metered.ask_all([lambda n=n: task(n) for n in range(3)]) == [0, 1, 2]


def test_a_local_model_is_asked_one_at_a_time(scripted_chat):
    threads = MeteredModel(scripted_chat([])).ask_all([threading.get_ident] * 3)
    assert set(threads) == {threading.get_ident()}


def test_after_an_error_no_further_task_begins(scripted_chat):
    begun = []

    def task(number):
        begun.append(number)
        raise ValueError(number)

    metered = MeteredModel(scripted_chat([], local=False), n_workers=1)
    with pytest.raises(ValueError, match="0"):
        metered.ask_all([lambda n=n: task(n) for n in range(50)])
    assert len(begun) < 50


def test_one_cancel_stops_all(scripted_chat):
    model, cancel = scripted_chat([("", "hi")], local=False), Cancel()
    metered = MeteredModel(model, n_workers=2)

    def task():
        cancel.cancel()
        return metered.ask(HELLO, cancel)

    assert metered.ask_all([task] * 20) == [""] * 20
    assert model.asked == []


def test_the_same_call_at_once_is_asked_once(scripted_chat):
    is_asked, may_answer, waiting = threading.Event(), threading.Event(), threading.Semaphore(0)

    class Waiting(Cancel):
        def on_cancel(self, callback):  # a thread that waits for another registers what wakes it
            waiting.release()
            return super().on_cancel(callback)

    def script(messages):
        is_asked.set()
        assert may_answer.wait(10)
        return "hi"

    model = scripted_chat(script, local=False)
    metered = MeteredModel(model, "s")
    threads_done: list[str] = []
    cancels = Cancel(), Waiting(), Waiting()
    threads = [threading.Thread(target=lambda c=c: threads_done.append(metered.ask(HELLO, c))) for c in cancels]
    threads[0].start()
    assert is_asked.wait(10)
    for thread in threads[1:]:
        thread.start()
    try:
        assert waiting.acquire(timeout=5) and waiting.acquire(timeout=5)
    finally:
        may_answer.set()
    for thread in threads:
        thread.join(10)
    assert threads_done == ["hi"] * 3
    assert (len(model.asked), metered.usage.total.n_cached) == (1, 2)


def test_who_waits_for_another_can_be_cancelled_alone_and_takes_over_from_a_cancelled_one(scripted_chat):
    first, second, third = Cancel(), Cancel(), Cancel()
    is_asked, is_waiting = threading.Event(), threading.Event()

    def script(messages):
        if not is_asked.is_set():
            is_asked.set()
            assert is_waiting.wait(10)
            return "lost"
        return "mine"

    metered = MeteredModel(scripted_chat(script, local=False))
    answers: dict[int, str] = {}

    def ask(number, cancel):
        answers[number] = metered.ask(HELLO, cancel)

    threads = [threading.Thread(target=ask, args=pair) for pair in enumerate((first, second, third))]
    threads[0].start()
    assert is_asked.wait(10)
    for thread in threads[1:]:
        thread.start()
    second.cancel()
    threads[1].join(10)
    first.cancel()
    is_waiting.set()
    for thread in threads:
        thread.join(10)
    assert answers == {0: "", 1: "", 2: "mine"}


def test_an_error_reaches_all_who_wait(scripted_chat):
    from weft.memory.single_flight import SingleFlight

    flights, is_working, may_fail = SingleFlight(), threading.Event(), threading.Event()

    def work():
        is_working.set()
        assert may_fail.wait(10)
        raise ModelError("no")

    errors = []

    def share():
        try:
            flights.share("key", work, Cancel())
        except ModelError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=share) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert is_working.wait(10)
    may_fail.set()
    for thread in threads:
        thread.join(10)
    assert errors == ["no", "no"]


# Models that do not chat


def test_a_model_without_a_template_continues_a_question_as_text(scripted_chat):
    model = scripted_chat([("", "blue")], chats=False)
    messages = (Message("system", "Be brief."), Message("user", "Which colour?"))
    assert MeteredModel(model).ask(Call("answer", messages)) == "blue"
    request = model.completed[0]
    assert request.prefix == "Be brief.\n\nQuestion: Which colour?\n\nAnswer:"
    assert request.stop == ("\nQuestion:",)
    assert not request.single_line


def test_a_model_without_a_template_is_not_asked_again_for_the_same_text(scripted_chat):
    model = scripted_chat([("", "what?")], chats=False)
    with pytest.raises(UnparsableAnswer):
        MeteredModel(model).ask_parsed(HELLO, int)
    assert len(model.completed) == 1


def test_the_workspace_model_is_refused_with_the_next_step(scripted_chat):
    model = scripted_chat([], chats=False)
    model.info = replace(model.info, backend="workspace")
    with pytest.raises(ModelError, match="Configure a chat model"):
        MeteredModel(model).ask(HELLO)


# Usage as text


def test_usage_is_a_table_for_people():
    usage = UsageTracker()
    usage.add("qrmem", "entities", Cost(12, 12_000, 340, 3.21))
    usage.add("qrmem", "answer", Cost(1, 900, 20, 0.5, n_cached=1))
    assert usage.describe() == (
        "strategy  purpose   calls  kept  tokens in  tokens out  seconds\n"
        "qrmem     entities     12     0     12,000         340      3.2\n"
        "qrmem     answer        1     1        900          20      0.5\n"
        "all                    13     1     12,900         360      3.7"
    )


def test_a_cost_in_words_with_the_time_that_a_model_would_take():
    cost = with_expected_seconds(Cost(2, 1000, 100), Speed(prefill=500, decode=10))
    assert describe_cost(cost) == "2 calls, 1,000 tokens in, 100 out, 12 s"
    assert describe_cost(with_expected_seconds(Cost(1, 1000, 100), Speed())) == "1 call, 1,000 tokens in, 100 out"
