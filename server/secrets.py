"""What must never leave the editor: files that hold secrets, and tokens that slipped into ordinary ones.

Owns two answers. `is_secret_path`: a name that is a key, a password store or a credentials file by convention;
such a file is never indexed, never in a prompt, and gets no completions. `redact`: a text without the tokens
whose form gives them away, for prompts that leave the machine. Names and forms only: nothing is read or sent here.

A missed secret is worse than a lost file for names, so those are judged broadly. A hole in ordinary code is worse
than nothing, so in texts only what is certain is taken out.
"""

from __future__ import annotations

import math
import re
from collections import Counter

REDACTED = "[redacted]"

_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".gcloud", ".kube", ".password-store"})

_NAMES = frozenset(
    {
        *(".netrc", "_netrc", ".npmrc", ".pypirc", ".yarnrc", ".yarnrc.yml", ".git-credentials", ".gem-credentials"),
        *(".htpasswd", ".pgpass", "pgpass.conf", ".my.cnf", ".mylogin.cnf", ".dockercfg", ".dockerconfigjson"),
        *(".envrc", ".vault-token", ".vault_pass", ".s3cfg", ".boto", ".passwd", "wallet.dat", "kubeconfig"),
        *(
            "credentials",
            ".credentials",
            "master.key",
            "local.settings.json",
            "htpasswd",
            "shadow",
            "accesstokens.json",
        ),
    }
)

_SUFFIXES = (
    *(".pem", ".key", ".p12", ".pfx", ".p8", ".pkcs12", ".keystore", ".jks", ".bks", ".kdbx", ".kdb", ".ppk"),
    *(".ovpn", ".keychain", ".tfstate", ".tfstate.backup", ".tfvars", ".tfvars.json", ".agekey", ".env"),
)

_PATTERN = re.compile(
    r"""
    \.env(\..+)?
    | id_(rsa|dsa|ecdsa|ed25519|ecdsa_sk|ed25519_sk)
    | ([\w.-]*[._-])?(secrets?|credentials?)([._-](local|dev|development|test|staging|prod|production))?
      \.(ya?ml|json|toml|ini|cfg|conf|properties|xml|txt|env|enc|plist)
    | (client[_-]?secret|service[_-]?account|gha-creds)([_-].*)?\.json
    """,
    re.VERBOSE,
)

_EXAMPLE = re.compile(r"[._-](example|sample|template|dist|tmpl|schema|defaults)\b")


def is_secret_path(path: str) -> bool:
    """Whether `path` (its last name, or a folder in it) is one that holds secrets by convention.

    Examples and templates (`.env.example`) are no secrets, and neither is code about secrets (`secrets.py`).
    """
    *folders, name = path.replace("\\", "/").lower().split("/")
    if not _FOLDERS.isdisjoint(folders) or (name == "config.json" and folders[-1:] == [".docker"]):
        return True
    if not (name in _NAMES or name.endswith(_SUFFIXES) or _PATTERN.fullmatch(name)):
        return False
    return not _EXAMPLE.search(name)


def redact(text: str) -> str:
    """`text` with every certain secret replaced by `REDACTED`. The number of lines stays the same."""
    if "PRIVATE KEY" in text:
        for pattern in _KEY_BLOCKS:
            text = pattern.sub(_blank_lines, text)
    text = _TOKENS.sub(REDACTED, text)
    text = _URL_PASSWORD.sub(rf"\g<1>{REDACTED}@", text)
    return _ASSIGNED.sub(_without_value, text)


# A window of lines may hold only the head or only the tail of a key.
_KEY_BLOCKS = (
    re.compile(
        r"(?<=-----BEGIN )(?P<kind>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)(?P<body>.*?)(?=-----END (?P=kind)|\Z)",
        re.DOTALL,
    ),
    re.compile(
        r"(?P<kind>)(?P<body>(?:^[ \t\"'#*/]*[A-Za-z0-9+/=]{16,100}[ \t\"'\\n+,]*\r?\n)+)"
        r"(?=[ \t\"'#*/]*-----END [A-Z0-9 ]{0,40}PRIVATE KEY)",
        re.MULTILINE,
    ),
)

_TOKENS = re.compile(
    r"""(?<![A-Za-z0-9_])(?:
      (?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ANVA|ABIA|ACCA)[A-Z2-7]{16}    # AWS access keys
    | gh[pousr]_[A-Za-z0-9]{36,255} | github_pat_[A-Za-z0-9_]{30,255} # GitHub
    | gl(?:pat|ptt|dt|rt|cbt|soat)-[A-Za-z0-9_-]{20,100}              # GitLab
    | xox[abeoprs]-[A-Za-z0-9-]{10,250} | xapp-\d-[A-Za-z0-9-]{20,250}# Slack
    | https://hooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{16,}
    | AIza[0-9A-Za-z_-]{35} | GOCSPX-[0-9A-Za-z_-]{28}                # Google
    | [rs]k_live_[0-9a-zA-Z]{16,250}                                  # Stripe
    | sk-(?:proj|svcacct|admin|ant-[a-z]+[0-9]*)-[A-Za-z0-9_-]{24,250}# model providers
    | sk-[A-Za-z0-9]{48}
    | hf_[A-Za-z]{34} | npm_[A-Za-z0-9]{36} | pypi-AgE[A-Za-z0-9_-]{50,500}
    | SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43} | dop_v1_[a-f0-9]{64}  # SendGrid, DigitalOcean
    | eyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,1000}   # JSON web tokens
    )(?![A-Za-z0-9_])""",
    re.VERBOSE,
)

_URL_PASSWORD = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@'\"{}<>$%]{1,100}:)[^\s/@'\"{}<>$%*]{3,200}@")

_ASSIGNED = re.compile(
    r"""(?ix)
    (?P<name> (?:password|passwd|passphrase|pwd|secret|token|api_?key|access_?key|auth_?key|private_?key|credential)
      [a-z0-9_]{0,30} ["']? \s{0,5} (?::\s?str\s{0,5})? [:=]{1,2}>? \s{0,5} [bru]{0,2} )
    (?P<quote>["']) (?P<value>[^"'\s\\{}<>$%()]{12,200}) (?P=quote)
    """
)


def _blank_lines(found: re.Match[str]) -> str:
    return found["kind"] + re.sub(r"[^\r\n]+", REDACTED, found["body"])


def _without_value(found: re.Match[str]) -> str:
    if not _looks_random(found["value"]):
        return found[0]
    return f"{found['name']}{found['quote']}{REDACTED}{found['quote']}"


def _looks_random(value: str) -> bool:
    """Letters and digits in no order that a person would write as a name, a path or a placeholder."""
    letters = sum(char.isalpha() for char in value)
    digits = sum(char.isdigit() for char in value)
    if not letters or digits < 2 or letters + digits < 0.8 * len(value):
        return False
    words = re.findall(r"[a-z]{4,}|[A-Z][a-z]{3,}|[A-Z]{5,}", value)
    if sum(map(len, words)) > 0.5 * len(value):
        return False
    total = len(value)
    entropy = -sum(n / total * math.log2(n / total) for n in Counter(value).values())
    return entropy >= 3.0
