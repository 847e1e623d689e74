/** Polls the load and follows the plan for it. */
import type { Bundle } from "../bundle/schema.ts";
import type { LoadSource } from "./load-source.ts";
import { loadQpsOf } from "./observed-load.ts";
import { PlanFollower } from "./plan-follower.ts";

interface LoadWatchOptions {
  readonly bundle: Bundle;
  readonly frontEnds: LoadSource;
  /** Monotonic clock, ms. */
  readonly nowMs: () => number;
}

/** State at one moment. */
interface Outlook {
  /** Reason why the load is unknown; null if known. */
  readonly whyUnknown: string | null;
  /** Rows per second of all front ends. */
  readonly loadQps: number;
  /** Index of the level that the load requires. */
  readonly level: number;
  /** Whether there were requests in the last half minute. */
  readonly isActive: boolean;
}

export class LoadWatch {
  readonly plan: PlanFollower;
  readonly #frontEnds: LoadSource;
  readonly #nowMs: () => number;
  readonly #watchers = new Set<() => void>();
  #isLooking = false;

  constructor({ bundle, frontEnds, nowMs }: LoadWatchOptions) {
    this.plan = new PlanFollower(bundle);
    this.#frontEnds = frontEnds;
    this.#nowMs = nowMs;
  }

  get outlook(): Outlook {
    const { window } = this.#frontEnds.load();
    const whyUnknown = this.#frontEnds.whyUnknown(this.#nowMs());
    const { level } = this.plan;
    return { whyUnknown, loadQps: loadQpsOf(window), level, isActive: window.queries > 0 };
  }

  /** Polls once; a call during another one does nothing. @throws never */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      await this.#frontEnds.look(this.#nowMs);
      const nowMs = this.#nowMs();
      // An unknown load changes nothing, so that a restarted scaler leaves the replicas alone.
      if (this.#frontEnds.whyUnknown(nowMs) === null) {
        this.plan.follow(this.#frontEnds.load(), nowMs, this.#frontEnds.pace());
      }
    } finally {
      this.#isLooking = false;
    }
    for (const listener of this.#watchers) listener();
  }

  /** Adds a listener called after every poll. @returns a function that removes it. */
  onLook(listener: () => void): () => void {
    this.#watchers.add(listener);
    return () => void this.#watchers.delete(listener);
  }
}
