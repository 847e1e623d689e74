/** One process that accepts, as the process that decides sees it: its requests, scheduled here. */
import type { Socket } from "node:net";
import type { Application } from "../applications/application.ts";
import type { HostedModel } from "../applications/hosted-model.ts";
import type { House } from "../applications/house.ts";
import { scheduled } from "../applications/inference.ts";
import type { BatchRun } from "../requests/batch-run.ts";
import type { Answer, Failure, Outcome } from "../requests/request.ts";
import type { RequestRecord } from "../telemetry/request-record.ts";
import { answerFrame, failureFrame } from "./answer-frame.ts";
import { Channel } from "./channel.ts";
import { idOf, KINDS, kindOf, textOf } from "./frames.ts";
import { readRecord } from "./record-frame.ts";
import { readReport } from "./report-frame.ts";
import { type FramedRequest, readRequest } from "./request-frame.ts";
import { type ToldAcceptor, type ToldDispatcher, toldFrame } from "./told.ts";

export interface LinkOptions {
  readonly house: House;
  /** What is to be added to the clock of the house for that which all processes share, ms. */
  readonly offsetMs: number;
  /** Whether batches are told with answers. */
  readonly tellsRuns: boolean;
  readonly onTold: (told: ToldDispatcher) => void;
  readonly onLine: (line: string) => void;
  /** What was noted of a request, by the clock of the house. */
  readonly onRecord: (record: RequestRecord) => void;
  /** There may be room for other requests than before. */
  readonly onChange: () => void;
}

/** Names between processes of what is served. */
export interface Named {
  readonly idOf: (one: object) => number;
}

export class Link {
  readonly #channel: Channel;
  readonly #options: LinkOptions;
  /** Requests without an answer, by how they are given up. */
  readonly #open = new Map<number, () => void>();
  readonly #models = new Map<number, HostedModel>();
  /** Applications that it may have requests for: they have to keep their workers. */
  readonly #held = new Map<number, Application>();
  #isEnded = false;

