"""Generator of `patterns.json` from the rule sets of gitleaks and detect-secrets.

    python -m weft.server.secrets.update_patterns GITLEAKS DETECT_SECRETS

Both arguments are checkouts. `config/gitleaks.toml` and `detect_secrets/plugins/*.py` are read as data; none of their
code runs. The part of a rule before the name of the service is removed, so that each rule takes linear time. Rules for
files, public keys and account numbers, and those that Python's `re` can't compile, are left out and listed.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DATA = Path(__file__).with_name("patterns.json")

LEFT_OUT = {
    "generic-api-key": "`assignments.py` does the same for more syntaxes",
    "private-key": "`redaction.py` takes out the lines of a key one by one",
    "curl-auth-header": "`assignments.py` knows headers and `curl -u`; the rule is quadratic",
    "curl-auth-user": "`assignments.py` knows headers and `curl -u`; the rule is quadratic",
    "kubernetes-secret-yaml": "the rule is quadratic; `assignments.py` reads YAML line by line",
    "jwt-base64": "tokens within base64 are no text that stands in code",
    "sourcegraph-access-token": "any 40 hexadecimal digits beside a word, such as a commit",
}

PUBLIC = ("-client-id", "-access-id", "-public-key", "-pub-key", "-pub-api-key", "-user-api-id")

# The plugins of detect-secrets with regular expressions of a token, and a word that a text must contain. Its other
# plugins use names or entropy, as `assignments.py` does.
DETECT_SECRETS = {
    "artifactory": ("akc",),
    "azure_storage_key": ("accountkey=",),
    "discord": (),
    "gitlab_token": ("gl", "gr1348941"),
    "mailchimp": ("-us",),
    "openai": ("t3blbkfj",),
    "pypi_token": ("pypi-",),
    "sendgrid": ("sg.",),
    "slack": ("xox", "hooks.slack.com"),
    "softlayer": ("softlayer",),
    "square_oauth": ("sq0csp-",),
    "stripe": ("k_live_",),
    "twilio": (),
}

_BEFORE_NAME = re.compile(r"\[\\w\.-\]\{0,50\}\?")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gitleaks", type=Path)
    parser.add_argument("detect_secrets", type=Path)
    options = parser.parse_args()
    rules, left_out = _gitleaks(_text(options.gitleaks, "config/gitleaks.toml"))
    more = list(_detect_secrets(options.detect_secrets))
    sources = [
        _source("gitleaks", "https://github.com/gitleaks/gitleaks", "MIT", options.gitleaks),
        _source("detect-secrets", "https://github.com/Yelp/detect-secrets", "Apache-2.0", options.detect_secrets),
    ]
    data = {"sources": sources, "left_out": left_out, "rules": [*rules, *more]}
    DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(rules)} rules of gitleaks, {len(more)} of detect-secrets, {len(left_out)} left out: {DATA}")
    return 0


def _gitleaks(text: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
    rules, left_out = [], {}
    for rule in tomllib.loads(text)["rules"]:
        name = rule["id"]
        reason = LEFT_OUT.get(name) or ("of files" if "path" in rule or "regex" not in rule else "")
        reason = reason or ("no secret" if name.endswith(PUBLIC) else "")
        try:
            pattern = "" if reason else _for_python(rule["regex"])
            re.compile(pattern)
        except re.error as error:
            reason = f"not for Python: {error}"
        if reason:
            left_out[name] = reason
            continue
        entropy = rule.get("entropy", 0)
        rules.append({"id": name, "words": rule["keywords"], "entropy": entropy, "pattern": pattern})
    return rules, left_out


def _detect_secrets(root: Path) -> Iterator[dict[str, Any]]:
    for plugin, words in DETECT_SECRETS.items():
        for number, pattern in enumerate(_patterns_of(_text(root, f"detect_secrets/plugins/{plugin}.py"))):
            yield {"id": f"detect-secrets-{plugin}-{number}", "words": list(words), "entropy": 0, "pattern": pattern}


def _patterns_of(source: str) -> Iterator[str]:
    """The literals in the `denylist` of a plugin, adjacent ones joined by the parser."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and "denylist" in ast.unparse(node).partition("=")[0]:
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "re.compile":
                    literal = call.args[0]
                    if isinstance(literal, ast.Constant) and isinstance(literal.value, str):
                        flags = "(?i)" if any("IGNORECASE" in ast.unparse(each.value) for each in call.keywords) else ""
                        yield flags + literal.value


def _for_python(pattern: str) -> str:
    """RE2 syntax converted to Python's: inline flags, POSIX classes, and the end of the text."""
    pattern = _BEFORE_NAME.sub("", pattern)
    pattern = pattern.replace("[[:alnum:]]", "[0-9A-Za-z]").replace("[:alnum:]", "0-9A-Za-z").replace(r"\z", r"\Z")
    if "(?i)" in pattern.removeprefix("(?i)"):
        # The flag would apply to the rest of its group. The tokens are random, so ignoring case is harmless.
        pattern = "(?i)" + pattern.replace("(?i)", "")
    return pattern


def _source(name: str, url: str, licence: str, root: Path) -> dict[str, str]:
    return {"name": name, "url": url, "licence": licence, "version": _git(root, "describe", "--tags").strip()}


def _text(root: Path, path: str) -> str:
    return _git(root, "show", f"HEAD:{path}")


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    raise SystemExit(main())
