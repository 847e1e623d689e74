/**
 * Prints each variant's latency on one thread of this machine's CPU, in milliseconds.
 * Usage: node tools/scenes/measure-latency.js [MODEL_FOLDER]
 */
import { readdirSync } from "node:fs";
import path from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { CROP_SIDE, drawScenes, HELD_OUT_SEED, SCENE_SIDE } from "./dataset.js";
import { cutTrueCrops } from "./measure.js";

const BATCH_SIZES = [1, 2, 4, 8, 16];
const WARM_UP_RUNS = 20;
const MEASURED_MS = 500;

const folder = process.argv[2] ?? path.join("models", "scenes");
const scenes = drawScenes(HELD_OUT_SEED, Math.max(...BATCH_SIZES));
const { crops } = cutTrueCrops(scenes.pixels, scenes.objectsByScene);

console.log(`variant, median ms of a batch of ${BATCH_SIZES.join(", ")}; per row at 1 over at 8`);
for (const file of readdirSync(folder).filter((name) => name.endsWith(".onnx"))) {
  const session = await InferenceSession.create(path.join(folder, file), {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    extra: { session: { intra_op: { allow_spinning: "0" } } },
  });
  const medianMs = [];
  for (const batchSize of BATCH_SIZES) medianMs.push(await medianLatencyMs(session, batchSize));
  const batchingGain = (8 * (medianMs[0] ?? 0)) / (medianMs[BATCH_SIZES.indexOf(8)] ?? 0);
  const cells = medianMs.map((ms) => ms.toFixed(3)).join("  ");
  console.log(`${path.parse(file).name.padEnd(10)} ${cells}  ${batchingGain.toFixed(2)}`);
  await session.release();
}

/** Median of the runs that fit in MEASURED_MS, after a warm-up. */
async function medianLatencyMs(session, batchSize) {
  const input = inputOf(session, batchSize);
  for (let i = 0; i < WARM_UP_RUNS; i++) await session.run(input);
  const latencyMs = [];
  const end = performance.now() + MEASURED_MS;
  while (performance.now() < end) {
    const start = performance.now();
    await session.run(input);
    latencyMs.push(performance.now() - start);
  }
  latencyMs.sort((a, b) => a - b);
  return latencyMs[Math.floor(latencyMs.length / 2)] ?? Number.NaN;
}

/** The first scenes for a detector, the first crops for a classifier. */
function inputOf(session, batchSize) {
  const [name] = session.inputNames;
  const [bytes, side] = name === "scene" ? [scenes.pixels, SCENE_SIDE] : [crops, CROP_SIDE];
  const shape = [batchSize, 1, side, side];
  return { [name]: new Tensor("uint8", bytes.slice(0, batchSize * side * side), shape) };
}
