"""Names that hold secrets, tokens in texts, and the ordinary code that must pass untouched.

The tokens are put together at run time, so that this file holds none.
"""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.server.secrets import REDACTED, is_secret_path, is_secret_text, redact
from weft.server.secrets.randomness import looks_random


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
    .env-prod .env~ env.production .flaskenv staging.env .env.local.bak .env_backup .env-2024 .dev.vars #.env#
    id_rsa.old id_ed25519.bak deploy_key id_rsa_work host.key.old server-key.pem~ private.pem.1 bastion_rsa
    kubeconfig.yaml cluster.kubeconfig kube-config.yml firebase-adminsdk-x1.json serviceAccountKey.json
    appsettings.Production.json config/database.yml wp-config.php wp-config.php.bak creds.json token.json tokens.json
    passwords.txt auth_token.txt api_keys.json .mcp.json .bash_history .zsh_history .python_history .psql_history
    secrets/prod.yaml secrets/db app/secrets/jwt.txt .secrets/stripe run/secrets/db_password group_vars/all/vault.yml
    .terraformrc credentials.tfrc.json awscredentials.csv rclone.conf keystore.properties config/credentials.yml.enc
    wg0.conf recovery-codes.txt .npmrc.bak secrets.sh
""")

ORDINARY_PATHS = words("""
    .env.example .env.sample .env.template a/.env.dist secrets.example.yml
    env.py environment.py server/secrets.py credentials.py secret_santa.py test_credentials.py secrets/__init__.py
    id_rsa.pub key.py keys.go monkey.js keyboard.tsx pem.rs README.md .gitignore package.json
    secrets.md docs/credentials.md password.py auth/login.ts settings.json .docker/nginx.conf config.json
    src/secrets/vault.py secrets/README.md token.go password_hasher.ts env.d.ts environment.yml appsettings.json
    design-tokens.json added_tokens.json database.yml history.py public_key.txt tokenizer.json env.example
    appsettings.Example.json id_ed25519.pub keymap.json environment.ts secrets.test.js api/token.rb conda/env.yml
    password_reset.html config/database.ts vault/client.go rsa.py history.md settings.py webhooks.yml
""")


@pytest.mark.parametrize("path", SECRET_PATHS)
def test_a_name_that_holds_secrets_is_known(path: str) -> None:
    assert is_secret_path(path)
    assert is_secret_path(f"deep/er/{path}")
    assert is_secret_path(path.replace("/", "\\"))


@pytest.mark.parametrize("path", ORDINARY_PATHS)
def test_an_ordinary_name_is_no_secret(path: str) -> None:
    assert not is_secret_path(path)


KEY_TEXT = "-----BEGIN EC PRIVATE " + "KEY-----\n" + "MHcCAQEEIE1hx9Zk\n" * 8 + "-----END EC PRIVATE " + "KEY-----\n"


@pytest.mark.parametrize(
    "text",
    [
        KEY_TEXT,
        f"# the key of the old machine\n{KEY_TEXT}",
        '{"type": "service_account", "private_key": "-----BEGIN PRIVATE ' + 'KEY-----\\nMIIE"}',
        "$ANSIBLE_VAULT;1.1;AES256\n6132",
    ],
)
def test_a_text_that_is_a_key_is_known_by_its_content(text: str) -> None:
    assert is_secret_text(text)


def test_code_with_a_key_in_it_is_no_secret_file() -> None:
    assert not is_secret_text("def check(text):\n    return '-----BEGIN RSA PRIVATE " + "KEY-----' in text\n")
    assert not is_secret_text("def load():\n    return 1\n" * 40 + KEY_TEXT)


def test_a_letter_pair_tells_random_from_written() -> None:
    assert all(map(looks_random, ["kJ8fQz2LmXv0Tr5W", "9f86d081884c7d65", "q7Zp0Kx3vN9bWm2RtY4u"]))
    written = ["getAccessTokenV2", "sha256_hmac_digest", "text/x-python3-expression", "abcdefghijklmnop1234567890"]
    assert not any(map(looks_random, written))


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
        "password: x7Kq9mP2vL4wZ",
        "secret=Zk3vQ8nB1mX7pL0s",
        "export DB_PASSWORD=x7Kq9mP2vL4wZ",
        "ENV APP=shop SECRET_KEY=Zk3vQ8nB1mX7pL0s",
        "const apiKey: string = `Zk3vQ8nB1mX7pL0s`;",
        'let token: &str = "Zk3vQ8nB1mX7pL0s";',
        'PASSWORD = """x7Kq9mP2vL4wZ"""',
        'token = os.getenv("TOKEN", "Zk3vQ8nB1mX7pL0s")',
        'const t = process.env.API_TOKEN || "Zk3vQ8nB1mX7pL0s";',
        '<add key="ApiSecret" value="Zk3vQ8nB1mX7pL0s" />',
        "<password>Zk3vQ8nB1mX7pL0s</password>",
        "# old password: Zk3vQ8nB1mX7pL0s",
        "The staging password is `Zk3vQ8nB1mX7pL0s`.",
        "Server=db;User Id=sa;Password=Zk3vQ8nB1mX7pL0s;",
        "GET /items?access_token=Zk3vQ8nB1mX7pL0s&page=2",
        "Authorization: Bearer Zk3vQ8nB1mX7pL0sQ",
        "curl -u deploy:Zk3vQ8nB1mX7pL0s https://x.example",
        "mysql -u root -pZk3vQ8nB1mX7pL0s shop",
        "CREATE USER app WITH PASSWORD 'Zk3vQ8nB1mX7pL0s'",
        "password: hunter27",
        "db_password = velvet1247",
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
        "password = password2",
        "password: string;",
        "token = tokens[0]",
        'password: { type: "string", minLength: 12 }',
        'public_key = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A"',
        "api_key = settings.api_key_v2",
        "def get_token(self, user_id: int) -> str:",
        "import { getAccessTokenV2 } from './auth/accessToken2';",
        "password=os.environ['PGPASSWORD_2']",
        "if key == 'Content-SHA256-Digest':",
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


@pytest.mark.parametrize(
    "text",
    [
        "password: |\n  {}\nnext: 1",
        "SECRET = (\n    '{}'\n)",
        "private_token: >-\n  {}",
        "- name: DB_PASSWORD\n  value: {}",
        'variable "db_password" {{\n  default = "{}"\n}}',
        'TOKEN = """\n{}\n"""',
        "| user | password |\n|---|---|\n| app | {} |",
    ],
)
def test_a_value_below_its_name_is_taken_out(text: str) -> None:
    assert redact(text.format("Zk3vQ8nB1mX7pL0s")) == text.format(REDACTED)


def test_steps_of_a_long_text_make_no_difference() -> None:
    lines = ["x = 1"] * 200
    for at in range(20, 110):
        text = "\n".join([*lines[:at], "password: |", "  Zk3vQ8nB1mX7pL0s", *lines[at:]])
        assert "Zk3v" not in redact(text)


def test_code_that_names_the_marks_of_a_key_goes_on_as_it_was() -> None:
    text = f"if text.startswith('{BEGIN}'):\n    return load(text)\nname = 'value'\n"
    assert redact(text) == text


def test_the_middle_of_a_key_is_taken_out() -> None:
    middle = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MhgHcTz6sE2I2yPB\n" * 5
    assert "MII" not in redact(f"a = 1\n{middle}b = 2")


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
        "key: " * 40_000,
        "mysql -u " * 20_000,
        "curl " * 40_000,
        "Bearer " * 30_000,
        "?token=" * 30_000,
        "password (" * 20_000,
        'api_key = """' * 15_000,
        "token-" * 30_000,
        "a.b-" * 50_000 + "password",
        "eyJhbGciOiJIUzI1NiJ9." * 10_000,
        "0" * 100_000 + "key",
        "| password |\n" * 20_000,
        "password:\n" * 20_000,
        ("MII" * 22 + "\n") * 3_000,
    ]:
        started_s = time.process_time()
        assert redact(text).count("\n") == text.count("\n")
        assert time.process_time() - started_s < 5, text[:20]
    assert redact((BODY + "\n") * 2_000 + END).count("MII") == 0
