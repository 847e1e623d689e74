/**
 * An application whose model keeps sums: what it gives is what came so far, and its state has the
 * rows behind another axis and comes twice, as that of recurrent nets.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onnxModel } from "../../lab/models/onnx-graph.ts";

export const WIDTH = 3;

/** x [rows, 3] and sum [2, rows, 3] to y [rows, 3] and next [2, rows, 3]. */
export function summingModel(): Uint8Array<ArrayBuffer> {
  return onnxModel({
    name: "sums",
    nodes: [
      { op: "Add", inputs: ["sum", "x"], output: "next" },
      {
        op: "ReduceMean",
        inputs: ["next"],
        output: "y",
        attributes: { axes: [0], keepdims: 0 },
      },
    ],
    inputs: [
      { name: "x", type: "float32", shape: ["n", WIDTH] },
      { name: "sum", type: "float32", shape: [2, "n", WIDTH] },
    ],
    outputs: [
      { name: "y", type: "float32", shape: ["n", WIDTH] },
      { name: "next", type: "float32", shape: [2, "n", WIDTH] },
    ],
  });
}

/** @param change of the variant's state, or the policy. @returns the path of its spec. */
export function writeSummingApplication(
  folder: string,
  {
    state = { next: "sum" },
    policy = { method: "ramsis", maxQueue: 4 },
  }: {
    readonly state?: Readonly<Record<string, string>>;
    readonly policy?: object;
  } = {},
): string {
  const variants = { sum: { accuracy: 1, latencyMs: { 1: 2, 4: 3 } } };
  const profile = { format: "latency-profile/1", hardware: "test", variants };
  const variant = {
    name: "sum",
    profile: "profile.json#sum",
    model: "sum.onnx",
    axes: { n: "batch" },
    state,
  };
  const spec = {
    version: 1,
    application: "sums",
    slo: { latency: "5 s" },
    workload: { loads: [10], arrivals: { process: "poisson" } },
    cluster: { workers: 1 },
    tasks: [{ name: "add", variants: [variant] }],
    policy,
  };
  writeFileSync(join(folder, "sum.onnx"), summingModel());
  writeFileSync(join(folder, "sum.onnx"), summingModel());
  writeFileSync(join(folder, "profile.json"), JSON.stringify(profile));
  const path = join(folder, "app.json");
  writeFileSync(path, JSON.stringify(spec));
  return path;
}
