"""Redaction of secrets in text: private keys, tokens of known formats, values of secret-like names.

Only the secret is replaced, and the number of lines stays the same. Redaction is deterministic, so that the prefix
cache of a server still hits. Text is processed in blocks of lines, each with some lines of context before it, and the
result of each block is cached: a keystroke changes one block.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from .assignments import LINES_BELOW, secrets_in

REDACTED = "[redacted]"

BLOCK_LINES = 32
SHORTEST_TOKEN, SHORTEST_LETTERS = 15, 30  # minimum length of a token of a known format, and of one without digits
_RUN = re.compile(r"[A-Za-z0-9_+/=-]{15,}")
_DIGIT = re.compile(r"[0-9]")

CACHED_BLOCKS = 4096


def redact(text: str) -> str:
    """`text` with every secret in it replaced by `REDACTED`. The number of lines stays the same."""
    if "PRIVATE KEY" in text:
        for pattern in _KEY_BLOCKS:
            text = pattern.sub(_blank_lines, text)
    text = _KEY_MIDDLE.sub(_blank_all, text)
    lines = text.split("\n")
    if len(lines) <= BLOCK_LINES:
        return _redact_block(text, 0)
    blocks = []
    for start in range(0, len(lines), BLOCK_LINES):
        first = max(0, start - LINES_BELOW)
        blocks.append(_redact_block("\n".join(lines[first : start + BLOCK_LINES]), start - first))
    return "\n".join(blocks)


@lru_cache(maxsize=CACHED_BLOCKS)
def _redact_block(text: str, n_before: int) -> str:
    """Redact some lines; the first `n_before` are context and are left out of the result."""
    lines = text.split("\n")
    _redact_tokens(lines)
    for number, spans in secrets_in(lines).items():
        line = lines[number]
        for start, end in reversed(spans):
            line = line[:start] + REDACTED + line[end:]
        lines[number] = line
    return "\n".join(lines[n_before:])


def _redact_tokens(lines: list[str]) -> None:
    """Replace tokens of known formats. Reads only lines with a run of characters of the minimum length."""
    with_run = [number for number, line in enumerate(lines) if len(line) >= SHORTEST_TOKEN and _has_run(line)]
    if not with_run:
        return
    text = _TOKENS.sub(REDACTED, "\n".join(lines[number] for number in with_run))
    lower = text.lower()
    for rule in _rules():
        if any(word in lower for word in rule.words):
            text = rule.pattern.sub(rule.replaced, text)
    for number, line in zip(with_run, text.split("\n"), strict=True):
        lines[number] = line


def _has_run(line: str) -> bool:
    return any(
        _DIGIT.search(run) or (len(run) >= SHORTEST_LETTERS and run.strip("-=_/+")) for run in _RUN.findall(line)
    )


class _Rule(NamedTuple):
    words: tuple[str, ...]
    entropy: float
    pattern: re.Pattern[str]

    def replaced(self, found: re.Match[str]) -> str:
        """The match with its secret replaced: the first matching group, else all but spaces and quotes."""
        group = next((number for number, text in enumerate(found.groups(), 1) if text), 0)
        whole, (start, end) = found[0], found.span(group)
        secret = found[group]
        stripped = secret.strip(" \t\r\n\"'`=:;,")
        start, end = start + secret.find(stripped), start + secret.find(stripped) + len(stripped)
        if "\n" in stripped or entropy(stripped) < self.entropy or stripped in (REDACTED, ""):
            return whole
        return whole[: start - found.start()] + REDACTED + whole[end - found.start() :]


@lru_cache(maxsize=1)
def _rules() -> tuple[_Rule, ...]:
    """The rules of gitleaks and detect-secrets, from `patterns.json`."""
    data = json.loads(Path(__file__).with_name("patterns.json").read_text(encoding="utf-8"))
    return tuple(
        _Rule(tuple(rule["words"]) or ("",), rule["entropy"], re.compile(rule["pattern"], re.MULTILINE))
        for rule in data["rules"]
    )


def entropy(text: str) -> float:
    """Shannon entropy in bits per character."""
    total = len(text)
    return -sum(n / total * math.log2(n / total) for n in Counter(text).values()) if total else 0.0


# Only the lines of a key: code that mentions the markers stays unchanged. A block of lines may contain only the head,
# the middle or the tail of a key.
_KEY_LINE = (
    r"""[ \t"'`#*/+.(]{0,40}(?:[A-Za-z0-9+/=]{8,200}|[A-Za-z-]{3,20}:[ ][^\r\n"']{1,80})?[ \t"'`\\nr+.,;)]{0,12}\r?"""
)
_ESCAPED = r"(?:(?:\\+[nr])+[A-Za-z0-9+/=]{8,})+(?:\\+[nr])*"
_KEY_BLOCKS = (
    re.compile(
        rf"(?<=-----BEGIN )(?P<kind>[A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----)"
        rf"(?P<body>(?:{_ESCAPED}|[A-Za-z0-9+/= ]{{16,}})|[^\r\n]{{0,8}}\r?(?:\n(?!-----){_KEY_LINE}$)+)",
        re.MULTILINE,
    ),
    re.compile(
        r"(?P<kind>)(?P<body>(?:^[ \t\"'#*/]*[A-Za-z0-9+/=]{16,100}[ \t\"'\\n+,]*\r?\n)+)"
        r"(?=[ \t\"'#*/]*-----END [A-Z0-9 ]{0,40}PRIVATE KEY)",
        re.MULTILINE,
    ),
)
_KEY_MIDDLE = re.compile(
    r"""(?:^[ \t"'#*]{0,20}[A-Za-z0-9+/]{64,76}[ \t"'\\n+,]{0,6}\r?\n){2,}[ \t"'#*]{0,20}[A-Za-z0-9+/]{64,76}""",
    re.MULTILINE,
)


def _blank_all(found: re.Match[str]) -> str:
    return re.sub(r"[^\r\n]+", REDACTED, found[0]) if any(map(str.isdigit, found[0])) else found[0]


def _blank_lines(found: re.Match[str]) -> str:
    return found["kind"] + re.sub(r"[^\r\n]+", REDACTED, found["body"])


# Formats that the rule sets lack, or restrict to another length or to the name of the service.
_TOKENS = re.compile(
    r"""(?<![A-Za-z0-9_])(?:
      (?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ANVA|ABIA|ACCA)[A-Z2-7]{16}    # AWS access keys
    | gh[pousr]_[A-Za-z0-9]{36,255} | github_pat_[A-Za-z0-9_]{30,255} # GitHub
    | gl(?:pat|ptt|dt|rt|cbt|soat)-[A-Za-z0-9_-]{20,100}              # GitLab
    | xox[abeoprs]-[A-Za-z0-9-]{10,250} | xapp-\d-[A-Za-z0-9-]{20,250}# Slack
    | https://hooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{16,}
    | AIza[0-9A-Za-z_-]{35} | GOCSPX-[0-9A-Za-z_-]{28}                # Google
    | [rs]k_(?:live|test|prod)_[0-9a-zA-Z]{16,250} | whsec_[A-Za-z0-9+/=]{24,100}  # Stripe
    | sk-(?:proj|svcacct|admin|or-v1|ant-[a-z]+[0-9]*)-[A-Za-z0-9_-]{24,250}       # model providers
    | sk-[A-Za-z0-9]{48}
    | (?:gsk|xai|pplx|r8|nvapi|lin_api|lin_oauth|phc|phx|figd|dckr_pat|glsa|glc)[_-][A-Za-z0-9_-]{32,200}
    | hf_[A-Za-z0-9]{34} | npm_[A-Za-z0-9]{36} | pypi-AgE[A-Za-z0-9_-]{50,500}
    | SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64} | do[por]_v1_[a-f0-9]{64}     # SendGrid, DigitalOcean
    | \d{8,10}:AA[A-Za-z0-9_-]{32,36}                                 # Telegram
    | [A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}                     # Azure AD
    | (?:key|pubkey)-[0-9a-f]{32} | dapi[0-9a-f]{32} | SK[0-9a-f]{32} # Mailgun, Databricks, Twilio
    | hv[sbr]\.[A-Za-z0-9_-]{24,300} | [MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27,40}   # Vault, Discord
    | eyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}(?:\.[A-Za-z0-9_-]{10,1000})?   # JSON web tokens
    )(?![A-Za-z0-9_])""",
    re.VERBOSE,
)
