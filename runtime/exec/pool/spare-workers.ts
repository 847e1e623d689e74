/** Workers in reserve for slots that are assigned models; they hold recently assigned models. */

import { Retries } from "../limits/retries.ts";
import type { WorkerLimits } from "../limits/worker-limits.ts";
import type { WorkerPaces } from "../limits/worker-paces.ts";
import type { ModelFacts } from "../models/model-facts.ts";
import type { WorkerDevice } from "../models/worker-device.ts";
import type { WorkerSetup } from "../models/worker-setup.ts";
import { type WorkerListener, WorkerProcess } from "../process/worker-process.ts";

/** Time after the last change, in which others start and load, before spares do. */
const CALM_MS = 500;

/** Worker that has left the reserve; its events go to the new owner. */
export interface TakenSpare {
  readonly worker: WorkerProcess;
  readonly adopt: (listener: WorkerListener) => void;
}

interface SpareOptions {
  /** One for each spare. */
  readonly setups: readonly WorkerSetup[];
  /** Variants that one holds at most. */
  readonly mostHeld: number;
  readonly limits: WorkerLimits;
  readonly paces: WorkerPaces;
  readonly onStartFailed?: ((reason: string, retryMs: number) => void) | undefined;
  readonly onStarted?: ((tookMs: number) => void) | undefined;
  readonly onFacts?: ((facts: ModelFacts, on: WorkerDevice) => void) | undefined;
}

/**
 * Keeps spares of a device started and, once nothing has changed for a while, loads the models that
 * were assigned to slots last. A spare that ends is replaced, like any worker.
 */
export class SpareWorkers {
  readonly #options: SpareOptions;
  /** Worker per place in the reserve; null while the place is empty. */
  readonly #spares: (Spare | null)[];
  readonly #failures: number[];
  readonly #retries: Retries;
  readonly #alive = new Set<WorkerProcess>();
  /** Assigned last, the latest first, with the cores of each. */
  readonly #assigned = new Map<number, number>();
  #calm: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: SpareOptions) {
    this.#options = options;
    this.#spares = options.setups.map(() => null);
    this.#failures = options.setups.map(() => 0);
    this.#retries = new Retries(options.limits, options.onStartFailed);
  }

  get pids(): number[] {
    const pids = this.#spares.map((spare) => spare?.worker.pid);
    return pids.filter((pid) => pid !== undefined);
  }

  /** A slot was assigned variants: spares hold them too, soon. */
  onAssigned(variants: readonly number[], cores: number): void {
    for (const variant of variants) {
      this.#assigned.delete(variant);
      this.#assigned.set(variant, cores);
    }
    this.#tendSoon();
  }

  /** Takes a spare that is ready and answers. */
  take(): TakenSpare | null {
    const rank = this.#spares.findIndex((spare) => spare?.isFree === true);
    const spare = this.#spares[rank];
    if (spare === undefined || spare === null) return null;
    this.#spares[rank] = null;
    this.#tendSoon();
    return {
      worker: spare.worker,
      adopt: (listener) => {
        spare.heir = listener;
      },
    };
  }

  async close(reason: string): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#calm);
    this.#retries.cancel();
    await Promise.all(Array.from(this.#alive, (worker) => worker.end(reason)));
  }

  #tendSoon(): void {
    if (this.#isClosed || this.#spares.length === 0) return;
    clearTimeout(this.#calm);
    this.#calm = setTimeout(() => this.#tend(), CALM_MS).unref();
  }

  #tend(): void {
    for (const [rank, spare] of this.#spares.entries()) {
      if (spare === null && this.#failures[rank] === 0) this.#spawn(rank);
      else spare?.hold(this.#assigned, this.#options.mostHeld);
    }
  }

  #spawn(rank: number): void {
    const { setups, limits, paces, onStarted, onFacts } = this.#options;
    const setup = setups[rank];
    if (this.#isClosed || setup === undefined) return;
    const spare = new Spare(setup, limits, paces, {
      onFacts,
      onReady: (worker) => {
        this.#failures[rank] = 0;
        onStarted?.(worker.startMs);
        spare.hold(this.#assigned, this.#options.mostHeld);
      },
      onEnd: (worker, reason) => {
        this.#alive.delete(worker);
        if (this.#spares[rank] === spare) this.#lose(rank, worker, reason);
      },
    });
    this.#alive.add(spare.worker);
    this.#spares[rank] = spare;
  }

  #lose(rank: number, { phase }: WorkerProcess, reason: string): void {
    this.#spares[rank] = null;
    if (this.#isClosed) return;
    const failures = phase === "healthy" ? 0 : (this.#failures[rank] ?? 0) + 1;
    this.#failures[rank] = failures;
    if (failures === 0) this.#tendSoon();
    else this.#retries.later(failures, `a spare: ${reason}`, () => this.#spawn(rank));
  }
}

class Spare {
  readonly worker: WorkerProcess;
  /** Listener for the rest of its life. */
  heir: WorkerListener | null = null;
  #isReady = false;
  #held = "";

  constructor(setup: WorkerSetup, limits: WorkerLimits, paces: WorkerPaces, own: WorkerListener) {
    this.worker = new WorkerProcess(
      setup,
      limits,
      {
        onReady: (worker) => {
          this.#isReady = true;
          own.onReady(worker);
        },
        onFacts: own.onFacts,
        onLost: (worker, reason, cause) => this.heir?.onLost?.(worker, reason, cause),
        onEnd: (worker, reason) => {
          own.onEnd(worker, reason);
          this.heir?.onEnd(worker, reason);
        },
      },
      paces,
    );
  }

  get isFree(): boolean {
    const { isOpen, isSilent } = this.worker;
    return this.#isReady && isOpen && !isSilent;
  }

  /** Assigns the most recent variants, on their cores, unless it holds them already. */
  hold(assigned: ReadonlyMap<number, number>, most: number): void {
    if (!this.#isReady || !this.worker.isOpen) return;
    const last = [...assigned].slice(-most);
    const variants = last.map(([variant]) => variant);
    const cores = [...new Set(last.map(([, count]) => count))];
    const held = JSON.stringify({ variants, cores });
    if (variants.length === 0 || held === this.#held) return;
    this.#held = held;
    // A failure is reported when its process ends.
    this.worker.assign({ variants, cores }).catch(() => {});
  }
}
