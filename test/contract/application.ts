/** A small application with models that can be served: what every method compiles in the suite. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onnxModel } from "../../lab/models/onnx-graph.ts";

/** Values of a row. */
export const WIDTH = 3;
/** Layers of the model, each of which gives what it takes where that is not negative. */
export const LAYERS = 3;

/** What a method is asked for, and with which tasks. */
export interface ApplicationSketch {
  readonly tasks: readonly object[];
  readonly policy: object;
  readonly cluster: object;
  /** Of the one profile, by variant. */
  readonly measured: Readonly<Record<string, object>>;
}

export const LOADS_QPS = [20, 60];

/** One task of two variants of which each names its own measurements. */
export const TWO_VARIANTS = [
  {
    name: "classify",
    variants: ["small", "large"].map((name) => variant(name)),
  },
];

/** Two tasks that each take what the other gives. @param edge of the first. */
export function twoTasks(variants: readonly string[], edge: object = {}): object[] {
  return [
    {
      name: "first",
      variants: variants.map((name) => variant(name)),
      to: [{ task: "second", inputs: { x: "y" }, ...edge }],
    },
    { name: "second", variants: variants.map((name) => variant(name)) },
  ];
}

export const LATENCIES = {
  small: { accuracy: 0.7, latencyMs: { 1: 4, 2: 6, 4: 10 } },
  large: { accuracy: 0.9, latencyMs: { 1: 15, 2: 26, 4: 48 } },
};

function variant(name: string): object {
  return { name, profile: `profile.json#${name}`, model: "echo.onnx" };
}

/** Writes spec, profile and model into a folder. @returns path of the spec. */
export function writeApplication(folder: string, sketch: ApplicationSketch): string {
  const { measured, tasks, policy, cluster } = sketch;
  const profile = { format: "latency-profile/1", hardware: "test", variants: measured };
  const spec = {
    version: 1,
    application: "echo",
    slo: { latency: "200 ms", maxViolationRate: "5%" },
    workload: { arrivals: { process: "poisson" }, loads: LOADS_QPS },
    cluster,
    tasks,
    policy,
  };
  const path = join(folder, "app.json");
  writeFileSync(join(folder, "profile.json"), JSON.stringify(profile));
  writeFileSync(join(folder, "echo.onnx"), echo());
  writeFileSync(path, JSON.stringify(spec));
  return path;
}

/** Rows in, the same rows out. */
function echo(): Uint8Array {
  const tensor = (name: string) => ({
    name,
    type: "float32" as const,
    shape: ["rows", WIDTH],
  });
  const names = ["x", "h1", "h2", "y"];
  return onnxModel({
    inputs: [tensor("x")],
    outputs: [tensor("y")],
    nodes: names.slice(1).map((output, layer) => {
      return { op: "Relu", inputs: [names[layer] ?? ""], output };
    }),
  });
}
