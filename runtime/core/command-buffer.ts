/** Buffer of a dispatcher's commands; allocated once. */
import { assert } from "./assert.ts";

/**
 * Command kinds: run a batch on a worker; give a query up; of a pipeline: load a model on a worker;
 * switch a worker off; give a worker other cores.
 */
export const START_BATCH = 0;
export const DROP = 1;
export const ASSIGN = 2;
export const RELEASE = 3;
export const RESIZE = 4;

/**
 * Why a query is dropped: its queue is full; no worker is up; no variant can serve it in time any
 * more.
 */
export const DROP_QUEUE_FULL = 0;
export const DROP_NO_WORKER = 1;
export const DROP_LATE = 2;

/**
 * Commands of the dispatcher, in order; allocated once and reused for every event.
 *
 * The dispatcher appends commands and their queries. The driver reads them by index, 0 to `count` −
 * 1, carries them out, and clears.
 */
export class CommandBuffer {
  #count = 0;
  #usedQueries = 0;
  readonly #kind: Uint8Array;
  readonly #worker: Uint32Array;
  readonly #variant: Uint32Array;
  readonly #level: Uint32Array;
  readonly #queued: Uint32Array;
  readonly #reason: Uint8Array;
  readonly #cores: Uint16Array;
  readonly #queryStart: Uint32Array;
  readonly #queryCount: Uint32Array;
  readonly #query: Uint32Array;

  /**
   * @param commandCapacity commands held between two clears.
   * @param queryCapacity queries of all of them.
   */
  constructor(commandCapacity: number, queryCapacity: number) {
    this.#kind = new Uint8Array(commandCapacity);
    this.#worker = new Uint32Array(commandCapacity);
    this.#variant = new Uint32Array(commandCapacity);
    this.#level = new Uint32Array(commandCapacity);
    this.#queued = new Uint32Array(commandCapacity);
    this.#reason = new Uint8Array(commandCapacity);
    this.#cores = new Uint16Array(commandCapacity);
    this.#queryStart = new Uint32Array(commandCapacity);
    this.#queryCount = new Uint32Array(commandCapacity);
    this.#query = new Uint32Array(queryCapacity);
  }

  get count(): number {
    return this.#count;
  }

  clear(): void {
    this.#count = 0;
    this.#usedQueries = 0;
  }

  /**
   * Opens a start-batch command; its queries are appended next, earliest deadline first.
   * @param queued queries that waited at the decision, those of the batch included; 0 if unknown.
   */
  startBatch(worker: number, variant: number, level: number, queued = 0): void {
    const command = this.#open(START_BATCH, worker);
    this.#queued[command] = queued;
    this.#variant[command] = variant;
    this.#level[command] = level;
  }

  drop(worker: number, query: number, reason: number): void {
    const command = this.#open(DROP, worker);
    this.#reason[command] = reason;
    this.appendQuery(query);
  }

  /**
   * @param variant index among the variants of all tasks, in the order of the tasks.
   * @param cores 0 if workers keep the cores they have.
   */
  assign(worker: number, variant: number, cores = 0): void {
    const command = this.#open(ASSIGN, worker);
    this.#variant[command] = variant;
    this.#cores[command] = cores;
  }

  resize(worker: number, cores: number): void {
    this.#cores[this.#open(RESIZE, worker)] = cores;
  }

  release(worker: number): void {
    this.#open(RELEASE, worker);
  }

  /** Adds a query to the command opened last. */
  appendQuery(query: number): void {
    assert(this.#usedQueries < this.#query.length, "the command buffer has room for a query");
    this.#query[this.#usedQueries++] = query;
    this.#queryCount[this.#count - 1]!++;
  }

  kind(command: number): number {
    return this.#kind[command]!;
  }

  worker(command: number): number {
    return this.#worker[command]!;
  }

  /**
   * The variant that a start-batch or assign command runs; in a pipeline, its index among the
   * variants of all tasks in their order.
   */
  variant(command: number): number {
    return this.#variant[command]!;
  }

  /** Index of the load level whose table decided, for a start-batch command. */
  level(command: number): number {
    return this.#level[command]!;
  }

  /** Queries that waited at the decision, for a start-batch command; 0 if unknown. */
  queued(command: number): number {
    return this.#queued[command]!;
  }

  /** Cores of an assign or resize command. */
  cores(command: number): number {
    return this.#cores[command]!;
  }

  /** Reason of a drop: one of those above. */
  reason(command: number): number {
    return this.#reason[command]!;
  }

  /** The batch size of a start-batch command; 1 for a drop. */
  queryCount(command: number): number {
    return this.#queryCount[command]!;
  }

  /** Query of a command. @param position 0 to `queryCount` − 1, in deadline order. */
  query(command: number, position: number): number {
    return this.#query[this.#queryStart[command]! + position]!;
  }

  #open(kind: number, worker: number): number {
    const command = this.#count;
    assert(command < this.#kind.length, "the command buffer has room for a command");
    this.#kind[command] = kind;
    this.#worker[command] = worker;
    this.#queryStart[command] = this.#usedQueries;
    this.#queryCount[command] = 0;
    this.#count = command + 1;
    return command;
  }
}

/** A machine that decides, and a buffer that holds the commands of one event. */
export interface OpenCore<D, C = CommandBuffer> {
  readonly core: D;
  readonly commands: C;
}
