/** Work of several processes on the processors that they share. */
import { assert } from "stratagem-runtime/internal/core/assert";
import type { Contention } from "./contention.ts";

/** No worker. */
export const NOBODY = 0xffff_ffff;

/**
 * The system gives processors to the processes that have had least of them, and those that have had
 * as much share what is left: least attained service first, as the fair schedulers of Linux. The
 * server's process and neighbours sleep most of the time, so they come first.
 *
 * A process that wakes up has had as much as the one at work that has had least, or what it had
 * when it fell asleep if that is more: sleep earns nothing.
 *
 * Source: Nuyens and Wierman, "The foreground-background queue: a survey", Performance Evaluation
 * 65(3), 2008; Stoica and Abdel-Wahab, "Earliest eligible virtual deadline first", 1995.
 */
export class ProcessorShares {
  readonly #contention: Contention;
  readonly #neighbours: number;
  /** [workerCount]: work left, ms of an unshared processor. */
  readonly #leftMs: Float64Array;
  /** [workerCount]: processor time that the process has had, ms for each processor it asks for. */
  readonly #hadMs: Float64Array;
  /** [workerCount]: processors that it keeps busy. */
  readonly #demand: Float64Array;
  /** [workerCount]: part of its demand that it gets. */
  readonly #share: Float64Array;
  readonly #rank: Uint32Array;
  readonly #sequence: Float64Array;
  /** [workerCount]: the first `#count` are at work, by the time that they have had. */
  readonly #order: Uint32Array;
  #count = 0;
  #started = 0;
  #nowMs = 0;
  /** End of the server's work; in the past if it is idle. */
  #serverUntilMs = Number.NEGATIVE_INFINITY;
  #isServerBusy = false;
  /** Progress of work that has all that it asks for. */
  #speed = 1;

  /** @param neighbours processors that others keep busy all the time. */
  constructor(workerCount: number, contention: Contention, neighbours: number) {
    this.#contention = contention;
    this.#neighbours = neighbours;
    this.#leftMs = new Float64Array(workerCount);
    this.#hadMs = new Float64Array(workerCount);
    this.#demand = new Float64Array(workerCount);
    this.#share = new Float64Array(workerCount);
    this.#rank = new Uint32Array(workerCount);
    this.#sequence = new Float64Array(workerCount);
    this.#order = new Uint32Array(workerCount);
  }

