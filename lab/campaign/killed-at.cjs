/**
 * Loaded before a command (`node --require`): kills its process, as SIGKILL does, at a moment that
 * STRATAGEM_KILLED_AT names: the nth call of `write`, `sync`, `rename` or `renamed` (after it).
 */
const fs = require("node:fs");
const { syncBuiltinESMExports } = require("node:module");

const [moment = "", nth = "1"] = (process.env.STRATAGEM_KILLED_AT ?? "").split(":");
let left = Number(nth);

function isNow(name) {
  return name === moment && --left === 0;
}

function die() {
  process.kill(process.pid, "SIGKILL");
}

const { open, rename } = fs.promises;
fs.promises.rename = async (...args) => {
  if (isNow("rename")) die();
  await rename(...args);
  if (isNow("renamed")) die();
};
fs.promises.open = async (path, flags, ...rest) => {
  const handle = await open(path, flags, ...rest);
  if (flags !== "wx") return handle;
  const writeFile = handle.writeFile.bind(handle);
  handle.writeFile = async (bytes) => {
    if (!isNow("write")) return writeFile(bytes);
    await handle.write(bytes, 0, Math.floor(bytes.length / 2));
    return die();
  };
  const sync = handle.sync.bind(handle);
  handle.sync = async () => {
    await sync();
    if (isNow("sync")) die();
  };
  return handle;
};
syncBuiltinESMExports();
