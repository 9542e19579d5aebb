"""The last full run of the reliability campaigns: complete, without a failure, and equal to docs/reliability.md."""

from weft.benchmarks.reliability.__main__ import CAMPAIGNS, load_campaign
from weft.benchmarks.reliability.page import PAGE, last_run, page


def test_the_last_run_was_full_and_nothing_failed():
    report = last_run()
    assert not report["short"]
    assert [row["campaign"] for row in report["rows"]] == list(CAMPAIGNS)
    for row in report["rows"]:
        assert not any(row["counts"][name] for name in load_campaign(row["campaign"]).MUST_BE_ZERO), row["campaign"]


def test_the_page_shows_the_counts_of_the_last_run():
    text = PAGE.read_text("utf-8")
    assert page(text, last_run()) == text
