/** How requests come in: each row becomes a query of the dispatcher, or all are refused. */
import type { PathTimes } from "../../../core/decision-slo.ts";
import { ANY_VARIANT, sameVariant } from "../../../core/wanted-variant.ts";
import {
  type Outcome,
  PendingRequest,
  type RequestRows,
  type RowAnswer,
  type Submission,
} from "../../../server/requests/request.ts";
import type { ModelSignature } from "../../../server/tensors/signature.ts";
import type { OpenRequests } from "./open-requests.ts";
import type { RecordedDispatcher, TableCommand } from "./recorded-dispatcher.ts";
import type { RowSlots } from "./row-slots.ts";
import type { SchedulerObserver } from "./scheduler-observer.ts";

interface RequestEntryOptions {
  readonly signature: ModelSignature;
  readonly slots: RowSlots;
  readonly requests: OpenRequests;
  readonly dispatcher: Pick<
    RecordedDispatcher,
    "onArrival" | "onJointArrival" | "onJointEnd" | "onRefused"
  >;
  readonly observer: SchedulerObserver | undefined;
  /** What the way of requests has of their deadlines. */
  readonly path: PathTimes;
  /** Does what the dispatcher says. */
  readonly carryOut: (commands: readonly TableCommand[], nowMs: number) => void;
}

export class RequestEntry {
  readonly #options: RequestEntryOptions;

  constructor(options: RequestEntryOptions) {
    this.#options = options;
  }

  /**
   * @param deadlineMs as the client has it; decisions leave time for the way before it.
   * @param sloClass index of the request's class, 0 where the bundle has none.
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
      request.fail("queue-full", `${slots.usedCount} queries wait or run, as many as may`);
    } else {
      requests.add(request);
      this.#arrive(request, nowMs);
    }
    return { outcome, cancel: (why = "cancelled") => requests.giveUp(request, why) };
  }

  /** A request was refused at the door: its rows count as load, and as dropped. */
  turnAway(rows: number, sloClass: number, nowMs: number): void {
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

/** What a row that arrives now asks of the dispatcher. */
function wantedVariant({ variant, queryByRow }: PendingRequest): number {
  if (variant === undefined) return ANY_VARIANT;
  return variant === "same" ? sameVariant(queryByRow[0] ?? 0) : variant;
}
