/** Open requests: their arrival, the slots of their rows, and their failures. */

import { assert } from "../../../core/assert.ts";
import { DROP_LATE, DROP_NO_WORKER } from "../../../core/command-buffer.ts";
import type { PathTimes } from "../../../core/decision-slo.ts";
import { ANY_VARIANT, sameVariant } from "../../../core/wanted-variant.ts";
import type { LossCause } from "../../../exec/models/scaler.ts";
import {
  type BatchTimes,
  GIVEN_UP,
  type GivenUp,
  type Outcome,
  PendingRequest,
  type RequestRows,
  type RowAnswer,
  type Submission,
} from "../../../server/requests/request.ts";
import type { ModelSignature } from "../../../server/tensors/signature.ts";
import type { RecordedDispatcher, TableCommand } from "./recorded-dispatcher.ts";

export interface SchedulerObserver {
  onBatchStart(batch: BatchStart): void;
  onBatchDone(batch: BatchStart, times: BatchTimes): void;
  /** @param sloClass index of its class, 0 without classes. */
  onQueryDropped(sloClass: number): void;
  /** @param isLate whether its answer came after its deadline. @param variant that answered. */
  onQueryAnswered(isLate: boolean, sloClass: number, variant: number): void;
  onWorkerLost(cause: LossCause): void;
  /** Called when a row whose worker was lost waits again. */
  onQueryRetried(): void;
}

export interface BatchStart {
  readonly variant: number;
  readonly level: number;
  readonly rows: number;
  /** Time to the earliest deadline; negative if it has passed. */
  readonly slackMs: number;
}

/** Row of a request that a query of the dispatcher stands for. */
export interface Row {
  readonly request: PendingRequest;
  readonly row: number;
  /** Workers that were lost under it. */
  losses: number;
  /** How the last of them was lost; empty before. */
  lossMessage: string;
}

export class RowSlots {
  readonly #rowBySlot: (Row | undefined)[];
  readonly #free: number[];

  constructor(slotCount: number) {
    this.#rowBySlot = new Array<Row | undefined>(slotCount).fill(undefined);
    this.#free = Array.from({ length: slotCount }, (_, slot) => slotCount - 1 - slot);
  }

  get freeCount(): number {
    return this.#free.length;
  }

  get usedCount(): number {
    return this.#rowBySlot.length - this.#free.length;
  }

  /** Requires a free slot. */
  take(request: PendingRequest, row: number): number {
    const query = this.#free.pop();
    assert(query !== undefined, "the request was refused if there are not enough slots");
    this.#rowBySlot[query] = { request, row, losses: 0, lossMessage: "" };
    request.queryByRow[row] = query;
    return query;
  }

  row(query: number): Row {
    const row = this.#rowBySlot[query];
    assert(row !== undefined, "a query of the dispatcher has a slot");
    return row;
  }

  /** Whether the slot is one of the request's, and of no other by now. */
  isOf(query: number, request: PendingRequest): boolean {
    return this.#rowBySlot[query]?.request === request;
  }

  free(query: number): Row {
    const row = this.row(query);
    this.#rowBySlot[query] = undefined;
    this.#free.push(query);
    return row;
  }
}

type Failure = Parameters<PendingRequest["fail"]>;

export class OpenRequests {
  readonly #requests = new Set<PendingRequest>();
  readonly #slots: RowSlots;
  readonly #dispatcher: Pick<RecordedDispatcher, "onCancel">;
  readonly #observer: SchedulerObserver | undefined;
  readonly #nowMs: () => number;

  constructor(
    slots: RowSlots,
    dispatcher: Pick<RecordedDispatcher, "onCancel">,
    observer: SchedulerObserver | undefined,
    nowMs: () => number,
  ) {
    this.#slots = slots;
    this.#dispatcher = dispatcher;
    this.#observer = observer;
    this.#nowMs = nowMs;
  }

  add(request: PendingRequest): void {
    this.#requests.add(request);
  }

  /** Gives up a request that its client no longer waits for. */
  giveUp(request: PendingRequest, why: GivenUp): void {
    if (request.isSettled) return;
    if (why === "timeout") {
      for (let row = 0; row < request.rows; row++) this.#observer?.onQueryDropped(request.sloClass);
    }
    this.fail(request, why, GIVEN_UP[why]);
  }

  /** Called when the dispatcher has given up a row. @param reason as in the command buffer. */
  drop(query: number, reason: number): void {
    const { request, losses, lossMessage } = this.#slots.free(query);
    if (reason === DROP_NO_WORKER && losses > 0) {
      // No other worker is left to retry a query that may have ended its worker.
      this.fail(request, "worker-lost", lossMessage);
      return;
    }
    this.#observer?.onQueryDropped(request.sloClass);
    if (reason === DROP_NO_WORKER) this.fail(request, "no-worker", "no worker is up");
    else if (reason === DROP_LATE) this.fail(request, "late", "its deadline can no longer be met");
    else this.fail(request, "queue-full", "the queue of the worker is full");
  }

