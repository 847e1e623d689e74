import type { Bundle } from "../bundle/schema.ts";
import { LevelChoice } from "./level-choice.ts";
import { LoadMonitor } from "./load-monitor.ts";
import { PolicyTable, WAIT } from "./policy-table.ts";
import { Rng } from "./rng.ts";

/**
 * Deadline minus now is rounded, so a query that has just arrived may seem to have an ulp less than the whole SLO left and fall into the
 * column below. A nanosecond, far above such rounding and far below a service time, is added to every slack.
 */
const SLACK_ROUNDING_MS = 1e-6;

/** The coin of mixtures: any fixed seed, so that the same events give the same decisions. */
const COIN_SEED = 1;
const COIN_STREAM = 0x636f696e;

/** What to run in a state, by the load that was measured: the tables of a bundle, the choice of a level, and the coin of mixtures. */
export class Policy {
  readonly queueCapacity: number;
  /** Of the fastest variant and one query, or 0 if queries are served however late; a query with less slack is given up. */
  readonly leastSlackMs: number;
  /** Index of the level that decided last. */
  level = 0;
  #table: PolicyTable;
  #levelChoice: LevelChoice;
  readonly #monitor = new LoadMonitor();
  readonly #coin = new Rng(COIN_SEED, COIN_STREAM);
  #side: 0 | 1 = 0;

  private constructor(table: PolicyTable, leastSlackMs: number) {
    this.queueCapacity = table.queueCapacity;
    this.leastSlackMs = leastSlackMs;
    this.#table = table;
    this.#levelChoice = new LevelChoice(table.levelLoadQps);
  }

  /** @throws Error if the bundle contradicts itself. */
  static fromBundle(bundle: Bundle): Policy {
    const leastSlackMs = bundle.policy.drop ? fastestMs(bundle) : Number.NEGATIVE_INFINITY;
    return new Policy(PolicyTable.fromBundle(bundle), leastSlackMs);
  }

  /** Follows other levels from now on; the load measured so far stays known. @param bundle with the same decision space. */
  replaceBundle(bundle: Bundle): void {
    const table = PolicyTable.fromBundle(bundle);
    if (table.queueCapacity !== this.queueCapacity) throw new RangeError("queues keep their size");
    this.#table = table;
    this.#levelChoice = new LevelChoice(table.levelLoadQps);
  }

  recordArrival(nowMs: number): void {
    this.#monitor.recordArrival(nowMs);
  }

  /** Measured load, queries per second; NaN until it is known. */
  loadQps(nowMs: number): number {
    return this.#monitor.loadQps(nowMs);
  }

  /** @param queued at least one. @param slackMs until the earliest deadline. @returns index of an action, or WAIT. */
  decide(queued: number, slackMs: number, nowMs: number): number {
    const monitor = this.#monitor;
    const loadQps = monitor.loadQps(nowMs);
    this.level = this.#levelChoice.update(loadQps, monitor.windowMs(nowMs), nowMs);
    const share = this.#table.mixtureShare(this.level);
    // No coin is thrown where there is nothing to choose: it would only take time.
    this.#side = share > 0 && this.#coin.nextFloat() < share ? 1 : 0;
    return this.#table.lookup(this.level, queued, slackMs + SLACK_ROUNDING_MS, this.#side);
  }

  /** After `decide` said to wait: how long the slack may fall until it says otherwise, everything else being equal. Above 0. */
  waitMs(queued: number, slackMs: number): number {
    const roundedMs = slackMs + SLACK_ROUNDING_MS;
    const untilMs = this.#table.waitUntilSlackMs(this.level, queued, roundedMs, this.#side);
    return roundedMs - untilMs + SLACK_ROUNDING_MS;
  }

  variant(action: number): number {
    return this.#table.variant(action);
  }

  batch(action: number): number {
    return this.#table.batch(action);
  }
}

export { WAIT };

function fastestMs({ tasks }: Bundle): number {
  let fastest = Number.POSITIVE_INFINITY;
  for (const { variants, serviceTimes } of tasks) {
    const maxBatch = serviceTimes.decisionMs.shape[1] ?? 1;
    for (let variant = 0; variant < variants.length; variant++) {
      fastest = Math.min(fastest, serviceTimes.decisionMs.data[variant * maxBatch]!);
    }
  }
  return fastest;
}
