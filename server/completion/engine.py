"""Completion engine: trigger rules, running generation, cache, retrieval, debounce, generation, postprocessing.

Owns the order of these steps in a request, and the state that outlives it: the cache, the running generations, the
fragments of the last prompt, and the typing pace. Knows no editor protocol and no file on disk; a request brings one
snapshot and one text.
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
from ..workspace.text import Cursor, FileOfSession, TextLines
from ..workspace.turns import waiting
from .cache import CachedCompletion, CompletionCache, CursorContext, Validity
from .candidates import distinct, index_alternatives
from .confidence import least_probability
from .debounce import TypingPace, is_promising
from .generations import GRACE_S, Generation, GenerationResult, Generations, OnProgress
from .import_names import import_candidates, with_import_names
from .iterate import Round, complete_in_rounds
from .model_request import PromptStableFragments, request_for, retrieve_at
from .place import place_of
from .postprocess import NO_TEXT, postprocess
from .prefetch import RecentCompletions
from .rating import rate
from .stopping import stopping_for
from .trace import confidence_detail, fragments_detail, outcome_detail, workspace_model_detail
from .trigger import refusal_for
from .typed_past import LineRecord, TypedPast
from .values import Completion, Request, Source, Written
from .writing import write

CANCELLED = "cancelled"
SUPERSEDED = "superseded by an edit or a newer request"

_ids = count(1)


class Engine:
    """One for each workspace. Thread-safe. `busy` is entered during generation; `grace_s` as in `generations.py`."""

    def __init__(
        self, busy: Callable[[], AbstractContextManager[None]] = nullcontext, *, grace_s: float = GRACE_S
    ) -> None:
        self._busy = busy
        self._cache = CompletionCache()
        self._generations = Generations(grace_s)
        self._typing_pace = TypingPace()
        self._stable_fragments = PromptStableFragments()
        self._recent = RecentCompletions()
        self._past = TypedPast()

    def complete(self, request: Request) -> Completion:
        """The completion at the cursor; empty, with the reason, if there is none."""
        reason = refusal_for(request.cursor, request.syntax, request.trigger, request.config.completion)
        request.trace.step("trigger", f"{request.trigger} request, {'refused' if reason else 'accepted'}")
        completion = _with_id(request, request.empty_completion(reason) if reason else self._complete(request))
        if request.config.completion.prefetch_next:
            self._recent.add(request, completion)
        return completion

    def complete_in_rounds(self, request: Request, n_rounds: int, on_round: Callable[[Round], None]) -> Completion:
        """The completion by RepoCoder's loop; it is not cached."""
        with self._busy():
            return _with_id(request, complete_in_rounds(request, n_rounds, on_round))

    def complete_several(self, request: Request, n: int, *, generate: bool = True) -> list[Completion]:
        """Up to `n` distinct completions, first the one of `complete`; if that is empty, no others.

        With `generate` False the others take no generation of a neural model.
        """
        first = self.complete(request)
        if not first.text or n == 1:
            return [first]
        found = distinct(chain([first], self._alternatives(request, first, generate=generate)), n)
        if request.config.completion.prefetch_next:
            for other in found[1:]:
                self._recent.add(request, other)
        return found

    def edited(self, file: FileOfSession, lines: TextLines, at_s: float | None = None) -> None:
        """A text changed. Its running generation continues only if it may agree with the edit."""
        self._typing_pace.key_typed(file, time.monotonic() if at_s is None else at_s)
        self._generations.edited(file, lines)

    def reset(self) -> None:
        """Models or settings changed: cancel all generations and clear the caches."""
        self._generations.cancel_all()
        self._cache.clear()
        self._stable_fragments.clear()
        self._past.clear()

    def warm_up(self, request: Request, model: CodeModel) -> None:
        """Prefill `model` with the prompt of a completion at the cursor. Raises ModelError."""
        fragments = self._fragments_for_prompt(request, self._validity(request))
        with TimeLimit(request.cancel, request.config.completion.max_seconds) as limit:
            if not limit.cancelled:
                model.warm(_model_request(request, model, fragments, limit), limit)

    def cursor_after(self, item_id: str) -> Cursor | None:
        """The cursor after a recent completion is accepted; None for an unknown id, and from the second call on."""
        return self._recent.cursor_after(item_id)

    def prefetch(self, request: Request) -> None:
        """Generate and cache a completion for a cursor before it is requested."""
        if refusal_for(request.cursor, request.syntax, request.trigger, request.config.completion):
            return
        validity = self._validity(request)
        model = next(request.models.usable(), None)
        if model is None or self._cache.find(request.cursor, validity, request.min_confidence) is not None:
            return
        validity = replace(validity, fragments=self._retrieve(request))
        if not request.cancel.cancelled:
            self._start_generation(request, validity, model).wait("", request.cancel, request.deadline_s)

    def close(self) -> None:
        """Cancel all generations."""
        self._generations.close()

    def _complete(self, request: Request) -> Completion:
        validity = self._validity(request)
        # In this order: a generation is cached before it stops being joinable, so none is missed in between.
        joined = self._generations.joinable(request.cursor, request.requested_single_line)
        if joined is None and (cached := self._from_cache(request, validity)) is not None:
            return cached
        with self._busy():
            return self._generate(request, validity, joined)

    def _from_cache(self, request: Request, validity: Validity) -> Completion | None:
        """The completion of the valid cache entry, None without one."""
        found = self._cache.find(request.cursor, validity, request.min_confidence, request.requested_single_line)
        if found is None:
            request.trace.step("cache", "miss")
            return None
        entry, rest = found
        if entry.validity.min_confidence < request.min_confidence and not _is_sure(request, rest):
            request.trace.step("cache", "miss: a text by hand, of which another part may be sure enough")
            return None
        request.trace.step("cache", f"hit: {entry.written.model}, {len(rest.text)} of its characters are left")
        is_same_offset = entry.context.offset == request.cursor.offset
        source: Source = "typed-through" if not is_same_offset else "prefetched" if entry.is_prefetch else "cache"
        completion = self._postprocess_and_cache(request, rest, entry.validity, entry.single_line, source)
        if not completion.text and not entry.validity.reads_all:
            return self._from_workspace_model(request, validity, completion)
        return completion

    def _generate(self, request: Request, validity: Validity, joined: tuple[Generation, str] | None) -> Completion:
        """The completion of the first model that responds; of the workspace model if postprocessing leaves no text."""
        empty = request.empty_completion(NO_TEXT)
        max_seconds, setting = request.limit
        is_late = False
        for model in request.models.usable():
            if request.cancel.cancelled or request.is_late:
                break
            result, generation, source = self._await_result(request, validity, model, joined)
            if request.cancel.cancelled:
                break
            request.trace.step("model", partial(outcome_detail, model.info.name, result))
            if result.is_superseded or generation is None:
                return request.empty_completion(SUPERSEDED)
            if result.error is not None:
                empty, joined = request.empty_completion(str(result.error)), None
                continue
            if result.written is None:
                is_late = True
                request.models.late(generation.model, max_seconds, setting)
                name, advice = generation.model.info.name, f"use a faster model, or raise {setting}"
                empty = request.empty_completion(f"{name} wrote nothing in time; {advice} (now {max_seconds:g} s)")
                break
            completion = self._postprocess_and_cache(
                request, result.written, generation.validity, generation.single_line, source
            )
            if completion.text:
                note = f"cut after {max_seconds:g} s ({setting})" if result.is_late else ""
                return replace(completion, note=note)
            empty = completion
            break
        if request.cancel.cancelled:
            return request.empty_completion(CANCELLED)
        return self._from_workspace_model(request, validity, empty, is_cacheable=not is_late)

    def _await_result(
        self, request: Request, validity: Validity, model: CodeModel, joined: tuple[Generation, str] | None
    ) -> tuple[GenerationResult, Generation | None, Source]:
        """Wait for the joined generation; without one, or if it turns out to disagree with the text, for a new one."""
        source: Source = "joined"
        while True:
            if joined is None:
                fragments = self._fragments_for_prompt(request, validity)
                self._debounce(request, model)
                if request.cancel.cancelled:
                    return GenerationResult(), None, "model"
                source = "model"
                request.trace.step("model", f"calling {model.info.name}, fragments: {len(fragments)}")
                joined = self._start_generation(request, replace(validity, fragments=fragments), model), ""
            else:
                request.trace.step("cache", f"joined the running request of {joined[0].model.info.name}")
            generation, typed = joined
            started = time.monotonic()
            with waiting():
                result = generation.wait(typed, request.cancel, request.deadline_s)
            request.timings_ms["model"] = 1e3 * (time.monotonic() - started)
            if result != GenerationResult() or request.cancel.cancelled:
                return result, generation, source
            joined = None

    def _start_generation(self, request: Request, validity: Validity, model: CodeModel) -> Generation:
        """Start a generation for the request; its text is cached when it is complete."""
        context = CursorContext.of(request.cursor)

        def write_and_cache(cancel: Cancel, on_progress: OnProgress) -> Written:
            started = time.monotonic()
            max_seconds = request.config.completion.max_seconds
            with nullcontext() if request.is_prefetch else self._busy(), TimeLimit(cancel, max_seconds) as limit:
                prompt = _model_request(request, model, validity.fragments, limit)
                try:
                    written = write(model, prompt, stopping_for(request), limit, on_progress)
                    if limit.is_reached and not written.text:
                        raise ModelUnreachable(
                            f"{model.info.name} wrote nothing within {max_seconds:g} s. Use a faster model."
                        )
                except ModelError as error:
                    request.models.failed(model, error)
                    raise
            seconds = time.monotonic() - started
            if not request.is_invoked and not request.is_prefetch:
                _report_latency(request, model, seconds, is_aborted=cancel.cancelled)
            if not cancel.cancelled:
                request.models.worked(model)
                self._typing_pace.model_answered(model.info.name, seconds)
                self._cache.put(
                    CachedCompletion(context, written, validity, request.single_line, is_prefetch=request.is_prefetch)
                )
            return written

        return self._generations.start(context, model, validity, write_and_cache, single_line=request.single_line)

    def _from_workspace_model(
        self, request: Request, validity: Validity, fallback: Completion, *, is_cacheable: bool = True
    ) -> Completion:
        """The completion of the workspace model, if it is enabled; `fallback` if that is empty too.

        It takes some milliseconds and runs in the thread of the request. The model reads the index and no fragments;
        they are retrieved only for display with invoked completions.
        """
        if not uses_workspace_model(request.config) or request.cancel.cancelled:
            return fallback
        min_confidence = request.min_confidence
        fragments = self._retrieve(request) if request.is_invoked else ()
        started = time.monotonic()
        written = written_from_index(request, least_probability(min_confidence) if min_confidence else 0.0, fragments)
        request.timings_ms["model"] = 1e3 * (time.monotonic() - started) + request.timings_ms.get("model", 0.0)
        written = rate(request, written, self._line_record(request, written.text))
        if request.cancel.cancelled:
            return request.empty_completion(CANCELLED)
        # Read again: a model may have failed during this request.
        answering = request.models.answering[0]
        validity = replace(
            validity, fragments=fragments, model=answering, min_confidence=min_confidence, reads_all=True
        )
        if is_cacheable and (written.text or not fallback.model):
            is_hidden = not _is_sure(request, written) and not request.is_invoked
            context = CursorContext.of(request.cursor)
            self._cache.put(CachedCompletion(context, written, validity, request.single_line, is_hidden=is_hidden))
        reason = fallback.why_empty or NO_TEXT
        finish = self._postprocess_and_cache if is_cacheable else _postprocess
        completion = finish(request, written, validity, request.single_line, "model", reason)
        return completion if completion.text or not fallback.model else fallback

    def _line_record(self, request: Request, text: str) -> LineRecord:
        """The record of the cursor's line; a prediction while typing is added to it."""
        cursor, place = request.cursor, place_of(request.cursor)
        if request.is_invoked or request.is_prefetch:
            return self._past.record(cursor, place)
        return self._past.predicted(cursor, place, text)

    def _alternatives(self, request: Request, first: Completion, *, generate: bool) -> Iterator[Completion]:
        """Completions by the other models, then from the index, then by all models with the other length.

        With `generate` False the workspace model is the only one.
        """
        models = list(request.models.usable()) if generate else []
        workspace = request.snapshot.model.with_threshold(0.0) if uses_workspace_model(request.config) else None
        if workspace is not None:
            models.append(workspace)
        validity = self._validity(request)
        fragments = self._fragments_for_prompt(request, validity) if generate else ()
        yield from self._further(request, [model for model in models if model.info.name != first.model], fragments)
        if workspace is not None:
            prompt = _model_request(request, workspace, (), request.cancel)
            for written in index_alternatives(request, workspace, prompt, first.text):
                further = replace(request, timings_ms={})
                yield _with_id(further, _postprocess(further, written, validity, True, "model"))
        yield from self._further(replace(request, multi_line=request.single_line), models, fragments)

    def _further(
        self, request: Request, models: list[CodeModel], fragments: tuple[RankedFragment, ...]
    ) -> Iterator[Completion]:
        """The completion of each model."""
        # Without fragments, which the first completion reports.
        validity = self._validity(request)
        for model in models:
            if request.cancel.cancelled or request.is_late:
                return
            further = replace(request, timings_ms={})
            with self._busy(), TimeLimit(request.cancel, request.left_s) as limit:
                prompt = _model_request(further, model, fragments, limit)
                try:
                    written = write(model, prompt, stopping_for(further), limit)
                except ModelError as error:
                    request.models.failed(model, error)
                    continue
            yield _with_id(further, _postprocess(further, written, validity, further.single_line, "model"))

    def _postprocess_and_cache(
        self,
        request: Request,
        written: Written,
        validity: Validity,
        single_line: bool,
        source: Source,
        reason: str = NO_TEXT,
    ) -> Completion:
        """The completion after postprocessing. Text that this changed is cached too, for partial acceptance."""
        completion = _postprocess(request, written, validity, single_line, source, reason)
        text = normalise(completion.text)
        if text not in ("", written.text) and not written.cut_by_limit:
            self._cache.put(
                CachedCompletion(CursorContext.of(request.cursor), written, validity, single_line, displayed=text)
            )
        return completion

    def _validity(self, request: Request) -> Validity:
        epoch = self._cache.epoch_of(request.cursor.folder, request.snapshot.texts)
        return Validity(epoch, request.models.answering[0])

    def _fragments_for_prompt(self, request: Request, validity: Validity) -> tuple[RankedFragment, ...]:
        """The fragments of a prompt at the cursor, unchanged while the cursor stays on its line."""
        cursor = request.cursor
        fragments = self._stable_fragments.find(cursor, lambda epoch: self._cache.others_unchanged(cursor, epoch))
        if fragments is None:
            fragments = self._retrieve(request)
            self._stable_fragments.put(cursor, validity.epoch, fragments)
        else:
            request.trace.step("retrieval", f"{len(fragments)} fragments of the last prompt on this line")
        return fragments

    def _retrieve(self, request: Request) -> tuple[RankedFragment, ...]:
        started = time.monotonic()
        retrieved = retrieve_at(request.snapshot, request.cursor, request.config.retrieval)
        request.timings_ms.update(retrieved.timings_ms, retrieval=1e3 * (time.monotonic() - started))
        request.trace.step("retrieval", partial(fragments_detail, retrieved.fragments))
        return retrieved.fragments

    def _debounce(self, request: Request, model: CodeModel) -> None:
        """Wait for the next key before generation. Time spent since the last key counts towards the wait."""
        max_s = request.config.completion.debounce_ms / 1e3
        if request.is_invoked or request.is_prefetch or not max_s:
            return
        cursor, started = request.cursor, time.monotonic()
        until = self._typing_pace.wait_until(
            cursor.file,
            request.arrived_s,
            model.info.name,
            max_s,
            is_promising=is_promising(cursor.start_of_line, cursor.rest_of_line),
        )
        with waiting():
            request.cancel.wait(max(0.0, until - started))
        request.timings_ms["debounce"] = 1e3 * (time.monotonic() - started)
        request.trace.step("debounce", f"waited {request.timings_ms['debounce']:.0f} ms")


