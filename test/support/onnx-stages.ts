/** Runs models that were cut, stage after stage. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { onTestFinished } from "vitest";
import {
  type LayeredModel,
  openLayeredModel,
  type StageBytes,
} from "../../compiler/onnx/layered-model.ts";
import { Rng } from "../../runtime/core/rng.ts";
import { probeTensors } from "../../runtime/exec/tensors/probe-tensors.ts";

export type Values = ReadonlyMap<string, Tensor>;

/** Writes the bytes to a file of their own and opens it. */
export async function layersOf(bytes: Uint8Array): Promise<LayeredModel> {
  return openLayeredModel(modelFile(bytes), probeTensors);
}

/** In a folder that goes with the test. */
export function modelFile(bytes: Uint8Array): string {
  const folder = mkdtempSync(join(tmpdir(), "stratagem-onnx-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "model.onnx");
  writeFileSync(path, bytes);
  return path;
}

/** Uniform in [−1, 1). */
export function randomTensor(shape: readonly number[], seed: number): Tensor {
  const rng = new Rng(seed, 0);
  const size = shape.reduce((product, length) => product * length, 1);
  const data = Float32Array.from({ length: size }, () => 2 * rng.nextFloat() - 1);
  return new Tensor("float32", data, shape);
}

export async function runWhole(model: Uint8Array, feeds: Values): Promise<Values> {
  const session = await InferenceSession.create(model, {
    intraOpNumThreads: 1,
    logSeverityLevel: 3,
  });
  const fetched = await session.run(Object.fromEntries(feeds));
  await session.release();
  return new Map(Object.entries(fetched));
}

/**
 * Every stage gets what it says it takes, from the inputs and earlier stages, and gives what it
 * says it gives.
 */
export async function runStages(stages: readonly StageBytes[], feeds: Values): Promise<Values> {
  const values = new Map(feeds);
  for (const stage of stages) {
    const taken = stage.inputs.map(({ name, dtype, shape }) => {
      const tensor = values.get(name);
      if (tensor === undefined) throw new Error(`nothing gave "${name}"`);
      if (tensor.type !== dtype || tensor.dims.join() !== shape.join()) {
        throw new Error(`"${name}" is ${tensor.type} [${tensor.dims}], not ${dtype} [${shape}]`);
      }
      return [name, tensor] as const;
    });
    const given = await runWhole(stage.bytes, new Map(taken));
    for (const { name, dtype, shape } of stage.outputs) {
      const tensor = given.get(name);
      if (tensor === undefined) throw new Error(`the stage does not give "${name}"`);
      const isPromised = shape.every((size, axis) => size < 0 || size === tensor.dims[axis]);
      if (tensor.type !== dtype || shape.length !== tensor.dims.length || !isPromised) {
        throw new Error(`gave ${tensor.type} [${tensor.dims}], not ${dtype} [${shape}]`);
      }
      values.set(name, tensor);
    }
  }
  return values;
}

/** Stages that end before these layers. */
export function cutAt(model: LayeredModel, ends: readonly number[]): StageBytes[] {
  const bounds = [0, ...ends, model.layerCount];
  return bounds.slice(1).map((end, index) => model.stage(bounds[index] ?? 0, end));
}

/** Largest difference of an element, of the largest element there is. */
export function relativeDifference(
  found: Tensor | undefined,
  expected: Tensor | undefined,
): number {
  const [a, b] = [numbersOf(found), numbersOf(expected)];
  if (a.length !== b.length || a.length === 0) return Number.POSITIVE_INFINITY;
  const scale = Math.max(...b.map(Math.abs), 1e-30);
  return Math.max(...a.map((value, at) => Math.abs(value - (b[at] ?? Number.NaN)))) / scale;
}

function numbersOf(tensor: Tensor | undefined): number[] {
  return tensor === undefined ? [] : Array.from(tensor.data as ArrayLike<number>, Number);
}
