/**
 * One application after another in a running server: the next has its workers ready before it gets
 * a request, and the one before answers all that it has.
 */
import type { Application } from "./application.ts";
import { type House, within } from "./house.ts";

/** Of workers that do not fail but do not come up either. */
const READY_TIMEOUT_MS = 300_000;

export interface Replaced {
  /** Kept when the application before has answered what it had, and its workers are ended. */
  readonly retired: Promise<void>;
}

export class Succession {
  readonly #house: House;
  readonly #drainTimeoutMs: number;
  readonly #onSwitch: () => void;
  readonly #retiring = new Set<Promise<void>>();
  readonly #closing: Promise<never>;
  #giveUp: (error: Error) => void = () => {};
  #opening: Promise<unknown> = Promise.resolve();

  /** @param onSwitch called once other models answer. */
  constructor(house: House, drainTimeoutMs: number, onSwitch: () => void) {
    this.#house = house;
    this.#drainTimeoutMs = drainTimeoutMs;
    this.#onSwitch = onSwitch;
    this.#closing = new Promise((_, reject) => {
      this.#giveUp = reject;
    });
    this.#closing.catch(() => {});
  }

  /**
   * @param failed rejects where the workers of the next turn out to be of no use.
   * @throws what starting its workers throws, what `failed` does, or Error if they are not ready in
   * time or the server is closed; the one before goes on then.
   */
  async replace(before: Application, next: Application, failed: Promise<never>): Promise<Replaced> {
    const opening = this.#open(next, failed);
    this.#opening = opening.catch(() => {});
    await opening;
    this.#house.replace(before, next);
    this.#onSwitch();
    const retired = this.#retire(before).finally(() => this.#retiring.delete(retired));
    this.#retiring.add(retired);
    return { retired };
  }

  /** Gives up on what is not ready, and waits for what was replaced. */
  async close(): Promise<void> {
    this.#giveUp(new Error("the server is shutting down"));
    await this.#opening;
    await Promise.all(this.#retiring);
  }

  async #open(next: Application, failed: Promise<never>): Promise<void> {
    const opened = next.openWorkers();
    try {
      await Promise.race([opened, this.#closing, failed]);
      const started = Promise.race([next.endpoint.started, this.#closing, failed]);
      if (await within(READY_TIMEOUT_MS, started)) return;
      throw new Error(`its workers were not ready within ${READY_TIMEOUT_MS / 1000} s`);
    } catch (error) {
      next.drain();
      await opened.catch(() => {});
      await next.close();
      throw error;
    }
  }

  async #retire(before: Application): Promise<void> {
    before.drain();
    if (!(await within(this.#drainTimeoutMs, before.emptied()))) before.endpoint.abort();
    await before.close();
  }
}