  get length(): number {
    return this.#count;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Sum of the demands at work, without server and neighbours. */
  get busy(): number {
    let sum = 0;
    for (let at = 0; at < this.#count; at++) sum += this.#demand[this.#order[at] ?? 0] ?? 0;
    return sum;
  }

  has(worker: number): boolean {
    return this.#order.subarray(0, this.#count).includes(worker);
  }

  /** Takes over the state of another with as many workers. */
  copy(other: ProcessorShares): void {
    this.#count = other.#count;
    this.#nowMs = other.#nowMs;
    this.#serverUntilMs = other.#serverUntilMs;
    this.#isServerBusy = other.#isServerBusy;
    this.#speed = other.#speed;
    for (let at = 0; at < other.#count; at++) {
      const worker = other.#order[at] ?? 0;
      this.#order[at] = worker;
      this.#leftMs[worker] = other.#leftMs[worker] ?? 0;
      this.#hadMs[worker] = other.#hadMs[worker] ?? 0;
      this.#demand[worker] = other.#demand[worker] ?? 0;
      this.#share[worker] = other.#share[worker] ?? 0;
      this.#rank[worker] = other.#rank[worker] ?? 0;
      this.#sequence[worker] = other.#sequence[worker] ?? 0;
    }
  }

  /**
   * Starts work now.
   * @param workMs duration on `demand` unshared processors.
   * @param rank orders ends at the same time, lowest first.
   */
  start(worker: number, workMs: number, demand: number, rank: number): void {
    assert(!this.has(worker), "a worker does one thing at a time");
    const least = this.#hadMs[this.#order[0] ?? 0] ?? 0;
    if (this.#count > 0) this.#hadMs[worker] = Math.max(this.#hadMs[worker] ?? 0, least);
    this.#leftMs[worker] = workMs;
    this.#demand[worker] = demand;
    this.#rank[worker] = rank;
    this.#sequence[worker] = this.#started++;
    let place = this.#count++;
    const hadMs = this.#hadMs[worker] ?? 0;
    for (; place > 0; place--) {
      const other = this.#order[place - 1] ?? 0;
      if ((this.#hadMs[other] ?? 0) <= hadMs) break;
      this.#order[place] = other;
    }
    this.#order[place] = worker;
    this.#divide();
  }

  /** Ends the work of a worker that has some. */
  end(worker: number): void {
    const place = this.#order.indexOf(worker);
    assert(place >= 0 && place < this.#count, "the worker is at work");
    this.#order.copyWithin(place, place + 1, this.#count--);
    this.#divide();
  }

  /**
   * Marks the server as busy; the end of its work follows.
   * @param fromMs now, or the end of its current work.
   */
  serveFrom(fromMs: number): void {
    if (!this.#isServerBusy || this.#serverUntilMs < fromMs) {
      this.goTo(fromMs);
      this.#isServerBusy = true;
      this.#divide();
    }
    this.#serverUntilMs = Number.POSITIVE_INFINITY;
  }

  serveUntil(untilMs: number): void {
    this.#serverUntilMs = untilMs;
  }

  /**
   * Lets time pass until then, or until the first work is done if that is earlier.
   * @returns whose work is done, or NOBODY.
   */
  goTo(untilMs: number): number {
    for (;;) {
      const first = this.#first();
      const doneMs = first === NOBODY ? Number.POSITIVE_INFINITY : this.#nowMs + this.#needsMs(first);
      const serverMs = this.#isServerBusy ? this.#serverUntilMs : Number.POSITIVE_INFINITY;
      const [place, levelMs] = this.#nextLevel();
      const nextMs = Math.min(untilMs, doneMs, serverMs, levelMs);
      if (nextMs === Number.POSITIVE_INFINITY) return NOBODY;
      this.#pass(Math.max(0, nextMs - this.#nowMs));
      this.#nowMs = Math.max(this.#nowMs, nextMs);
      if (doneMs === nextMs) return first;
      if (serverMs === nextMs) {
        this.#isServerBusy = false;
        this.#divide();
      } else if (levelMs === nextMs) this.#level(place);
      if (untilMs === nextMs) return NOBODY;
    }
  }

  /** Returns whose work is done first, if nothing changes. */
  #first(): number {
    let first = NOBODY;
    let leastMs = Number.POSITIVE_INFINITY;
    for (let at = 0; at < this.#count; at++) {
      const worker = this.#order[at] ?? 0;
      const needsMs = this.#needsMs(worker);
      if (needsMs < leastMs || (needsMs === leastMs && this.#isBefore(worker, first))) {
        first = worker;
        leastMs = needsMs;
      }
    }
    return first;
  }

  #isBefore(worker: number, other: number): boolean {
    if (other === NOBODY) return false;
    const byRank = (this.#rank[worker] ?? 0) - (this.#rank[other] ?? 0);
    return byRank < 0 || (byRank === 0 && (this.#sequence[worker] ?? 0) < (this.#sequence[other] ?? 0));
  }

  #needsMs(worker: number): number {
    const share = this.#share[worker] ?? 0;
    return share === 0
      ? Number.POSITIVE_INFINITY
      : (this.#leftMs[worker] ?? 0) / (this.#speed * share);
  }

  /** Returns the last place of the first group that will have had as much as the next, and when. */
  #nextLevel(): [place: number, atMs: number] {
    let found = 0;
    let atMs = Number.POSITIVE_INFINITY;
    for (let place = 0; place + 1 < this.#count; place++) {
      const [one, next] = [this.#order[place] ?? 0, this.#order[place + 1] ?? 0];
      const behindMs = (this.#hadMs[next] ?? 0) - (this.#hadMs[one] ?? 0);
      const gain = (this.#share[one] ?? 0) - (this.#share[next] ?? 0);
      if (behindMs <= 0 || gain <= 0 || this.#nowMs + behindMs / gain >= atMs) continue;
      found = place;
      atMs = this.#nowMs + behindMs / gain;
    }
    return [found, atMs];
  }

  /** Merges the group that ends at a place with the next one. */
  #level(place: number): void {
    const levelMs = this.#hadMs[this.#order[place + 1] ?? 0] ?? 0;
    const hadMs = this.#hadMs[this.#order[place] ?? 0];
    for (let at = place; at >= 0 && this.#hadMs[this.#order[at] ?? 0] === hadMs; at--) {
      this.#hadMs[this.#order[at] ?? 0] = levelMs;
    }
    this.#divide();
  }

  #pass(ms: number): void {
    for (let at = 0; at < this.#count; at++) {
      const worker = this.#order[at] ?? 0;
      const gotMs = ms * (this.#share[worker] ?? 0);
      this.#hadMs[worker] = (this.#hadMs[worker] ?? 0) + gotMs;
      this.#leftMs[worker] = Math.max(0, (this.#leftMs[worker] ?? 0) - gotMs * this.#speed);
    }
  }

  /** Divides the processors among the work. */
  #divide(): void {
    const { processors } = this.#contention;
    const first = this.#neighbours + (this.#isServerBusy ? 1 : 0);
    let left = Math.max(LEAST_SHARE, processors - first);
    const busy = this.busy;
    this.#speed = 1 / this.#contention.factorOf(Math.min(processors, first + busy));
    for (let place = 0; place < this.#count; ) {
      let [end, wanted] = [place, 0];
      const hadMs = this.#hadMs[this.#order[place] ?? 0];
      for (; end < this.#count && this.#hadMs[this.#order[end] ?? 0] === hadMs; end++) {
        wanted += this.#demand[this.#order[end] ?? 0] ?? 0;
      }
      const share = Math.min(1, left / wanted);
      for (; place < end; place++) this.#share[this.#order[place] ?? 0] = share;
      left = Math.max(0, left - wanted);
    }
  }
}

/** Processors that are left in any case, so that work always progresses. */
const LEAST_SHARE = 1e-3;
