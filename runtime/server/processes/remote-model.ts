/** A model that another process decides for: requests go there, and so does what is counted. */
import type { AskedRequest, EndpointModel } from "../requests/endpoint.ts";
import type { FailureReason, RequestRows, Submission } from "../requests/request.ts";
import { RequestClasses } from "../requests/request-classes.ts";
import { type Padding, RequestMetrics, type RequestTimes } from "../requests/request-metrics.ts";
import type { ClientSignature } from "../tensors/signature.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { ToldModel } from "./told.ts";

export class RemoteModel implements EndpointModel {
  readonly id: number;
  readonly signature: ClientSignature;
  readonly metrics: RequestMetrics;
  /** Timeouts that cannot be met are refused where it is decided. */
  readonly fastestMs = 0;
  readonly maxRows?: number;
  readonly classes?: RequestClasses;
  readonly isFull?: () => boolean;
  readonly #dispatcher: Dispatcher;
  readonly #nowMs: () => number;

  /** @param nowMs the clock of this process. */
  constructor(told: ToldModel, dispatcher: Dispatcher, nowMs: () => number) {
    const { id, signature, maxRows, classes, plainNames, hasOwnRoom } = told;
    this.id = id;
    this.signature = signature;
    this.metrics = new ReportedMetrics(signature.names[0] ?? "", id, dispatcher);
    this.#dispatcher = dispatcher;
    this.#nowMs = nowMs;
    if (maxRows !== null) this.maxRows = maxRows;
    if (classes !== null) this.classes = new RequestClasses(classes, plainNames);
    if (hasOwnRoom) this.isFull = () => dispatcher.isShut(id);
  }

  ask(request: AskedRequest): Submission {
    return this.#dispatcher.ask(this.id, this.signature.answersByRow === true, request);
  }

  submit(rows: RequestRows, deadlineMs: number, isHigh: boolean, sloClass: number): Submission {
    const arrivalMs = this.#nowMs();
    const timeoutMs = deadlineMs - arrivalMs;
    return this.ask({ ...rows, isHigh, sloClass, timeoutMs, arrivalMs, lagMs: 0 });
  }

  onTurnedAway(rows: number, sloClass: number): void {
    this.#dispatcher.report({ what: "turned away", model: this.id, rows, sloClass });
  }
}

/** Counts nothing here: what became of a request is counted with the model. */
class ReportedMetrics extends RequestMetrics {
  readonly #id: number;
  readonly #dispatcher: Dispatcher;

  constructor(name: string, id: number, dispatcher: Dispatcher) {
    super(name);
    this.#id = id;
    this.#dispatcher = dispatcher;
  }

  override onPadded(padding: Padding): void {
    this.#dispatcher.report({ what: "padded", model: this.#id, ...padding });
  }

  override onRequestAnswered(times: RequestTimes, atMs: number): void {
    this.#dispatcher.report({ what: "answered", model: this.#id, times, atMs });
  }

  override onRequestFailed(
    reason: FailureReason | undefined,
    requestMs: number,
    atMs: number,
  ): void {
    this.#dispatcher.report({ what: "failed", model: this.#id, reason, requestMs, atMs });
  }
}
