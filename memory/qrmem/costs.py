"""Cost estimate of QRMeM (papers' spec 3.3). Calls no model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from string import Template

from ..prompting import with_choices
from ..values import Cost, Question
from . import prompts
from .calls import ANSWER_TOKENS, LIST_TOKENS, SENTENCE_TOKENS
from .entity_resolution import MAX_CANDIDATES
from .graph_builder import MAX_FUSED_SEGMENTS, MAX_NAMES, GraphBuilder
from .navigation import MAX_OFFERED

NAME_TOKENS = 12  # upper bound of a name in a list
RELATION_TOKENS = 8  # lower bound of a relation in a list


def most_prompt_tokens(count: Callable[[str], int]) -> int:
    """Tokens of the longest prompt with segments, without them."""
    forms = (prompts.AS_LETTER, prompts.AS_PHRASE, prompts.AS_SENTENCES)
    return max(_words(prompts.ENOUGH, count), _words(prompts.ANSWER, count) + max(map(count, forms)))


def estimate(builder: GraphBuilder, question: Question, room_tokens: int) -> Cost:
    """The cost of graph, navigation and answer; `room_tokens` is the room for segments in a prompt."""
    if not builder.index.segments:
        return Cost()
    cost = _walking(builder, builder.count_tokens(with_choices(question)), room_tokens)
    return cost if builder.is_built(question.text) else cost + _building(builder, question.text)


def _building(builder: GraphBuilder, question: str) -> Cost:
    settings, segments, count = builder.settings, builder.index.segments, builder.count_tokens
    sizes = [count(segment.text) for segment in segments]
    asked = count(question)
    wanted = [(i, builder.part(question)) for i in range(len(segments))]
    cost, again = Cost(), 0
    if settings.graph_update:
        raised = builder.raised(question)
        if raised is not None:
            wanted += builder.matching(raised)
        else:
            if builder.summary() is None:
                cost += _summing_up(sizes, builder.summary_room, count)
            n = settings.n_questions
            again = n * min(settings.update_segments or len(segments), len(segments))
            # One rejected question can precede each new one.
            known = ANSWER_TOKENS + asked + n * SENTENCE_TOKENS
            cost += _calls(2 * n, _words(prompts.NEW_QUESTION, count) + known, SENTENCE_TOKENS)
            cost += _reading(builder, [max(sizes)] * again, SENTENCE_TOKENS)
    n_read = len(wanted) + again
    unread = [sizes[i] for i, part in wanted if not builder.is_read(segments[i], part)]
    cost += _reading(builder, unread, max([asked, *map(count, builder.raised(question) or [])]))
    cost += _calls(1, _words(prompts.SAME, count) + 2 * MAX_CANDIDATES * NAME_TOKENS, SENTENCE_TOKENS)
    if settings.fuse_relations:
        shown = MAX_FUSED_SEGMENTS * (max(sizes) + SENTENCE_TOKENS)
        # A fused pair has at least two relations.
        most = n_read * LIST_TOKENS // RELATION_TOKENS // 2
        n = most if settings.most_fusions is None else settings.most_fusions
        cost += _calls(n, _words(prompts.FUSED, count) + shown, SENTENCE_TOKENS)
    return cost


def _reading(builder: GraphBuilder, sizes: Sequence[int], asked: int) -> Cost:
    """P1 and P2 for segments of these sizes and a question of `asked` tokens."""
    count = builder.count_tokens
    frames = [_words(prompts.RELATIONS, count) + MAX_NAMES * NAME_TOKENS]
    if builder.settings.open_entity:
        frames.append(_words(prompts.ENTITIES, count) + _words(prompts.FOCUS, count) + asked)
    n = len(sizes)
    return sum((Cost(n, sum(sizes) + n * frame, n * LIST_TOKENS) for frame in frames), Cost())


def _summing_up(sizes: Sequence[int], room: int, count: Callable[[str], int]) -> Cost:
    """P3 for each segment, and P3b in as many rounds as full-length summaries need."""
    n, written = len(sizes), SENTENCE_TOKENS
    cost = Cost(n, sum(sizes) + n * _words(prompts.SUMMARY, count), n * written)
    while n > 1:
        n = ceil(n / max(2, room // (written + 1)))
        cost += _calls(n, _words(prompts.WHOLE_SUMMARY, count) + max(room, 2 * written), ANSWER_TOKENS)
        written = ANSWER_TOKENS
    return cost


def _walking(builder: GraphBuilder, asked: int, room: int) -> Cost:
    settings, segments, count = builder.settings, builder.index.segments, builder.count_tokens
    evidence = min(room, sum(count(segment.text) + NAME_TOKENS for segment in segments))
    cost = _calls(1, _words(prompts.QUESTION_ENTITIES, count) + asked, SENTENCE_TOKENS)
    judged = _calls(settings.max_updates + 1, _words(prompts.ENOUGH, count) + asked + evidence, SENTENCE_TOKENS)
    if settings.navigate and settings.navigation == "expansion":
        cost += _calls(1, _words(prompts.ELABORATED, count) + asked + room, SENTENCE_TOKENS)
    elif settings.navigate:
        cost += judged
        if settings.navigation == "trial":
            offered = 2 * MAX_OFFERED * NAME_TOKENS + SENTENCE_TOKENS
            each = _words(prompts.OTHER_ENTITIES, count) + asked + offered
            cost += _calls(settings.max_updates, each, SENTENCE_TOKENS)
    return cost + _calls(1, most_prompt_tokens(count) + asked + evidence, ANSWER_TOKENS)


def _calls(n: int, tokens_in: int, tokens_out: int) -> Cost:
    return Cost(n, n * tokens_in, n * tokens_out)


def _words(template: Template, count: Callable[[str], int]) -> int:
    return count(template.template)
