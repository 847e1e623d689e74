/** What all doors of a server share: its applications, and which inference requests are in. */
import type { Access } from "../access/access.ts";
import type { ByteBudget } from "../bodies/byte-budget.ts";
import type { LoopDelay } from "../metrics/loop-delay.ts";
import type { Application } from "./application.ts";
import { type HostedModel, hostedModels } from "./hosted-model.ts";
import type { LoopLag } from "./loop-lag.ts";

export interface HouseOptions {
  readonly applications: readonly Application[];
  /** Who may come in, by any door. */
  readonly access: Access;
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
  readonly access: Access;
  readonly budget: ByteBudget;
  readonly lag: LoopLag;
  readonly loopDelay: LoopDelay;
  readonly version: string;
  readonly nowMs: () => number;
  readonly epochOffsetMs: number;
  #isDraining = false;
  #inferCount = 0;
  #onEmpty: () => void = () => {};

  constructor(options: HouseOptions) {
    this.applications = options.applications;
    this.models = hostedModels(options.applications);
    this.access = options.access;
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
    return !this.#isDraining && this.applications.every(({ endpoint }) => endpoint.isReady);
  }

  /** Whether the models of an application answer, whatever the others do. */
  isApplicationReady({ endpoint }: Application): boolean {
    return !this.#isDraining && endpoint.isReady;
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
   * Refuses new inference and waits for the accepted.
   * @returns whether all of it was answered in time.
   */
  async drain(timeoutMs: number): Promise<boolean> {
    this.#isDraining = true;
    for (const application of this.applications) application.drain();
    if (this.#inferCount === 0) return true;
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), timeoutMs);
      this.#onEmpty = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}
