#!/usr/bin/env bash
# The model servers that tests ask for real: llama.cpp's own and llama-cpp-python's, and node-llama-cpp.
#   tests/llm_servers.sh PYTHON [FOLDER]
# Everything goes into FOLDER (.llm-servers) and the environment of PYTHON. What is there already is left alone.
# Needs a C++ compiler and about five minutes on two free cores; node-llama-cpp needs npm and is left out without it.
set -euo pipefail
python=$1
folder=${2:-.llm-servers}

# One release brings the sources of llama.cpp and the bindings that fit them.
release=0.3.36
hash=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
node_release=3.22.1

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

if [ ! -x "$folder/bin/llama-server" ]; then
  echo "llama-server: building, this takes minutes"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  "$python" -m pip install -q cmake ninja
  echo "llama-cpp-python==$release --hash=sha256:$hash" >"$work/requirements.txt"
  "$python" -m pip download -q --no-deps --no-binary llama-cpp-python -d "$work" -r "$work/requirements.txt"
  tar -xzf "$work"/llama_cpp_python-*.tar.gz -C "$work"
  sources=$(echo "$work"/llama_cpp_python-*/vendor/llama.cpp)
  PATH=$(dirname "$("$python" -c 'import sys; print(sys.executable)')"):$PATH
  # The libraries find each other beside themselves, so the folder may be moved. No web page, no TLS, no examples.
  # Not for this very processor: virtual machines name instructions (AMX) that end the process when they are used.
  cmake -S "$sources" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_BUILD_RPATH_USE_ORIGIN=ON \
    -DGGML_NATIVE=OFF \
    -DLLAMA_BUILD_SERVER=ON -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF \
    -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_BUILD_MTMD=OFF >"$work/configure.log"
  cmake --build "$work/build" --target llama-server
  rm -rf "$folder/bin" "$folder/bin.new"
  cp -a "$work/build/bin" "$folder/bin.new"
  mv "$folder/bin.new" "$folder/bin"
fi

if ! "$python" -c 'from importlib.metadata import version as v; v("llama-cpp-python"), v("uvicorn")' 2>/dev/null; then
  echo "llama-cpp-python: installing, against the libraries of llama-server"
  CMAKE_ARGS=-DLLAMA_BUILD=OFF "$python" -m pip install -q "llama-cpp-python[server]==$release"
fi

if [ ! -d "$folder/node/node_modules/node-llama-cpp" ]; then
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) binary=linux-x64 ;;
    Linux-aarch64) binary=linux-arm64 ;;
    Darwin-arm64) binary=mac-arm64-metal ;;
    *) binary= ;;
  esac
  if [ -n "$binary" ] && command -v npm >/dev/null; then
    echo "node-llama-cpp: installing"
    # Its scripts would look for a compiler and its optional packages are for GPUs: the one for this machine is named.
    npm install --silent --no-audit --no-fund --omit=optional --ignore-scripts --prefix "$folder/node.new" \
      "node-llama-cpp@$node_release" "@node-llama-cpp/$binary@$node_release"
    rm -rf "$folder/node"
    mv "$folder/node.new" "$folder/node"
  else
    echo "node-llama-cpp: left out, there is no npm or no ready package for this machine"
  fi
fi
echo "In $folder: $(cd "$folder" && echo *)"
