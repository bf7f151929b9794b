#!/usr/bin/env bash
# Installs what ide.mjs needs: a browser, from Debian, and VS Code as code-server packs it, from the npm
# registry alone, into node_modules. Its own installer would fetch programs from elsewhere, so scripts are
# left out, and the four native modules that matter are built here.
set -euo pipefail
cd "$(dirname "$0")"

browsers="chromium-headless-shell chromium chromium-browser google-chrome"
if ! command -v $browsers >/dev/null; then
    if [ "$(id -u)" != 0 ]; then
        echo "the editor test needs a browser: sudo apt install chromium-headless-shell (or chromium)" >&2
        exit 1
    fi
    apt-get install -y --no-install-recommends chromium-headless-shell || apt-get install -y --no-install-recommends chromium
fi
if [ -e node_modules/ready ]; then
    exit 0
fi
if ! node --version | grep -q '^v20\.'; then
    echo "the editor test needs Node 20 (this is $(node --version 2>/dev/null || echo none)): apt install nodejs npm" >&2
    exit 1
fi
npm ci --ignore-scripts
code=node_modules/code-server
npm rebuild argon2 --build-from-source
(
    cd "$code/lib/vscode"
    npm install --omit=dev --ignore-scripts
    ln -sfn node_modules node_modules.asar
    # It says that a script failed, after the modules are built: whether they are is checked.
    npm rebuild @vscode/spdlog native-watchdog node-pty || true
    for module in @vscode/spdlog native-watchdog node-pty; do
        if ! find "node_modules/$module" -name '*.node' | grep -q .; then
            echo "$module was not built: install a C++ compiler, make and python3" >&2
            exit 1
        fi
    done
    cd extensions
    npm install --omit=dev --ignore-scripts
)
touch node_modules/ready
