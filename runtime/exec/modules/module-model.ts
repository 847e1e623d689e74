/** An ES module that runs as a model: runs its batches and checks its answers. */
import type { TensorInfo } from "../../bundle/schema.ts";
import { assert } from "../../core/assert.ts";
import { Rng } from "../../core/rng.ts";
import type { BatchResult, VariantModel, VariantModule } from "../models/executor.ts";
import { BadRowsError, type LoadedModel, measuredRun, oneLine } from "../models/loaded-model.ts";
import { factsOf, type LoadFacts } from "../models/model-facts.ts";
import type { HostTensor } from "../tensors/host-module.ts";
import {
  bytesOfHost,
  describeTensor,
  hostTensor,
  type TensorBytes,
  zerosOf,
} from "../tensors/host-tensors.ts";
import { type OpenedModule, openModule } from "./opened-module.ts";

type Inputs = readonly Uint8Array<ArrayBuffer>[];

/** Seed of the generator that samples are made with. */
const SAMPLE_SEED = 1;

export class ModuleModel implements LoadedModel {
  readonly facts: LoadFacts;
  readonly #variant: VariantModel;
  readonly #cores: number;
  readonly #opened: OpenedModule;

  private constructor(
    variant: VariantModel,
    cores: number,
    opened: OpenedModule,
    facts: LoadFacts,
  ) {
    this.facts = facts;
    this.#variant = variant;
    this.#cores = cores;
    this.#opened = opened;
  }

  /**
   * Opens the module and warms it up with its samples, else with zeros and empty strings. It may
   * refuse rows of zeros.
   * @param onStep called with the name of the next step, which may take long.
   * @throws Error naming variant and file if the module does not match its variant.
   */
  static async load(
    variant: VariantModel,
    { options, folder }: VariantModule,
    cores: number,
    onStep: (step: string) => void,
  ): Promise<ModuleModel> {
    const { path, opened: file } = variant;
    try {
      onStep("opening it");
      const startMs = performance.now();
      const opened = await openModule({ path, options, folder, cores, sha256: file?.sha256 });
      expectTensors("input", variant.inputs, opened.inputs);
      expectTensors("output", variant.outputs, opened.outputs);
      const loadMs = performance.now() - startMs;
      const model = new ModuleModel(variant, cores, opened, factsOf(loadMs));
      for (const rows of variant.warmBatches) {
        onStep(`its first run with ${rows} ${rows === 1 ? "row" : "rows"}`);
        await model.#warm(rows);
      }
      const warmMs = performance.now() - startMs - loadMs;
      return new ModuleModel(variant, cores, opened, factsOf(loadMs, warmMs));
    } catch (error) {
      throw new Error(`${variant.name} (${path}): ${oneLine(error)}`);
    }
  }

  run(rows: number, inputs: Inputs): Promise<BatchResult> {
    return measuredRun(this.#cores, () => this.#answer(rows, inputs));
  }

  async release(): Promise<void> {
    await this.#opened.module.close?.();
  }

  async #warm(rows: number): Promise<void> {
    const { inputs } = this.#variant;
    const sampled = await sampleOf(this.#opened, rows, SAMPLE_SEED);
    if (sampled !== null) {
      await this.run(rows, sampled);
      return;
    }
    try {
      await this.run(
        rows,
        inputs.map((info) => zerosOf(info, rows)),
      );
    } catch (error) {
      // The module itself names the rows at fault: it refuses zeros, but it works.
      if (error instanceof BadRowsError) return;
      const remedy = "add a sample() that returns valid inputs";
      throw new Error(`zeros and empty strings failed: ${oneLine(error)}; ${remedy}`);
    }
  }

  /** Runs the batch, in parts if the module does not take so many rows at once. */
  async #answer(rows: number, inputs: Inputs): Promise<readonly TensorBytes[]> {
    const tensors = this.#variant.inputs.map((info, index) => {
      const bytes = inputs[index];
      assert(bytes !== undefined, "every input has bytes");
      return hostTensor(info, rows, bytes);
    });
    const parts: TensorBytes[][] = [];
    let first = 0;
    for (const count of partsOf(rows, this.#opened.batches)) {
      const part = count === rows ? tensors : tensors.map((one) => rowsOf(one, first, count));
      parts.push(await this.#answerPart(part, first, count));
      first += count;
    }
    const [only] = parts;
    if (parts.length === 1 && only !== undefined) return only;
    return this.#variant.outputs.map(({ name }, index) => {
      return joined(
        name,
        parts.map((part) => part[index]),
      );
    });
  }

  async #answerPart(
    tensors: readonly HostTensor[],
    first: number,
    rows: number,
  ): Promise<TensorBytes[]> {
    const { inputs, outputs, outputsAreRows } = this.#variant;
    const named = Object.fromEntries(tensors.map((one, index) => [inputs[index]?.name, one]));
    let answer: unknown;
    try {
      answer = await this.#opened.module.run(named, rows);
    } catch (error) {
      throw refusalOf(error, first, rows);
    }
    if (typeof answer !== "object" || answer === null) {
      const names = outputs.map(({ name }) => name).join(", ");
      throw new Error(`expected run() to return { ${names} }, got ${String(answer)}`);
    }
    const given = answer as Readonly<Record<string, unknown>>;
    return outputs.map((info) => {
      const expectedRows = outputsAreRows === false ? null : rows;
      return bytesOfHost(`output "${info.name}"`, info, given[info.name], expectedRows);
    });
  }
}

