/** Processors and the processes that wait for them, as the system schedules them. */
import { assert } from "stratagem-runtime/internal/core/assert";
import type { Contention } from "./contention.ts";
import type { NeighbourBursts } from "./neighbour-bursts.ts";

/** No process. */
export const NO_WORKER = -1;

/**
 * How long a process keeps its processor while others wait for it, ms: a slice of Linux's fair
 * scheduler, 3 ms, ends at a tick of 4 ms.
 */
const SLICE_MS = 4;

/**
 * Each processor has a queue. A process that wakes up goes to an idle processor, or else to the
 * shortest queue, preferably its last one; an idle processor takes a process from the longest
 * queue. At the end of a slice the processor goes to the process that has had least since it woke
 * up: least attained service first. So short work waits for a slice at most, and of three long ones
 * on two processors, two share one. The server's process works for fractions of a millisecond, so
 * it has had least whenever it wakes up, and gets a processor at once.
 *
 * Sources: Linux, kernel/sched/fair.c; Nuyens and Wierman, "The foreground-background queue: a
 * survey", Performance Evaluation 65(3), 2008. Measurements: docs/decisions/0024-serving-path.md.
 */
export class ProcessorQueues {
  readonly #contention: Contention;
  readonly #bursts: NeighbourBursts | null;
  /** Most processors that there are; those that were ever used come first, the others are idle. */
  readonly #most: number;
  /** [processor]: the process that runs, NO_WORKER if idle; time since it began to run. */
  readonly #current: number[] = [];
  readonly #usedMs: number[] = [];
  /** Processes that wait for each processor, in order of arrival. */
  readonly #waiting: number[][] = [];
  /** [workers, then the server]: work left, and time had since it woke up, ms. */
  readonly #leftMs: Float64Array;
  readonly #hadMs: Float64Array;
  /** Processors that each thread of its work keeps busy. */
  readonly #demand: Float64Array;
  /** Threads of its work, 0 without work; those that run now. */
  readonly #threads: Uint32Array;
  readonly #running: Uint32Array;
  readonly #rank: Uint32Array;
  readonly #lastProcessor: Uint32Array;
  readonly #ranFromMs: Float64Array;
  readonly #server: number;
  #serverUntilMs = Number.NEGATIVE_INFINITY;
  #nowMs = 0;
  #working = 0;
  #busy = 0;
  #runningCount = 0;
  #waitingCount = 0;
  /** Progress per ms of a process that runs. */
  #speed = 1;

