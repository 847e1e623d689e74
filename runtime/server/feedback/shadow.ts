/** The best variant of a model on a worker of its own, which no request waits for. */
import type { RamsisBundle } from "../../bundle/schema.ts";
import type { Executor } from "../../exec/executor.ts";
import type { OutputTensor } from "../requests/request.ts";
import type { Notice } from "../telemetry/notice.ts";
import type { ModelSignature } from "../tensors/signature.ts";

export interface Shadow {
  /** Of the rows, what is to be answered again, 0..1. */
  readonly share: number;
  /** Whether its worker is up. */
  readonly isOpen: boolean;
  /** Starts its worker, and waits for nothing. */
  open(): void;
  /** @param inputs of one row, as the model has them. @throws what running it throws. */
  run(inputs: readonly Uint8Array[]): Promise<readonly OutputTensor[]>;
  close(): Promise<void>;
}

export interface ShadowOptions {
  readonly share: number;
  readonly signature: ModelSignature;
  /** Starts a worker that holds a variant. @throws Error if it does not start. */
  readonly start: (variant: number) => Promise<Executor>;
  readonly onNotice: Notice;
}

/**
 * Why answers of a bundle cannot be given again by its best variant alone; null where they can.
 */
export function shadowRefusal({ tasks, buckets }: RamsisBundle): string | null {
  const [first] = tasks.flatMap(({ variants }) => variants).toSorted(byAccuracy);
  if (buckets !== undefined) return "its inputs have several sizes";
  if (first?.model?.state !== undefined) return "it keeps state";
  return first?.model?.remote === undefined ? null : "another server runs its best variant";
}

const byAccuracy = (one: { accuracy: number }, other: { accuracy: number }) =>
  other.accuracy - one.accuracy;

export function shadowOf(options: ShadowOptions): Shadow {
  return new BestVariant(options);
}

class BestVariant implements Shadow {
  readonly share: number;
  readonly #options: ShadowOptions;
  /** Index of the most accurate, the first of several. */
  readonly #variant: number;
  #executor: Executor | undefined;
  #opening: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: ShadowOptions) {
    this.share = options.share;
    this.#options = options;
    const { variants } = options.signature;
    this.#variant = variants.reduce((best, { accuracy }, index) => {
      return accuracy > (variants[best]?.accuracy ?? 0) ? index : best;
    }, 0);
  }

  get isOpen(): boolean {
    return this.#executor !== undefined;
  }

  open(): void {
    this.#opening = this.#start();
  }

  async run(inputs: readonly Uint8Array[]): Promise<readonly OutputTensor[]> {
    const executor = this.#executor;
    if (executor === undefined) throw new Error("the worker of shadow runs is not up");
    const { inputOrder = [], outputOrder = [] } =
      this.#options.signature.variants[this.#variant] ?? {};
    const parts = inputOrder.map((input) => [inputs[input] ?? new Uint8Array()]);
    const { outputs } = await executor.run(0, { variant: 0, rows: 1, inputs: parts });
    return outputOrder.map((index) => {
      const { shape = [], bytes = new Uint8Array() } = outputs[index] ?? {};
      return { shape, parts: [bytes] };
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#opening;
    await this.#executor?.close();
  }

  async #start(): Promise<void> {
    const { start, onNotice } = this.#options;
    try {
      const executor = await start(this.#variant);
      this.#executor = executor;
    } catch (error) {
      if (this.#isClosed) return;
      const reason = error instanceof Error ? error.message : String(error);
      onNotice(`no shadow runs: their worker does not start: ${reason}`, "warn");
    }
  }
}
