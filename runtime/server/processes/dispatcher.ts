/** The process that decides, as one that accepts requests sees it. */
import type { Socket } from "node:net";
import type { MetricLine } from "../metrics/exposition.ts";
import type { BatchRun } from "../requests/batch-run.ts";
import type { AskedRequest } from "../requests/endpoint.ts";
import type { Answer, Outcome, Submission } from "../requests/request.ts";
import type { Notice } from "../telemetry/notice.ts";
import type { SamplingState } from "../telemetry/otlp/sampling.ts";
import type { RequestRecord } from "../telemetry/request-record.ts";
import { readAnswer, readFailure } from "./answer-frame.ts";
import { Channel } from "./channel.ts";
import { cancelFrame, idOf, KINDS, kindOf, textFrame, textOf } from "./frames.ts";
import { recordFrame } from "./record-frame.ts";
import { type Report, reportFrame } from "./report-frame.ts";
import { requestFrame } from "./request-frame.ts";
import { sharedOffsetMs } from "./shared-clock.ts";
import { type ToldAcceptor, type ToldApplication, type ToldDispatcher, toldFrame } from "./told.ts";

/** What it is to be done when the process that decides asks for it. */
export interface DispatcherHandlers {
  readonly onApplications: (applications: readonly ToldApplication[]) => void;
  /** What is counted here. */
  readonly counts: () => readonly MetricLine[];
  /** Reads the files that say who may come in. @returns what is wrong with them. */
  readonly readAccessFiles: () => Promise<readonly string[]>;
  readonly onSampling: (state: SamplingState) => void;
  /** @param hasOthers whether others accept at the address. */
  readonly onStop: (hasOthers: boolean) => void;
  /** It is gone. */
  readonly onEnd: () => void;
}

interface Waiting {
  readonly isByRow: boolean;
  readonly settle: (outcome: Outcome) => void;
}

const LAST_ID = 2 ** 32 - 1;

export class Dispatcher {
  readonly #channel: Channel;
  readonly #offsetMs: number;
  readonly #waiting = new Map<number, Waiting>();
  readonly #counted = new Map<number, () => void>();
  #handlers: DispatcherHandlers | undefined;
  /** What came before there was anybody to take it. */
  readonly #early: ToldAcceptor[] = [];
  #lastId = 0;
  #lastCall = 0;
  #shut: ReadonlySet<number> = new Set();

  /** @param nowMs the clock of this process. */
  constructor(socket: Socket, nowMs: () => number) {
    this.#offsetMs = sharedOffsetMs(nowMs);
    this.#channel = new Channel(socket, {
      onFrame: (frame) => this.#onFrame(frame),
      onEnd: () => this.#handlers?.onEnd(),
    });
  }

  /** Takes what it asks from now on, and what it has asked. */
  attach(handlers: DispatcherHandlers): void {
    this.#handlers = handlers;
    for (const told of this.#early.splice(0)) this.#onTold(told, handlers);
  }

  /** Whether a model finds no room for any request. */
  isShut(model: number): boolean {
    return this.#shut.has(model);
  }

  /** @param isByRow whether its answers tell the variant of each row. */
  ask(model: number, isByRow: boolean, request: AskedRequest): Submission {
    const id = this.#lastId === LAST_ID ? 1 : this.#lastId + 1;
    this.#lastId = id;
    const arrivalMs = request.arrivalMs + this.#offsetMs;
    const { rows, inputs, variant, sequence, isHigh, sloClass, timeoutMs, lagMs } = request;
    const { asker } = request;
    const framed = { rows, inputs, variant, sequence, isHigh, sloClass, timeoutMs, lagMs, asker };
    const outcome = new Promise<Outcome>((settle) => {
      this.#waiting.set(id, { isByRow, settle });
    });
    this.#channel.send(...requestFrame({ ...framed, id, model, arrivalMs }));
    return { outcome, cancel: () => this.#cancel(id) };
  }

  /** Tells what became of a request, soon. */
  report(report: Report): void {
    const shared = "atMs" in report ? { ...report, atMs: report.atMs + this.#offsetMs } : report;
    this.#channel.sendLater(reportFrame(shared));
  }

  tell(told: ToldDispatcher): void {
    this.#channel.send(toldFrame(told));
  }

  readonly notice: Notice = (message, severity = "info") => {
    this.tell({ what: "notice", message, severity });
  };

  /** Writes a line of the access log. */
  writeLine(line: string): void {
    this.#channel.sendLater(textFrame(KINDS.line, line));
  }

  /** Has what was noted of a request logged. */
  logDecisions(record: RequestRecord): void {
    this.#channel.sendLater(recordFrame(record, this.#offsetMs));
  }

  /** Kept once all processes that accept have told what they count. */
  countAll(): Promise<void> {
    const call = ++this.#lastCall;
    return new Promise((resolve) => {
      this.#counted.set(call, resolve);
      this.tell({ what: "count all", call });
    });
  }

  /** Fails every request that waits. */
  abort(): void {
    for (const id of [...this.#waiting.keys()]) {
      this.#settle(id, {
        kind: "failed",
        reason: "closed",
        message: "the server is shutting down",
      });
    }
  }

  end(): Promise<void> {
    return this.#channel.end();
  }

  #cancel(id: number): void {
    if (!this.#waiting.has(id)) return;
    this.#channel.send(cancelFrame(id));
    this.#settle(id, { kind: "failed", reason: "cancelled", message: "the client is gone" });
  }

  #settle(id: number, outcome: Outcome): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    waiting.settle(outcome);
  }

  #onFrame(frame: Buffer): void {
    const kind = kindOf(frame);
    if (kind === KINDS.answer) {
      const id = idOf(frame);
      const waiting = this.#waiting.get(id);
      if (waiting === undefined) return;
      this.#settle(id, this.#own(readAnswer(frame, waiting.isByRow)));
    } else if (kind === KINDS.failure) this.#settle(idOf(frame), readFailure(frame));
    else {
      const told: ToldAcceptor = JSON.parse(textOf(frame));
      if (this.#handlers === undefined) this.#early.push(told);
      else this.#onTold(told, this.#handlers);
    }
  }

  /** The same by the clock of this process. */
  #own(answer: Answer): Answer {
    const doneMs = answer.doneMs - this.#offsetMs;
    if (answer.runs === undefined) return { ...answer, doneMs };
    return { ...answer, doneMs, runs: answer.runs.map((run) => this.#ownRun(run)) };
  }

  #ownRun(run: BatchRun): BatchRun {
    return {
      ...run,
      startMs: run.startMs - this.#offsetMs,
      handedMs: run.handedMs - this.#offsetMs,
      // JSON knows no NaN.
      endMs: run.endMs === null ? Number.NaN : run.endMs - this.#offsetMs,
      wallMs: run.wallMs ?? Number.NaN,
      slackMs: run.slackMs ?? Number.NaN,
    };
  }

  #onTold(told: ToldAcceptor, handlers: DispatcherHandlers): void {
    if (told.what === "applications") handlers.onApplications(told.applications);
    else if (told.what === "shut") this.#shut = new Set(told.models);
    else if (told.what === "count") {
      this.tell({ what: "counts", call: told.call, lines: handlers.counts() });
    } else if (told.what === "all counted") {
      this.#counted.get(told.call)?.();
      this.#counted.delete(told.call);
    } else if (told.what === "stop") handlers.onStop(told.hasOthers);
    else if (told.what === "sampling") handlers.onSampling(told.state);
    else {
      const { call } = told;
      void handlers.readAccessFiles().then((faults) => {
        this.tell({ what: "access files", call, faults });
      });
    }
  }
}
