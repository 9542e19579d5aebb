"""Every number that the papers print, with its place in the paper and its value in the code.

A row of `PRINTED` is a value that Weft takes from a paper. A row of `OURS` is a default that differs from the paper on
purpose, with the way to the printed value. "Code" in a place is the public code of the paper's authors, for numbers
that their text leaves out. `tests/mutation/` changes these values to see whether this test fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from weft.benchmarks.memory import metrics
from weft.benchmarks.memory.generators.stories import LENGTHS
from weft.benchmarks.memory.generators.story_tasks import TASKS
from weft.benchmarks.memory.judges import _rating, _score
from weft.benchmarks.memory.sweep import TABLE_4_WORDS, TABLE_5_VALUES, table_4, table_5
from weft.benchmarks.repoeval import tasks
from weft.benchmarks.repoeval.metrics import score_completion
from weft.codegraph import relations
from weft.codegraph.weights import Weights
from weft.llm.prompting import prompts
from weft.memory import Budget, Item, MeteredModel, Question, StrategyContext, metered_model
from weft.memory.baselines.base import SEGMENT_TOKENS
from weft.memory.baselines.retrieval import TopK
from weft.memory.embedding import HashingEmbedder
from weft.memory.embedding_local import PASSAGE_TOKENS, QUERY_TOKENS
from weft.memory.fragrel import ContextRelation, FragRel, FragRelOptions, SemanticRelation
from weft.memory.fragrel.chat import MEMOCHAT, PAPER, RETURNING
from weft.memory.fragrel.presets import CONVERSATION
from weft.memory.fragrel.scores import RelatedIndex, environment, related
from weft.memory.memorag import MemoRAGSettings, backends, clues
from weft.memory.memorag.beacon.ratios import RATIOS
from weft.memory.memorag.beacon.training.recipe import STAGE_1, STAGE_2
from weft.memory.memorag.gists import GistPlan
from weft.memory.memorag.prompts import LANGUAGE_CHARACTERS
from weft.memory.qrmem import QRMeMSettings
from weft.memory.qrmem import questions as qrmem_questions
from weft.memory.qrmem.entity_resolution import SAME_COSINE
from weft.memory.qrmem.graph_builder import MAX_FUSED_SEGMENTS
from weft.memory.qrmem.navigation import MIN_EXPANSION
from weft.memory.scoring import Bm25Index, DenseIndex, indexer
from weft.memory.segment_plus import SegmentPlusSettings
from weft.memory.segment_plus import prompts as segment_prompts
from weft.memory.splitters import by_lines, by_words
from weft.memory.values import Segment
from weft.retrieval import RetrievalOptions, Slicing, bm25
from weft.retrieval.repocoder import REPOCODER, WINDOW_LINES
from weft.server.completion.iterate import FUNCTIONS_2K, FUNCTIONS_4K, LINES_2K, LINES_4K

FRAGREL, CHAT, CODE = FragRelOptions(), PAPER, RetrievalOptions()
QRMEM, SEGMENT, MEMORAG, GISTS = QRMeMSettings(), SegmentPlusSettings(), MemoRAGSettings(), GistPlan()
NOTE_AND_ANSWER = (SEGMENT.note_tokens, SEGMENT.answer_tokens)


def alphas_at(w_rel: float) -> tuple[float, ...]:
    return tuple(row.alpha for row in table_5(12000, 800) if row.kind == "context" and row.w_rel == w_rel)


def w_rels_at(alpha: float) -> tuple[float, ...]:
    return tuple(row.w_rel for row in table_5(12000, 800) if row.kind == "context" and row.alpha == alpha)


class Printed(NamedTuple):
    """A value of a paper, and the same value in the code."""

    name: str
    place: str
    value: Any
    here: Any


PRINTED = [
    # FragRel: the code graph and its relations.
    Printed("syntax-edge", "FragRel, appendix A, step 1", 0.5, Weights().syntax),
    Printed("directory-edge", "FragRel, appendix A, step 2", 0.3, Weights().directory),
    Printed("file-root-edge", "FragRel, appendix A, step 3", 1.0, Weights().file_root),
    Printed("call-edge", "FragRel, appendix A, step 4", 0.8, Weights().call),
    Printed("alpha-code", "FragRel, section 4.2, relation details", 0.5, CODE.alpha),
    Printed("top-k-code", "FragRel, appendix B.2, retrieval", 10, CODE.k),
    Printed("window-lines", "FragRel, appendix B.2: S_w", 20, Slicing().n_lines),
    Printed("stride-lines", "FragRel, appendix B.2: S_s", 10, Slicing().stride),
    Printed("query-lines", "FragRel, appendix B.2: the last window", 20, CODE.query_lines),
    # FragRel: stories.
    Printed("w-rel-story", "FragRel, section 4.1.1, relation details", 0.3, ContextRelation().w_rel),
    Printed("w-rel-of-the-strategy", "FragRel, section 4.1.1", ContextRelation(0.3), FRAGREL.relation),
    Printed("alpha-story", "FragRel, section 4.1.1, relation details", 0.5, FRAGREL.alpha),
    Printed("segment-words", "FragRel, section 4.1.1: 500 or 800", 500, FRAGREL.segment_words),
    Printed("answer-tokens", "LongBench, narrativeqa; FragRel, Prompt 1", 128, FRAGREL.max_new_tokens),
    Printed("budget-words", "FragRel, Table 4: one of its rows", 4000, FRAGREL.budget.words),
    Printed("table-4-words", "FragRel, Table 4", (1000, 2000, 4000, 8000, 12000, 20000, 28000), TABLE_4_WORDS),
    Printed("table-4-sizes", "FragRel, Table 4: C500, C800", {500, 800}, {row.segment_words for row in table_4()}),
    Printed("table-4-w-rel-alpha", "FragRel, 4.1.1", {(0.3, 0.5)}, {(row.w_rel, row.alpha) for row in table_4()}),
    Printed("table-5-values", "FragRel, Table 5", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9), TABLE_5_VALUES),
    Printed("table-5-alphas", "FragRel, Table 5 and its text: w_rel 0.1", TABLE_5_VALUES, alphas_at(0.1)),
    Printed("table-5-w-rels", "FragRel, Table 5 and its text: alpha 0.5", TABLE_5_VALUES, w_rels_at(0.5)),
    # FragRel: chats, and MemoChat.
    Printed("w-rel-chat", "FragRel, section 4.3, relation details", ContextRelation(0.8), CONVERSATION),
    Printed("trigger-tokens", "FragRel, appendix B.3: 1K tokens", (1000, "tokens"), (CHAT.trigger_size, CHAT.count)),
    Printed("trigger-rounds", "FragRel, appendix B.3: surpass 10", 10, CHAT.trigger_rounds),
    Printed("rounds-recalled", "FragRel, appendix B.3: top 8", 8, CHAT.n_evidence),
    Printed("recent-rounds", "FragRel, appendix B.3: last turn of dialog", 1, CHAT.n_recent),
    Printed("chat-window", "FragRel, section 4.3: 2K tokens", 2048, CHAT.window),
    Printed("reply-tokens", "MemoChat, code: 2048 less 512", 512, CHAT.reserved),
    Printed("chat-temperature", "MemoChat, code", 0.2, CHAT.temperature),
    Printed("memochat-trigger", "MemoChat, code", (1024, "words"), (MEMOCHAT.trigger_size, MEMOCHAT.count)),
    Printed("memochat-rounds", "MemoChat, code: 10 utterances, 2 a greeting", 3, MEMOCHAT.trigger_rounds),
    # Okapi BM25.
    Printed("bm25-k1-b", "rank_bm25, which RepoCoder's authors use", (1.5, 0.75), (bm25.K1, bm25.B)),
    # RepoCoder.
    Printed("repocoder-window", "RepoCoder, section 3.3", 20, WINDOW_LINES),
    Printed("repocoder-query", "RepoCoder, section 3.3", ("jaccard", 20), (REPOCODER.strategy, REPOCODER.query_lines)),
    Printed("repocoder-k", "RepoCoder, code: twenty are ranked", 20, REPOCODER.k),
    Printed("prompt-blocks", "RepoCoder, section 3.3: at most ten", 10, prompts.MAX_BLOCKS),
    Printed("prompt-share", "RepoCoder, section 3.3: half of the prompt", 0.5, prompts.BLOCK_SHARE),
    Printed("prompt-rule", "RepoCoder, code: 50 hyphens", "-" * 50, prompts._RULE),
    Printed("line-limits", "RepoCoder, code", (100, 4096), (LINES_4K.max_new_tokens, LINES_4K.context_tokens)),
    Printed("line-limits-2k", "RepoCoder, code", (100, 2048), (LINES_2K.max_new_tokens, LINES_2K.context_tokens)),
    Printed("body-limits", "RepoCoder, code", (500, 4096), (FUNCTIONS_4K.max_new_tokens, FUNCTIONS_4K.context_tokens)),
    Printed("body-limits-2k", "RepoCoder", (500, 2048), (FUNCTIONS_2K.max_new_tokens, FUNCTIONS_2K.context_tokens)),
    Printed("tasks-of-a-repository", "RepoCoder, section 3.1", (200, 200), tasks.build_tasks.__defaults__[:2]),
    Printed("tokens-of-a-target", "RepoCoder, section 3.1: at least 5", 5, tasks.MIN_PIECES),
    # QRMeM.
    Printed("qrmem-segment", "QRMeM, section 3.2", 600, QRMEM.segment_tokens),
    Printed("qrmem-window", "QRMeM, sections 3.1 and 3.2", 4096, QRMEM.window_tokens),
    Printed("qrmem-baselines", "QRMeM, section 3.2: 600 for all", 600, SEGMENT_TOKENS),
    Printed("novelty", "QRMeM, section 2.1: ROUGE-L below 0.6", 0.6, qrmem_questions.MAX_SIMILAR),
    Printed("retry-temperature", "QRMeM, section 3.2", 0.7, metered_model.RETRY_TEMPERATURE),
    Printed("retries", "QRMeM, section 3.2: up to four times", 4, metered_model.MAX_RETRIES),
    Printed("first-temperature", "QRMeM, section 3.2; Segment+, 4.1", 0.0, metered_model.Call.of("", "").temperature),
    Printed("retrieval-k", "QRMeM, appendix B: top 3", "top_3", TopK(StrategyContext()).name),
    Printed("navigation", "QRMeM, section 2.2, Algorithm 1", "reflection", QRMEM.navigation),
    Printed(
        "qrmem-parts",
        "QRMeM, Table 2: the full system has all four",
        (True, True, True, True),
        (QRMEM.graph_update, QRMEM.open_entity, QRMEM.reflection, QRMEM.navigate),
    ),
    # MemoRAG.
    Printed("ratios", "MemoRAG, section 2: from 2 to 16", (2, 4, 8, 16), RATIOS),
    Printed("ratios-stage-1", "MemoRAG, code", (2, 4, 8, 16, 32), STAGE_1.ratios),
    Printed("ratios-stage-2", "MemoRAG, code", (2, 4, 8), STAGE_2.ratios),
    Printed("rate-stage-1", "transformers' Trainer: MemoRAG's code sets none", 5e-5, STAGE_1.learning_rate),
    Printed("rate-stage-2", "MemoRAG, code", 1e-5, STAGE_2.learning_rate),
    Printed("beacon-window", "MemoRAG, code", (2048, 2048), (STAGE_1.window, STAGE_2.window)),
    Printed("training-lengths", "MemoRAG, code", (4096, 65536), (min(STAGE_1.lengths), max(STAGE_1.lengths))),
    Printed("texts-of-a-step", "MemoRAG, code: 8 GPUs, one text each", 8, STAGE_1.batch * STAGE_1.accumulate),
    Printed("epochs", "MemoRAG, code", (1, 1), (STAGE_1.epochs, STAGE_2.epochs)),
    Printed("memorag-segment", "MemoRAG, code", 512, MEMORAG.segment_tokens),
    Printed("hits-of-a-clue", "MemoRAG, code", 3, MEMORAG.hits_per_clue),
    Printed("words-of-a-clue", "MemoRAG, code: more than 3", 4, clues.MIN_WORDS),
    Printed("clue-tokens", "MemoRAG, code", 128, backends.CLUE_TOKENS),
    Printed("key-point-tokens", "MemoRAG, code", 512, backends.KEY_POINT_TOKENS),
    Printed("memorag-answer", "MemoRAG, code", 256, MEMORAG.answer_tokens),
    Printed("kinds-of-clues", "MemoRAG, code: recall and rewrite", (True, True), (MEMORAG.spans, MEMORAG.surrogates)),
    Printed("query-passage-tokens", "MemoRAG, code: bge-m3", (128, 512), (QUERY_TOKENS, PASSAGE_TOKENS)),
    Printed("gists", "MemoRAG, code, lite mode", (4096, 512), (GISTS.piece_tokens, GISTS.gist_tokens)),
    Printed("gist-penalty", "MemoRAG, code, lite mode", 1.2, GISTS.repetition_penalty),
    Printed("language-characters", "MemoRAG, code", 1024, LANGUAGE_CHARACTERS),
    # Segment+.
    Printed("segment-plus-segment", "Segment+, section 4.4 and Figure 5", 3000, SEGMENT.segment_tokens),
    Printed("segment-plus-window", "Segment+, section 4.1: a 4k window", 4096, SEGMENT.window_tokens),
    Printed("structure-and-filter", "Segment+, section 3.2", (True, True), (SEGMENT.structured, SEGMENT.filtered)),
    Printed("evidence-is-joined", "Segment+, section 3.2, second step", "concat", SEGMENT.merge_evidence),
    Printed("reasoning-is-shown", "Segment+, section 4.2: evidence alone for BABILong", False, SEGMENT.evidence_only),
    Printed("babilong-tasks", "Segment+, section 4.2: qa1 to qa5", ["qa1", "qa2", "qa3", "qa4", "qa5"], list(TASKS)),
    Printed(
        "babilong-lengths", "Segment+, section 4.2", ["0k", "4k", "8k", "16k", "32k", "64k", "128k"], list(LENGTHS)
    ),
]


@pytest.mark.parametrize("row", PRINTED, ids=lambda row: row.name)
def test_a_value_is_the_printed_one(row: Printed) -> None:
    assert row.here == row.value, row.place


# What the papers leave to the implementation, or what a measurement decided otherwise.


class Ours(NamedTuple):
    """A default that is not the paper's: both values, and the printed one as it shows when it is set."""

    name: str
    place: str
    printed: Any
    ours: Any
    default: Any
    when_set: Callable[[], Any]


