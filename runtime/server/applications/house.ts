/** What all doors of a server share: its applications, and which inference requests are in. */
import type { ByteBudget } from "../bodies/byte-budget.ts";
import type { LoopDelay } from "../metrics/loop-delay.ts";
import type { Application } from "./application.ts";
import { type HostedModel, hostedModels } from "./hosted-model.ts";
import type { LoopLag } from "./loop-lag.ts";

export interface HouseOptions {
  readonly applications: readonly Application[];
  /** For the bytes of all requests. */
  readonly budget: ByteBudget;
  readonly lag: LoopLag;
  readonly loopDelay: LoopDelay;
  /** Of the program, as the server tells it. */
  readonly version: string;
  /** Milliseconds of a clock that does not go back. */
  readonly nowMs: () => number;
  /** Is added to `nowMs` to have milliseconds since 1970; for statistics only. */
  readonly epochOffsetMs: number;
}

export class House {
  readonly applications: readonly Application[];
  /** In the order of the applications. */
  readonly models: readonly HostedModel[];
  readonly budget: ByteBudget;
  readonly lag: LoopLag;
  readonly loopDelay: LoopDelay;
  readonly version: string;
  readonly nowMs: () => number;
  readonly epochOffsetMs: number;
  #isStopping = false;
  #isDraining = false;
  #inferCount = 0;
  #onEmpty: () => void = () => {};

  constructor(options: HouseOptions) {
    this.applications = options.applications;
    this.models = hostedModels(options.applications);
    this.budget = options.budget;
    this.lag = options.lag;
    this.loopDelay = options.loopDelay;
    this.version = options.version;
    this.nowMs = options.nowMs;
    this.epochOffsetMs = options.epochOffsetMs;
  }

  /** Whether it takes no inference any more. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  get isReady(): boolean {
    return !this.#isStopping && this.applications.every(({ endpoint }) => endpoint.isReady);
  }

  /** Whether the models of an application answer, whatever the others do. */
  isApplicationReady({ endpoint }: Application): boolean {
    return !this.#isStopping && endpoint.isReady;
  }

  /** It is not ready any more, so that nobody is sent here; who comes is still answered. */
  stop(): void {
    this.#isStopping = true;
  }

  /** An inference request has come in. */
  enter(): void {
    this.#inferCount++;
  }

  leave(): void {
    this.#inferCount--;
    if (this.#inferCount === 0) this.#onEmpty();
  }

  /**
   * Waits for the inference that is in, and for the doors to close.
   * @param closed kept when all that came by the doors is answered.
   * @returns whether that was in time.
   */
  async drain(closed: Promise<void>, timeoutMs: number): Promise<boolean> {
    this.stop();
    for (const application of this.applications) application.drain();
    const isEmptied = await within(timeoutMs, Promise.all([closed, this.#emptied()]));
    this.#isDraining = true;
    return isEmptied;
  }

  #emptied(): Promise<void> {
    return new Promise((resolve) => {
      this.#onEmpty = resolve;
      if (this.#inferCount === 0) resolve();
    });
  }
}

/** @returns whether it was kept in time. */
async function within(timeoutMs: number, kept: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  const isKept = await Promise.race([kept.then(() => true), late]);
  clearTimeout(timer);
  return isKept;
}
