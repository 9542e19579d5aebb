"""Detection of secret files by the words of their paths, and by private keys in their content.

A name is split into words at dots, dashes, underscores and capitals, after suffixes of backups and editors are removed:
`.env~` counts as `.env`, `id_rsa.old` as `id_rsa`. Examples and templates are not secret, and neither is code or prose
about secrets: `secrets.py`, `token.go`, `passwords.md`. A missed secret is worse than an excluded file, so the rules
for data files are broad. Reads no disk.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .words import word_set, words_of

# Every file below one of these is secret.
_FOLDERS = word_set(
    """.ssh .gnupg .aws .gcloud .kube .password-store .azure .pulumi .ngrok2 .secrets .credentials .terraform.d .oci
    .bluemix .chef .docker.secrets .keys"""
)

# A file below one of these is secret unless it is code or prose.
_DATA_FOLDERS = word_set("secrets secret credentials creds private-keys private_keys passwords vault-secrets")

_NAMES = word_set(
    """.netrc _netrc netrc .npmrc .pypirc .yarnrc .yarnrc.yml .git-credentials .gem-credentials .htpasswd .pgpass
    pgpass.conf .my.cnf my.cnf .mylogin.cnf .dockercfg .dockerconfigjson dockerconfig.json .envrc .vault-token
    .vault_pass .s3cfg .boto .passwd wallet.dat wallet.json master.key local.settings.json htpasswd shadow
    accesstokens.json access_tokens.db rclone.conf .rclone.conf .terraformrc terraform.rc .sentryclirc .wgetrc .curlrc
    .mcp.json mcp.json claude_desktop_config.json auth.json settings-security.xml keystore.properties
    signing.properties local.properties sentry.properties connectionstrings.config filezilla.xml sitemanager.xml
    recentservers.xml configuration.php settings.local.php rootkey.csv ngrok.yml ngrok.yaml wp-config.php
    .dev.vars .flaskenv .pass .lesshst .viminfo .dbshell .gitconfig.local .bashrc.local .zshrc.local .msmtprc
    .fetchmailrc .mbsyncrc .offlineimaprc .smbcredentials smbcredentials .cifs vault-pass.txt .hubspot.config.yml
    parameters.yml parameters.yaml .clasprc.json .pulumi-credentials .databrickscfg .snowsql .odbc.ini .kaggle.json
    kaggle.json .huggingface-token .openai .anthropic tokens.yml gha-creds.json proxies.txt"""
)

_PATHS = re.compile(
    r"""(?:^|/)(?:
      \.docker/config\.json | \.m2/settings\.xml | app/etc/(?:local\.xml|env\.php) | config/database[\w.-]*\.ya?ml
    | \.(?:cursor|vscode)/mcp\.json | \.composer/auth\.json | \.config/(?:gh/hosts|hub)(?:\.ya?ml)? | \.gem/credentials
    | (?:run|etc)/secrets/.+ | \.irssi/config | \.config/gcloud/.+ | private/[\w.-]*keys?\.\w+
    )$""",
    re.VERBOSE,
)

_KEY_SUFFIXES = tuple(
    word_set(
        """.pem .key .p12 .pfx .p8 .pkcs12 .keystore .jks .bks .kdbx .kdb .ppk .asc.key .ovpn .keychain .tfstate
        .tfvars .tfvars.json .agekey .env .kubeconfig .tfrc.json .credentials .creds .secret .secrets .passwd .password
        .token .keytab .gpgkey .jceks .mobileprovision .pkpass .rdp .psafe3 .1pif .agilekeychain .opvault .cred
        .enc.key"""
    )
)

_PATTERN = re.compile(
    r"""
      \.env(?:[._~-].*)? | [\w.-]*[._-]env | \.\w*env
    | env[._-](?:prod|production|local|dev|development|test|testing|staging|stage|live|qa|ci|docker|private|secret)
      (?:[._-]\w+)*
    | tfstate | .*\.tfstate(?:\..*)?
    | [\w.-]*(?:^|[._-])id_?(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?(?:[._-](?!pub\b)\w+)*
    | (?:[\w.-]*[._-])?(?:rsa|dsa|ecdsa|ed25519)(?:[._-]?key)?
    | [\w.-]*kube[._-]?config[\w.-]*
    | \.?[\w.-]*_?history | .*_hst
    | appsettings\.[\w.-]+\.json | wp-config[\w.-]*\.php | (?:settings|config)[._-]local\.php
    | (?:aws[._-]?)?(?:access[._-]?keys?|root[._-]?keys?|credentials)\.csv
    | wg\d+\.conf | utc--.+ | auth-user-pass[\w.-]* | logins\.(?:csv|json|txt)
    | [\w.-]*(?:firebase[._-]?adminsdk|service[._-]?account|sa[._-]key|gcloud[._-]?key|client[._-]?secret|gha-creds)
      [\w.-]*\.json
    | [\w.-]*(?:google|gcp|gcloud|aws|azure|application[_-]default)[._-]credentials?[\w.-]*
    | (?:recovery|backup)[._-]?(?:codes?|keys?)[\w.-]* | (?:seed[._-]?phrase|mnemonic)s?(?:[._-]\w+)*
    """,
    re.VERBOSE,
)

_EXAMPLE = re.compile(
    r"(?:^|[._-])(?:examples?|samples?|template|dist|tmpl|tpl|schema|defaults|skeleton|stub)(?:[._-]|$)"
)

_BACKUP = re.compile(
    r"(?:~|[._-](?:bak|old|orig|save|saved|swp|swo|backup|copy|tmp|rej|dpkg-(?:old|dist|new)|rpm(?:save|new|orig)|\d{1,8}))+$"
)

_CODE = word_set(
    """py pyi pyx js jsx mjs cjs ts tsx mts cts go java kt kts scala rs c h cc cpp cxx hpp hh cs fs vb rb php swift m mm
    dart lua pl pm r jl ex exs erl hrl clj cljs cljc hs elm ml mli nim zig d pas f90 sol vue svelte astro sh bash zsh
    fish ps1 psm1 bat cmd sql tf proto graphql gql thrift css scss sass less html htm xhtml jinja j2 erb ejs hbs
    mustache liquid haml slim pug ipynb cmake mk gradle groovy bzl bazel nix v sv vhd asm s wat cu glsl hlsl feature
    pub crt cer csr der crl snap lock map"""
)
_PROSE = word_set("md mdx rst adoc asciidoc org tex pdf docx man pod rdoc textile wiki")
_ORDINARY = re.compile(
    r"(?:readme|license|licence|notice|makefile|dockerfile|changelog|codeowners|contributing)\b.*|__\w+__.*"
)

_SECRET_WORDS = word_set(
    "secret secrets credential credentials creds cred password passwords passwd passwds keyring vault"
)
_KEYS = word_set("key keys")
_KEY_KINDS = word_set(
    "private deploy ssh signing host api access secret master auth encryption session jwt app license"
)
_NOT_TOKENS = word_set(
    "added special design color colors colour theme css style tokenizer vocab bpe stop unused reserved"
)
_QUALIFIERS = word_set(
    """local dev development test testing staging stage prod production live qa ci web app api db database admin root
    user users aws gcp azure google github gitlab docker auto all main shared default private my our the old new service
    client server oauth jwt smtp mail enc sops encrypted decrypted values config file backup list yml yaml json toml
    ini txt"""
)


@lru_cache(maxsize=65_536)
def is_secret_path(path: str) -> bool:
    """Whether the name of the file, or a folder of `path`, marks it as secret."""
    path = path.replace("\\", "/")
    *folders, name = path.split("/")
    lower_folders = [folder.lower() for folder in folders]
    if not _FOLDERS.isdisjoint(lower_folders):
        return True
    name = _without_backup(name)
    lower = name.lower()
    if not lower or _EXAMPLE.search(lower):
        return False
    stem, _, suffix = lower.rpartition(".")
    suffix = suffix if stem else ""
    if lower in _NAMES or _PATHS.search("/".join((*lower_folders, lower))):
        return True
    if lower.endswith(_KEY_SUFFIXES):
        return True
    if suffix in _CODE and not lower.startswith((".env", "wp-config", "config.local", "settings.local")):
        return lower.partition(".")[0] in _SECRET_WORDS and suffix in ("sh", "bash", "zsh", "ps1", "bat", "cmd")
    if _PATTERN.fullmatch(lower):
        return suffix not in _PROSE
    if suffix in _PROSE or _ORDINARY.fullmatch(lower):
        return False
    if not _DATA_FOLDERS.isdisjoint(lower_folders):
        return True
    return _is_secret_by_words(name)


def _without_backup(name: str) -> str:
    """The name without the affixes of backups, editors and package managers."""
    if name.startswith("#") and name.endswith("#"):
        name = name.strip("#")
    name = name.removeprefix(".#")
    stripped = _BACKUP.sub("", name)
    return stripped if stripped.strip(".") else name


def _is_secret_by_words(name: str) -> bool:
    """Whether the name of a data file ends with a secret word, up to numbers and qualifiers."""
    stem = name.lstrip(".").rpartition(".")[0] or name.lstrip(".")
    words = words_of(stem)
    while len(words) > 1 and (words[-1].isdigit() or words[-1] in _QUALIFIERS):
        words.pop()
    if not words:
        return False
    last = words[-1]
    if last in _SECRET_WORDS or last in ("apikey", "apikeys") or (last == "pass" and len(words) > 1):
        return True
    if last in ("token", "tokens", "accesstoken", "authtoken"):
        return _NOT_TOKENS.isdisjoint(words)
    return last in _KEYS and len(words) > 1 and words[-2] in _KEY_KINDS


_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^-]{40,}"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?"
)
_SERVICE_ACCOUNT = re.compile(r'"type"\s*:\s*"service_account"')
_KEY_SHARE = 0.5


def is_secret_text(text: str) -> bool:
    """Whether the text is mostly a private key, or the key file of a service account."""
    if "PRIVATE KEY" not in text:
        return "PuTTY-User-Key-File-" in text[:200] or text.startswith("$ANSIBLE_VAULT;")
    if _SERVICE_ACCOUNT.search(text) and '"private_key"' in text:
        return True
    return sum(len(found[0]) for found in _PRIVATE_KEY.finditer(text)) > _KEY_SHARE * len(text)