SAID = ("The fox ran to the river.", "A bear slept all winter.", "The fox and the bear met.")
SEGMENTS = [Segment("story.txt", number, text, 0, number) for number, text in enumerate(SAID)]


def orders(options: FragRelOptions) -> list[int]:
    """The segments of a story of three sentences in the order of the prompt, for a question about the last one."""
    strategy = FragRel(StrategyContext(), options)
    strategy.remember([Item("story.txt", " ".join(SAID))])
    return [
        each.segment.number for each in strategy.recall(Question("Where did fox and bear meet?"), Budget()).evidence
    ]


def weights_of(**settings: bool) -> list[float]:
    """The weights of the first segment to itself and to the third, rounded."""
    embedder = HashingEmbedder()
    row = SemanticRelation(embedder, **settings).weights(SEGMENTS).row(0)
    cosine = float(np.prod(embedder.embed([SAID[0], SAID[2]]), axis=0).sum())
    return [round(float(row[0]), 6), round(float(row[2]) - cosine, 6), round(float(row[2]) - (1 - cosine), 6)]


def windows_of(kind: str) -> list[tuple[int, int]]:
    starts, ends = Slicing(kind).windows(25)
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def environments(**settings: bool) -> list[float]:
    """Eq. 9 with w_rel 0: printed, j = i is not left out and w_ii is 0^0 = 1."""
    own = np.array([3.0, 0.0, 1.0])
    return environment(ContextRelation(0.0).weights(SEGMENTS), own, **settings).tolist()


