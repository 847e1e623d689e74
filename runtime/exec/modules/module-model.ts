/** An ES module that runs as a model: its batches, and what is wrong with its answers. */
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

/** Of the numbers that samples are made of. */
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
   * Opens the module and warms it up: with its samples, else with zeros and empty strings, which it
   * may refuse by their rows.
   * @param onStep told what comes next, which may take long.
   * @throws Error naming variant and file if it is not what was promised.
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
      // It says itself that it is the inputs that are at fault.
      if (error instanceof BadRowsError) return;
      const remedy = "give it a sample() of inputs that it takes";
      throw new Error(`of zeros and empty strings it says: ${oneLine(error)}; ${remedy}`);
    }
  }

  /** In parts, where it does not take so many rows at once. */
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
      throw new Error(`expected it to answer with { ${names} }, got ${String(answer)}`);
    }
    const given = answer as Readonly<Record<string, unknown>>;
    return outputs.map((info) => {
      const expectedRows = outputsAreRows === false ? null : rows;
      return bytesOfHost(`output "${info.name}"`, info, given[info.name], expectedRows);
    });
  }
}

/**
 * Bytes of inputs that a module has for a batch; null where it has none.
 * @throws Error if they are not what it declares.
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
    throw new Error(`expected sample() to give inputs by name, got ${String(given)}`);
  }
  return inputs.map((info) => {
    const tensor = (given as Readonly<Record<string, unknown>>)[info.name];
    return bytesOfHost(`sample(${rows}).${info.name}`, info, tensor, rows).bytes.slice();
  });
}

/** @throws Error if names, types or shapes are not those that were promised, in their order. */
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

/** How many rows each run takes. @param batches the largest first, the last 1; null for any. */
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

/** @throws Error if the rows of the parts have other shapes than those of the first. */
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

/** What a module has thrown, by the rows of the batch where it names some. */
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
