/** Measures the accuracy of variants: their answers to rows whose classes are known. */
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { suggestion } from "stratagem-runtime/internal/base/nearest";
import { bucketCount, type TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import type { BatchResult } from "stratagem-runtime/internal/exec/models/executor";
import { BadRequest } from "stratagem-runtime/internal/server/tensors/bad-request";
import {
  agrees,
  type Label,
  type Prediction,
  PredictionReader,
} from "stratagem-runtime/internal/server/tensors/predictions";
import { datatypeOf } from "stratagem-runtime/internal/server/tensors/tensors";
import { proportionInterval, Z_95 } from "../numeric/proportion-interval.ts";
import { InputError } from "../spec/document/input-error.ts";
import { show } from "../spec/document/mistakes.ts";
import { runBatch } from "./measure.ts";
import type { PlannedVariant, ProfilePlan } from "./profile-plan.ts";
import { type ProfiledWorker, startWorkers, type WorkerSources } from "./profiled-worker.ts";
import type { RealRows } from "./real-rows.ts";
import type { RoundsOptions } from "./rounds.ts";

export interface MeasuredAccuracy {
  readonly variant: string;
  readonly rows: number;
  readonly correct: number;
  /** Share of correct answers, and its 95 % interval. */
  readonly accuracy: number;
  readonly lower: number;
  readonly upper: number;
  /** Accuracy in the spec; null if it has none. */
  readonly stated: number | null;
}

/** Variant whose rows have labels. */
type Labelled = PlannedVariant & { readonly index: number; readonly rows: RealRows };

export class LabelledRows {
  readonly file: string;
  readonly #path: string;
  readonly #labels: readonly Label[];
  readonly #variants: readonly Labelled[];

  private constructor(path: string, labels: readonly Label[], { variants }: ProfilePlan) {
    this.file = basename(path);
    this.#path = path;
    this.#labels = labels;
    this.#variants = [...variants.entries()].flatMap(([index, variant]) => {
      return variant.rows === undefined ? [] : [{ ...variant, index, rows: variant.rows }];
    });
  }

  /**
   * Reads the classes of the plan's rows, an index or a name per line.
   * @throws InputError for a file that cannot be read, or another number of lines.
   */
  static async read(path: string, plan: ProfilePlan): Promise<LabelledRows> {
    const text = await readFile(path, "utf8").catch(({ code }: NodeJS.ErrnoException) => {
      throw new InputError("INPUT_UNREADABLE", `${path}: cannot be read (${code})`);
    });
    const lines = text.trim() === "" ? [] : text.trimEnd().split(/\r?\n/);
    const labelled = new LabelledRows(path, lines.map(labelOf), plan);
    const other = labelled.#variants.find(({ rows }) => rows.count !== lines.length);
    if (other !== undefined) {
      const { count, file } = other.rows;
      const expected = `a class for each of the ${count} rows of ${file}, one per line`;
      const found = `${lines.length} lines`;
      throw new InputError("INPUT_INVALID_VALUE", `${path}: expected ${expected}, got ${found}`);
    }
    return labelled;
  }

  /**
   * Checks the answers of a variant and the labels. @param index of the variant in the plan.
   * @throws InputError for answers without a class per row, or labels that are no classes of it.
   */
  check(index: number, outputs: BatchResult["outputs"]): void {
    const variant = this.#variants.find((each) => each.index === index);
    if (variant === undefined) return;
    const reader = this.#readerOf(variant, outputs);
    const [prediction = {}] = this.#read(variant, reader, outputs, outputs[0]?.shape[0] ?? 0);
    const names = namesOf(variant);
    for (const [row, label] of this.#labels.entries()) {
      this.#isRight(row, prediction, reader.classes ?? (names.length || undefined));
      if (typeof label === "number" || names.length === 0 || names.includes(label)) continue;
      const found = `${show(label)}${suggestion(label, names)}`;
      throw this.#invalid(row, `a class of ${variant.name} or its index`, found);
    }
  }

  /** @throws as `check`, `runBatch` and `startWorkers`; the signal's reason. */
  async measure(
    plan: ProfilePlan,
    sources: WorkerSources & Pick<RoundsOptions, "onProgress">,
  ): Promise<MeasuredAccuracy[]> {
    const held = [this.#variants.map(({ index }) => index)];
    const { workers, close } = await startWorkers(plan, held, sources);
    const total = this.#variants.length * this.#labels.length;
    try {
      const measured: MeasuredAccuracy[] = [];
      for (const variant of this.#variants) {
        const before = measured.length * this.#labels.length;
        const onRows = (rows: number) => {
          sources.signal.throwIfAborted();
          sources.onProgress(before + rows, total, "accuracy");
        };
        measured.push(await this.#accuracyOf(variant, workers, onRows));
      }
      return measured;
    } finally {
      await close();
    }
  }

  async #accuracyOf(
    variant: Labelled,
    [worker]: readonly ProfiledWorker[],
    onRows: (rows: number) => void,
  ): Promise<MeasuredAccuracy> {
    if (worker === undefined) throw new RangeError("expected a worker");
    const { index, rows, model, name, accuracy: stated } = variant;
    const batch = Math.max(...variant.batches);
    const bucket = model.buckets && { bucket: bucketCount(model.buckets) - 1 };
    const count = this.#labels.length;
    let [correct, reader]: [number, PredictionReader | null] = [0, null];
    for (let first = 0, run = 0; first < count; first += batch, run++) {
      const inputs = rows.inputs(run, batch).map((bytes) => [bytes]);
      const result = await runBatch(worker, name, {
        ...{ variant: index, rows: batch, inputs },
        ...bucket,
      });
      reader ??= this.#readerOf(variant, result.outputs);
      const read = this.#read(variant, reader, result.outputs, batch);
      // The last batch is filled with the first rows again.
      for (const [row, prediction] of read.slice(0, count - first).entries()) {
        if (this.#isRight(first + row, prediction, undefined)) correct++;
      }
      onRows(Math.min(count, first + batch));
    }
    const share = correct / count;
    const { lower, upper } = proportionInterval(share, count, Z_95);
    const accuracy = Number(share.toFixed(6));
    return { variant: name, rows: count, correct, accuracy, lower, upper, stated };
  }

  /** @throws InputError if no output has a class per row. */
  #readerOf({ name, model }: Labelled, outputs: BatchResult["outputs"]): PredictionReader {
    const tensors = model.outputs.map((output, index) => {
      const rowShape = outputs[index]?.shape.slice(1) ?? [];
      // No classes are read from BF16.
      return { name: output.name, datatype: datatypeOf(output.dtype) ?? "BF16", rowShape };
    });
    const reader = new PredictionReader({ outputs: tensors });
    if (!reader.hasClasses) throw noClass(name, model.outputs);
    return reader;
  }

  #read(
    { name, model }: Labelled,
    reader: PredictionReader,
    outputs: BatchResult["outputs"],
    rows: number,
  ) {
    const parts = outputs.map(({ shape, bytes }) => ({ shape, parts: [bytes] }));
    const found = reader.read({ outputs: parts }, rows);
    if (found === undefined) throw noClass(name, model.outputs);
    return found;
  }

  /** @throws InputError if the label is no class. */
  #isRight(row: number, prediction: Prediction, classes: number | undefined): boolean {
    try {
      return agrees(this.#labels[row] ?? "", prediction, classes, `${this.#path}:${row + 1}`);
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error;
      throw new InputError("INPUT_INVALID_VALUE", error.message);
    }
  }

  #invalid(row: number, expected: string, found: string): InputError {
    const message = `${this.#path}:${row + 1}: expected ${expected}, got ${found}`;
    return new InputError("INPUT_INVALID_VALUE", message);
  }
}

/** Names of classes that the spec gives to the variant's outputs. */
function namesOf({ model: { adapter } }: PlannedVariant): readonly string[] {
  return (adapter?.outputs ?? []).flatMap(({ as, labels }) => (as === "top-k" && labels) || []);
}

function labelOf(line: string): Label {
  const text = line.trim();
  return /^\d{1,9}$/.test(text) ? Number(text) : text;
}

function noClass(variant: string, outputs: readonly TensorInfo[]): InputError {
  const found = outputs.map(({ name, dtype, shape }) => `${show(name)} ${dtype}[${shape.join()}]`);
  const message =
    `--labels: expected one output of ${variant} with a class per row (scores of all classes, ` +
    `the index, or texts), got ${found.join(", ")}; choose it by outputs in the spec, or the ` +
    "task by --task. Other tasks have no measured accuracy: state it in the spec";
  return new InputError("INPUT_CONFLICT", message);
}