  constructor(socket: Socket, options: LinkOptions) {
    this.#options = options;
    this.#channel = new Channel(socket, {
      onFrame: (frame) => this.#onFrame(frame),
      onEnd: () => this.#onEnd(),
    });
  }

  tell(told: ToldAcceptor): void {
    this.#channel.send(toldFrame(told));
  }

  /** Takes requests for what is served now, too. */
  serve({ idOf: nameOf }: Named): void {
    if (this.#isEnded) return;
    const { house } = this.#options;
    for (const hosted of house.models) this.#models.set(nameOf(hosted.model), hosted);
    for (const application of house.applications) {
      const id = nameOf(application);
      if (this.#held.has(id)) continue;
      application.enter();
      this.#held.set(id, application);
    }
  }

  /** It has no requests for an application any more, and gets none. */
  letGo(id: number): void {
    const application = this.#held.get(id);
    if (application === undefined) return;
    this.#held.delete(id);
    for (const [model, hosted] of this.#models) {
      if (hosted.application === application) this.#models.delete(model);
    }
    application.leave();
  }

  #onFrame(frame: Buffer): void {
    const kind = kindOf(frame);
    if (kind === KINDS.request) this.#onRequest(readRequest(frame));
    else if (kind === KINDS.report) this.#onReport(frame);
    else if (kind === KINDS.cancel) this.#open.get(idOf(frame))?.();
    else if (kind === KINDS.line) this.#options.onLine(textOf(frame));
    else if (kind === KINDS.record) {
      this.#options.onRecord(readRecord(frame, this.#options.offsetMs));
    } else this.#options.onTold(JSON.parse(textOf(frame)));
  }

  #onRequest(request: FramedRequest): void {
    const { house, offsetMs, onChange } = this.#options;
    const { id } = request;
    const hosted = this.#models.get(request.model);
    if (hosted === undefined || house.isDraining) {
      this.#fail(id, { kind: "failed", reason: "closed", message: "the server is shutting down" });
      return;
    }
    const { application, model } = hosted;
    const sloMs = model.classes?.stated[request.sloClass]?.latencyMs ?? application.sloMs;
    const arrivalMs = request.arrivalMs - offsetMs;
    // The answer waits for the loops of both processes, as the request did.
    const lagMs = request.lagMs + house.lag.onRequest();
    const inference = {
      hosted,
      onceGone: (act: () => void) => {
        this.#open.set(id, act);
        return () => {};
      },
    };
    const sloClass = { index: request.sloClass, sloMs };
    application.enter();
    const scheduling = async () =>
      scheduled(house, inference, sloClass, request, { arrivalMs, lagMs });
    scheduling()
      .then(
        (outcome) => this.#settle(id, outcome, application.endpoint.bundleSha256),
        (error: unknown) => {
          const message = error instanceof Error ? error.message : String(error);
          this.#settle(id, { kind: "failed", reason: "inference", message });
          house.onNotice(`a request could not be scheduled: ${message}`, "error");
        },
      )
      .finally(() => {
        application.leave();
        onChange();
      });
    onChange();
  }

  #settle(id: number, outcome: Outcome, bundleSha256?: string): void {
    this.#open.delete(id);
    if (this.#isEnded) return;
    if (outcome.kind === "failed") this.#fail(id, outcome);
    else this.#answer(id, outcome, bundleSha256);
  }

  #answer(id: number, answer: Answer, bundleSha256: string | undefined): void {
    const { offsetMs, tellsRuns } = this.#options;
    const { runs = [], waitsMs } = answer;
    const told =
      tellsRuns && runs.length > 0
        ? JSON.stringify({
            runs: runs.map((run) => sharedRun(run, offsetMs)),
            waitsMs,
            bundleSha256,
          })
        : undefined;
    this.#channel.send(...answerFrame(id, { ...answer, doneMs: answer.doneMs + offsetMs }, told));
  }

  #fail(id: number, failure: Failure): void {
    this.#channel.send(failureFrame(id, failure));
  }

  /** Counted as if its answer were written here. */
  #onReport(frame: Buffer): void {
    const report = readReport(frame);
    const hosted = this.#models.get(report.model);
    if (hosted === undefined) return;
    const { model, latencies } = hosted;
    if (report.what === "turned away") {
      model.onTurnedAway(report.rows, report.sloClass);
      return;
    }
    if (report.what === "padded") {
      model.metrics.onPadded(report);
      return;
    }
    const atMs = report.atMs - this.#options.offsetMs;
    if (report.what === "failed") {
      model.metrics.onRequestFailed(report.reason, report.requestMs, atMs);
      return;
    }
    const { times } = report;
    model.metrics.onRequestAnswered(times, atMs);
    latencies.onAnswered(times.requestMs, times.queueMs, times.inferMs);
  }

  #onEnd(): void {
    this.#isEnded = true;
    for (const cancel of [...this.#open.values()]) cancel();
    this.#open.clear();
    for (const id of [...this.#held.keys()]) this.letGo(id);
  }
}

/** By the clock that all share, and nothing but what is told of a batch. */
function sharedRun(run: BatchRun, offsetMs: number): BatchRun {
  const { task, variantName, level, rows, queued, slackMs, worker, places, doneRows } = run;
  const { startMs, handedMs, endMs, wallMs, isLost, pace, correction } = run;
  return {
    ...(task === undefined ? {} : { task }),
    ...{ variantName, level, rows, queued, slackMs, worker },
    ...(pace === undefined ? {} : { pace }),
    ...(correction === undefined ? {} : { correction }),
    ...(places === undefined ? {} : { places }),
    ...(doneRows === undefined ? {} : { doneRows }),
    ...{ startMs: startMs + offsetMs, handedMs: handedMs + offsetMs },
    ...{ endMs: endMs + offsetMs, wallMs },
    ...(isLost === undefined ? {} : { isLost }),
  };
}