  /** @param bursts of neighbours; null if the machine has none. */
  constructor(workerCount: number, contention: Contention, bursts: NeighbourBursts | null) {
    const processes = workerCount + 1 + (bursts?.count ?? 0);
    this.#contention = contention;
    this.#bursts = bursts;
    this.#most = Math.ceil(contention.processors);
    this.#add();
    while (bursts !== null && this.#current.length < this.#most) this.#add();
    this.#leftMs = new Float64Array(processes);
    this.#hadMs = new Float64Array(processes);
    this.#demand = new Float64Array(processes).fill(1);
    this.#threads = new Uint32Array(processes);
    this.#running = new Uint32Array(processes);
    this.#rank = new Uint32Array(workerCount);
    this.#lastProcessor = new Uint32Array(processes);
    this.#ranFromMs = new Float64Array(processes);
    this.#server = workerCount;
  }

  /** Workers that have work. */
  get length(): number {
    return this.#working;
  }

  /** Processors that run work of workers or of the server. */
  get busy(): number {
    return this.#busy;
  }

  has(worker: number): boolean {
    return (this.#threads[worker] ?? 0) > 0;
  }

  /** Time of the next change if nothing else happens: an end of work, or of a slice. */
  get nextMs(): number {
    let nextMs = this.#bursts?.nextMs ?? Number.POSITIVE_INFINITY;
    for (let processor = 0; processor < this.#current.length; processor++) {
      nextMs = Math.min(nextMs, this.#turnMs(processor));
    }
    // Bursts matter only to work that is there.
    return this.#isIdle ? Number.POSITIVE_INFINITY : nextMs;
  }

  /** Less than this does not lead to a later time. */
  get #tinyMs(): number {
    return Math.max(TINY_MS, TINY_SHARE * this.#nowMs);
  }

  /** Whether only neighbours work. */
  get #isIdle(): boolean {
    return this.#working === 0 && this.#threads[this.#server] === 0;
  }

  /**
   * Starts work.
   * @param workMs duration on `demand` processors of its own.
   * @param rank orders ends at the same time, lowest first.
   */
  start(nowMs: number, worker: number, workMs: number, demand: number, rank: number): void {
    assert(!this.has(worker), "a worker does one thing at a time");
    this.#catchUp(nowMs);
    this.#leftMs[worker] = workMs;
    this.#rank[worker] = rank;
    this.#working++;
    const threads = Math.min(this.#most, Math.max(1, Math.round(demand)));
    this.#threads[worker] = threads;
    this.#ranFromMs[worker] = Number.NaN;
    this.#demand[worker] = demand / threads;
    for (let thread = 0; thread < threads; thread++) this.#wake(worker);
    this.#setSpeed();
  }

  /** When a worker first got a processor for its last work; NaN if it still waits. */
  ranFromMs(worker: number): number {
    return this.#ranFromMs[worker] ?? Number.NaN;
  }

  /** Ends the work of a worker that has some. */
  end(nowMs: number, worker: number): void {
    assert(this.has(worker), "the worker has work");
    this.#goTo(nowMs);
    this.#working--;
    this.#remove(worker);
  }

  /** @returns whose work is done at `nextMs`; NO_WORKER if a processor changes hands. */
  turn(): number {
    const nowMs = this.nextMs;
    this.#goTo(nowMs);
    const done = this.#done();
    if (done !== NO_WORKER) return done;
    this.#turnBursts();
    if (this.#threads[this.#server] === 1 && this.#serverUntilMs <= nowMs) {
      this.#remove(this.#server);
      return NO_WORKER;
    }
    for (let processor = 0; processor < this.#current.length; processor++) {
      if (this.#isSliceOver(processor)) this.#pass(processor);
    }
    this.#setSpeed();
    return NO_WORKER;
  }

  /**
   * The server's process has work from now on; `serveUntil` follows.
   * @param fromMs now, or the end of its current work.
   */
  serveFrom(fromMs: number): void {
    const server = this.#server;
    const isBusy = this.#threads[server] === 1;
    if (isBusy && this.#serverUntilMs >= fromMs) return;
    this.#catchUp(fromMs);
    if (isBusy) return;
    this.#threads[server] = 1;
    this.#wake(server);
    this.#setSpeed();
  }

  serveUntil(untilMs: number): void {
    this.#serverUntilMs = untilMs;
  }

  /** A process gets a processor, or waits for one. */
  #wake(process: number): void {
    this.#hadMs[process] = 0;
    let chosen = this.#lastProcessor[process] ?? 0;
    const isTaken = process < this.#server && this.#isNeighbours(chosen);
    for (let other = 0; other < this.#current.length && !isTaken; other++) {
      if (this.#lengthAt(other) < this.#lengthAt(chosen)) chosen = other;
    }
    if (this.#current[chosen] !== NO_WORKER && this.#current.length < this.#most)
      chosen = this.#add();
    this.#lastProcessor[process] = chosen;
    if (this.#current[chosen] === NO_WORKER) this.#run(chosen, process);
    else {
      this.#wait(chosen, process);
      if (process === this.#server) this.#pass(chosen);
    }
  }

  /** Goes to a time at which there is work, after the bursts until then if there was none. */
  #catchUp(nowMs: number): void {
    while (this.#bursts !== null && this.#isIdle) {
      const turnMs = Math.min(
        this.#bursts.nextMs,
        ...this.#current.map((_, at) => this.#turnMs(at)),
      );
      if (turnMs > nowMs) break;
      this.#goTo(turnMs);
      this.#turnBursts();
    }
    this.#goTo(nowMs);
  }

  /** Ends the bursts that are done now, and begins those that are due. */
  #turnBursts(): void {
    const bursts = this.#bursts;
    if (bursts === null) return;
    for (let neighbour = 0; neighbour < bursts.count; neighbour++) {
      const process = this.#server + 1 + neighbour;
      if (this.#running[process] === 0 || (this.#leftMs[process] ?? 0) > this.#tinyMs) continue;
      this.#remove(process);
      bursts.end(neighbour, this.#nowMs);
    }
    while (bursts.nextMs <= this.#nowMs) {
      const { neighbour, processor, workMs } = bursts.begin(this.#most);
      const process = this.#server + 1 + neighbour;
      this.#leftMs[process] = workMs;
      this.#threads[process] = 1;
      // A worker keeps its processor until its slice is over.
      if (this.#current[processor] === NO_WORKER) this.#run(processor, process);
      else this.#wait(processor, process);
      this.#setSpeed();
    }
  }

  #isNeighbours(processor: number): boolean {
    return (this.#current[processor] ?? NO_WORKER) > this.#server;
  }

  /** Returns a processor that was not used before. */
  #add(): number {
    this.#usedMs.push(0);
    this.#waiting.push([]);
    return this.#current.push(NO_WORKER) - 1;
  }

  #lengthAt(processor: number): number {
    const isBusy = this.#current[processor] !== NO_WORKER;
    return (this.#waiting[processor]?.length ?? 0) + (isBusy ? 1 : 0);
  }

  #run(processor: number, process: number): void {
    this.#current[processor] = process;
    this.#usedMs[processor] = 0;
    if (Number.isNaN(this.#ranFromMs[process])) this.#ranFromMs[process] = this.#nowMs;
    this.#running[process] = (this.#running[process] ?? 0) + 1;
    this.#lastProcessor[process] = processor;
    this.#runningCount++;
    this.#busy += this.#demand[process] ?? 0;
  }

  #wait(processor: number, process: number): void {
    this.#waiting[processor]?.push(process);
    this.#waitingCount++;
  }

  /** Takes a processor from its process. */
  #free(processor: number): void {
    const process = this.#current[processor] ?? NO_WORKER;
    this.#current[processor] = NO_WORKER;
    this.#running[process] = (this.#running[process] ?? 0) - 1;
    this.#runningCount--;
    // Sums of sixteenths are exact.
    this.#busy -= this.#demand[process] ?? 0;
  }

  /**
   * Gives a processor to the process that has had least of those that wait; to the server first,
   * whose jobs are short, and to neighbours before workers.
   */
  #pass(processor: number): void {
    const process = this.#current[processor] ?? NO_WORKER;
    if (process !== NO_WORKER) {
      this.#free(processor);
      this.#wait(processor, process);
    }
    const queue = this.#waiting[processor] ?? [];
    const neighbour = queue.findIndex((one) => one > this.#server);
    let least = Math.max(0, queue.indexOf(this.#server));
    for (let at = 0; at < queue.length; at++) {
      const hadMs = this.#hadMs[queue[at] ?? 0] ?? 0;
      if (hadMs < (this.#hadMs[queue[least] ?? 0] ?? 0)) least = at;
    }
    const isFirst = neighbour >= 0 && queue[least] !== this.#server;
    const [next] = queue.splice(isFirst ? neighbour : least, 1);
    if (next === undefined) return;
    this.#waitingCount--;
    this.#run(processor, next);
  }

  /** Takes a process away from processors and queues. */
  #remove(process: number): void {
    this.#threads[process] = 0;
    for (const queue of this.#waiting) {
      for (let at = queue.indexOf(process); at >= 0; at = queue.indexOf(process)) {
        queue.splice(at, 1);
        this.#waitingCount--;
      }
    }
    for (let processor = 0; processor < this.#current.length; processor++) {
      if (this.#current[processor] !== process) continue;
      this.#free(processor);
      this.#pass(processor);
      if (this.#current[processor] === NO_WORKER && this.#waitingCount > 0)
        this.#takeOver(processor);
    }
    this.#setSpeed();
  }

  /** An idle processor takes the first process of the longest queue that no neighbour holds up. */
  #takeOver(processor: number): void {
    let longest: number[] = [];
    for (const [other, queue] of this.#waiting.entries()) {
      if (queue.length > longest.length && !this.#isNeighbours(other)) longest = queue;
    }
    const process = longest.shift();
    if (process === undefined) return;
    this.#waitingCount--;
    this.#run(processor, process);
  }

  /** When the process of a processor is done with it. */
  #turnMs(processor: number): number {
    const process = this.#current[processor] ?? NO_WORKER;
    if (process === NO_WORKER) return Number.POSITIVE_INFINITY;
    if (process > this.#server) return this.#nowMs + Math.max(0, this.#leftMs[process] ?? 0);
    const doneMs =
      process === this.#server ? this.#serverUntilMs : this.#nowMs + this.#needsMs(process);
    if (this.#waiting[processor]?.length === 0) return doneMs;
    return Math.min(doneMs, this.#nowMs + Math.max(0, SLICE_MS - (this.#usedMs[processor] ?? 0)));
  }

  #isSliceOver(processor: number): boolean {
    const isWanted = this.#waiting[processor]?.length !== 0 && !this.#isNeighbours(processor);
    return isWanted && (this.#usedMs[processor] ?? 0) >= SLICE_MS - this.#tinyMs;
  }

  /** Returns the worker whose work is done; NO_WORKER if none is. */
  #done(): number {
    let done = NO_WORKER;
    for (const worker of this.#current) {
      if (worker === NO_WORKER || worker >= this.#server) continue;
      if (this.#needsMs(worker) > this.#tinyMs) continue;
      if (done === NO_WORKER || (this.#rank[worker] ?? 0) < (this.#rank[done] ?? 0)) done = worker;
    }
    return done;
  }

  /** Time that a worker needs, if all remains as it is. */
  #needsMs(worker: number): number {
    const part = (this.#running[worker] ?? 0) / (this.#threads[worker] ?? 1);
    return (this.#leftMs[worker] ?? 0) / (this.#speed * part);
  }

  #goTo(nowMs: number): void {
    const ms = nowMs - this.#nowMs;
    if (ms <= 0) return;
    for (let processor = 0; processor < this.#current.length; processor++) {
      const process = this.#current[processor] ?? NO_WORKER;
      if (process === NO_WORKER) continue;
      this.#usedMs[processor] = (this.#usedMs[processor] ?? 0) + ms;
      const partMs = ms / (this.#threads[process] ?? 1);
      this.#hadMs[process] = (this.#hadMs[process] ?? 0) + partMs;
      const speed = process > this.#server ? 1 : this.#speed;
      this.#leftMs[process] = (this.#leftMs[process] ?? 0) - partMs * speed;
    }
    this.#nowMs = nowMs;
  }

  #setSpeed(): void {
    const { processors } = this.#contention;
    const running = this.#runningCount;
    if (running === 0) return;
    const busy = Math.min(processors, this.#busy);
    this.#speed = Math.min(1, processors / running) / this.#contention.factorOf(busy);
  }
}

/** Rounding errors of durations, ms, and of times relative to them. */
const TINY_MS = 1e-9;
const TINY_SHARE = 4 * Number.EPSILON;
