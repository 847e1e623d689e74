/**
 * A bundle that looks on while another serves: what it would have decided, counted beside what was
 * decided, and when queries came, for simulations of both.
 */
import type { Bundle } from "../../bundle/schema.ts";
import { pathTimesOf } from "../../core/decision-slo.ts";
import type { EntryRecorder, RecordedEntry, Replayer } from "../decisions/recorded-entry.ts";
import type { MetricLine } from "../metrics/exposition.ts";
import type { Notice } from "../telemetry/notice.ts";
import type { ArrivalBook } from "./arrival-book.ts";
import {
  type ComparedBundle,
  countedVariants,
  deadlineShiftMs,
  haveSameWorkers,
  variantIn,
} from "./compared-bundles.ts";
import type { LooksOn } from "./looks-on.ts";
import { Onlooker } from "./onlooker.ts";
import type { OnlookerTimes } from "./onlooker-times.ts";
import { PairedQueries, toAll } from "./paired-queries.ts";
import { PlacesOnlooker } from "./places-onlooker.ts";
import { PolicyCounts } from "./policy-counts.ts";
import { ServedRun } from "./served-run.ts";
import { shadowLines } from "./shadow-lines.ts";
import { Looks, type ShadowReport, type ShadowView, shadowReport } from "./shadow-report.ts";

/** What drives the core of a bundle that nobody follows. */
export interface OnlookerParts {
  readonly replayer: Replayer;
  readonly times: OnlookerTimes;
  readonly workerCount: number;
  readonly queryCapacity: number;
}

export interface ShadowPolicyOptions {
  /** As it is served now. */
  readonly served: () => ComparedBundle;
  readonly shadow: ComparedBundle;
  /** As text, why the method has no onlooker; arrivals are then all that is noted. */
  readonly parts: OnlookerParts | string;
  /** Of the application, whichever bundle serves it. */
  readonly arrivals: ArrivalBook;
  readonly nowMs: () => number;
  /** Is added to `nowMs` to have milliseconds since 1970. */
  readonly epochOffsetMs: number;
  readonly onNotice: Notice;
}

/**
 * Entries are taken in after what they are about was done, in the same turn of the event loop, so
 * that no request waits for it. What goes wrong here ends it and nothing else.
 */
export class ShadowPolicy {
  readonly #options: ShadowPolicyOptions;
  readonly #view: ShadowView;
  readonly #servedRun: ServedRun;
  readonly #looks: Looks;
  #onlooker: LooksOn | undefined;
  #waiting: RecordedEntry[] = [];
  #isScheduled = false;
  #isClosed = false;
  #serial = 0;
  /** Takes what is recorded of the core that serves. */
  readonly record: EntryRecorder = (entry) => this.#note(entry);

  constructor(options: ShadowPolicyOptions) {
    const { shadow, parts, nowMs, onNotice } = options;
    const served = options.served();
    this.#options = options;
    const counts = {
      served: new PolicyCounts(countedVariants(served.bundle)),
      shadow: new PolicyCounts(countedVariants(shadow.bundle)),
    };
    const pairs = new PairedQueries();
    this.#view = {
      ...options,
      ...counts,
      servedBundle: options.served,
      shadowBundle: shadow,
      pairs,
      sinceMs: nowMs(),
      fault: typeof parts === "string" ? parts : null,
    };
    const grace = (bundle: Bundle) => pathTimesOf(bundle.cluster).graceMs;
    const seen = toAll([counts.served, pairs.observer("served")]);
    this.#servedRun = new ServedRun(seen, grace(served.bundle));
    this.#looks = new Looks(this.#view, onNotice);
    if (typeof parts === "string") return;
    const shiftMs = deadlineShiftMs(served.bundle, shadow.bundle);
    const common = {
      ...parts,
      graceMs: grace(shadow.bundle),
      variantHere: variantIn(served.bundle, shadow.bundle),
      observer: toAll([counts.shadow, pairs.observer("shadow")]),
    };
    const { places } = parts.times;
    const sharesWorkers = haveSameWorkers(served.bundle, shadow.bundle);
    this.#onlooker =
      places === undefined
        ? new Onlooker({ ...common, sharesWorkers, shiftMs })
        : new PlacesOnlooker({ ...common, places, shiftMs: shiftMs(0) });
    this.#guarded((onlooker) => onlooker.open(nowMs()));
  }

  /** About once a second: what is due happens, and once a minute it is told. */
  look(): void {
    this.#catchUp();
    this.#looks.look();
  }

  lines(): readonly MetricLine[] {
    this.#catchUp();
    return shadowLines(this.#view);
  }

  report(): ShadowReport {
    this.#catchUp();
    return shadowReport(this.#view, this.#looks);
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting = [];
  }

  #note(entry: RecordedEntry): void {
    if (this.#isClosed) return;
    this.#waiting.push(entry);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#drain()).unref();
  }

  #catchUp(): void {
    this.#drain();
    const nowMs = this.#options.nowMs();
    this.#guarded((onlooker) => onlooker.passTo(nowMs));
  }

  #drain(): void {
    this.#isScheduled = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const entry of waiting) this.#take(entry);
  }

  #take(entry: RecordedEntry): void {
    const { kind, query } = entry;
    if (query !== undefined && OPENING.has(kind)) {
      this.#serial++;
      this.#servedRun.open(query, this.#serial, entry);
    } else this.#servedRun.take(entry);
    this.#guarded((onlooker) => onlooker.take(entry, this.#serial));
  }

  #guarded(act: (onlooker: LooksOn) => void): void {
    if (this.#onlooker === undefined) return;
    try {
      act(this.#onlooker);
    } catch (error) {
      this.#onlooker = undefined;
      const reason = error instanceof Error ? error.message : String(error);
      this.#view.fault = reason;
      const { shadow, onNotice } = this.#options;
      onNotice(`${shadow.path} looks on no more, it failed: ${reason}`, "error");
    }
  }
}

/** With these a query comes to be. */
const OPENING: ReadonlySet<string> = new Set(["arrival", "joint-arrival", "query"]);
