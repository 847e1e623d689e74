import { readFileSync } from "node:fs";
import type { LayerSurroundings } from "../../../compiler/commands/profile/layers.ts";
import type { LayeredModel } from "../../../compiler/onnx/layered-model.ts";
import type { Batch } from "../../../runtime/exec/models/executor.ts";
import { type FakeMachine, fakeMachine } from "./fake-machine.ts";

/** What a run of anything takes inside the worker. */
export const EMPTY_MS = 0.25;

/** What a layer that is measured by itself takes beyond what it takes among others. */
const ALONE_MS = 1;

/** Milliseconds of the layers of each model, by the name of its file. */
export type LayersByFile = Readonly<Record<string, readonly number[]>>;

export interface LayeredMachine extends FakeMachine, LayerSurroundings {
  readonly onProgress: LayerSurroundings["onProgress"];
  readonly openLayers: LayerSurroundings["openLayers"];
  /**
   * What every batch was of, as `small`, `small 0-2`, `small 0-2/3` for a stage of three, or
   * `empty`, by its run.
   */
  readonly names: string[];
  /** Folders that stages were written to. */
  readonly folders: Set<string>;
  /**
   * Batches whose inputs were not what the layer before gives, and models whose files are of
   * others.
   */
  readonly strange: string[];
}

/**
 * A machine on which a stage takes the times of its layers, an empty run more, and as much again as
 * it has no neighbours.
 * @param stretch factor of the time of a run, by its number.
 * @param among factor of the time of a stage, by how many its depth has.
 */
export function layeredMachine(
  layers: LayersByFile,
  changes: Partial<LayerSurroundings> & {
    readonly stretch?: (run: number) => number;
    readonly among?: (stages: number) => number;
  } = {},
): LayeredMachine {
  const { stretch = () => 1, among = () => 1, ...surroundings } = changes;
  let models: readonly string[] = [];
  const names: string[] = [];
  const folders = new Set<string>();
  const strange: string[] = [];
  const machine = fakeMachine((batch, run) => {
    const name = models[batch.variant] ?? "unknown";
    names.push(name);
    if (!isFed(name, batch)) strange.push(name);
    const wallMs = stretch(run) * among(depthOf(name)) * runMs(layers, name);
    return { wallMs, cpuMs: wallMs };
  }, surroundings);
  return {
    ...machine,
    get closedCount() {
      return machine.closedCount;
    },
    startExecutor: (options, handlers) => {
      models = options.variants.map(({ name }) => shortName(name));
      for (const { name, path } of options.variants) {
        if (!path.includes("stratagem-layers-")) continue;
        folders.add(path.replace(/\/[^/]*$/, ""));
        const range = / layers (.*)$/.exec(name)?.[1];
        const isItsOwn =
          range === undefined || readFileSync(path, "utf8").startsWith(`${range} of`);
        if (!isItsOwn) strange.push(`${name} in a file of other layers`);
      }
      return machine.startExecutor(options, handlers);
    },
    openLayers: async (path) => layeredModel(layers[fileName(path)] ?? []),
    names,
    folders,
    strange,
    ...surroundings,
  };
}

function layeredModel(times: readonly number[]): LayeredModel {
  // Value 0 is the input; the value after layer i has i + 1 elements.
  const value = (index: number) =>
    index === 0
      ? { name: "x", dtype: "float32", shape: [1, 2] }
      : { name: `v${index}`, dtype: "float32", shape: [index + 1] };
  return {
    layerCount: times.length,
    layerNames: times.map((ms) => `Wait${ms}`),
    stage: (from, to) => ({
      bytes: Buffer.from(`${from}-${to} of ${times.join()}`),
      inputs: [value(from)],
      outputs: [value(to)],
    }),
  };
}

function shortName(name: string): string {
  if (name.startsWith("a model that")) return "empty";
  return name.replace(/ depth (.*) layers (.*)/, " $2/$1").replace(" layers", "");
}

/** Of a layer by itself or a whole model 0. */
function depthOf(name: string): number {
  return Number(name.split("/")[1] ?? 0);
}

function runMs(layers: LayersByFile, name: string): number {
  if (name === "empty") return EMPTY_MS;
  const [variant = "", range] = name.split(" ");
  const times = layers[`${variant}.onnx`] ?? [];
  const [from = 0, to = times.length] = range?.split("/")[0]?.split("-").map(Number) ?? [];
  const ms = times.slice(from, to).reduce((sum, one) => sum + one, EMPTY_MS);
  return to - from === 1 && times.length > 1 ? ms + ALONE_MS : ms;
}

/**
 * Layers from the first on have random numbers, others the zeros that the machine gives, of the
 * length that the layer before has.
 */
function isFed(name: string, { rows, inputs }: Batch): boolean {
  const bytes = inputs[0]?.[0] ?? new Uint8Array();
  if (name === "empty") return rows === 1 && bytes.length === 4;
  const from = Number(/ (\d+)-/.exec(name)?.[1] ?? 0);
  const isZero = bytes.every((byte) => byte === 0);
  return (
    rows === 1 &&
    (from === 0 ? bytes.length === 8 && !isZero : bytes.length === 4 * (from + 1) && isZero)
  );
}

function fileName(path: string): string {
  return path.replace(/.*\//, "");
}