OURS = [
    Ours(
        "order-story",
        "FragRel, Eq. 11: by score",
        [2, 1, 0],
        [0, 1, 2],
        orders(FragRelOptions(segment_words=6)),
        lambda: orders(FragRelOptions(segment_words=6, order="rank")),
    ),
    Ours(
        "sign-of-equation-6",
        "FragRel, Eq. 6: 1 - cosine, so that a segment weighs nothing to itself",
        (0.0, 0.0),
        (1.0, 0.0),
        tuple(weights_of()[:2]),
        lambda: tuple(weights_of(literal_distance=True)[::2]),
    ),
    Ours(
        "self-in-equation-9",
        "FragRel, Eq. 9: the sum is over all j",
        [3.0, 0.0, 1.0],
        [0.0, 0.0, 0.0],
        environments(),
        lambda: environments(include_self=True),
    ),
    Ours(
        "independent-score",
        "FragRel, Eq. 4 and section 4.1.1: the cosine of embeddings",
        DenseIndex,
        Bm25Index,
        type(FragRel(StrategyContext())._score(SEGMENTS)._base),
        lambda: type(indexer("dense", StrategyContext())(SEGMENTS)),
    ),
    Ours(
        "windows-of-code",
        "FragRel, appendix B.2: exactly S_w lines",
        [(0, 20), (10, 25)],
        [(0, 10), (0, 20), (10, 25)],
        windows_of("centered"),
        lambda: windows_of("plain"),
    ),
    Ours(
        "ranking-of-code",
        "FragRel, section 4.2",
        "fragrel",
        "weft",
        CODE.strategy,
        lambda: RetrievalOptions(strategy="fragrel").strategy,
    ),
    Ours(
        "chat-of-the-product",
        "FragRel, section 4.3: w_rel 0.8, and always the last turn with the prompt",
        (None, None),
        (8, 150),
        (RETURNING.alone_words, RETURNING.last_words),
        lambda: (PAPER.alone_words, PAPER.last_words),
    ),
    Ours(
        "qrmem-first-share",
        "QRMeM, section 2.2: the segments of the first entities fill the window",
        1.0,
        0.4,
        QRMEM.first_share,
        lambda: QRMeMSettings(first_share=1.0).first_share,
    ),
    Ours(
        "qrmem-segments-of-a-node",
        "QRMeM, section 2.2: all segments of the new entity",
        None,
        1,
        QRMEM.segments_per_update,
        lambda: QRMeMSettings(segments_per_update=None).segments_per_update,
    ),
    Ours(
        "qrmem-penalty",
        "QRMeM, section 2.2: the similarity alone",
        0.0,
        0.05,
        QRMEM.common_penalty,
        lambda: QRMeMSettings(common_penalty=0.0).common_penalty,
    ),
]


