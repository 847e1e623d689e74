/** Runs a model to find the types and shapes of its outputs. */

import { readFile } from "node:fs/promises";
import { assert } from "../../core/assert.ts";
import { InferenceSession, type Tensor } from "./onnxruntime.ts";
import { tensorData } from "./tensor-data.ts";

/** A complete input of a run. */
export interface ProbeInput {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export interface ProbeRun {
  readonly inputs: readonly ProbeInput[];
  /** Whether the model may refuse these inputs; such a run then has no result. */
  readonly mayBeRefused: boolean;
}

export interface ProbeOptions {
  readonly runs: readonly ProbeRun[];
  /**
   * Element types of the outputs to look at. Others are not fetched: onnxruntime-node 1.30 ends the
   * process on a tensor of int4.
   */
  readonly dtypes: ReadonlySet<string>;
}

export interface ProbedTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  /**
   * Shape that onnxruntime infers without running: −1 for unknown sizes; empty also if the number
   * of dimensions is unknown.
   */
  readonly inferredShape: readonly number[];
  /** Duration of the run, unoptimized and on one thread. */
  readonly ranMs: number;
}

/** Dense tensors of the wanted element types among the outputs of a run, by name. */
export type ProbedTensors = ReadonlyMap<string, ProbedTensor>;

/**
 * Runs the model. @returns one result for each run that was not refused, in order; null if the
 * model has an output of a type that the binding cannot load (bfloat16 and float8).
 * @throws Error with onnxruntime's message on one line if it refuses the model or a run.
 */
export async function probeTensors(
  model: Uint8Array,
  { runs, dtypes }: ProbeOptions,
): Promise<readonly ProbedTensors[] | null> {
  const session = await open(model);
  if (session === null) return null;
  try {
    const wanted = session.outputMetadata.flatMap((value): Wanted[] => {
      if (!value.isTensor || !dtypes.has(value.type)) return [];
      const inferredShape = value.shape.map((size) => (typeof size === "number" ? size : -1));
      return [{ name: value.name, inferredShape }];
    });
    const probed: ProbedTensors[] = [];
    for (const run of runs) {
      const tensors = await tensorsOf(session, wanted, run);
      if (tensors !== null) probed.push(tensors);
    }
    return probed;
  } finally {
    await session.release();
  }
}

export async function probeModelFile(
  path: string,
  options: ProbeOptions,
): Promise<readonly ProbedTensors[] | null> {
  return probeTensors(await readFile(path), options);
}

interface Wanted {
  readonly name: string;
  readonly inferredShape: readonly number[];
}

async function open(model: Uint8Array): Promise<InferenceSession | null> {
  try {
    // No optimization: no node is fused, so every value can be fetched.
    const options = { graphOptimizationLevel: "disabled", logSeverityLevel: 4 } as const;
    return await InferenceSession.create(model, { ...options, intraOpNumThreads: 1 });
  } catch (error) {
    const words = reasonOf(error);
    if (words.startsWith("Unsupported data type")) return null;
    throw new Error(words);
  }
}

async function tensorsOf(
  session: InferenceSession,
  wanted: readonly Wanted[],
  { inputs, mayBeRefused }: ProbeRun,
): Promise<ProbedTensors | null> {
  if (wanted.length === 0) return new Map();
  const feeds: Record<string, Tensor> = {};
  for (const { name, dtype, shape, bytes } of inputs) {
    feeds[name] = tensorData(dtype).tensor(bytes, shape);
  }
  try {
    const names = wanted.map(({ name }) => name);
    const startMs = performance.now();
    const fetched = await session.run(feeds, names, { logSeverityLevel: 4 });
    const ranMs = performance.now() - startMs;
    const probed = new Map<string, ProbedTensor>();
    for (const { name, inferredShape } of wanted) {
      const tensor = fetched[name];
      assert(tensor !== undefined, "every requested output was fetched");
      probed.set(name, { dtype: tensor.type, shape: tensor.dims, inferredShape, ranMs });
    }
    return probed;
  } catch (error) {
    if (mayBeRefused) return null;
    throw new Error(reasonOf(error));
  }
}

/**
 * Returns onnxruntime's message on one line, without the path, line number and signature of its
 * source that it starts with.
 */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const line = message.replaceAll(/\s+/g, " ").trim();
  // A failed run has the place behind what failed.
  const at = line.indexOf(STATUS);
  if (at < 0) return withoutPlace(line);
  const behind = at + STATUS.length;
  return line.slice(0, behind) + withoutPlace(line.slice(behind));
}

const STATUS = "Status Message: ";

function withoutPlace(text: string): string {
  return text.replace(/^\/\S+:\d+ .*?\) (?=\S)/, "");
}