def _model_request(
    request: Request, model: CodeModel, fragments: tuple[RankedFragment, ...], cancel: Cancel
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


def written_from_index(request: Request, threshold: float, fragments: tuple[RankedFragment, ...] = ()) -> Written:
    """The text of the workspace model, as far as its probability is above a threshold; names of import lines exist."""
    model = request.snapshot.model.with_threshold(threshold)
    written = write(
        model, _model_request(request, model, fragments, request.cancel), stopping_for(request), request.cancel
    )
    request.trace.step("model", partial(workspace_model_detail, written))
    candidates = import_candidates(request.snapshot, request.cursor)
    if candidates is not None:
        written = with_import_names(written, candidates)
        request.trace.step("imports", f"likeliest is {candidates.text!r}, completing with {written.text!r}")
    return written


def _is_sure(request: Request, written: Written) -> bool:
    """Whether a text that was rated may be shown without a request by hand; a text not rated yet may."""
    least, _ = request.least_confidence(written.backend)
    return written.confidence is None or (written.confidence >= least and not written.problem)


def _with_id(request: Request, completion: Completion) -> Completion:
    """The completion with its id and its total time."""
    request.timings_ms["total"] = 1e3 * (time.monotonic() - request.arrived_s)
    request.trace.step("result", f"shown: {completion.text!r}" if completion.text else f"empty: {completion.why_empty}")
    return replace(completion, id=f"{next(_ids):x}")


def _report_latency(request: Request, model: CodeModel, seconds: float, *, is_aborted: bool) -> None:
    """Record the time of a generation, to detect slow models. One that the next key aborted early is no measurement."""
    options = request.config.completion
    if not is_aborted or seconds * 1e3 > min(options.target_ms, options.deadline_ms):
        request.models.took(model, seconds, options.target_ms / 1e3, timed_out=is_aborted)


def _postprocess(
    request: Request,
    written: Written,
    validity: Validity,
    single_line: bool,
    source: Source,
    reason: str = NO_TEXT,
) -> Completion:
    if written.confidence is None and source in ("model", "joined"):
        written = rate(request, written)
    min_confidence, setting = request.least_confidence(written.backend)
    completion = postprocess(
        written,
        request.cursor,
        single_line=single_line,
        fragments=validity.fragments,
        timings_ms=request.timings_ms,
        source=source,
        min_confidence=min_confidence,
        min_setting=setting,
        invoked=request.is_invoked,
        style=request.style,
        project_style=request.project_style,
        reason=reason,
    )
    if written.pieces:
        request.trace.step("repair", f"rules: {', '.join(completion.repairs)}" if completion.repairs else "unchanged")
        request.trace.step("confidence", partial(confidence_detail, completion.confidence, min_confidence))
    return completion
