"""Completion prompts, with and without fill-in-the-middle, ordered for prefix caching.

Owns the split of the token budget and the order of fragments; the FIM formats are in `formats`. Pure functions. Knows
no tokenizer but a counting function, no server and no retrieval.

**Prompt-stable order.** A model computes only what follows the common prefix of two prompts. So everything that a
keystroke does not change comes first: fragments, then the code before the cursor. Fragments at the start of the
previous prompt keep their order while they are still wanted; new ones follow, the best next to the code. The code
before the cursor starts at a multiple of sixteen lines, so that its start does not move with every line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from ...languages import language_named
from ..protocol import CompletionRequest, PromptFragment, PromptPart
from ..text import normalise_line_breaks
from .formats import FimTokens

MAX_BLOCKS = 10  # as RepoCoder
BLOCK_SHARE = 0.5  # of the prompt, at most
SUFFIX_SHARE = 0.25  # of what the blocks leave, at most
CUT_STEP_LINES = 16

# Tokens of one text. Prompts are counted in parts, mostly lines, whose counts can be cached. Joined parts never had
# more tokens than separate ones: in 40,000 pieces of code and noise, with SentencePiece and with BPE of four patterns.
CountTokens = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Prompt:
    """The parts of a prompt, and its fragments, in the order of the prompt."""

    parts: tuple[PromptPart, ...]
    fragments: tuple[PromptFragment, ...] = ()

    @property
    def text(self) -> str:
        """The joined parts, for servers that take one text."""
        return "".join(part.text for part in self.parts)


def build_prompt(
    request: CompletionRequest,
    fim: FimTokens | None,
    count_tokens: CountTokens,
    context_tokens: int,
    previous: Sequence[PromptFragment] = (),
) -> Prompt:
    """The prompt for one request. It and `request.max_new_tokens` fit into `context_tokens`.

    Without `fim` the suffix is omitted and fragments are comments (RepoCoder, papers' spec 1.7 and 2.3). With
    repository-level tokens fragments are files of their own; with other FIM tokens they are comments at the start of
    the prefix. `previous` are the fragments of the last prompt, in its order. A request with a prompt keeps it.
    """
    if request.prompt:
        return Prompt(request.prompt)
    budget = max(0, context_tokens - request.max_new_tokens - _frame_tokens(request, fim, count_tokens))
    as_files = fim is not None and fim.repository_level
    write_block = file_block if as_files else partial(comment_block, language=request.language)
    fitted = fit_request(request, count_tokens, budget, write_block, previous, has_suffix=fim is not None)
    prefix, suffix = fitted.prefix, fitted.suffix
    if not as_files:
        prefix = comment_header(fitted.texts, request.language) + prefix
    if fim is None:
        return Prompt((PromptPart(prefix),), fitted.fragments)
    if not as_files:
        return Prompt(_fim_parts(fim, prefix, suffix), fitted.fragments)
    files = [part for text in fitted.texts for part in (PromptPart(fim.file, special=True), PromptPart(text))]
    path = f"{request.path}\n"
    if fim.path_in_prefix:
        code = _fim_parts(fim, path + prefix, suffix)
    else:
        code = (PromptPart(path), *_fim_parts(fim, prefix, suffix))
    return Prompt((*_repository(request, fim), *files, PromptPart(fim.file, special=True), *code), fitted.fragments)


@dataclass(frozen=True, slots=True)
class FittedRequest:
    """The part of a request that fits into a prompt."""

    fragments: tuple[PromptFragment, ...]  # in prompt order
    texts: list[str]  # of the fragments
    prefix: str
    suffix: str


def fit_request(
    request: CompletionRequest,
    count_tokens: CountTokens,
    budget: int,
    write_block: Callable[[PromptFragment], str],
    previous: Sequence[PromptFragment],
    *,
    has_suffix: bool = True,
) -> FittedRequest:
    """Divide `budget` tokens between fragments, the suffix and the prefix.

    `previous` are the fragments of the last prompt, in its order.
    """
    blocks = choose_blocks(
        request.fragments, lambda fragment: count_tokens(write_block(fragment)), int(budget * BLOCK_SHARE)
    )
    blocks = stable_order(blocks, previous)
    texts = list(map(write_block, blocks))
    left, suffix = budget - sum(map(count_tokens, texts)), ""
    if has_suffix:
        suffix = fit_suffix(normalise_line_breaks(request.suffix), count_tokens, int(left * SUFFIX_SHARE))
    prefix = fit_prefix(normalise_line_breaks(request.prefix), count_tokens, left - count_tokens(suffix))
    return FittedRequest(blocks, texts, prefix, suffix)


def choose_blocks(
    fragments: Iterable[PromptFragment], cost: Callable[[PromptFragment], int], budget: int
) -> tuple[PromptFragment, ...]:
    """The best fragments that fit, best first; skips those that are too long."""
    chosen: list[PromptFragment] = []
    for fragment in fragments:
        if len(chosen) == MAX_BLOCKS:
            break
        tokens = cost(fragment)
        if tokens <= budget:
            chosen.append(fragment)
            budget -= tokens
    return tuple(chosen)


def stable_order(chosen: Sequence[PromptFragment], previous: Sequence[PromptFragment]) -> tuple[PromptFragment, ...]:
    """`chosen` (best first) in prompt order: those at the start of the previous prompt, then the others, best last."""
    wanted = {(fragment.paths[:1], fragment.text): fragment for fragment in chosen}
    kept_keys = list(takewhile(wanted.__contains__, ((old.paths[:1], old.text) for old in previous)))
    kept = [wanted.pop(key) for key in kept_keys]
    return (*kept, *reversed(wanted.values()))


def comment_header(blocks: Sequence[str], language: str) -> str:
    """The blocks under their heading, with an empty line before the code; empty without blocks."""
    return _heading(language) + "".join(blocks) + "\n" if blocks else ""


def comment_block(fragment: PromptFragment, language: str) -> str:
    """One fragment as a block of comment lines in the format of RepoCoder, with all its paths."""
    lines = normalise_line_breaks(fragment.text).removesuffix("\n").split("\n")
    where = "the below code fragment can be found in:"
    return _comment(language, where, *fragment.paths, _RULE, *lines, _RULE)


def file_block(fragment: PromptFragment) -> str:
    """One fragment as a file of its own, under its first path."""
    return f"{fragment.paths[0]}\n{normalise_line_breaks(fragment.text).removesuffix(chr(10))}\n"


def fit_prefix(prefix: str, count_tokens: CountTokens, budget: int) -> str:
    """The end of `prefix` that fits, in whole lines from a multiple of sixteen on; or the end of a long line."""
    lines = prefix.split("\n")
    first, left = len(lines), budget
    while first and (left := left - count_tokens(lines[first - 1] + "\n")) >= 0:
        first -= 1
    if first == len(lines):
        end = lines[-1][-budget * _LONGEST_TOKEN :] if budget else ""
        while count_tokens(end) > budget:
            end = end[(len(end) + 1) // 2 :]
        return end
    step = -(-first // CUT_STEP_LINES) * CUT_STEP_LINES
    leaves_half = 2 * (len(lines) - step) >= len(lines) - first
    return "\n".join(lines[step if leaves_half else first :])


def fit_suffix(suffix: str, count_tokens: CountTokens, budget: int) -> str:
    """The beginning of `suffix` that fits, in whole lines."""
    kept: list[str] = []
    for line in suffix.split("\n"):
        budget -= count_tokens(line + "\n")
        if budget < 0:
            break
        kept.append(line)
    return "\n".join(kept)


_RULE = "-" * 50
_LONGEST_TOKEN = 16  # characters a token, more than any code has on average


def _heading(language: str) -> str:
    return _comment(language, "Here are some relevant code fragments from other files of the repo:", _RULE)


def _comment(language: str, *lines: str) -> str:
    opening, closing = language_named(language).comment
    return "".join(f"{opening}{line}{closing}\n" for line in lines)


def _repository(request: CompletionRequest, fim: FimTokens) -> tuple[PromptPart, ...]:
    if not (fim.repository and request.repository):
        return ()
    return PromptPart(fim.repository, special=True), PromptPart(request.repository + fim.after_repository)


def _fim_parts(fim: FimTokens, prefix: str, suffix: str) -> tuple[PromptPart, ...]:
    before = (PromptPart(fim.prefix, special=True), PromptPart(fim.opening + prefix if prefix else ""))
    behind = (PromptPart(fim.suffix, special=True), PromptPart(suffix))
    middle = (PromptPart(fim.middle, special=True),) if fim.middle else ()
    return (*behind, *before, *middle) if fim.suffix_first else (*before, *behind, *middle)


def _frame_tokens(request: CompletionRequest, fim: FimTokens | None, count_tokens: CountTokens) -> int:
    """Upper estimate of the tokens of a prompt without fragments and code."""
    # Counted separately: joined texts have at most as many tokens.
    texts = [_heading(request.language), "\n"]
    if fim is None:
        return sum(map(count_tokens, texts))
    texts += [f"{request.repository}\n", f"{request.path}\n", fim.opening]
    return sum(map(count_tokens, texts)) + len(fim.all) + MAX_BLOCKS