@pytest.mark.parametrize("row", OURS, ids=lambda row: row.name)
def test_a_default_that_differs_is_ours_and_the_printed_value_can_be_set(row: Ours) -> None:
    assert row.default == row.ours, row.place
    assert row.when_set() == row.printed, row.place


# No paper prints these; the specification chose them.
CHOSEN = [
    Printed("cut-off", "FragRel, Eq. 8: every path counts, which cut-off 0 gives", 1e-3, relations.CUTOFF),
    Printed("cut-off-of-a-query", "the same, of one query", 1e-3, CODE.cutoff),
    Printed("shift-unasked", "RepoCoder, code: the first round is shifted, which the loop sets", False, CODE.shift),
    Printed("max-updates", "QRMeM, section 3.6: 1 to the number where the curve is flat", 5, QRMEM.max_updates),
    Printed("expansion-rounds", "QRMeM, section 2.2: a predefined threshold", 3, QRMEM.expansion_rounds),
    Printed("questions", "QRMeM, section 2.1: not too many", 8, QRMEM.n_questions),
    Printed("segments-of-a-question", "QRMeM, section 2.1", 3, QRMEM.update_segments),
    Printed("fused-segments", "QRMeM, section 2.1: their original segments", 3, MAX_FUSED_SEGMENTS),
    Printed("same-cosine", "QRMeM, section 2.1: entity disambiguation", 0.85, SAME_COSINE),
    Printed("edges-that-are-near", "QRMeM, section 2.2: sufficiently high similarity", 0.5, MIN_EXPANSION),
    Printed("query-oriented", "QRMeM, section 2.1: entities according to the question", True, QRMEM.query_oriented),
    Printed("draft", "MemoRAG, section 2.3: a staging answer, in the code for LongBench alone", False, MEMORAG.draft),
    Printed("all-segments", "Segment+, section 3.2: each segment; retrieval is optional", None, SEGMENT.n_prefiltered),
    Printed("notes", "Segment+, section 3.2: a batch has a limit", (400, 256), NOTE_AND_ANSWER),
]


