#!/usr/bin/env bash
# VS Code in the browser with Weft, on the sources of a published package. Run by `make editors-demo`.
#   editors/demo.sh PYTHON [FOLDER]
# The package is data: it is unpacked, and nothing of it is run. Ctrl-C ends everything that was started here.
# WEFT_DEMO_PORT names another port than 8321.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
folder=$(cd "${2:-.editors}" && pwd)
port=${WEFT_DEMO_PORT:-8321}

package=werkzeug
release=3.1.3

demo=$folder/demo
sources=$demo/$package-$release
user=$demo/user
mkdir -p "$demo/home" "$user/User" "$user/Machine"

if [ ! -d "$sources" ]; then
  echo "demo: fetching $package $release"
  rm -rf "$demo/fetched"
  "$python" -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: -d "$demo/fetched" \
    "$package==$release" || {
    echo "demo: $package could not be fetched; see that pip reaches its index, then run this again" >&2
    exit 1
  }
  "$python" -m zipfile -e "$demo"/fetched/*.whl "$sources.new"
  rm -rf "$demo/fetched"
  mv "$sources.new" "$sources"
fi

# Settings of the demo's own; those of the person who runs it stay as they are.
[ -f "$user/User/settings.json" ] || cat >"$user/User/settings.json" <<JSON
{
  "workbench.startupEditor": "none",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "telemetry.telemetryLevel": "off",
  "extensions.autoCheckUpdates": false,
  "editor.wordBasedSuggestions": "off"
}
JSON
"$python" -c 'import json, sys; print(json.dumps({"weft.server.command": [sys.argv[1], "-m", "weft"]}, indent=2))' \
  "$python" >"$user/Machine/settings.json"

# The port is this machine's alone, and others may be logged in here: a new password for each start.
PASSWORD=$("$python" -c 'import secrets; print(secrets.token_hex(8))')
export PASSWORD HOME=$demo/home XDG_CONFIG_HOME=$demo/home/.config XDG_CACHE_HOME=$demo/home/.cache
export XDG_DATA_HOME=$demo/home/.local/share PATH=$folder/bin:$PATH
: >"$demo/config.yaml"
code_server=("$folder/cs/bin/code-server" --config "$demo/config.yaml" --user-data-dir "$user"
  --extensions-dir "$demo/extensions")
"${code_server[@]}" --install-extension "$here/vscode/weft.vsix" --force >"$demo/install.log" 2>&1 || {
  echo "demo: the extension could not be installed; $demo/install.log says why" >&2
  exit 1
}

cat <<TEXT

  Address   http://127.0.0.1:$port/?folder=$sources
  Password  $PASSWORD

  Try this; nothing in the folder is run, trusted or not.
    Completion   Open werkzeug/exceptions.py, and write at its end:
                     class UpgradeRequired(HTTPException):
                         code = 426
                         desc
                 Tab takes the grey text, ctrl+right a word of it.
    Question     F1, "Weft: Ask About This Repository", then: Where is a cookie parsed?
    Why          F1, "Weft: Explain Completion".
    Status       The item "Weft" at the bottom right.

  Ctrl-C ends it.

TEXT
exec "${code_server[@]}" --auth password --bind-addr "127.0.0.1:$port" --disable-telemetry --disable-update-check \
  --disable-getting-started-override --reconnection-grace-time 1 >"$demo/code-server.log" 2>&1
