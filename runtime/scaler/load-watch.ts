/** Looks at the front ends again and again, and says what the plan of their load wants. */
import type { Bundle } from "../bundle/schema.ts";
import type { LoadSource } from "./load-source.ts";
import { loadQpsOf } from "./observed-load.ts";
import { PlanFollower } from "./plan-follower.ts";

interface LoadWatchOptions {
  readonly bundle: Bundle;
  readonly frontEnds: LoadSource;
  /** Milliseconds of a clock that does not go back. */
  readonly nowMs: () => number;
}

/** What is known at a moment. */
interface Outlook {
  /** Why nothing is known; null where it is. */
  readonly whyUnknown: string | null;
  /** Rows a second of all front ends. */
  readonly loadQps: number;
  /** Index of the level whose plan that wants. */
  readonly level: number;
  /** Whether anybody has asked for something in the last half minute. */
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

  /** @throws never; a look that takes longer than the time between two is not doubled. */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      await this.#frontEnds.look(this.#nowMs);
      const nowMs = this.#nowMs();
      // What is not known yet wants nothing: a scaler that has just started lets all be as it is.
      if (this.#frontEnds.whyUnknown(nowMs) === null) {
        this.plan.follow(this.#frontEnds.load(), nowMs, this.#frontEnds.pace());
      }
    } finally {
      this.#isLooking = false;
    }
    for (const tell of this.#watchers) tell();
  }

  /** Calls back after every look. @returns what ends that. */
  onLook(tell: () => void): () => void {
    this.#watchers.add(tell);
    return () => void this.#watchers.delete(tell);
  }
}
