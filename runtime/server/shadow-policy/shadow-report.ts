/** What is told of a bundle that looks on: as a document, and once a minute in the log. */
import { decidingLevel } from "../../tell/deciding-level.ts";
import type { Notice } from "../telemetry/notice.ts";
import type { ArrivalBook } from "./arrival-book.ts";
import type { ComparedBundle } from "./compared-bundles.ts";
import { DROPPED, type PairedQueries } from "./paired-queries.ts";
import {
  type CountedRates,
  type CountedVariant,
  type CountsSoFar,
  countedSince,
  type PolicyCounts,
  ratesOf,
} from "./policy-counts.ts";

/** All that is known of both. */
export interface ShadowView {
  /** As it is served now. */
  readonly servedBundle: () => ComparedBundle;
  readonly shadowBundle: ComparedBundle;
  readonly served: PolicyCounts;
  readonly shadow: PolicyCounts;
  readonly pairs: PairedQueries;
  readonly arrivals: ArrivalBook;
  readonly nowMs: () => number;
  readonly epochOffsetMs: number;
  /** When it began to look on. */
  readonly sinceMs: number;
  /** Why it does not look on; null where it does. */
  fault: string | null;
}

export interface ShadowReport {
  readonly application: string;
  readonly method: string;
  /** Why decisions are not compared; null where they are. */
  readonly fault: string | null;
  /** ISO 8601. */
  readonly since: string;
  readonly served: PolicyReport;
  readonly shadow: PolicyReport;
  /** Of the last whole minute; null before it is over. */
  readonly lastMinute: { readonly served: CountedRates; readonly shadow: CountedRates } | null;
  /** Queries whose outcome both know. */
  readonly compared: {
    readonly queries: number;
    /** Answered by variants of the same name, or by none; null where there are none. */
    readonly sameAnswerer: number | null;
    /** The most frequent first; null for dropped. */
    readonly pairs: readonly {
      readonly served: string | null;
      readonly shadow: string | null;
      readonly queries: number;
    }[];
  };
  /** Of the last hour at most, for `simulate`. */
  readonly arrivals: { readonly count: number; readonly from: string; readonly to: string };
}

export interface PolicyReport extends CountedRates {
  readonly policy: string;
  readonly sha256: string;
  /** Index of the level that decided last, and its load; null before the first decision. */
  readonly level: number | null;
  readonly levelQps: number | null;
  readonly late: number;
  readonly dropped: number;
  /** At the door of the bundle that serves, for want of a prospect. */
  readonly refused: number;
  readonly byVariant: readonly {
    readonly task?: string;
    readonly variant: string;
    readonly batches: number;
    readonly queries: number;
  }[];
}

/** Pairs that are told at most. */
const MOST_PAIRS = 50;

export function shadowReport(view: ShadowView, { lastMinute }: Looks): ShadowReport {
  const { served, shadow, pairs, arrivals, shadowBundle, fault } = view;
  const servedBundle = view.servedBundle();
  const at = (ms: number) => new Date(ms + view.epochOffsetMs).toISOString();
  const told = pairs.counts.map((pair) => ({
    served: nameOf(served.variants, pair.served),
    shadow: nameOf(shadow.variants, pair.shadow),
    queries: pair.queries,
  }));
  const compared = sumOf(told);
  const same = sumOf(told.filter((pair) => pair.served === pair.shadow));
  return {
    application: servedBundle.bundle.application,
    method: servedBundle.bundle.method,
    fault,
    since: at(view.sinceMs),
    served: policyReport(servedBundle, served),
    shadow: policyReport(shadowBundle, shadow),
    lastMinute,
    compared: {
      queries: compared,
      sameAnswerer: compared === 0 ? null : same / compared,
      pairs: told.slice(0, MOST_PAIRS),
    },
    arrivals: { count: arrivals.count, from: at(arrivals.fromMs), to: at(view.nowMs()) },
  };
}

function policyReport({ path, sha256, bundle }: ComparedBundle, counts: PolicyCounts) {
  const { soFar, level, variants } = counts;
  const { late, dropped, refused } = soFar;
  const hasDecided = !Number.isNaN(level);
  return {
    policy: path,
    sha256,
    level: hasDecided ? level : null,
    levelQps: hasDecided ? (decidingLevel(bundle, level)?.loadQps ?? null) : null,
    ...ratesOf(soFar),
    late,
    dropped,
    refused,
    byVariant: variants.map(({ task, variant }, index) => ({
      ...(task === undefined ? {} : { task }),
      variant,
      ...(soFar.byVariant[index] ?? { batches: 0, queries: 0 }),
    })),
  } satisfies PolicyReport;
}

/** With its task where there are several; null of DROPPED. */
function nameOf(variants: readonly CountedVariant[], variant: number): string | null {
  if (variant === DROPPED) return null;
  const { task, variant: name = "" } = variants[variant] ?? {};
  return task === undefined ? name : `${task}/${name}`;
}

function sumOf(pairs: readonly { readonly queries: number }[]): number {
  return pairs.reduce((sum, { queries }) => sum + queries, 0);
}

const MINUTE_MS = 60_000;

/** Looks at the counts about once a second, and tells of each minute. */
export class Looks {
  lastMinute: ShadowReport["lastMinute"] = null;
  readonly #view: ShadowView;
  readonly #onNotice: Notice;
  #from: { readonly ms: number; readonly served: CountsSoFar; readonly shadow: CountsSoFar };

  constructor(view: ShadowView, onNotice: Notice) {
    this.#view = view;
    this.#onNotice = onNotice;
    this.#from = this.#now();
  }

  look(): void {
    const now = this.#now();
    const from = this.#from;
    if (now.ms - from.ms < MINUTE_MS) return;
    this.#from = now;
    const served = ratesOf(countedSince(from.served, now.served));
    const shadow = ratesOf(countedSince(from.shadow, now.shadow));
    this.lastMinute = { served, shadow };
    if (this.#view.fault !== null || served.queries + shadow.queries === 0) return;
    this.#onNotice(this.#text(served, shadow), "info");
  }

  #now() {
    const { served, shadow, nowMs } = this.#view;
    return { ms: nowMs(), served: served.soFar, shadow: shadow.soFar };
  }

  #text(served: CountedRates, shadow: CountedRates): string {
    const { shadowBundle, servedBundle } = this.#view;
    const levels = [
      policyReport(shadowBundle, this.#view.shadow).levelQps,
      policyReport(servedBundle(), this.#view.served).levelQps,
    ];
    const both = (what: string, tell: (one: CountedRates) => string) =>
      `${what} ${tell(shadow)} (${tell(served)})`;
    const told = [
      both("late or dropped", (one) => percentText(one.violationRate)),
      both("accuracy", (one) => percentText(one.accuracyPerSatisfied)),
      both("batches of", (one) => sizeText(one.meanBatch)),
      `level ${levels.map((qps) => qps ?? "-").join(" (")})`,
    ];
    const of = `${shadow.queries} queries (${served.queries})`;
    return `${shadowBundle.path} would have, beside what serves, of ${of}: ${told.join(", ")}`;
  }
}

function percentText(ratio: number | null): string {
  return ratio === null ? "-" : `${(100 * ratio).toFixed(3)} %`;
}

function sizeText(size: number | null): string {
  return size === null ? "-" : size.toFixed(1);
}
