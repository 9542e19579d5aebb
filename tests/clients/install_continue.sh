#!/usr/bin/env bash
# Makes one file of Continue's core and tests/clients/continue.mjs, for test_http_clients.py:
#   tests/clients/install_continue.sh [FOLDER]      (.editors/continue; 850 MB, 2 minutes)
#   .venv/bin/python -m pytest -c tests/pytest.ini tests/test_http_clients.py -m slow
# Needs node and npm, and takes packages of npm alone, without install scripts: the core's cache of completions, whose
# native part is downloaded from elsewhere, is replaced by continue_cache.mjs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
core=1.1.0
esbuild=0.28.2
mkdir -p "${1:-.editors/continue}"
folder=$(cd "${1:-.editors/continue}" && pwd)
if [ -x "$folder/../bin/npm" ]; then export PATH=$(cd "$folder/../bin" && pwd):$PATH; fi
command -v npm >/dev/null || { echo "continue: no npm. Run make editors first, or install Node." >&2; exit 1; }

cd "$folder"
[ -f package.json ] || echo '{"private": true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --no-save "@continuedev/core@$core" "esbuild@$esbuild"
cp "$here/continue.mjs" source.mjs
cp "$here/continue_cache.mjs" continue_cache.mjs
banner='import { createRequire } from "node:module"; import { fileURLToPath as toPath } from "node:url";'
banner+=' const require = createRequire(import.meta.url);'
banner+=' const __filename = toPath(import.meta.url); const __dirname = toPath(new URL(".", import.meta.url));'
node_modules/.bin/esbuild source.mjs --bundle --platform=node --format=esm --outfile=continue.mjs --log-level=error \
  --loader:.node=empty --alias:sqlite=./continue_cache.mjs --alias:sqlite3=./continue_cache.mjs "--banner:js=$banner"
# The core parses files with grammars that it expects beside itself.
cp node_modules/web-tree-sitter/tree-sitter.wasm .
mkdir -p tree-sitter-wasms
cp node_modules/tree-sitter-wasms/out/*.wasm tree-sitter-wasms/
echo "continue: $folder/continue.mjs"
