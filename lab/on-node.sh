#!/usr/bin/env bash
# Runs a command on another Node: lab/on-node.sh 26 npm test
# That Node comes from npm, once, into .stratagem/, which git ignores; node, npm and npx are then run by it.
set -euo pipefail
version=$1
shift
folder="$(cd "$(dirname "$0")/.." && pwd)/.stratagem/node-$version"
# The packages of npm that hold nothing but Node itself, one for each platform.
package=$(node -p '
  const { platform, arch } = process;
  `${platform === "darwin" && arch === "arm64" ? "node-bin" : "node"}-${platform}-${arch}`;
')
bin="$folder/node_modules/$package/bin"
if [ ! -x "$bin/node" ]; then
  mkdir -p "$folder"
  npm install --prefix "$folder" --no-audit --no-fund --loglevel error "$package@$version"
fi
PATH="$bin:$PATH"
echo "== $* on Node $(node --version)"
exec "$@"
