/** What all doors of a server share: its applications, and which inference requests are in. */
import type { Access } from "../access/access.ts";
import type { ByteBudget } from "../bodies/byte-budget.ts";
import type { LoopDelay } from "../metrics/loop-delay.ts";
import type { Application } from "./application.ts";
import { type HostedModel, hostedModels, namedApart } from "./hosted-model.ts";
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
  readonly access: Access;
  readonly budget: ByteBudget;
  readonly lag: LoopLag;
  readonly loopDelay: LoopDelay;
  readonly version: string;
  readonly nowMs: () => number;
  readonly epochOffsetMs: number;
  #applications: readonly Application[];
  #models: readonly HostedModel[];
  #isStopping = false;
  #isDraining = false;

  constructor(options: HouseOptions) {
    this.#applications = options.applications;
    this.#models = namedApart(options.applications.flatMap(hostedModels));
    this.access = options.access;
    this.budget = options.budget;
    this.lag = options.lag;
    this.loopDelay = options.loopDelay;
    this.version = options.version;
    this.nowMs = options.nowMs;
    this.epochOffsetMs = options.epochOffsetMs;
  }

  /** Those that answer what comes now; one that was replaced may still have requests. */
  get applications(): readonly Application[] {
    return this.#applications;
  }

  /** In the order of the applications. */
  get models(): readonly HostedModel[] {
    return this.#models;
  }

  /** Whether it takes no inference any more. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  get isReady(): boolean {
    return !this.#isStopping && this.#applications.every(({ endpoint }) => endpoint.isReady);
  }

  /** Whether the models of an application answer, whatever the others do. */
  isApplicationReady({ endpoint }: Application): boolean {
    return !this.#isStopping && endpoint.isReady;
  }

  /** Another application answers from the next request on, in the place of one. */
  replace(before: Application, after: Application): void {
    const at = this.#applications.indexOf(before);
    this.#applications = this.#applications.with(at, after);
    const models = this.#applications.flatMap((application) => {
      if (application === after) return hostedModels(after);
      return this.#models.filter((hosted) => hosted.application === application);
    });
    this.#models = namedApart(models);
  }

  /** It is not ready any more, so that nobody is sent here; who comes is still answered. */
  stop(): void {
    this.#isStopping = true;
  }

  /**
   * Waits for the inference that is in, and for the doors to close.
   * @param closed kept when all that came by the doors is answered.
   * @returns whether that was in time.
   */
  async drain(closed: Promise<void>, timeoutMs: number): Promise<boolean> {
    this.stop();
    for (const application of this.#applications) application.drain();
    const emptied = closed.then(() => Promise.all(this.#applications.map((one) => one.emptied())));
    const isEmptied = await within(timeoutMs, emptied);
    this.#isDraining = true;
    return isEmptied;
  }
}

/** @returns whether it was kept in time. */
export async function within(timeoutMs: number, kept: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  const isKept = await Promise.race([kept.then(() => true), late]);
  clearTimeout(timer);
  return isKept;
}
