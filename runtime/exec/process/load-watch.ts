/** The time of each step of what a worker loads, beside that of the whole: the late are named. */
import { assert } from "../../core/assert.ts";
import { modelTimeoutMs, type WorkerLimits } from "../limits/worker-limits.ts";
import { fileBytesOf } from "../models/variant-files.ts";
import type { WorkerSetup } from "../models/worker-setup.ts";
import type { LoadStep } from "./model-store.ts";

export class LoadWatch {
  readonly #setup: WorkerSetup;
  readonly #limits: WorkerLimits;
  readonly #onLate: (reason: string) => void;
  #step: LoadStep | null = null;
  #timer: NodeJS.Timeout | undefined;

  /** @param onLate called at most once for a step, with what to say of it. */
  constructor(setup: WorkerSetup, limits: WorkerLimits, onLate: (reason: string) => void) {
    this.#setup = setup;
    this.#limits = limits;
    this.#onLate = onLate;
  }

  /**
   * The worker begins a step, and has ended the one before.
   * @returns time that it may take, ms.
   */
  onStep(step: LoadStep): number {
    this.#step = step;
    const variant = this.#setup.variants[step.variant];
    assert(variant !== undefined, "a worker loads variants that there are");
    const fileBytes = fileBytesOf(variant, () => 0);
    // Compilers of kernels take any time on a machine that others load too.
    const factor = this.#setup.on.provider === "cpu" ? 1 : this.#limits.busyFactor;
    const limitMs = Math.round(factor * modelTimeoutMs(fileBytes, this.#limits));
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      // What the worker wrote meanwhile is read first: the server itself may have paused.
      setImmediate(() => {
        if (this.#step !== step) return;
        this.#onLate(`${variant.name}: ${step.step} took more than ${limitMs} ms`);
      });
    }, limitMs).unref();
    return limitMs;
  }

  /** All is loaded, or the worker ends. */
  end(): void {
    this.#step = null;
    clearTimeout(this.#timer);
  }
}
