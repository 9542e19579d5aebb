"""Detection of random tokens by character bigrams: the share of adjacent characters that words do not have.

A token of code consists of words, with common letter bigrams. A generated token has arbitrary bigrams, and digits
between its letters. In one half of Python's standard library, 46 of 74,837 tokens of letters have a share of 0.4 or
more; of random tokens of 24 letters and digits, 93 of 100.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

# 96 % of the bigrams in the words of the other half of that library: a first letter, then its second letters.
_COMMON = frozenset(
    row[0] + second
    for row in (
        *("abcdfgiklmnprstuvwxy", "babceijlorsuy", "cacdefhiklmorstuy", "dabcdefgilnoprstu"),
        *("eabcdefghilmnopqrstuvwxy", "facdefgilorstuy", "gaeghilnorstu", "haeiortu", "iabcdefglmnoprstvxz"),
        *("je", "kaeils", "lacdefilnopstuy", "mabdeilmopstuy", "nabcdefgiklmnoprstuvy"),
        *("oabcdefgiklmnoprstuvwx", "pacdehiloprstuy", "qu", "rabcdefgiklmnoprstuvwy", "sacdefhiklmnoprstuwy"),
        *("tabcdefhilmnoprstuvwy", "uabcdefgilmnoprst", "vaeio", "waehinors", "xacefimptxy", "yceimnpsty", "zaeiz"),
    )
    for second in row[1:]
) | frozenset("aa")

_HEX = re.compile(r"(?:0x)?(?:[0-9a-f]{16,}|[0-9A-F]{16,})")
_WORDS = re.compile(r"[a-z]{4,}|[A-Z][a-z]{3,}|[A-Z]{5,}")
UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

# Fitted on the first half of the canaries and on code of no campaign.
SHORT, LONG, MAX_WORD = 12, 24, 16
MIN_SHORT, MIN_MIDDLE, MIN_LONG = 0.4, 0.33, 0.3


@lru_cache(maxsize=4096)
def unlikely(token: str) -> float:
    """The share of adjacent characters that are no bigram of words, 0 to 1."""
    lower, n = token.lower(), 0
    for first, second in pairwise(lower):
        if first.isalpha():
            if second.isalpha():
                n += (first + second) not in _COMMON and ord(second) - ord(first) not in (0, 1, -1)
            else:
                n += second.isdigit()
        elif first.isdigit():
            n += second.isalpha()
    return n / max(1, len(token) - 1)


@lru_cache(maxsize=4096)
def looks_random(token: str, ease: float = 0.0) -> bool:
    """Whether `token` is generated rather than written by a person. `ease` lowers the threshold in a secret context."""
    n = len(token)
    if n < 8 or len(set(token)) < min(6, n) or not any(map(str.isalpha, token)):
        return False
    n_digits = sum(map(str.isdigit, token))
    if _HEX.fullmatch(token):
        return 3 <= n_digits < n - 2 and len(set(token)) >= 8
    if n_digits == 0 and (n < MAX_WORD or token.islower() or token.isupper() or not token.isalpha()):
        return False
    if n_digits > 0.8 * n or sum(map(len, _WORDS.findall(token))) > 0.6 * n:
        return False
    threshold = MIN_SHORT if n < SHORT else MIN_MIDDLE if n < LONG else MIN_LONG
    return unlikely(token) >= threshold - ease
