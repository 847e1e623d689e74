/**
 * Two models that are cut for real, and served the whole way: HTTP, the decision core, worker
 * processes and stage models.
 */

import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { devicesOn } from "stratagem-runtime/internal/exec/models/worker-device";
import { openLayeredModel } from "../../../../../compiler/onnx/layered-model.ts";
import { onnxModel } from "../../../../../lab/models/onnx-graph.ts";
import type {
  AccordionBundle,
  MalleableVariant,
  ModelFile,
  StageModel,
} from "../../../../../runtime/bundle/schema.ts";
import { type Executor, WorkerLostError } from "../../../../../runtime/exec/models/executor.ts";
import type { ProcessExecutor } from "../../../../../runtime/exec/pool/worker-pool.ts";
import { probeTensors } from "../../../../../runtime/exec/tensors/probe-tensors.ts";
import { type ServedModel, servedModels } from "../../../../../runtime/host/served-models.ts";
import { accordionApplication } from "../../../../../runtime/methods/accordion/serve/accordion-application.ts";
import type { RunningServer } from "../../../../../runtime/server/serve.ts";
import {
  type AccordionBundleSketch,
  accordionBundle,
} from "../../../../support/accordion-bundle.ts";
import { serveOne } from "../../../../support/serve-one.ts";
import type { Entry } from "./driven.ts";

type PoolModule = typeof import("../../../../../runtime/exec/pool/worker-pool.ts");
// Workers are processes, which run compiled files only.
const { startExecutor }: PoolModule = await import(
  new URL("../../../../../runtime/dist/exec/pool/worker-pool.js", import.meta.url).href
);

export const WIDTH = 8;

/** Of the net below. */
const LAYERS = 9;

/**
 * Nine layers, a value that is used again much later, and a second output from the middle: "y" and
 * "z" of "x".
 * @param scale of its weights.
 */
function residualNet(scale: number): Uint8Array {
  const weights = (name: string, phase: number) => ({
    name,
    type: "float32" as const,
    shape: [WIDTH, WIDTH],
    values: Array.from({ length: WIDTH * WIDTH }, (_, at) => scale * Math.sin(phase + 7 * at)),
  });
  const row = ["rows", WIDTH] as const;
  return onnxModel({
    inputs: [{ name: "x", type: "float32", shape: row }],
    outputs: [
      { name: "y", type: "float32", shape: row },
      { name: "z", type: "float32", shape: row },
    ],
    constants: [weights("w1", 1), weights("w2", 2), weights("w3", 3)],
    nodes: [
      { op: "MatMul", inputs: ["x", "w1"], output: "h1" },
      { op: "Relu", inputs: ["h1"], output: "h2" },
      { op: "MatMul", inputs: ["h2", "w2"], output: "h3" },
      { op: "Add", inputs: ["h3", "h1"], output: "h4" },
      { op: "Sigmoid", inputs: ["h4"], output: "z" },
      { op: "Relu", inputs: ["h4"], output: "h5" },
      { op: "MatMul", inputs: ["h5", "w3"], output: "h6" },
      { op: "Add", inputs: ["h6", "h1"], output: "h7" },
      { op: "Tanh", inputs: ["h7"], output: "y" },
    ],
  });
}

/**
 * A bundle of the models "one" and "two", whose files are written into a folder. Every layer takes
 * 10 ms, it says.
 */
export async function realBundle(
  folder: string,
  sketch: Omit<AccordionBundleSketch, "models"> = {},
): Promise<AccordionBundle> {
  const layerMs = new Array<number>(LAYERS).fill(10);
  const models = ["one", "two"].map((name) => ({ name, layerMs }));
  const bundle = accordionBundle({ ...sketch, models });
  const variants: MalleableVariant[] = [];
  for (const [index, variant] of (bundle.tasks[0]?.variants ?? []).entries()) {
    const net = residualNet(0.4 + 0.2 * index);
    variants.push(await withFiles(variant, net, folder));
  }
  return { ...bundle, tasks: bundle.tasks.map((task) => ({ ...task, variants })) };
}

