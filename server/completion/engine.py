"""A cursor in, a completion out: reuse it, else join what is being written, else retrieve, ask, and show what is
worth it.

Owns the course of a request, and what lives longer than one: the answers that are kept, those that are being written,
and the pace of whoever types. Knows no editor protocol and no file on disk: a request brings one snapshot and one text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain, count

from ...llm import Cancel, CodeModel, CompletionRequest, ModelError, ModelUnreachable, TimeLimit
from ...retrieval import RankedFragment
from ...retrieval.fragments import normalise
from ..config.options import uses_workspace_model
from ..models.budget import new_tokens
from ..workspace.text import Cursor, TextLines
from .cache import CachedCompletion, CompletionCache, CursorContext, Validity
from .candidates import different, further_ways
from .confidence import least_probability
from .debounce import TypingPace, is_promising
from .generations import GRACE_S, Generation, GenerationResult, Generations, Tell
from .iterate import Round, complete_in_rounds
from .model_request import PromptStableFragments, request_for, retrieve_at
from .postprocess import show
from .prefetch import RecentCompletions
from .stopping import stopping_for
from .trace import confidence_detail, fragments_detail, outcome_detail
from .trigger import why_not
from .values import Completion, Request, Source, Written
from .writing import write

CANCELLED = "cancelled"
OUTDATED = "the text changed, or a newer request came"
NOTHING_TO_SAY = "the model had nothing to say"

_ids = count(1)


class Engine:
    """One for a workspace; thread-safe. `busy` is entered while a completion is made; `grace_s` as in `running`."""

    def __init__(
        self, busy: Callable[[], AbstractContextManager[None]] = nullcontext, *, grace_s: float = GRACE_S
    ) -> None:
        self._busy = busy
        self._cache = CompletionCache()
        self._generations = Generations(grace_s)
        self._typing_pace = TypingPace()
        self._stable_fragments = PromptStableFragments()
        self._recent = RecentCompletions()

    def complete(self, request: Request) -> Completion:
        """The completion at the cursor; empty, with the reason, when there is nothing worth showing."""
        reason = why_not(request.cursor, request.syntax, request.trigger, request.config.completion)
        request.trace.step("trigger", f"{request.trigger} request, {'refused' if reason else 'accepted'}")
        completion = _answered(request, request.nothing(reason) if reason else self._answer(request))
        if request.config.completion.prefetch_next:
            self._recent.remember(request, completion)
        return completion

    def complete_in_rounds(self, request: Request, n_rounds: int, on_round: Callable[[Round], None]) -> Completion:
        """What RepoCoder's loop arrives at; nothing of it is kept for other requests."""
        with self._busy():
            return _answered(request, complete_in_rounds(request, n_rounds, on_round))

    def complete_several(self, request: Request, n: int) -> list[Completion]:
        """Up to `n` different completions, the one that `complete` gives first; that one alone when it is empty."""
        first = self.complete(request)
        others = self._others(request, first) if first.text else iter(())
        return different(chain([first], others), n) or [first]

    def edited(self, file: tuple[str, str], lines: TextLines, at_s: float | None = None) -> None:
        """A text changed. An answer that is being written for it goes on only if it may still fit."""
        self._typing_pace.key(file, time.monotonic() if at_s is None else at_s)
        self._generations.edited(file, lines)

    def forget(self) -> None:
        """Models or settings changed: what was written, or is being written, does not count any more."""
        self._generations.end_all()
        self._cache.forget_all()
        self._stable_fragments.forget()

    def read_ahead(self, request: Request, model: CodeModel) -> None:
        """Have `model` read the very prompt that a completion at the cursor would need. Raises ModelError."""
        fragments = self._fragments_for_prompt(request, self._basis(request))
        with TimeLimit(request.cancel, request.config.completion.max_seconds) as limit:
            if not limit.cancelled:
                model.warm(self._asked(request, model, fragments, limit), limit)

    def cursor_after(self, item_id: str) -> Cursor | None:
        """Where the cursor stands when a completion was taken; None for one that is old, or was asked for before."""
        return self._recent.cursor_after(item_id)

    def prefetch(self, request: Request) -> None:
        """Have the first model write for a cursor at which nobody has asked yet, and keep that."""
        if why_not(request.cursor, request.syntax, request.trigger, request.config.completion):
            return
        validity = self._basis(request)
        model = next(request.models.usable(), None)
        if model is None or self._cache.find(request.cursor, validity, request.least_confidence) is not None:
            return
        validity = replace(validity, fragments=self._retrieved(request))
        if not request.cancel.cancelled:
            self._started(request, validity, model).follow("", request.cancel, request.deadline_s)

    def close(self) -> None:
        """End everything that is being written."""
        self._generations.close()

    def _answer(self, request: Request) -> Completion:
        validity = self._basis(request)
        # What has been written is kept before it stops being joinable, so it is looked for in this order.
        joined = self._generations.joinable(request.cursor, request.wanted_single_line)
        if joined is None and (kept := self._kept(request, validity)) is not None:
            return kept
        with self._busy():
            return self._new(request, validity, joined)

    def _kept(self, request: Request, validity: Validity) -> Completion | None:
        """What was written before and holds here; None when nothing does."""
        found = self._cache.find(request.cursor, validity, request.least_confidence, request.wanted_single_line)
        if found is None:
            request.trace.step("cache", "miss")
            return None
        answer, rest = found
        request.trace.step("cache", f"hit: {answer.written.model}, {len(rest.text)} of its characters are left")
        is_same_place = answer.context.offset == request.cursor.offset
        source: Source = "typed-through" if not is_same_place else "speculated" if answer.is_prefetch else "cache"
        completion = self._shown(request, rest, answer.validity, answer.single_line, source)
        if not completion.text and not answer.validity.reads_all:
            return self._from_workspace_model(request, validity, completion)
        return completion

    def _new(self, request: Request, validity: Validity, joined: tuple[Generation, str] | None) -> Completion:
        """From the first model that answers; what it wrote and is not shown leaves it to the workspace model."""
        empty = request.nothing(NOTHING_TO_SAY)
        is_late = False
        for model in request.models.usable():
            if request.cancel.cancelled or request.is_late:
                break
            followed, generation, source = self._followed(request, validity, model, joined)
            if request.cancel.cancelled:
                break
            request.trace.step("model", partial(outcome_detail, model.info.name, followed))
            if followed.is_outdated or generation is None:
                return request.nothing(OUTDATED)
            if followed.error is not None:
                empty, joined = request.nothing(str(followed.error)), None
                continue
            if followed.written is None:
                is_late = True
                request.models.late(generation.model, *request.limit)
                empty = request.nothing(f"{generation.model.info.name} wrote nothing in time")
                break
            completion = self._shown(request, followed.written, generation.validity, generation.single_line, source)
            if completion.text:
                return replace(completion, note=_cut_after(request)) if followed.is_late else completion
            empty = completion
            break
        if request.cancel.cancelled:
            return request.nothing(CANCELLED)
        return self._from_workspace_model(request, validity, empty, keep=not is_late)

    def _followed(
        self, request: Request, validity: Validity, model: CodeModel, joined: tuple[Generation, str] | None
    ) -> tuple[GenerationResult, Generation | None, Source]:
        """What comes of waiting for `model`, or for the answer that the request joins while it agrees with the text."""
        source: Source = "joined"
        while True:
            if joined is None:
                fragments = self._fragments_for_prompt(request, validity)
                self._wait_for_next_key(request, model)
                if request.cancel.cancelled:
                    return GenerationResult(), None, "model"
                source = "model"
                request.trace.step("model", f"calling {model.info.name}, fragments: {len(fragments)}")
                joined = self._started(request, replace(validity, fragments=fragments), model), ""
            else:
                request.trace.step("cache", f"joined the running request of {joined[0].model.info.name}")
            generation, typed = joined
            started = time.monotonic()
            followed = generation.follow(typed, request.cancel, request.deadline_s)
            request.timings_ms["model"] = 1e3 * (time.monotonic() - started)
            if followed != GenerationResult() or request.cancel.cancelled:
                return followed, generation, source
            joined = None

    def _started(self, request: Request, validity: Validity, model: CodeModel) -> Generation:
        """An answer that `model` begins to write for the request, kept when it is done."""
        context = CursorContext.of(request.cursor)

        def write_and_keep(cancel: Cancel, tell: Tell) -> Written:
            started = time.monotonic()
            most_seconds = request.config.completion.max_seconds
            with nullcontext() if request.is_prefetch else self._busy(), TimeLimit(cancel, most_seconds) as limit:
                asked = self._asked(request, model, validity.fragments, limit)
                try:
                    written = write(model, asked, stopping_for(request), limit, tell)
                    if limit.is_reached and not written.text:
                        raise ModelUnreachable(
                            f"{model.info.name} wrote nothing within {most_seconds:g} s. Use a faster model."
                        )
                except ModelError as error:
                    request.models.failed(model, error)
                    raise
            seconds = time.monotonic() - started
            if not request.is_invoked and not request.is_prefetch:
                _tell_time(request, model, seconds, is_given_up=cancel.cancelled)
            if not cancel.cancelled:
                request.models.worked(model)
                self._typing_pace.answered(model.info.name, seconds)
                self._cache.keep(
                    CachedCompletion(context, written, validity, request.single_line, is_prefetch=request.is_prefetch)
                )
            return written

        return self._generations.start(context, model, validity, write_and_keep, single_line=request.single_line)

    def _from_workspace_model(
        self, request: Request, validity: Validity, instead_of: Completion, *, keep: bool = True
    ) -> Completion:
        """From the repository's own model, if there may be one; `instead_of` when that has nothing to say either.

        It takes some milliseconds, and is asked in the request's own thread. It reads the index and no fragments:
        those are for a person who asked, and wants to see what the repository holds.
        """
        if not uses_workspace_model(request.config) or request.cancel.cancelled:
            return instead_of
        least = request.least_confidence
        model = request.snapshot.model.with_threshold(least_probability("workspace", least) if least else 0.0)
        fragments = self._retrieved(request) if request.is_invoked else ()
        started = time.monotonic()
        asked = self._asked(request, model, fragments, request.cancel)
        written = write(model, asked, stopping_for(request), request.cancel)
        request.timings_ms["model"] = 1e3 * (time.monotonic() - started) + request.timings_ms.get("model", 0.0)
        request.trace.step("model", f"{model.info.name} wrote {written.text!r}")
        if request.cancel.cancelled:
            return request.nothing(CANCELLED)
        # Who would be asked first is known better now: a model may have failed just before.
        answering = request.models.answering[0]
        validity = replace(validity, fragments=fragments, answering=answering, least_confidence=least, reads_all=True)
        if keep and (written.text or not instead_of.model):
            self._cache.keep(CachedCompletion(CursorContext.of(request.cursor), written, validity, request.single_line))
        reason = instead_of.why_empty or NOTHING_TO_SAY
        shown = self._shown if keep else _worth_showing
        completion = shown(request, written, validity, request.single_line, "model", reason)
        return completion if completion.text or not instead_of.model else instead_of

    def _others(self, request: Request, first: Completion) -> Iterator[Completion]:
        """What other models write at the cursor, and what all of them do for more lines or fewer."""
        models = list(request.models.usable())
        if uses_workspace_model(request.config):
            models.append(request.snapshot.model.with_threshold(0.0))
        validity = self._basis(request)
        fragments = self._fragments_for_prompt(request, validity)
        for asked, model in further_ways(request, models, first.model):
            if request.cancel.cancelled or request.is_late:
                return
            with self._busy(), TimeLimit(asked.cancel, request.left_s) as limit:
                prompt = self._asked(asked, model, fragments, limit)
                try:
                    written = write(model, prompt, stopping_for(asked), limit)
                except ModelError as error:
                    request.models.failed(model, error)
                    continue
            # What they were shown is the first one's to tell.
            yield _answered(asked, _worth_showing(asked, written, validity, asked.single_line, "model"))

    def _shown(
        self,
        request: Request,
        written: Written,
        validity: Validity,
        single_line: bool,
        source: Source,
        reason: str = NOTHING_TO_SAY,
    ) -> Completion:
        """What is worth showing of `written`; where that is another text, it is kept as well: a part may be taken."""
        completion = _worth_showing(request, written, validity, single_line, source, reason)
        text = normalise(completion.text)
        if text not in ("", written.text) and not written.cut_by_limit:
            self._cache.keep(
                CachedCompletion(CursorContext.of(request.cursor), written, validity, single_line, shown=text)
            )
        return completion

    def _asked(
        self, request: Request, model: CodeModel, fragments: tuple[RankedFragment, ...], cancel: Cancel
    ) -> CompletionRequest:
        options = request.config.completion
        limit = options.max_new_tokens
        return request_for(
            request.snapshot,
            request.cursor,
            request.config,
            fragments,
            model,
            single_line=request.single_line,
            max_new_tokens=limit if request.is_invoked else new_tokens(model.speed, options.target_ms, limit),
            cancel=cancel,
        )

    def _basis(self, request: Request) -> Validity:
        epoch = self._cache.epoch_of(request.cursor.folder, request.snapshot.index.texts)
        return Validity(epoch, request.models.answering[0])

    def _fragments_for_prompt(self, request: Request, validity: Validity) -> tuple[RankedFragment, ...]:
        """What a prompt at the cursor shows: the same as long as the cursor stays on its line."""
        cursor = request.cursor
        fragments = self._stable_fragments.find(cursor, lambda epoch: self._cache.only_own_changed(cursor, epoch))
        if fragments is None:
            fragments = self._retrieved(request)
            self._stable_fragments.keep(cursor, validity.epoch, fragments)
        else:
            request.trace.step("retrieval", f"{len(fragments)} fragments of the last prompt on this line")
        return fragments

    def _retrieved(self, request: Request) -> tuple[RankedFragment, ...]:
        started = time.monotonic()
        retrieved = retrieve_at(request.snapshot, request.cursor, request.config.retrieval)
        request.timings_ms.update(retrieved.timings_ms, retrieval=1e3 * (time.monotonic() - started))
        request.trace.step("retrieval", partial(fragments_detail, retrieved.fragments))
        return retrieved.fragments

    def _wait_for_next_key(self, request: Request, model: CodeModel) -> None:
        """Who types on is not answered for each key. What was done since the key counts towards the wait."""
        longest_s = request.config.completion.debounce_ms / 1e3
        if request.is_invoked or request.is_prefetch or not longest_s:
            return
        cursor, started = request.cursor, time.monotonic()
        until = self._typing_pace.wait_until(
            cursor.file,
            request.arrived_s,
            model.info.name,
            longest_s,
            is_promising=is_promising(cursor.start_of_line, cursor.rest_of_line),
        )
        request.cancel.wait(max(0.0, until - started))
        request.timings_ms["debounce"] = 1e3 * (time.monotonic() - started)
        request.trace.step("debounce", f"waited {request.timings_ms['debounce']:.0f} ms")