@pytest.mark.parametrize("row", CHOSEN, ids=lambda row: row.name)
def test_a_value_that_no_paper_prints_is_the_chosen_one(row: Printed) -> None:
    assert row.here == row.value, row.place


# Values that show in what is done.


def test_windows_of_20_lines_begin_every_10() -> None:
    """FragRel, appendix B.2; RepoCoder, section 3.3: S_w = 20, S_s = 10."""
    text = "".join(f"line {i}\n" for i in range(40))
    sizes = [len(segment.text.splitlines()) for segment in by_lines()(Item("a.py", text))]
    assert sizes == [10, 20, 20, 20], "centered at lines 0, 10, 20 and 30"


def test_a_segment_of_500_words_holds_500_and_a_sentence_more_begins_the_next() -> None:
    """FragRel, section 4.1.1, with LongBench's splitter: sentences until the next one does not fit."""
    sentence = "One of ten words that stand in a row here. "
    first, second = by_words(FRAGREL.segment_words)(Item("story.txt", sentence * 51))
    assert (first.text.count("One"), second.text.count("One")) == (50, 1)


def test_the_temperature_of_a_story_is_0_and_1_can_be_set(scripted_chat: Any) -> None:
    """FragRel, appendix B.1, prints 1.0; here an answer is the same each time."""
    for options, temperature in ((FragRelOptions(), 0.0), (FragRelOptions(temperature=1.0), 1.0)):
        model = scripted_chat([("river", "a fox")])
        strategy = FragRel(StrategyContext(MeteredModel(model)), options)
        strategy.remember([Item("story.txt", " ".join(SAID))])
        strategy.answer(Question("Who ran to the river?"))
        assert [request.temperature for request in model.asked] == [temperature]


