/**
 * Replaces an application in a running server: the workers of the next one are ready before it gets
 * a request, and the previous one answers its open requests. Also runs one beside another for a
 * trial.
 */
import type { Application } from "./application.ts";
import { hostedModels } from "./hosted-model.ts";
import { type ServerState, within } from "./server-state.ts";
import { Trial } from "./trial.ts";

/** Time limit for workers that neither fail nor become ready. */
const READY_TIMEOUT_MS = 300_000;

export interface Replaced {
  /** Kept when the application before has answered what it had, and its workers are ended. */
  readonly retired: Promise<void>;
}

export class Succession {
  readonly #state: ServerState;
  readonly #drainTimeoutMs: number;
  readonly #onSwitch: () => void;
  readonly #retiring = new Set<Promise<void>>();
  readonly #closing: Promise<never>;
  #giveUp: (error: Error) => void = () => {};
  readonly #opening = new Set<Promise<unknown>>();

  /** @param onSwitch called once other models answer. */
  constructor(state: ServerState, drainTimeoutMs: number, onSwitch: () => void) {
    this.#state = state;
    this.#drainTimeoutMs = drainTimeoutMs;
    this.#onSwitch = onSwitch;
    this.#closing = new Promise((_, reject) => {
      this.#giveUp = reject;
    });
    this.#closing.catch(() => {});
  }

  /**
   * @param failed rejects if the workers of the next application turn out to be unusable.
   * @throws errors of starting its workers and of `failed`, or Error if they are not ready in time
   * or the server is closed; the previous application continues then.
   */
  async replace(before: Application, next: Application, failed: Promise<never>): Promise<Replaced> {
    await this.#opened(next, failed);
    this.#state.replace(before, next);
    this.#onSwitch();
    return { retired: this.#retire(before) };
  }

  /**
   * Starts the workers of an application for a trial beside the served ones.
   * @throws as `replace`, and closes the application.
   */
  async open(beside: Application, failed: Promise<never>): Promise<void> {
    await this.#opened(beside, failed);
    this.#state.trials.beside.add(beside);
  }

  /** Routes a share of a served application's requests to one that was opened beside it. */
  begin(stable: Application, candidate: Application, share: number): Trial {
    const { trials } = this.#state;
    const before = trials.open.find((one) => one.candidate === candidate);
    if (before !== undefined) trials.end(before);
    const models = before?.models ?? hostedModels(candidate);
    const trial = new Trial({ stable, candidate, models, share });
    trials.begin(trial);
    return trial;
  }

  /**
   * Routes all requests to the candidate. @throws Error if the stable application is no longer
   * served.
   */
  promote(trial: Trial): Replaced {
    const { stable, candidate, models } = trial;
    if (!this.#state.applications.includes(stable)) {
      throw new Error("the stable bundle of the trial is no longer served");
    }
    this.#state.trials.end(trial);
    this.#state.trials.beside.delete(candidate);
    this.#state.replace(stable, candidate, models);
    this.#onSwitch();
    return { retired: this.#retire(stable) };
  }

  /** Stops new requests to an application beside others, and closes it after its open requests. */
  end(beside: Application): Promise<void> {
    const { trials } = this.#state;
    for (const trial of trials.open) if (trial.candidate === beside) trials.end(trial);
    trials.beside.delete(beside);
    return this.#retire(beside);
  }

  /** Gives up on what is not ready, and waits for what was replaced. */
  async close(): Promise<void> {
    this.#giveUp(new Error("the server is shutting down"));
    await Promise.all(this.#opening);
    await Promise.all(this.#retiring);
  }

  async #opened(next: Application, failed: Promise<never>): Promise<void> {
    const opening = this.#open(next, failed);
    const settled = opening.catch(() => {}).finally(() => this.#opening.delete(settled));
    this.#opening.add(settled);
    await opening;
  }

  async #open(next: Application, failed: Promise<never>): Promise<void> {
    this.#state.features.onOpened(next);
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

  #retire(before: Application): Promise<void> {
    const retired = this.#emptied(before).finally(() => this.#retiring.delete(retired));
    this.#retiring.add(retired);
    return retired;
  }

  async #emptied(before: Application): Promise<void> {
    before.drain();
    if (!(await within(this.#drainTimeoutMs, before.emptied()))) before.endpoint.abort();
    await before.close();
  }
}
