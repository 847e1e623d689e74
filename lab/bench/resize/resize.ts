/**
 * Ways to give a running worker more or fewer cores, side by side: a session for each thread count
 * kept in one process, the processor affinity of the process, its cgroup quota, another process.
 * Latency on one core and on two, memory, and time from the call until it is in force. Then the
 * executor, which does the first: its changes, and a worker that is resized while batches follow
 * one another without a gap. `npm run bench:resize`, on a machine with at least two cores and
 * nothing else to do.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { machineLines } from "../../experiments/harness/live.ts";
import { Page } from "../../experiments/harness/page.ts";
import { onnxModel } from "../../models/onnx-graph.ts";
import { compareByExecutor } from "./by-executor.ts";
import { type BenchModel, compareFromOutside } from "./from-outside.ts";

const page = new Page("text");
for (const line of machineLines()) page.say(line);
const folder = mkdtempSync(join(tmpdir(), "resize-"));
try {
  const convolutions = join(folder, "convolutions.onnx");
  writeFileSync(convolutions, convolutionModel(6, 64, 48));
  const models: BenchModel[] = [
    { name: "cnn-xl", path: "models/image-classification/cnn-xl.onnx", batches: [1, 8, 32] },
    { name: "6 convolutions 64 x 48 x 48", path: convolutions, batches: [1, 4, 8] },
  ];
  for (const model of models) {
    await compareFromOutside(page, model);
    await compareByExecutor(page, model);
  }
  page.say(`\nload average after: ${loadavg()[0]?.toFixed(2)}`);
} finally {
  rmSync(folder, { recursive: true });
}

/**
 * y = the means of x [rows, channels, size, size] after convolutions of 3 x 3, each followed by
 * Relu.
 */
function convolutionModel(layers: number, channels: number, size: number): Uint8Array {
  const indices = Array.from({ length: layers }, (_, layer) => layer);
  const length = channels * channels * 9;
  const values = Float32Array.from({ length }, (_, i) => ((i * 7919) % 23) / 1e4);
  const last = `r${layers - 1}`;
  return onnxModel({
    nodes: [
      ...indices.flatMap((layer) => [
        {
          op: "Conv",
          inputs: [layer === 0 ? "x" : `r${layer - 1}`, `w${layer}`],
          output: `c${layer}`,
          attributes: { pads: [1, 1, 1, 1] },
        },
        { op: "Relu", inputs: [`c${layer}`], output: `r${layer}` },
      ]),
      { op: "GlobalAveragePool", inputs: [last], output: "y" },
    ],
    constants: indices.map((layer) => {
      return { name: `w${layer}`, type: "float32", shape: [channels, channels, 3, 3], values };
    }),
    inputs: [{ name: "x", type: "float32", shape: ["batch", channels, size, size] }],
    outputs: [{ name: "y", type: "float32", shape: ["batch", channels, 1, 1] }],
  });
}
