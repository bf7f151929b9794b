#!/usr/bin/env bash
# Packs the extension of editors/vscode into the file given: `make vsix`.
set -euo pipefail
out=$(realpath -m "$1")
cd "$(dirname "$0")"

if [ ! -x node_modules/.bin/vsce ]; then
    npm ci --ignore-scripts
fi
# The licences lie at the root of the project.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r vscode/. ../LICENSE-MIT ../LICENSE-APACHE "$work"
cat > "$work/LICENSE.txt" <<'TEXT'
Licensed under the Apache License, Version 2.0 (LICENSE-APACHE) or the MIT licence (LICENSE-MIT), at your choice.
TEXT
mkdir -p "$(dirname "$out")"
vsce=$PWD/node_modules/.bin/vsce
(cd "$work" && "$vsce" package --no-dependencies --allow-missing-repository --out "$out")
