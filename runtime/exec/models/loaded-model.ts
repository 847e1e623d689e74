/** A model that a worker holds: ONNX, ES module or remote. */
import type { BatchResult } from "./executor.ts";
import type { LoadFacts } from "./model-facts.ts";

export interface LoadedModel {
  readonly facts: LoadFacts;
  /**
   * @param inputs bytes of each input in the order of the variant; not kept after the answer.
   * @param bucket which of the bucket sizes the rows have; 0 without buckets.
   * @throws Error if the bytes do not make a batch of `rows`, or the model refuses it; BadRowsError
   * if only some of the rows are at fault.
   */
  run(
    rows: number,
    inputs: readonly Uint8Array<ArrayBuffer>[],
    bucket?: number,
  ): Promise<BatchResult>;
  /** Frees its memory; it runs no more batches. */
  release(): Promise<void>;
}

/** A module refuses rows of a batch for their content. */
export class BadRowsError extends Error {
  /** Ascending, each once, at least one. */
  readonly rows: readonly number[];

  constructor(message: string, rows: readonly number[]) {
    super(message);
    this.rows = rows;
  }
}

/** Puts a library's message that spans lines on one line. */
export function oneLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replaceAll(/\s+/g, " ").trim();
}

/** Runs a batch inside a worker and measures it. @param cores cores it may use. */
export async function measuredRun(
  cores: number,
  run: () => Promise<BatchResult["outputs"]>,
): Promise<BatchResult> {
  const cpuBefore = process.cpuUsage();
  const startMs = performance.now();
  const outputs = await run();
  const wallMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { outputs, wallMs, cpuMs: (user + system) / 1000, cores };
}
