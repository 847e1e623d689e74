/** The requests that have no answer yet, and how they end without one. */
import { DROP_LATE, DROP_NO_WORKER } from "../../../core/command-buffer.ts";
import { GIVEN_UP, type GivenUp, type PendingRequest } from "../../../server/requests/request.ts";
import type { RecordedDispatcher } from "./recorded-dispatcher.ts";
import type { RowSlots } from "./row-slots.ts";
import type { SchedulerObserver } from "./scheduler-observer.ts";

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

  /** Nobody waits for it any more. */
  giveUp(request: PendingRequest, why: GivenUp): void {
    if (request.isSettled) return;
    if (why === "timeout") {
      for (let row = 0; row < request.rows; row++) this.#observer?.onQueryDropped(request.sloClass);
    }
    this.fail(request, why, GIVEN_UP[why]);
  }

  /** The dispatcher has given up a row. @param reason as in the command buffer. */
  drop(query: number, reason: number): void {
    const { request, losses, lossMessage } = this.#slots.free(query);
    if (reason === DROP_NO_WORKER && losses > 0) {
      // Nobody is left to try again what may have ended its worker.
      this.fail(request, "worker-lost", lossMessage);
      return;
    }
    this.#observer?.onQueryDropped(request.sloClass);
    if (reason === DROP_NO_WORKER) this.fail(request, "no-worker", "no worker is up");
    else if (reason === DROP_LATE)
      this.fail(request, "late", "its deadline cannot be met any more");
    else this.fail(request, "queue-full", "the queue of the worker is full");
  }

  /** Fails every request. */
  failAll(...why: Failure): void {
    for (const request of [...this.#requests]) this.fail(request, ...why);
  }

  /** Nothing, where it has its end already. */
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
