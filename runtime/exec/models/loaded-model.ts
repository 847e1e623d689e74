/** A model that a worker holds, whatever it is made of. */
import type { BatchResult } from "./executor.ts";
import type { LoadFacts } from "./model-facts.ts";

export interface LoadedModel {
  readonly facts: LoadFacts;
  /**
   * @param inputs bytes of each input in the order of the variant; not kept once it has answered.
   * @param bucket which of its sizes the rows have; 0 where there are none.
   * @throws Error if the bytes do not make a batch of `rows`, or it is refused; BadRowsError where
   * some of the rows are at fault.
   */
  run(
    rows: number,
    inputs: readonly Uint8Array<ArrayBuffer>[],
    bucket?: number,
  ): Promise<BatchResult>;
  /** Gives its memory back; it runs no more batches. */
  release(): Promise<void>;
}

/** Rows of a batch that a module refuses for what they are. */
export class BadRowsError extends Error {
  /** Ascending, each once, at least one. */
  readonly rows: readonly number[];

  constructor(message: string, rows: readonly number[]) {
    super(message);
    this.rows = rows;
  }
}

/** Messages of libraries span lines; ours are one. */
export function oneLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replaceAll(/\s+/g, " ").trim();
}

/** One run inside a worker, with what it took. @param cores that it may use. */
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