  failAll(...why: Failure): void {
    for (const request of [...this.#requests]) this.fail(request, ...why);
  }

  /** Fails a request, unless it is settled already. */
  fail(request: PendingRequest, ...why: Failure): void {
    if (request.isSettled) return;
    request.fail(...why);
    this.takeBack(request);
  }

  /**
   * Removes the rows of a settled request that still wait; rows that run keep their slots until the
   * batch is over.
   */
  takeBack(request: PendingRequest): void {
    this.#requests.delete(request);
    for (const query of request.queryByRow) {
      if (!this.#slots.isOf(query, request)) continue;
      if (this.#dispatcher.onCancel(query, this.#nowMs())) this.#slots.free(query);
    }
  }
}

interface RequestEntryOptions {
  readonly signature: ModelSignature;
  readonly slots: RowSlots;
  readonly requests: OpenRequests;
  readonly dispatcher: Pick<
    RecordedDispatcher,
    "onArrival" | "onJointArrival" | "onJointEnd" | "onRefused"
  >;
  readonly observer: SchedulerObserver | undefined;
  /** Parts of the deadline that the path of requests takes. */
  readonly path: PathTimes;
  /** Carries out the dispatcher's commands. */
  readonly carryOut: (commands: readonly TableCommand[], nowMs: number) => void;
}

export class RequestEntry {
  readonly #options: RequestEntryOptions;

  constructor(options: RequestEntryOptions) {
    this.#options = options;
  }

  /**
   * @param deadlineMs as the client has it; decisions leave time for the way before it.
   * @param sloClass index of the request's class, 0 if the bundle has no classes.
   */
  submit(
    rows: RequestRows,
    deadlineMs: number,
    sloClass: number,
    nowMs: number,
  ): Submission<RowAnswer> {
    let settle: (outcome: Outcome<RowAnswer>) => void = () => {};
    const outcome = new Promise<Outcome<RowAnswer>>((resolve) => {
      settle = resolve;
    });
    const { signature, slots, requests, path } = this.#options;
    const times = { arrivalMs: nowMs, deadlineMs: deadlineMs - path.marginMs, sloClass };
    const request = new PendingRequest(signature, rows, times, settle);
    if (rows.rows > slots.freeCount) {
      this.#noteDropped(rows.rows, sloClass);
      const found = `${slots.usedCount} queries wait or run`;
      request.fail("queue-full", `queue full: ${found}, at most ${slots.freeCount} more may wait`);
    } else {
      requests.add(request);
      this.#arrive(request, nowMs);
    }
    return { outcome, cancel: (why = "cancelled") => requests.giveUp(request, why) };
  }

  /** A request was refused at the door: its rows count as load, and as dropped. */
  reject(rows: number, sloClass: number, nowMs: number): void {
    this.#noteDropped(rows, sloClass);
    this.#options.dispatcher.onRefused(rows, nowMs, sloClass);
  }

  #arrive(request: PendingRequest, nowMs: number): void {
    const { slots, dispatcher, carryOut } = this.#options;
    if (request.rows === 1 && typeof request.variant !== "number") {
      const { deadlineMs, sloClass } = request;
      const query = slots.take(request, 0);
      carryOut(dispatcher.onArrival(query, deadlineMs, nowMs, sloClass), nowMs);
    } else {
      this.#arriveTogether(request, nowMs);
      carryOut(dispatcher.onJointEnd(nowMs), nowMs);
    }
  }

  #arriveTogether(request: PendingRequest, nowMs: number): void {
    const { slots, dispatcher, carryOut } = this.#options;
    const { deadlineMs, sloClass } = request;
    // A row that is dropped fails the request, and the rows after it need not arrive.
    for (let row = 0; row < request.rows && !request.isSettled; row++) {
      const query = slots.take(request, row);
      const wanted = wantedVariant(request);
      carryOut(dispatcher.onJointArrival(query, deadlineMs, wanted, nowMs, sloClass), nowMs);
    }
  }

  #noteDropped(rows: number, sloClass: number): void {
    for (let row = 0; row < rows; row++) this.#options.observer?.onQueryDropped(sloClass);
  }
}

/** Returns the variant that a row asks for, to pass to the dispatcher. */
function wantedVariant({ variant, queryByRow }: PendingRequest): number {
  if (variant === undefined) return ANY_VARIANT;
  return variant === "same" ? sameVariant(queryByRow[0] ?? 0) : variant;
}
