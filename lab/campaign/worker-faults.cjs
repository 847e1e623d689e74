/**
 * Loaded before a worker process (`--worker-env NODE_OPTIONS=--require=…`): its runs fail or take
 * longer while the file that STRATAGEM_WORKER_FAULTS names says so, in a line of its process id or
 * of `all`: `PID fail` or `PID slow FACTOR`.
 */
const { readFileSync } = require("node:fs");
const Module = require("node:module");

const file = process.env.STRATAGEM_WORKER_FAULTS;
const patched = new WeakSet();

function fault() {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines
    .map((line) => line.split(" "))
    .find(([who]) => who === "all" || who === String(process.pid));
}

function patch(prototype) {
  if (patched.has(prototype)) return;
  patched.add(prototype);
  const { run } = prototype;
  prototype.run = async function (...args) {
    const [, what, factor] = fault() ?? [];
    if (what === "fail") throw new Error("a fault of the campaign");
    const startMs = performance.now();
    const outputs = await run.apply(this, args);
    if (what === "slow") {
      const restMs = (performance.now() - startMs) * (factor - 1);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, restMs);
    }
    return outputs;
  };
}

const load = Module._load;
Module._load = function (request, ...rest) {
  const loaded = load.call(this, request, ...rest);
  if (file !== undefined && /onnxruntime-node/.test(request)) {
    const prototype = loaded?.InferenceSession?.prototype;
    if (prototype !== undefined) patch(prototype);
  }
  return loaded;
};