def test_ratings_are_whole_numbers_from_1_to_100() -> None:
    """FragRel, Prompt 4."""
    assert (_rating("[[1]]"), _rating("[[100]]")) == (0.01, 1.0)
    for said in ("[[0]]", "[[101]]", "100", "[[7.5]]"):
        with pytest.raises(ValueError):
            _rating(said)


def test_scores_are_numbers_from_0_to_100() -> None:
    """Segment+, appendix B."""
    assert (_score('{"score": 0}'), _score('{"score": 100}')) == (0.0, 1.0)
    for said in ('{"score": -1}', '{"score": 101}'):
        with pytest.raises(ValueError):
            _score(said)


def test_exact_match_and_edit_similarity_by_hand() -> None:
    """RepoCoder, section 3.2: ES is 1 - Lev / max(len); one of four characters differs."""
    assert score_completion("abcd", "  abcd\nmore").exact_match == 1.0
    assert score_completion("abcd", "abxd").edit_similarity == 0.75


def test_f1_and_exact_match_by_hand() -> None:
    """LongBench: two of three words on one side and two of two on the other; contained is not equal."""
    assert metrics.f1("the black cat", "Black cat!") == 1.0
    assert metrics.f1("black cat sleeps", "black cat") == pytest.approx(2 * 2 / 5)
    assert (metrics.em_strict("a black cat sleeps", "black cat"), metrics.em_contains("black cats", "black cat")) == (
        0,
        1,
    )


def test_reasoning_is_merged_into_one_or_two_sentences() -> None:
    """Segment+, appendix C, merge prompt."""
    for template in (segment_prompts.MERGE_REASONING, segment_prompts.MERGE_ALL):
        assert "one or two sentences" in template


def test_a_related_index_takes_the_papers_alpha_unasked() -> None:
    """FragRel, section 4.1.1: alpha 0.5. Two neighbours of one match: 0 + 0.5 * 3.0."""
    index = RelatedIndex(Fixed(SEGMENTS, [0.0, 3.0, 0.0]), ContextRelation(1e-9))
    assert index.scores("").tolist() == pytest.approx([1.5, 3.0, 1.5])
    index = related(lambda segments: Fixed(segments, [0.0, 3.0, 0.0]), ContextRelation(1e-9))(SEGMENTS)
    assert index.scores("").tolist() == pytest.approx([1.5, 3.0, 1.5])


class Fixed:
    """An index with these scores for any question."""

    def __init__(self, segments: Any, scores: list[float]) -> None:
        self.segments, self._scores = segments, np.array(scores)

    def scores(self, question: str) -> Any:
        return self._scores