async function withFiles(
  variant: MalleableVariant,
  net: Uint8Array,
  folder: string,
): Promise<MalleableVariant> {
  const path = join(folder, `${variant.name}.onnx`);
  writeFileSync(path, net);
  const row = (name: string) => ({ name, dtype: "float32", shape: [-1, WIDTH] });
  const model = fileOf(path, net, { inputs: [row("x")], outputs: [row("y"), row("z")] });
  const layered = await openLayeredModel(path, probeTensors);
  if (layered.layerCount !== LAYERS) throw new Error(`${layered.layerCount} layers`);
  const stages = rangesOf(variant).map(([from, to]): StageModel => {
    const stage = layered.stage(from, to);
    const stagePath = join(folder, `${variant.name}.${from}-${to}.onnx`);
    writeFileSync(stagePath, stage.bytes);
    return { from, to, model: fileOf(stagePath, stage.bytes, stage) };
  });
  return { ...variant, model, stages };
}

function fileOf(
  path: string,
  bytes: Uint8Array,
  { inputs, outputs }: Pick<ModelFile, "inputs" | "outputs">,
): ModelFile {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { file: path.slice(path.lastIndexOf("/") + 1), sha256, inputs, outputs };
}

/** Layers of all stages, ascending. */
function rangesOf({ pipelines }: MalleableVariant): (readonly [from: number, to: number])[] {
  const ranges = new Map<string, readonly [number, number]>();
  for (const pipeline of pipelines) {
    let from = 0;
    for (const layers of pipeline?.cut ?? []) {
      ranges.set(`${from}-${from + layers}`, [from, from + layers]);
      from += layers;
    }
  }
  return [...ranges.values()].sort(([fromA, toA], [fromB, toB]) => fromA - fromB || toA - toB);
}

export interface RealPlaces {
  readonly url: string;
  readonly server: RunningServer;
  readonly executor: ProcessExecutor;
  readonly log: Entry[];
  /** What the uncut model makes of rows. */
  whole(model: number, rows: Float32Array): Promise<{ readonly y: number[]; readonly z: number[] }>;
}

/**
 * A server whose places are all ready, to be closed. Its clock stands still, so that what is
 * decided follows from the order of events.
 */
export async function realPlaces(bundle: AccordionBundle, folder: string): Promise<RealPlaces> {
  const stages = await servedModels(bundle, folder);
  const variants = bundle.tasks.flatMap((task) => task.variants);
  const wholes = variants.map((variant) => wholeModel(variant, folder));
  const log: Entry[] = [];
  let executor: ProcessExecutor | undefined;
  const server = await serveOne(accordionApplication, {
    bundle,
    bundleSha256: "ab".repeat(32),
    host: "127.0.0.1",
    port: 0,
    nowMs: () => 0,
    version: "0.0.0",
    recorder: (entry) => log.push(entry),
    executorFactory: async (handlers) => {
      executor = await startExecutor(
        {
          variants: [...stages, ...wholes],
          workerCount: bundle.policy.executionPlaces,
          standbyCount: 0,
          threadsPerWorker: 1,
          devices: devicesOn("cpu", bundle.policy.executionPlaces),
        },
        handlers,
      );
      return withOwnErrors(executor);
    },
  });
  await server.started;
  if (executor === undefined) throw new Error("the server made no executor");
  const workers = executor;
  const whole: RealPlaces["whole"] = async (model, rows) => {
    const inputs = [[new Uint8Array(rows.buffer)]];
    const batch = { variant: stages.length + model, rows: rows.length / WIDTH, inputs };
    const { outputs } = await workers.run(0, batch);
    const [y, z] = outputs.map(({ bytes }) => [...new Float32Array(Uint8Array.from(bytes).buffer)]);
    return { y: y ?? [], z: z ?? [] };
  };
  return { url: server.url, server, executor: workers, log, whole };
}

/**
 * Errors of the compiled executor are of classes of their own, which the server here does not know.
 */
function withOwnErrors(executor: Executor): Executor {
  return {
    run: (worker, batch) =>
      executor.run(worker, batch).catch((error: Error) => {
        throw error.name === "WorkerLostError" ? new WorkerLostError(worker, error.message) : error;
      }),
    close: () => executor.close(),
  };
}

function wholeModel({ name, model }: MalleableVariant, folder: string): ServedModel {
  if (model === null) throw new Error(`${name} has no model`);
  const { file, inputs, outputs } = model;
  return { name, path: join(folder, file), inputs, outputs, warmBatches: [], axisNames: {} };
}
