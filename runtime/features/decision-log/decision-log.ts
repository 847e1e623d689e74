/** Decision log of a server: a line for each sampled request, and all arrivals. */

import type { MetricLine } from "../../base/exposition.ts";
import { logRecordLines } from "../../base/metric-families.ts";
import type { Notice } from "../../base/notice.ts";
import type { Bundle } from "../../bundle/schema.ts";
import { timeText } from "../../server/logs/time-text.ts";
import type { RecordedEntry } from "../../server/requests/recorded-entry.ts";
import type { RequestRecord } from "../../server/requests/request-record.ts";
import { ArrivalNotes } from "./arrival-notes.ts";
import { decisionText, type ReviewDecision } from "./decision-line.ts";
import { EventNotes } from "./event-notes.ts";
import { LineBatches } from "./line-batches.ts";
import type { LogDestination } from "./log-destination.ts";
import { DECISIONS_FORMAT, lineText, type OpenedLine } from "./log-lines.ts";
import { MaskedFields } from "./masked-fields.ts";

export interface DecisionLogOptions {
  readonly destination: LogDestination;
  /** Share of the requests that get a line, 0..1; the core's events are logged only for 1. */
  readonly sample: number;
  readonly mask: readonly string[];
  readonly review: ReviewDecision;
  readonly nowMs: () => number;
  readonly epochOffsetMs: () => number;
  readonly onNotice: Notice;
}

/** View of an application that the log needs. */
interface LoggedApplication {
  readonly name: string;
  readonly endpoint: {
    readonly bundle: Bundle;
    readonly bundleSha256: string;
  };
  readonly limits: { readonly maxPending: number };
}

const FLUSH_MS = 1000;
/** Limit of the characters of events, and of decisions, that wait for the next flush. */
const MAX_NOTED = 2 ** 20;
/** Hexadecimal digits of a span id that decide on sampling; 52 bits are exact. */
const DIGITS = 13;

export class DecisionLog {
  readonly #options: DecisionLogOptions;
  readonly #batches: LineBatches;
  readonly #mask: MaskedFields;
  readonly #arrivals = new ArrivalNotes();
  readonly #applications = new Set<LoggedApplication>();
  readonly #events = new Set<EventNotes>();
  readonly #timer: NodeJS.Timeout;
  /** Lines of requests, written after the events that decided them. */
  #decided: string[] = [];
  #decidedLength = 0;
  #coreCount = 0;

  constructor(options: DecisionLogOptions) {
    const { destination, onNotice } = options;
    this.#options = options;
    this.#batches = new LineBatches({ destination, onNotice });
    this.#mask = new MaskedFields(options.mask);
    this.#timer = setInterval(() => void this.flush(), FLUSH_MS).unref();
  }

  /** Whether every event of the cores is logged. */
  get hasEvents(): boolean {
    return this.#options.sample === 1;
  }

  /** Logs a request that has ended. */
  take(record: RequestRecord): void {
    const { sample, review } = this.#options;
    const { application, model, arrivalMs, lagMs, rows } = record;
    this.#arrivals.note(application, model, arrivalMs - lagMs, rows);
    if (!isSampled(record.spanId, sample)) return;
    const epochOffsetMs = this.#options.epochOffsetMs();
    const options = { mask: this.#mask, epochOffsetMs, review };
    const text = decisionText(record, this.#bundleOf(record.bundleSha256), options);
    this.#decided.push(text);
    this.#decidedLength += text.length;
    if (this.#decidedLength > MAX_NOTED) this.#writeNoted();
  }

  /** Follows the core of an application from its first event. */
  follow(bundle: Bundle): FollowedCore {
    const { application } = bundle;
    const core = this.#coreCount++;
    let opened: LoggedApplication | undefined;
    const notes = new EventNotes(application, core, () => ({
      revision: opened?.endpoint.bundleSha256 ?? "",
      levelCount: opened?.endpoint.bundle.levels.length ?? bundle.levels.length,
    }));
    return {
      onOpened: (own) => {
        opened = own;
        this.#applications.add(own);
        this.#open(own, core, bundle);
        if (this.hasEvents) this.#events.add(notes);
      },
      onEntry: (entry) => {
        if (!this.#events.has(notes)) return;
        notes.onEntry(entry);
        if (notes.waiting > MAX_NOTED) this.#writeNoted();
      },
      onClosed: () => {
        this.#writeNoted();
        this.#events.delete(notes);
        if (opened !== undefined) this.#applications.delete(opened);
      },
    };
  }

  lines(): MetricLine[] {
    const { writtenCount, lostCount } = this.#batches;
    return [
      ...logRecordLines("arrivals", [["lost", this.#arrivals.lostCount]]),
      ...logRecordLines("decisions", [
        ["taken", writtenCount],
        ["lost", lostCount],
      ]),
    ];
  }

  /** Sends the lines that wait. */
  flush(): Promise<void> {
    this.#writeNoted();
    return this.#batches.flush();
  }

  /** Ends once all lines are sent, or the destination was unreachable for two seconds. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#writeNoted();
    await this.#batches.close();
  }

  #open({ name, endpoint, limits }: LoggedApplication, core: number, { method }: Bundle): void {
    const { sample, mask, nowMs, epochOffsetMs } = this.#options;
    const opened: OpenedLine = {
      kind: "opened",
      format: DECISIONS_FORMAT,
      time: timeText(epochOffsetMs() + nowMs()),
      application: name,
      core,
      revision: endpoint.bundleSha256,
      method,
      sample,
      hasEvents: this.hasEvents,
      maxPending: limits.maxPending,
      mask,
    };
    this.#batches.write(lineText(opened));
  }

  #writeNoted(): void {
    for (const notes of this.#events) {
      for (const events of notes.take()) this.#batches.write(events);
    }
    for (const arrivals of this.#arrivals.take(this.#options.epochOffsetMs()))
      this.#batches.write(lineText(arrivals));
    for (const decided of this.#decided) this.#batches.write(decided);
    this.#decided = [];
    this.#decidedLength = 0;
  }

  #bundleOf(sha256: string): Bundle | undefined {
    for (const { endpoint } of this.#applications) {
      if (endpoint.bundleSha256 === sha256) return endpoint.bundle;
    }
    return undefined;
  }
}

/** Receives the events and outputs of one core until its application is closed. */
export interface FollowedCore {
  onEntry(entry: RecordedEntry): void;
  onOpened(application: LoggedApplication): void;
  onClosed(): void;
}

/** Decides by a part of an id that clients cannot choose. */
function isSampled(spanId: string, sample: number): boolean {
  return sample === 1 || Number.parseInt(spanId.slice(-DIGITS), 16) < sample * 16 ** DIGITS;
}
