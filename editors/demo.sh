#!/usr/bin/env bash
# Starts VS Code in the browser with Weft, on the sources of a published package. Run by `make editors-demo`.
#   editors/demo.sh PYTHON [FOLDER]
# The package is unpacked, but not run. Ctrl-C ends all processes. WEFT_DEMO_PORT sets another port than 8321.
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

# The demo has its own settings; those of the user are not changed.
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

# Other users of this machine can reach the port, so each start has a new password.
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
                 Tab accepts the ghost text, Ctrl+Right the next word.
    Question     F1, "Weft: Ask About This Repository", then: Where is a cookie parsed?
    Why          F1, "Weft: Explain Completion".
    Status       The item "Weft" at the bottom right.

  Ctrl-C ends it.

TEXT
exec "${code_server[@]}" --auth password --bind-addr "127.0.0.1:$port" --disable-telemetry --disable-update-check \
  --disable-getting-started-override --reconnection-grace-time 1 >"$demo/code-server.log" 2>&1
