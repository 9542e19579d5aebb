"""What is counted, where it is kept, and that nothing of a workspace is in it."""

from __future__ import annotations

import json
import os
import time

import pytest
from weft.server.completion import Completion
from weft.server.completion.stats import Stats, forget_stats, read_stats, reason_kind, summarise, summary_json


def answer(text="total(items)", item_id="a1", source="model", total_ms=12.0, why_empty="", model="coder"):
    timings = {"total": total_ms}
    return Completion(
        text, (0, 0), (0, 0), 0.5, model, timings_ms=timings, id=item_id, source=source, why_empty=why_empty
    )


def counted(*answers, **ends):
    stats = Stats(None)
    for completion in answers or (answer(),):
        stats.answered(completion, "automatic", "python")
    return stats


def test_every_answer_is_counted_with_its_source_or_its_reason():
    stats = counted(
        answer(),
        answer(source="cache"),
        answer("", why_empty="low confidence: 12% is below completion.min_confidence (30%)"),
    )
    stats.answered(answer(), "invoked", "go")
    told = summary_json(stats.summary())
    assert told["asked"] == {"automatic": 3, "invoked": 1}
    assert told["offered"] == {"model": 2, "cache": 1}
    assert told["empty"] == {"low confidence": 1}


def test_alternatives_can_be_accepted_too():
    stats = counted()
    stats.offered_alternative(answer("sum(items)", "a2"), "python")
    stats.accepted("a2")
    told = summary_json(stats.summary())
    assert (told["asked"], told["offered"], told["accepted"]) == ({"automatic": 1}, {"model": 1}, {"python": 1})


def test_what_is_accepted_was_shown_and_counts_once():
    stats = counted()
    stats.shown("a1")
    stats.shown("a1")
    stats.accepted("a1")
    stats.accepted("a1")
    stats.rejected("a1")
    told = summary_json(stats.summary())
    assert (told["shown"], told["accepted"], told["rejected"]) == ({"python": 1}, {"python": 1}, {})
    assert told["charactersTaken"] == {"coder": len("total(items)")}
    assert told["acceptedShare"] == 1.0


def test_partial_acceptance_counts_one_completion_and_every_character_once():
    stats = counted()
    stats.partially_accepted("a1", 5)
    stats.partially_accepted("a1", 6)
    stats.partially_accepted("a1", 3)  # less than before: an older message
    told = summary_json(stats.summary())
    assert (told["partlyAccepted"], told["charactersTaken"]) == ({"python": 1}, {"coder": 6})
    stats.accepted("a1")
    told = summary_json(stats.summary())
    assert told["charactersTaken"] == {"coder": len("total(items)")}


def test_rejecting_the_remainder_of_a_partly_accepted_text_is_no_rejection():
    stats = counted()
    stats.partially_accepted("a1", 5)
    stats.rejected("a1")
    assert not summary_json(stats.summary())["rejected"]


def test_messages_about_unknown_completions_are_ignored():
    stats = counted()
    for tell in (stats.shown, stats.accepted, stats.rejected):
        tell("nobody knows")
    stats.partially_accepted("nobody knows", 3)
    assert not summary_json(stats.summary())["shown"] and stats.text("nobody knows") is None


def test_percentiles_are_right_to_a_bucket():
    stats = counted(*(answer(total_ms=float(ms)) for ms in range(1, 101)))
    p50, p95, n = stats.summary().latency_ms["model"]
    assert n == 100 and p50 == pytest.approx(50, rel=0.06) and p95 == pytest.approx(95, rel=0.06)


def test_processes_add_up_and_old_days_do_not_count(tmp_path):
    for _ in range(2):
        stats = Stats(tmp_path)
        stats.answered(answer(), "automatic", "python")
        stats.accepted("a1")
        stats.save()
    old = {"version": 1, "days": {"2001-01-01": {"n_asked": {"automatic": 99}}}}
    (tmp_path / "1-old.json").write_text(json.dumps(old))
    assert summary_json(read_stats(tmp_path, 30))["asked"] == {"automatic": 2}


@pytest.mark.parametrize(
    "content", ["", "no json", "[]", '{"version": 99}', '{"version": 1, "days": {"x": 3}}', "[" * 99_999]
)
def test_a_damaged_file_costs_only_itself(tmp_path, content):
    stats = Stats(tmp_path)
    stats.answered(answer(), "automatic", "python")
    stats.save()
    (tmp_path / "0.json").write_text(content)
    assert summary_json(read_stats(tmp_path, 1))["asked"] == {"automatic": 1}


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "stats").write_text("a file stands here")
    stats = Stats(tmp_path / "stats")
    stats.answered(answer(), "automatic", "python")
    stats.save()
    assert read_stats(tmp_path / "stats", 1).accepted_share is None


def test_nothing_of_the_workspace_is_stored(tmp_path):
    stats = Stats(tmp_path)
    stats.answered(answer("secret_text"), "automatic", "python")
    stats.accepted("a1")
    stats.save()
    (file,) = tmp_path.glob("*.json")
    assert "secret_text" not in file.read_text()


def test_counters_are_removed_on_request_or_by_age(tmp_path):
    stats = Stats(tmp_path)
    stats.answered(answer(), "automatic", "python")
    stats.save()
    assert forget_stats(tmp_path, older_than_days=90) == 0
    (file,) = tmp_path.glob("*.json")
    os.utime(file, (time.time() - 91 * 86_400,) * 2)
    assert forget_stats(tmp_path, older_than_days=90) == 1


def test_reasons_are_grouped_by_their_first_clause():
    assert reason_kind("low confidence: 12% is below completion.min_confidence (30%)") == "low confidence"
    assert reason_kind("coder-7b wrote nothing in 2000 ms") == "coder-Nb wrote nothing in N ms"
    assert reason_kind("") == "no reason given"
    assert summarise([]).accepted_share is None