/**
 * Returns the module's sample inputs for a batch as bytes; null for a module without samples.
 * @throws Error if they do not match the declared inputs.
 */
export async function sampleOf(
  { module, inputs }: OpenedModule,
  rows: number,
  seed: number,
): Promise<Uint8Array<ArrayBuffer>[] | null> {
  if (module.sample === undefined) return null;
  const rng = new Rng(seed, 0);
  const given: unknown = await module.sample(rows, () => rng.nextFloat());
  if (typeof given !== "object" || given === null) {
    throw new Error(`expected sample() to return inputs by name, got ${String(given)}`);
  }
  return inputs.map((info) => {
    const tensor = (given as Readonly<Record<string, unknown>>)[info.name];
    return bytesOfHost(`sample(${rows}).${info.name}`, info, tensor, rows).bytes.slice();
  });
}

/** @throws Error if names, types or shapes differ from the promised ones, or their order does. */
export function expectTensors(
  what: string,
  promised: readonly TensorInfo[],
  found: readonly TensorInfo[],
): void {
  const [expected, actual] = [promised, found].map((infos) => {
    return infos.map((info) => `${info.name} ${describeTensor(info)}`).join(", ");
  });
  if (expected === actual) return;
  throw new Error(`expected the ${what}s ${expected}; has ${actual}`);
}

/** Splits a batch into runs. @param batches largest first, the last 1; null for any size. */
function partsOf(rows: number, batches: readonly number[] | null): number[] {
  if (batches === null) return [rows];
  const parts: number[] = [];
  let left = rows;
  for (const size of batches) {
    for (; left >= size; left -= size) parts.push(size);
  }
  return parts;
}

function rowsOf({ data, shape }: HostTensor, first: number, rows: number): HostTensor {
  const [all = 1, ...sizes] = shape;
  const rowElements = data.length / all;
  const [begin, end] = [first * rowElements, (first + rows) * rowElements];
  const part = "subarray" in data ? data.subarray(begin, end) : data.slice(begin, end);
  return { data: part, shape: [rows, ...sizes] };
}

/** Joins the parts of one output. @throws Error if their rows differ in shape. */
function joined(name: string, parts: readonly (TensorBytes | undefined)[]): TensorBytes {
  let rows = 0;
  let shape: readonly number[] = [];
  const bytes: Uint8Array[] = [];
  for (const part of parts) {
    assert(part !== undefined, "every part has all outputs");
    const [own = 0, ...sizes] = part.shape;
    if (rows > 0 && own > 0 && shape.join() !== sizes.join()) {
      const found = `[${shape.join(", ")}] and [${sizes.join(", ")}]`;
      throw new Error(`output "${name}": rows of one batch have the shapes ${found}`);
    }
    if (own > 0 || bytes.length === 0) shape = sizes;
    rows += own;
    bytes.push(part.bytes);
  }
  return { shape: [rows, ...shape], bytes: Buffer.concat(bytes) };
}

/** Turns an error of a module that names rows of its part into one that names rows of the batch. */
function refusalOf(error: unknown, first: number, rows: number): unknown {
  const named: unknown = error instanceof Error && "rows" in error ? error.rows : undefined;
  if (!Array.isArray(named)) return error;
  const own = [...new Set(named)]
    .filter((row) => Number.isInteger(row) && row >= 0 && row < rows)
    .sort((a, b) => a - b);
  if (own.length === 0) return error;
  return new BadRowsError(
    oneLine(error),
    own.map((row) => first + row),
  );
}
