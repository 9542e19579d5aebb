"""Detection of secrets by the names of their values, in any syntax, line by line.

Owns which names are secret-like, where the value of a name is, and which values are secrets. Three rules, most certain
first: a value right after its name (`password: hunter2`, `apiKey: string = "…"`, `getenv("TOKEN", "…")`), a value on
the lines below (`key: |`, `SECRET = (`), and any random token on a line that mentions secrets. Each rule takes linear
time. Knows no file names and no token formats.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from .randomness import UUID, looks_random, unlikely
from .words import word_set, words_of

Span = tuple[int, int]

# What a name implies: nothing, that random values are secrets, or that invented ones are too.
NONE, KEY, PASSWORD = 0, 1, 2
LINES_BELOW = 6  # maximum distance of a value below its name

# Lines without any of these are skipped. One search over the whole text finds them, which is fast.
_STEMS = (
    *("pass", "pwd", "secret", "token", "key", "cred", "auth", "bearer", "private", "login", "identified by", "pw"),
    *("cookie", "hook", "signature", "sig=", "connect", "pdo", "cipher", "dsn", "mysql", "curl", "redis-cli", "/user:"),
    "securestring",
)

_STRONG_CONTEXT = re.compile(
    r"passw|passp|passc|pwd|secret|token|api[ _-]?key|credential|creds|authori[sz]ation|basic_?auth|auth[_-]?key"
    r"|\bauth\b|bearer|private[ _-]?key|login\b|[_-]pass\b|\bpass\b|_pw\b|\bpw\b|access[ _-]?key|session|cookie"
    r"|identified by|securestring"
    r"|(?:encryption|signing|master|account|storage|shared|licen[cs]e)[ _-]?key",
    re.IGNORECASE,
)

# A name may contain dots and dashes, and a space only in fixed phrases such as `api key`.
_NAME = re.compile(
    r"(?:[Aa]pi|API|[Aa]ccess|ACCESS|[Ss]ecret|SECRET|[Pp]rivate|[Ss]igning|[Ll]icen[cs]e|[Aa]uth)[ ]"
    r"(?:[Kk]ey|KEY|[Tt]oken)"
    r"|[Ii]dentified [Bb]y|IDENTIFIED BY|[A-Za-z$_][\w$]*(?:[.-][\w$]+)*"
)

_PASSWORD_WORDS = word_set(
    "password passwords passwd passphrase passcode pwd pass pw passwort contrasena psw pswd userpass by"
)
_KEY_WORDS = word_set(
    """secret secrets token tokens credential credentials creds apikey apitoken authkey authtoken accesskey accesstoken
    secretkey privatekey pat bearer auth authorization jwt apisecret clientsecret"""
)
_KEY_KINDS = word_set(
    """api access secret private auth encryption encrypt signing sign master account storage shared client service
    license licence hmac jwt session app application admin deploy deployment consumer subscription function functions
    crypto cipher aes des webhook user write read ingest integration security registration enrollment server rest"""
)
_GLUED = re.compile(r"(?P<password>pass(?:word|wd|phrase)|pwd)$|(?:secret|token|apikey|secretkey|accesskey|authkey)$")
_NEUTRAL = word_set(
    """value val default string str text raw plain base b64 base64 prod production dev development test testing staging
    stage local old new current live env main primary secondary backup data bytes literal const v1 v2"""
)
_PUBLIC = word_set("public csrf xsrf next page pagination continuation sync cancellation cancel lexer syntax")

_COMMON_PASSWORDS = word_set(
    """changeme changeit letmein qwerty admin root secret welcome default guest postgres mysql toor test password
    passw0rd hunter superman batman monkey dragon iloveyou master trustno sunshine princess football baseball shadow
    vagrant administrator abcdef qwertyuiop asdfgh zxcvbn oracle redis rabbitmq guestguest minioadmin"""
)

# The end of a name, a type, and the separator between a name and its value.
_AFTER = re.compile(
    r"""(?P<closing>\\?["'`]?[\])*_]{0,3}["'`]?)
    (?P<type>(?<!["'`])\s{0,3}(?::(?!=)|\s|\[\])\s{0,3}[A-Za-z&'\[][\w\[\]<>|.&'?*: ]{0,50}(?==(?![=>])))?
    \s{0,40}
    (?P<sep>=>|:=|:-|\?\?=|\|\|=|\|\||\?\?|\?:|===?|!==?|=|:|<-|->|,|\(|>|\bor\b|\bis\b|\bTO\b|)
    \*{0,2}\s{0,40}
    (?P<wrap>(?:new\s)?[\w.:<>\[\]&!]{0,30}\(\s?|<\w{1,20}>\s?|)
    (?P<prefix>[bBrRuUfFLN@$]{0,2})
    (?P<quote>\"{3}|'{3}|\\?["'`]|)""",
    re.VERBOSE,
)
_QUOTED = {
    mark: re.compile(rf"(?:(?!{re.escape(mark)}).){{1,400}}", re.DOTALL)
    for mark in ('"""', "'''", '"', "'", "`", '\\"', "\\'", "\\`")
}
_BEFORE_UNQUOTED = frozenset((":", "=", ":=", ":-", "=>", "<-", "==", "===", "!=", "!=="))
_UNQUOTED = re.compile(r"""[^\s"'`,;(){}\[\]<>|&\\]{4,400}(?P<end>$|(?=[\s,;&"'`<}|\\)]))""")

_PLACEHOLDER = re.compile(
    r"[<>{}]|\$\(|\$\w|%\(|%[sd]|\*{3}|x{4}|X{4}|\.{3}|…|[Ee]xample|EXAMPLE|(?i:placeholder|redacted|your[_-]|my[_-]|"
    r"insert|dummy|todo|fixme)|__\w+__"
)
_CODE_VALUE = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->)[A-Za-z_$][\w$]*)*")
_WORDY = re.compile(r"[A-Za-z]+(?:[ _.:/-]+[A-Za-z]+)*[?!.:]?")

# Random tokens of any syntax, on a line that mentions secrets.
_TOKEN = re.compile(r"[A-Za-z0-9_+/.~^!*$%-]{8,}={0,2}")
_QUOTED_TOKEN = re.compile(r"""(?<=["'`])[A-Za-z0-9_+/.~^!*$%#@&?=:;-]{8,400}(?=["'`])""")

_URL = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]{1,30}://(?P<user>[^\s:/@'\"{}<>$%\\]{0,100})(?P<password>:[^\s/@'\"{}<>\\]{1,200})?@"
)
_QUERY = re.compile(
    r"[?&;](?P<name>[\w.-]{0,40}(?:token|key|secret|sig|signature|password|passwd|pwd|auth|code|credential)"
    r"[\w.-]{0,10})="
    r"(?P<value>[^\s&;\"'`<>{}$]{6,400})",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"\b(?:Bearer|Basic|Token|Digest|ApiKey|Negotiate)[ :]{1,3}(?P<value>[A-Za-z0-9_+/.~=-]{8,2000})", re.I
)
_COMMAND = re.compile(
    r"(?:mysql\w*|mariadb\w*)\b[^|;\n]{0,200}?\s-p(?P<a>[^\s=;|\"'$-][^\s;|\"'$]{3,100})"
    r"|\bcurl\b[^|;\n]{0,300}?\s(?:-u|--user|-U|--proxy-user)[ =]?['\"]?(?:[^\s:'\"$]{1,100}):(?P<b>[^\s'\"$]{3,200})"
    r"|\bredis-cli\b[^|;\n]{0,200}?\s-a\s+['\"]?(?P<c>[^\s'\"$]{4,200})"
    r"|\bsshpass\s+-p\s*['\"]?(?P<d>[^\s'\"$]{3,200})"
    r"|\blogin\b[^|;\n]{0,200}?\s-p[ =]?['\"]?(?P<e>[^\s'\"$-][^\s'\"$]{5,200})"
    r"|\bmachine\s+\S{1,100}\s+login\s+\S{1,100}\s+password\s+(?P<f>[^\s'\"$]{3,200})"
    r"|\s/user:\S{1,60}\s+(?P<g>[^\s/'\"$][^\s'\"$]{3,100})"
    r"|\s--?(?:password|passwd|pass|token|secret|api-key|access-token|auth-token)[ =]['\"]?"
    r"(?P<h>[^\s'\"$<>\[{-][^\s'\"$]{3,400})"
)

# Values below a name: the end of the name's line, and a line that is only a value.
_OPENS = re.compile(r"""(?:[:=({]|=>|[|>][+-]?\d?|\\|\"{3}|'{3}|`)\s*(?:\#.*|//.*)?\s*$""")
_LONE = re.compile(
    r"""\s*(?:-\s+)?(?P<keyed>["']?(?:value|default|content|data|string|stringValue|secret)["']?\s*[:=]\s*)?
    [bru]{0,2}(?P<quote>\"{3}|'{3}|["'`]|)(?P<value>[^\s"'`]{4,400})(?:\"{3}|'{3}|["'`]|)[\s,;)\\]*(?:\#.*|//.*)?\s*$""",
    re.VERBOSE,
)


_NUMBER = re.compile(r"[ ]{0,6}\d{1,7}\| ?")
# Minimum length of a random token that counts as a secret without context, because the line before it is missing.
SHORTEST_LONE = 20


class Below(NamedTuple):
    """A name whose value may be on the next lines."""

    level: int
    n_lines: int
    indent: int
    is_keyed: bool  # the value has its own key there: `value`, `default`


def secrets_in(lines: Sequence[str]) -> dict[int, list[Span]]:
    """The spans of secrets by line number, sorted and disjoint."""
    found: dict[int, list[Span]] = {}
    in_context, with_address = _lines_to_read(lines)
    for number in with_address:
        if spans := list(_in_urls(lines[number])):
            found[number] = spans
    for number in sorted(in_context):
        line = lines[number]
        found.setdefault(number, []).extend(_in_line(line))
        at = _end_of_number(line)
        if line[at:].lstrip().startswith("|"):
            for row in _table_below(lines, number):
                found.setdefault(row, []).extend(_random_tokens(lines[row]))
        elif (below := _opened(line[at:])) is not None:
            for row in range(number + 1, min(len(lines), number + 1 + below.n_lines)):
                at = _end_of_number(lines[row])
                text = lines[row][at:]
                if text.strip() and len(text) - len(text.lstrip()) < below.indent:
                    break
                found.setdefault(row, []).extend((at + start, at + end) for start, end in _below(text, below))
    for number in _starts_of_windows(lines):
        at = _end_of_number(lines[number])
        lone = _LONE.match(lines[number], at)
        if lone is not None and len(lone["value"]) >= SHORTEST_LONE and looks_random(lone["value"]):
            found.setdefault(number, []).append(lone.span("value"))
    return {number: _merged(spans) for number, spans in found.items() if spans}


def _lines_to_read(lines: Sequence[str]) -> tuple[set[int], list[int]]:
    """The numbers of lines that may mention secrets, and of lines with a URL that contains a user."""
    text = "\n".join(lines)
    lower = text.lower()
    if len(lower) != len(text):  # a few letters become two in lower case, which shifts positions
        return set(range(len(lines))), list(range(len(lines)))
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def holding(stem: str) -> Iterator[int]:
        at = lower.find(stem)
        while at >= 0:
            number = bisect_right(starts, at) - 1
            yield number
            at = lower.find(stem, starts[number + 1])

    in_context = {number for stem in _STEMS for number in holding(stem)}
    return in_context, [number for number in holding("://") if "@" in lines[number]]


def _end_of_number(line: str) -> int:
    """The start of the text in a line with a line number (`12| x = 1`), as prompts show it; else 0."""
    found = _NUMBER.match(line)
    return found.end() if found else 0


def _starts_of_windows(lines: Sequence[str]) -> Iterator[int]:
    """The lines whose name may be on a missing line: the first one, and the first of each excerpt."""
    yield 0
    is_numbered = False
    for number, line in enumerate(lines):
        was_numbered, is_numbered = is_numbered, _NUMBER.match(line) is not None
        if number and is_numbered and not was_numbered:
            yield number


def _table_below(lines: Sequence[str], number: int) -> Iterator[int]:
    """The following rows of a Markdown table."""
    for row in range(number + 1, min(len(lines), number + 1 + LINES_BELOW)):
        if not lines[row][_end_of_number(lines[row]) :].lstrip().startswith("|"):
            return
        yield row


def _in_line(line: str) -> Iterator[Span]:
    for found in _NAME.finditer(line):
        level = level_of(found[0])
        if level and (span := _behind(line, found.end(), level, line[: found.start()])) is not None:
            yield span
    for pattern in (_QUERY, _HEADER):
        for found in pattern.finditer(line):
            if looks_random(found["value"], 0.15) or UUID.fullmatch(found["value"]):
                yield found.span("value")
    for found in _COMMAND.finditer(line):
        group = found.lastgroup
        if group is not None and not _PLACEHOLDER.search(found[group]) and not found[group].isalpha():
            yield found.span(group)
    yield from _random_tokens(line)


def _random_tokens(line: str) -> Iterator[Span]:
    ease = 0.08 if _STRONG_CONTEXT.search(line) else -0.07
    for found in _TOKEN.finditer(line):
        if looks_random(found[0], ease) and not UUID.fullmatch(found[0]) and not _PLACEHOLDER.search(found[0]):
            yield found.span()
    for found in _QUOTED_TOKEN.finditer(line):
        text = found[0]
        if any(map(str.isdigit, text)) and looks_random(text, ease) and not _is_address(text):
            yield found.span()


def _is_address(text: str) -> bool:
    return "://" in text or UUID.fullmatch(text) is not None or bool(_PLACEHOLDER.search(text))


def _in_urls(line: str) -> Iterator[Span]:
    for found in _URL.finditer(line):
        password = found["password"]
        if (
            password
            and len(password) > 3
            and not re.search(r"[$%*]\{?|\{|<|^:(?:password|pass|pw|pwd|passwd)$", password, re.I)
        ):
            yield found.start("password") + 1, found.end("password")
        elif not password and looks_random(found["user"], 0.1):
            yield found.span("user")


def _behind(line: str, at: int, level: int, before: str) -> Span | None:
    """The span of the value right after a name that ends at `at`."""
    found = _AFTER.match(line, at)
    if found is None:
        return None
    if found["quote"]:
        return _quoted(line, at, level, found)
    return _unquoted(line, level, before, found)


def _quoted(line: str, at: int, level: int, found: re.Match[str]) -> Span | None:
    if not found["sep"] and not line[at : at + 1].isspace():
        return None  # the quote closes the name
    body = _QUOTED[found["quote"]].match(line, found.end())
    return body.span() if body is not None and is_secret_value(body[0], level) else None


def _unquoted(line: str, level: int, before: str, found: re.Match[str]) -> Span | None:
    sep, start = found["sep"], found.start("wrap")
    is_element = sep == ">" and "<" in before
    if (sep not in _BEFORE_UNQUOTED and not is_element) or found["wrap"].endswith("("):
        return None
    body = _UNQUOTED.match(line, start)
    if body is None:
        return None
    value = body[0].rstrip("\\")
    spaced = line[found.start("sep") - 1 : found.start("sep")].isspace()
    return (start, start + len(value)) if _is_secret_unquoted(value, level, line, body.end(), before, spaced) else None


def _below(line: str, below: Below) -> Iterator[Span]:
    found = _LONE.match(line)
    if found is None or (below.is_keyed and not found["keyed"]):
        return
    value, quoted = found["value"], bool(found["quote"])
    if is_secret_value(value, below.level) and (quoted or not _CODE_VALUE.fullmatch(value) or looks_random(value)):
        yield found.span("value")


def _opened(line: str) -> Below | None:
    """The name that a line opens: `password: |`, `SECRET = (`, `- name: DB_PASSWORD`, `variable "db_password" {`."""
    stripped = line.rstrip()
    named = re.match(r"""\s*-?\s*["']?(?:name|key|id)["']?\s*[:=]\s*["']?(?P<name>[\w.-]{3,80})["']?\s*,?\s*$""", line)
    names = (
        [named["name"]]
        if named
        else [found[0] for found in _NAME.finditer(line)][-3:]
        if _OPENS.search(stripped)
        else []
    )
    level = max(map(level_of, names), default=NONE)
    if level == NONE:
        return None
    indent = len(line) - len(line.lstrip())
    is_keyed = named is not None or stripped.endswith("{")
    is_text = stripped.endswith(("'''", '"""'))
    return Below(level, 1 if named else LINES_BELOW, 0 if is_text else indent + (named is None), is_keyed)


@lru_cache(maxsize=4096)
def level_of(name: str) -> int:
    """What a name implies about its value."""
    words = words_of(name)
    if words[:1] in (["is"], ["has"]):
        return NONE
    while words and (words[-1] in _NEUTRAL or words[-1].isdigit()):
        words.pop()
    if not words or not _PUBLIC.isdisjoint(words):
        return NONE
    last = words[-1]
    if last in _PASSWORD_WORDS:
        return NONE if last == "by" and words[:1] != ["identified"] else PASSWORD
    if last in _KEY_WORDS:
        return KEY
    if last in ("key", "keys") and len(words) > 1 and words[-2] in _KEY_KINDS:
        return KEY
    if glued := _GLUED.search(last):
        return PASSWORD if glued["password"] else KEY
    return NONE


@lru_cache(maxsize=4096)
def is_secret_value(value: str, level: int) -> bool:
    """Whether a quoted value right after a name is a secret."""
    if len(value) < 4 or any(map(str.isspace, value)) or _PLACEHOLDER.search(value):
        return False
    if UUID.fullmatch(value) or looks_random(value, 0.15):
        return True
    has_digit, has_letter = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    if level == PASSWORD:
        return _is_invented(value, has_digit, has_letter)
    return len(value) >= 16 and has_digit and has_letter and unlikely(value) >= 0.15 and not _WORDY.fullmatch(value)


def _is_invented(value: str, has_digit: bool, has_letter: bool) -> bool:
    """Whether it looks like an invented password: letters with digits or punctuation, or a common password."""
    if value.lower().rstrip("0123456789!") in _COMMON_PASSWORDS:
        return True
    if "/" in value or not has_letter or value.endswith(":"):
        return False
    return has_digit or any(sign in value for sign in "!@#$%^&*+~")


def _is_secret_unquoted(value: str, level: int, line: str, end: int, before: str, spaced: bool) -> bool:
    if _PLACEHOLDER.search(value) or value[0] in "-/.=:$&@*" or value.endswith(("(", ":")):
        return False
    if looks_random(value, 0.1) or UUID.fullmatch(value):
        return True
    has_digit, has_letter = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    is_last = not line[end:].strip() or line[end:].lstrip().startswith("#")
    if level == PASSWORD:
        if value.lower() in _COMMON_PASSWORDS:
            return is_last and not before.strip(" \t-#;")
        if _CODE_VALUE.fullmatch(value):
            return is_last and sum(map(str.isdigit, value)) >= (2 if spaced else 1)
        return has_letter and has_digit and "/" not in value and "=" not in value
    return (
        not _CODE_VALUE.fullmatch(value) and len(value) >= 16 and has_digit and has_letter and unlikely(value) >= 0.2
    ) or (has_digit and is_last and not spaced and value[-1] in "!#" and has_letter)


def _merged(spans: list[Span]) -> list[Span]:
    """The sorted spans, overlapping ones merged."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged
