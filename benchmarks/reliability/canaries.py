"""Canary secrets for the campaign `secrets`: secret files by their names, and secrets in lines of ordinary files.

The templates are older than the rules of `server/secrets/`. Every second template is held out: the rules were fitted on
the misses of the other half, and the campaign reports both halves. Values are random, in the shape that a place
expects; none is an example of the pattern sets. A template has one `@kind@`, or several of one canary.
"""

from __future__ import annotations

import base64
import random
import re
import string
import uuid
from collections.abc import Callable
from dataclasses import dataclass

VALUES_A_TEMPLATE = 2


@dataclass(frozen=True, slots=True)
class Canary:
    """`values` must not reach a model; `text` is the whole file, or the lines that hold them."""

    path: str
    syntax: str
    text: str
    values: tuple[str, ...]
    is_held_out: bool


def file_canaries(rng: random.Random) -> list[Canary]:
    """One secret file for each name."""
    made: list[Canary] = []
    for kind, names in re.findall(r"^(\w+):((?:\s+[^\s:]+)+)$", _FILES, re.MULTILINE):
        for path in names.split():
            text, values = _fill(_CONTENTS[kind], rng)
            made.append(Canary(path, kind, text, values, is_held_out=bool(len(made) % 2)))
    return made


def line_canaries(rng: random.Random) -> list[Canary]:
    """Lines of ordinary files, `VALUES_A_TEMPLATE` for each template; `path` is the suffix of their file."""
    made: list[Canary] = []
    for block in re.split(r"^#- ", _LINES, flags=re.MULTILINE)[1:]:
        head, *templates = block.rstrip("\n").split("\n")
        suffix, _, syntax = head.partition(" ")
        for template in templates:
            is_held_out = bool(len(made) // VALUES_A_TEMPLATE % 2)
            for _ in range(VALUES_A_TEMPLATE):
                text, values = _fill(template.replace("\\n", "\n"), rng)
                made.append(Canary(suffix, syntax, text, values, is_held_out))
    return made


def _fill(template: str, rng: random.Random) -> tuple[str, tuple[str, ...]]:
    values: list[str] = []

    def made(found: re.Match[str]) -> str:
        values.append(_KINDS[found[1]](rng))
        return values[-1]

    return re.sub(r"@(\w+)@", made, template), tuple(values)


def _some(alphabet: str, n: int) -> Callable[[random.Random], str]:
    return lambda rng: "".join(rng.choices(alphabet, k=n))


def _password(rng: random.Random) -> str:
    """As a password generator makes it: all classes of characters, none that ends a syntax."""
    n = rng.randint(12, 20)
    chosen = [rng.choice(string.ascii_lowercase), rng.choice(string.ascii_uppercase), *rng.choices(string.digits, k=2)]
    chosen += rng.choices(string.ascii_letters + string.digits + "!.-_+*~^", k=n - len(chosen))
    rng.shuffle(chosen)
    return rng.choice(string.ascii_letters) + "".join(chosen)


def _weak(rng: random.Random) -> str:
    """As a person invents it: one word or two, and digits."""
    words = rng.sample(_WORDS, 2)
    return rng.choice((f"{words[0]}{rng.randint(1, 9999)}", f"{words[0].title()}{words[1]}{rng.randint(1, 99)}!"))


def _jwt(rng: random.Random) -> str:
    signature = rng.randbytes(32)
    parts = (b'{"alg":"HS256"}', b'{"sub":"%d"}' % rng.randint(10**6, 10**9), signature)
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


_DIGITS, _LOWER, _UPPER, _HEX = string.digits, string.ascii_lowercase, string.ascii_uppercase, "0123456789abcdef"
_ALNUM = string.ascii_letters + _DIGITS
_WORDS = (
    *("marigold", "kettle", "harbor", "lantern", "pepper", "walnut", "glacier"),
    *("meadow", "falcon", "copper", "velvet", "saddle", "juniper", "cobalt"),
)

_KINDS: dict[str, Callable[[random.Random], str]] = {
    "password": _password,
    "weak": _weak,
    "alnum20": _some(_ALNUM, 20),
    "alnum24": _some(_ALNUM, 24),
    "alnum32": _some(_ALNUM, 32),
    "alnum40": _some(_ALNUM, 40),
    "lower32": _some(_LOWER + _DIGITS, 32),
    "hex32": _some(_HEX, 32),
    "hex40": _some(_HEX, 40),
    "hex64": _some(_HEX, 64),
    "base44": lambda rng: base64.b64encode(rng.randbytes(32)).decode(),
    "base88": lambda rng: base64.b64encode(rng.randbytes(64)).decode(),
    "urlsafe43": lambda rng: base64.urlsafe_b64encode(rng.randbytes(32)).decode().rstrip("="),
    "basic": lambda rng: base64.b64encode(f"{rng.choice(_WORDS)}:{_password(rng)}".encode()).decode(),
    "uuid": lambda rng: str(uuid.UUID(bytes=rng.randbytes(16), version=4)),
    "jwt": _jwt,
    "pem": lambda rng: base64.b64encode(rng.randbytes(48)).decode(),
    "aws_id": lambda rng: "AKIA" + _some(_UPPER + "234567", 16)(rng),
    "aws_key": _some(_ALNUM + "/+", 40),
    "github": lambda rng: "ghp_" + _some(_ALNUM, 36)(rng),
    "gitlab": lambda rng: "glpat-" + _some(_ALNUM, 20)(rng),
    "slack": lambda rng: f"xoxb-{rng.randint(10**11, 10**12)}-{rng.randint(10**11, 10**12)}-" + _some(_ALNUM, 24)(rng),
    "stripe_live": lambda rng: "sk_live_" + _some(_ALNUM, 24)(rng),
    "stripe_test": lambda rng: "sk_test_" + _some(_ALNUM, 24)(rng),
    "twilio": lambda rng: "SK" + _some(_HEX, 32)(rng),
    "telegram": lambda rng: f"{rng.randint(10**8, 10**10)}:AA" + _some(_ALNUM + "_-", 33)(rng),
    "sendgrid": lambda rng: f"SG.{_some(_ALNUM, 22)(rng)}.{_some(_ALNUM + '_-', 43)(rng)}",
    "mailgun": lambda rng: "key-" + _some(_HEX, 32)(rng),
    "openai": lambda rng: "sk-proj-" + _some(_ALNUM + "_-", 74)(rng) + "T3BlbkFJ" + _some(_ALNUM + "_-", 74)(rng),
    "anthropic": lambda rng: "sk-ant-api03-" + _some(_ALNUM + "_-", 93)(rng) + "AA",
    "hf": lambda rng: "hf_" + _some(string.ascii_letters, 34)(rng),
    "databricks": lambda rng: "dapi" + _some(_HEX, 32)(rng),
    "google": lambda rng: "AIza" + _some(_ALNUM + "_-", 35)(rng),
    "npm": lambda rng: "npm_" + _some(_ALNUM, 36)(rng),
    "azure_ad": lambda rng: f"{_some(_ALNUM, 3)(rng)}8Q~" + _some(_ALNUM + "_.~", 34)(rng),
    "discord": lambda rng: f"M{_some(_ALNUM, 23)(rng)}.G{_some(_ALNUM, 5)(rng)}.{_some(_ALNUM + '_-', 38)(rng)}",
    "vault": lambda rng: "hvs." + _some(_ALNUM + "_-", 95)(rng),
    "digitalocean": lambda rng: "dop_v1_" + _some(_HEX, 64)(rng),
    "shopify": lambda rng: "shpat_" + _some(_HEX, 32)(rng),
    "linear": lambda rng: "lin_api_" + _some(_ALNUM, 40)(rng),
    "grafana": lambda rng: f"glsa_{_some(_ALNUM, 32)(rng)}_{_some(_HEX, 8)(rng)}",
}

# The kind of content, and the names of files that have it.
_FILES = """
env: .env-prod .env~ env.production .flaskenv staging.env .env.local.bak .env_backup app.env.old
    .env.development.local docker/.env.web .env-2024 services/api/.env.staging~ .prod.env config/.env.vault .env.save
    web.env.orig .dev.vars .secrets.env env.local .testenv
pem: id_rsa.old id_ed25519.bak deploy_key keys/id_ecdsa_backup ssh/github_deploy_key .ssh_key id_rsa_work host.key.old
    tls/server-key.pem~ certs/private.pem.1 jwt_private_key ops/bastion_rsa etc/ssh_host_ed25519_key signing.pem.save
    client.key.orig
kube: kubeconfig.yaml kubeconfig-prod cluster.kubeconfig k8s/admin.kubeconfig.bak .kubeconfig infra/kube-config.yml
gcp: service-account.json myproject-8f3a1c.json firebase-adminsdk-x1.json gcp/sa-key.json serviceAccountKey.json
    google-credentials-dev.json deploy/prod-321fa0.json application_default_credentials.json gcloud-key.json
json: appsettings.Production.json src/Web/appsettings.Staging.json appsettings.Development.json appsettings.local.json
yaml: config/database.yml config/database.production.yml
token: config/credentials.yml.enc config/credentials/production.key
yaml: config/secrets.yml.old
php: wp-config.php wp-config.php.bak public/wp-config-prod.php
xml: app/etc/local.xml
php: configuration.php sites/default/settings.local.php
json: creds.json token.json tokens.json
yaml: my_creds.yaml
ini: .creds
token: auth_token.txt
json: api_keys.json
yaml: apikeys.yaml
token: api-key.txt access_token
plain: passwords.txt password.txt passwd.txt
token: admin-password root_password.txt db_password.txt
plain: logins.csv passwords.csv
token: secret.txt
json: client_secret_web.json oauth_secret.json .mcp.json mcp.json .cursor/mcp.json .vscode/mcp.json
    claude_desktop_config.json
history: .bash_history .zsh_history .python_history .psql_history .mysql_history .node_repl_history .irb_history
    .sqlite_history .rediscli_history .sh_history fish_history .lesshst
yaml: secrets/prod.yaml
json: secrets/api.json
token: secrets/db
pem: app/secrets/tls.crt.key
token: secrets/jwt.txt .secrets/stripe .secret run/secrets/db_password
json: private/keys.json
yaml: vault.yml group_vars/all/vault.yml group_vars/prod/vault.yaml
token: .vault_password vault-password.txt ansible_vault_pass
hcl: terraform.tfvars prod.auto.tfvars
json: terraform.tfstate.1699
hcl: .terraformrc
json: credentials.tfrc.json .terraform.d/credentials.tfrc.json .docker/config.json dockerconfig.json .dockerconfigjson
yaml: docker-secrets.yml
ini: .netrc~
plain: .pgpass.bak
ini: .my.cnf.old .npmrc.bak
yaml: .yarnrc.yml
ini: .pypirc.save
plain: .git-credentials.old
ini: .gitconfig.local .aws/credentials.bak aws_credentials
plain: awscredentials.csv rootkey.csv accessKeys.csv
ini: .boto .s3cfg .rclone.conf rclone.conf
json: .config/gcloud/access_tokens.db.json .azure/accessTokens.json
plain: .htpasswd.old
history: .dbshell
json: .composer/auth.json auth.json
xml: .m2/settings.xml settings-security.xml
properties: gradle/signing.properties keystore.properties local.properties sentry.properties
ini: .sentryclirc
yaml: .ngrok2/ngrok.yml
toml: .cargo/credentials.toml
yaml: .gem/credentials
toml: .streamlit/secrets.toml secrets.auto.toml
json: .pulumi/credentials.json
ini: .heroku/netrc
env: fastlane/.env.default
xml: GoogleService-Info-secrets.plist
env: .vercel/.env.production.local
json: wrangler.secrets.json
env: .circleci/secrets.env
xml: connectionStrings.config filezilla.xml sitemanager.xml recentservers.xml
ini: .wgetrc wg0.conf
token: wireguard/wg-private.key
plain: openvpn/auth-user-pass.txt
token: .pass
plain: .passwords
json: keyring.json
plain: recovery-codes.txt backup_codes.txt seed_phrase.txt mnemonic.txt
json: wallet.json UTC--2024-01-05T10-22-11.331Z--5ae21
"""

_CONTENTS = {
    "env": "# settings of the service\nDATABASE_PASSWORD=@password@\nPAYMENT_TOKEN=@alnum32@\nNAME=shop\n",
    "pem": "-----BEGIN OPENSSH PRIVATE KEY-----\n@pem@\n@pem@\n@pem@\n@pem@\n-----END OPENSSH PRIVATE KEY-----\n",
    "kube": "apiVersion: v1\nkind: Config\nclusters:\n- name: main\nusers:\n- name: admin\n  user:\n"
    "    token: @alnum40@\n    client-key-data: @base88@\n",
    "gcp": '{\n  "type": "service_account",\n  "project_id": "shop",\n  "private_key_id": "@hex40@",\n'
    '  "private_key": "-----BEGIN PRIVATE KEY-----\\n@pem@\\n@pem@\\n-----END PRIVATE KEY-----\\n",\n'
    '  "client_email": "shop@shop.example"\n}\n',
    "json": '{\n  "user": "shop",\n  "value": "@alnum32@",\n  "other": ["@password@"]\n}\n',
    "yaml": "production:\n  adapter: postgresql\n  username: shop\n  value: @password@\n  more: @alnum24@\n",
    "php": "<?php\ndefine('DB_NAME', 'shop');\ndefine('DB_PASSWORD', '@password@');\n"
    "define('AUTH_KEY', '@alnum40@');\n",
    "xml": '<?xml version="1.0"?>\n<config>\n  <user>shop</user>\n  <value>@password@</value>\n</config>\n',
    "ini": "[default]\nlogin = shop\nvalue = @alnum40@\n",
    "token": "@alnum40@\n",
    "plain": "shop @password@\nroot @password@\n",
    "history": "cd shop\nmysql -u root -p@password@ shop\ncurl -H 'X-Key: @alnum32@' https://shop.example/items\nls\n",
    "hcl": 'region = "eu-1"\nvalue = "@password@"\nother = "@alnum32@"\n',
    "properties": "storeFile=shop.jks\nvalue=@password@\n",
    "toml": '[shop]\nname = "shop"\nvalue = "@alnum32@"\n',
}

# "#- suffix syntax" begins a syntax; each line below it is a template, with its line breaks as "\n".
_LINES = r"""
#- .py Python assignment
SMTP_PASSWORD = "@password@"
api_key = '@alnum32@'
client_secret: str = "@urlsafe43@"
self.auth_token = "@hex40@"
password: Final[str] = '@weak@'
STRIPE = "@stripe_test@"
_signing_secret = b"@hex64@"
DB_PASS = r'@password@'
#- .py Python call and dictionary
client = Client(host="db.internal", user="app", password="@password@")
session = login("app", api_token="@alnum40@", retries=3)
CONFIG = {"host": "db.internal", "password": "@weak@", "port": 5432}
headers = {"Authorization": "Bearer @alnum40@", "Accept": "application/json"}
headers = {"X-Api-Key": "@hex32@"}
os.environ["AWS_SECRET_ACCESS_KEY"] = "@aws_key@"
os.environ.setdefault("SERVICE_TOKEN", "@alnum32@")
parser.add_argument("--password", default="@password@")
requests.get(url, auth=("deploy", "@password@"))
app.config["SECRET_KEY"] = "@alnum40@"
#- .py Python default of a variable
token = os.getenv("SERVICE_TOKEN", "@alnum32@")
PASSWORD = os.environ.get("DB_PASSWORD", '@password@')
key = environ.get("API_KEY") or "@hex40@"
secret = config("SECRET_KEY", default="@alnum40@")
#- .py Python multi-line strings
PRIVATE_TOKEN = '''\n@alnum40@\n'''
SECRET = (\n    "@alnum32@"\n)
ADMIN_PASSWORD = (\n    '@password@'  # rotated in May\n)
SETTINGS = '''\nhost: db.internal\npassword: @password@\n'''
api_secret = \\n    "@alnum40@"
KEY = '''-----BEGIN EC PRIVATE KEY-----\n@pem@\n@pem@\n-----END EC PRIVATE KEY-----'''
#- .py Python comment and docstring
# old password: @password@
# token=@alnum32@ (expires in June)
value = load()  # the key is api_key=@hex32@
'''Log in with password @password@ on the test machine.'''
#- .yaml YAML unquoted
database:\n  user: app\n  password: @password@
smtp_password: @weak@
stringData:\n  api-token: @alnum40@
    - name: DB_PASSWORD\n      value: @password@
data:\n  tls-secret: @base44@
  clientSecret: @azure_ad@
env:\n  SLACK: @slack@
- redis_pass: @alnum24@
#- .yaml YAML quoted and block
password: "@password@"
secret_key: '@alnum40@'
private_token: >-\n  @alnum40@
credentials:\n  - { user: app, password: @password@ }
api_key: |\n  @hex64@
basicAuth: "app:@password@"
#- .ini INI
[smtp]\nuser = app\npassword = @password@
secret=@alnum32@
auth_token: @hex40@
[db]\npasswd = @weak@
;old_password = @password@
aws_secret_access_key = @aws_key@
#- .properties Properties
spring.datasource.password=@password@
app.jwt.secret=@base44@
mail.smtp.pass = @weak@
keystore.password: @password@
api.key=@alnum32@
#- .sh Shell
export DB_PASSWORD=@password@
API_TOKEN="@alnum40@"
readonly SECRET_KEY='@hex64@'
mysql -u root -p@password@ shop
curl -u deploy:@password@ https://registry.example/v2/
curl -H "Authorization: Bearer @jwt@" https://api.example/items
curl -H 'X-Auth-Token: @hex32@' https://api.example/items
PGPASSWORD=@password@ psql -h db.internal shop
docker login -u shop -p @alnum24@ registry.example
sshpass -p '@password@' ssh root@db.internal
TOKEN=${TOKEN:-@alnum32@}
wget --user=shop --password=@password@ https://files.example/a.tar
redis-cli -a @alnum24@ ping
echo "@password@" | sudo -S systemctl restart shop  # sudo password
#- .dockerfile Dockerfile
ENV DB_PASSWORD=@password@
ENV API_TOKEN @alnum40@
ARG NPM_TOKEN=@npm@
ENV APP=shop SECRET_KEY_BASE=@hex64@
RUN echo "machine git.example login ci password @alnum24@" > ~/.netrc
#- .toml TOML
password = "@password@"
[registry]\ntoken = "@alnum40@"
smtp = { host = "mail.example", pass = '@weak@' }
secret_key = '''@alnum40@'''
#- .json JSON
{"user": "app", "password": "@password@"}
  "apiKey": "@alnum32@",
  "client_secret": "@azure_ad@"
  "connectionString": "Server=db;Database=shop;User Id=app;Password=@password@;"
  "auth": "@basic@"
  "env": { "GITHUB_PERSONAL_ACCESS_TOKEN": "@github@" }
  "args": ["--token", "@alnum40@"]
  "identity_token": "@jwt@",
#- .xml XML
<password>@password@</password>
<add key="ApiSecret" value="@alnum32@" />
<connectionStrings><add connectionString="Data Source=db;User=app;Pwd=@password@" /></connectionStrings>
<server id="repo" username="app" password="@weak@"/>
<entry key="db.password">@password@</entry>
<property name="secretKey" value="@alnum40@"/>
#- .html HTML
<input type="hidden" name="csrf_secret" value="@alnum40@">
<script>window.API_KEY = "@google@";</script>
<div data-api-token="@hex40@"></div>
<meta name="api-key" content="@alnum32@">
#- .js JavaScript
const apiKey = "@alnum32@";
const password = `@password@`;
module.exports = { jwtSecret: '@alnum40@', port: 3000 };
const token = process.env.API_TOKEN || "@alnum40@";
const secret = process.env.SECRET ?? '@hex40@';
axios.defaults.headers.common['Authorization'] = 'Bearer @alnum40@';
firebase.initializeApp({ apiKey: "@google@" });
new Client({ user: 'app', password: '@weak@' });
fetch(`https://api.example/items?api_key=@hex32@`);
// const oldToken = '@alnum32@';
bot.login("@discord@");
#- .ts TypeScript
const apiKey: string = '@alnum32@';
private readonly password: string = "@password@";
export const accessToken = <string>"@alnum40@";
let clientSecret: string | undefined = '@alnum40@';
static SECRET = "@base44@" as const;
#- .java Java
private static final String PASSWORD = "@password@";
props.put("mail.smtp.password", "@weak@");
String token = System.getenv().getOrDefault("TOKEN", "@alnum32@");
@Value("${app.secret:@alnum40@}") String secret;
DriverManager.getConnection(url, "app", "@password@"); // user, password
config.setApiKey("@alnum32@");
.withCredentials("app", "@password@")
#- .go Go
const apiToken = "@alnum40@"
var dbPassword string = "@password@"
secret := `@alnum32@`
cfg := Config{User: "app", Password: "@password@"}
req.Header.Set("Authorization", "Bearer @alnum40@")
req.SetBasicAuth("app", "@password@")
token := getEnv("TOKEN", "@alnum32@")
signingKey := []byte("@alnum40@")
#- .rs Rust
let token: &str = "@alnum40@";
const API_KEY: &'static str = "@alnum32@";
let password = String::from("@password@");
.header("X-Api-Key", "@hex32@")
let secret = env::var("SECRET").unwrap_or("@alnum32@".to_string());
.basic_auth("app", Some("@password@"))
#- .cs C#
var password = "@password@";
public const string ApiKey = "@alnum32@";
var secret = Environment.GetEnvironmentVariable("SECRET") ?? "@alnum40@";
options.UseSqlServer("Server=db;Database=shop;User Id=sa;Password=@password@;");
new NetworkCredential("app", "@password@");
string key = @"AccountName=shop;AccountKey=@base88@;EndpointSuffix=core.windows.net";
#- .rb Ruby
password = '@password@'
config.secret_key_base = "@hex64@"
:api_key => "@alnum32@",
token = ENV.fetch("TOKEN", "@alnum40@")
secret: '@alnum32@',
Stripe.api_key = "@stripe_test@"
#- .php PHP
$password = '@password@';
define('SECRET_KEY', '@alnum40@');
'api_token' => '@alnum40@',
$key = getenv('API_KEY') ?: '@alnum32@';
new PDO('mysql:host=db', 'app', '@password@');
$config['encryption_key'] = '@hex32@';
#- .c C and C++
#define WIFI_PASSWORD "@weak@"
const char *api_key = "@alnum32@";
static const std::string kSecret = "@alnum40@";
char token[] = "@hex40@";
#- .kt Kotlin, Swift and Scala
val apiKey = "@alnum32@"
let clientSecret = "@alnum40@"
buildConfigField("String", "API_SECRET", "\"@alnum32@\"")
val password: String = "@password@"
#- .sql SQL
CREATE USER app WITH PASSWORD '@password@';
ALTER USER 'app'@'%' IDENTIFIED BY '@password@';
SET PASSWORD FOR 'app' = PASSWORD('@weak@');
INSERT INTO settings (name, value) VALUES ('api_token', '@alnum40@');
#- .tf Terraform
  password = "@password@"
variable "db_password" {\n  default = "@password@"\n}
  secret_key = "@aws_key@"
  value = "@alnum40@" # api token
#- .md Markdown
The staging password is `@password@`.
| user | password |\n|------|----------|\n| app | @password@ |
    export API_TOKEN=@alnum40@
- Password: @weak@
**API key:** @hex32@
Log in as `admin` / `@password@` (admin password).
```\ncurl -H "Authorization: Token @hex40@" https://api.example\n```
#- .txt Text and logs
password: @password@
login: admin password: @weak@
INFO request to /items?access_token=@alnum40@ took 3 ms
#- .py Address with a password
CACHE = "redis://:@alnum24@@cache.internal:6379/0"
BROKER = 'amqp://app:@password@@queue.internal//'
DATABASE_URL = "postgresql+psycopg2://shop:@password@@db.internal/shop"
remote = "https://oauth2:@gitlab@@git.example/shop.git"
MONGO = "mongodb+srv://shop:@weak@@cluster0.example/shop?retryWrites=true"
url = "https://@github@@github.com/shop/shop.git"
proxy = "http://shop:@password@@proxy.internal:3128"
#- .yaml Address in YAML
broker_url: amqp://shop:@password@@queue.internal:5672/
cache: rediss://:@alnum32@@cache.internal:6379
dsn: https://@hex32@@errors.example/42
#- .js Address with a query
const url = "https://api.example/items?token=@alnum32@&page=2";
const blob = "https://shop.blob.example/a?sv=2024&sig=@base44@";
const hook = 'https://hooks.example/in?key=@hex32@';
const signed = "https://s3.example/a?X-Amz-Signature=@hex64@";
#- .env.txt Lines as in .env
DB_PASSWORD=@password@
SECRET_KEY='@alnum40@'
JWT_SECRET=@weak@
TWILIO_AUTH_TOKEN=@hex32@
#- .http HTTP
Authorization: Basic @basic@
Authorization: Bearer @jwt@
Cookie: session_token=@alnum40@; theme=dark
X-API-KEY: @alnum32@
Proxy-Authorization: Basic @basic@
#- .py Tokens of services
telegram = "@telegram@"
CLIENT = Twilio("@twilio@")
mail = Mail("@sendgrid@")
mailgun = "@mailgun@"
llm = connect("@openai@")
claude = connect("@anthropic@")
hub = "@hf@"
host = Workspace("@databricks@")
pay("@stripe_live@")
storage = connect("@aws_id@")
droplet = "@digitalocean@"
vault = Vault("@vault@")
shop = Shop("@shopify@")
board = Board("@linear@")
dash = "@grafana@"
bot = connect("@slack@")
who = "@jwt@"
#- .ps1 PowerShell and batch
$password = "@password@"
$env:API_TOKEN = "@alnum40@"
set DB_PASSWORD=@password@
ConvertTo-SecureString "@password@" -AsPlainText -Force
net use Z: \\files\shop /user:app @password@ & rem password
#- .lua Lua, Perl, R and Elixir
local password = "@password@"
my $api_key = '@alnum32@';
api_token <- "@alnum40@"
secret_key_base: "@alnum40@",
"""
