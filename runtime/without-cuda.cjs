/**
 * Runs before the packages below this one are built, when npm installs it: an install takes what
 * runs on CPUs and WebGPU, and reaches no host but the registry.
 *
 * The post-install script of onnxruntime-node downloads CUDA libraries of 300 MB from another host
 * wherever they are missing, and the whole install fails where that host cannot be reached. The
 * script is content with files of their names, so each gets one that says what it stands for.
 * Whoever asks for CUDA by ONNXRUNTIME_NODE_INSTALL=cuda12 gets the libraries, now or later.
 */
const { existsSync, writeFileSync } = require("node:fs");
const { arch, platform } = require("node:os");
const { dirname, join } = require("node:path");

const STANDS_FOR =
  "Not a library: CUDA was not asked for when onnxruntime-node was installed.\n" +
  "node node_modules/onnxruntime-node/script/install --onnxruntime-node-install=cuda12 puts " +
  "it here.\n";

const asked = [
  "ONNXRUNTIME_NODE_INSTALL",
  "ONNXRUNTIME_NODE_INSTALL_CUDA",
  "npm_config_onnxruntime_node_install",
  "npm_config_onnxruntime_node_install_cuda",
].some((name) => process.env[name]);

if (!asked) {
  for (const path of missingLibraries()) writeFileSync(path, STANDS_FOR);
}

/** Paths of the libraries that the post-install script would download for this machine. */
function missingLibraries() {
  const engine = engineFolder();
  if (engine === null) return [];
  const { requirements, manifests } = require(join(engine, "script/install-metadata.js"));
  const machine = `${platform()}/${arch()}`;
  const folder = join(engine, "bin/napi-v6", machine);
  if (!existsSync(folder)) return [];
  return (requirements[machine] ?? [])
    .flatMap((name) => Object.keys(manifests[`${machine}:${name}`] ?? {}))
    .map((file) => join(folder, file))
    .filter((path) => !existsSync(path));
}

/** Null where the package is not, or is of another build: then its own script decides. */
function engineFolder() {
  try {
    const folder = dirname(require.resolve("onnxruntime-node/package.json"));
    return existsSync(join(folder, "script/install-metadata.js")) ? folder : null;
  } catch {
    return null;
  }
}
