"""Names that hold secrets, tokens in texts, and the ordinary code that must pass untouched.

The tokens are put together at run time, so that this file holds none.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.server.secrets import REDACTED, is_secret_path, redact


def words(text: str) -> list[str]:
    return text.split()


SECRET_PATHS = words("""
    .env .env.local .env.production prod.env a/b/.envrc .ENV
    server.pem tls/private.key cert.p12 cert.pfx app.keystore release.jks vault.kdbx putty.ppk AuthKey_1.p8
    id_rsa home/id_ed25519 .ssh/config .ssh/known_hosts .gnupg/ring .aws/credentials .aws/config .kube/config
    .docker/config.json .netrc _netrc .npmrc .pypirc .git-credentials .htpasswd .pgpass
    credentials credentials.json aws_credentials.yml client_secret.json client_secret_12.apps.json
    service-account.json service_account-prod.json secrets.yml secrets.yaml app-secrets.json secrets.prod.yaml
    .streamlit/secrets.toml config/master.key terraform.tfstate terraform.tfstate.backup prod.tfvars
""")

ORDINARY_PATHS = words("""
    .env.example .env.sample .env.template a/.env.dist secrets.example.yml
    env.py environment.py server/secrets.py credentials.py secret_santa.py test_credentials.py secrets/__init__.py
    id_rsa.pub key.py keys.go monkey.js keyboard.tsx pem.rs README.md .gitignore package.json tokens.json
    secrets.md docs/credentials.md password.py auth/login.ts settings.json .docker/nginx.conf config.json
""")


@pytest.mark.parametrize("path", SECRET_PATHS)
def test_a_name_that_holds_secrets_is_known(path: str) -> None:
    assert is_secret_path(path)
    assert is_secret_path(f"deep/er/{path}")
    assert is_secret_path(path.replace("/", "\\"))


@pytest.mark.parametrize("path", ORDINARY_PATHS)
def test_an_ordinary_name_is_no_secret(path: str) -> None:
    assert not is_secret_path(path)


TOKENS = {
    "aws": "AKIA" + "Q3EGRZXB7WNO2PLM",
    "github": "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "github fine": "github_pat_" + "11ABCDEFG0abcdefghij_klmnopqrstuvwxyz0123456789",
    "gitlab": "glpat-" + "a1B2c3D4e5F6g7H8i9J0",
    "slack": "xoxb-" + "123456789012-abcdefABCDEF",
    "google": "AIza" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q",
    "stripe": "sk_live_" + "a1B2c3D4e5F6g7H8i9J0",
    "provider": "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4",
    "hub": "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH",
    "npm": "npm_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "web token": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
}


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS.keys())
@pytest.mark.parametrize("line", ["x = '{}'", "export TOKEN={}", "curl -H 'Authorization: Bearer {}' x", "{}"])
def test_a_token_is_taken_out_and_the_rest_stays(line: str, token: str) -> None:
    assert redact(f"a = 1\n{line.format(token)}\nb = 2") == f"a = 1\n{line.format(REDACTED)}\nb = 2"


@pytest.mark.parametrize(
    "line",
    [
        "password = 'x7Kq9#mP2vL4wZ'",
        'API_KEY = "9f86d081884c7d659a2feaa0c55ad015"',
        'secret_token: str = "Zk3vQ8nB1mX7pL0s"',
        '{"client_secret": "Zk3vQ8nB1mX7pL0sWq"}',
        "auth_key => 'Zk3vQ8nB1mX7pL0s'",
    ],
)
def test_a_random_value_of_a_secret_name_is_taken_out(line: str) -> None:
    clean = redact(line)
    assert REDACTED in clean
    assert "7" not in clean
    assert clean.split(REDACTED)[0] == line[: len(clean.split(REDACTED)[0])]


@pytest.mark.parametrize(
    "line",
    [
        "password = 'correct-horse-battery'",
        'token = "<your-token-here>"',
        'PASSWORD = "${DB_PASSWORD_2024}"',
        'password = "{password1234}"',
        'token_url = "https://example.com/oauth2/v1/token"',
        'secret_key = os.environ["SECRET_KEY_BASE_64"]',
        'api_key = "EXAMPLE_API_KEY_VALUE"',
        'token = tokenizer.encode("hello world 1234")',
        'token_type = "text/x-python3-expression"',
        "secret_path = 'config/secrets/production2.yml'",
        "assert is_password('hunter2')",
        "postgres://user:{password}@host/db",
        "postgres://$USER:$PASSWORD@host/db",
        "http://localhost:8080/a@b",
        "commit = 'da39a3ee5e6b4b0d3255bfef95601890afd80709'",
        "uuid = '123e4567-e89b-12d3-a456-426614174000'",
        "sk-learn and sk-image, ghp_short, AKIASHORT, hf_hub_download, npm_config",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n",
        "data = 'iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4'",
    ],
)
def test_ordinary_code_passes_untouched(line: str) -> None:
    assert redact(line) == line


def test_the_password_in_an_address_is_taken_out() -> None:
    assert redact("db = 'postgres://app:s3cr3tpw@db.host/x'") == f"db = 'postgres://app:{REDACTED}@db.host/x'"


BODY = "\n".join(["MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MhgHcTz6sE2I2yPB"] * 3)
BEGIN, END = "-----BEGIN RSA PRIVATE " + "KEY-----", "-----END RSA PRIVATE " + "KEY-----"


@pytest.mark.parametrize(
    "text",
    [
        f"a\n{BEGIN}\n{BODY}\n{END}\nb",
        f"a = '''{BEGIN}\n{BODY}",
        f"{BODY}\n{END}\nb",
        f'x = """{BEGIN}\r\n{BODY}\r\n{END}"""',
    ],
    ids=["whole", "only the head", "only the tail", "CRLF"],
)
def test_a_private_key_is_taken_out_line_by_line(text: str) -> None:
    clean = redact(text)
    assert "MII" not in clean
    assert clean.count("\n") == text.count("\n")
    assert clean.startswith(text[:2]) or clean.startswith(REDACTED)
    assert clean[-3:] == text[-3:] or clean.endswith(REDACTED)


@given(st.text(max_size=300))
@settings(max_examples=100)
def test_any_text_keeps_its_lines_and_is_clean_the_second_time(text: str) -> None:
    clean = redact(text)
    assert clean.count("\n") == text.count("\n")
    assert redact(clean) == clean


def test_no_text_makes_it_run_away() -> None:
    for text in [
        "a" * 200_000,
        "password = '" * 20_000,
        "eyJ" * 50_000,
        "x://" * 50_000,
        BEGIN * 2_000,
        "A" * 64 + "\n" * 9,
    ]:
        assert redact(text).count("\n") == text.count("\n")
    assert redact((BODY + "\n") * 2_000 + END).count("MII") == 0