def _answered(request: Request, completion: Completion) -> Completion:
    """The answer with its number and the time that it took."""
    request.timings_ms["total"] = 1e3 * (time.monotonic() - request.arrived_s)
    request.trace.step("result", f"shown: {completion.text!r}" if completion.text else f"empty: {completion.why_empty}")
    return replace(completion, id=f"{next(_ids):x}")


def _cut_after(request: Request) -> str:
    seconds, setting = request.limit
    return f"cut after {seconds:g} s ({setting})"


def _tell_time(request: Request, model: CodeModel, seconds: float, *, is_given_up: bool) -> None:
    """For the verdict whether a model is too slow here. One that was ended early, by the next key, says nothing."""
    options = request.config.completion
    if not is_given_up or seconds * 1e3 > min(options.target_ms, options.deadline_ms):
        request.models.took(model, seconds, options.target_ms / 1e3, timed_out=is_given_up)


def _worth_showing(
    request: Request,
    written: Written,
    validity: Validity,
    single_line: bool,
    source: Source,
    reason: str = NOTHING_TO_SAY,
) -> Completion:
    completion = show(
        written,
        request.cursor,
        single_line=single_line,
        fragments=validity.fragments,
        timings_ms=request.timings_ms,
        source=source,
        least_confidence=request.least_confidence,
        invoked=request.is_invoked,
        style=request.style,
        project_style=request.project_style,
        reason=reason,
    )
    if written.text:
        request.trace.step("repair", f"rules: {', '.join(completion.repairs)}" if completion.repairs else "unchanged")
        request.trace.step("confidence", confidence_detail(completion.confidence, request.least_confidence))
    return completion
