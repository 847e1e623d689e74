/** What front ends write into the cluster's store, and how it is read again. */
import type { SeenLoad } from "../../../core/load-share.ts";
import { partsOfKey, storeKey } from "../store.ts";
import type { Lease } from "./lease-book.ts";

/** Keys of front ends begin with it ... */
export const FRONT_ENDS = "front-ends";
/** ... and those of who holds a worker with this. */
export const LEASES = "leases";

export function frontEndKey(frontEnd: string): string {
  return storeKey(FRONT_ENDS, frontEnd);
}

export function leaseKey(worker: string): string {
  return storeKey(LEASES, worker);
}

/** Of which front end or worker a key is. */
export function nameOfKey(key: string): string {
  return partsOfKey(key).at(-1) ?? "";
}

/** What a front end has counted of an application since its start, for whoever scales workers. */
export interface CountedTraffic {
  /** Rows that were answered or given up. */
  readonly rows: number;
  /** Of these the rows that were given up. */
  readonly dropped: number;
  /** Requests that were answered. */
  readonly requests: number;
  /** Requests that were turned away, before or after they were read. */
  readonly rejected: number;
  /** Service times of its workers over those of their profile; left out where none says. */
  readonly pace?: number;
}

export type TrafficByApplication = Readonly<Record<string, CountedTraffic>>;

/**
 * @param beat another number each time, so that the entry changes. @param url where the front end
 * answers; left out where it does not say.
 */
export function beatText(
  beat: number,
  load: SeenLoad,
  traffic: TrafficByApplication = {},
  url?: string,
): string {
  return JSON.stringify({ beat, loadQps: load.qps, loadVariance: load.variance, traffic, url });
}

/** Where a front end answers; null where it does not say. */
export function urlOfBeat(text: string): string | null {
  const { url } = fieldsOf(text);
  return typeof url === "string" && /^https?:\/\/[^/?#@]+$/.test(url) ? url : null;
}

/** What a beat says of an application; null where it says nothing. */
export function trafficOfBeat(text: string, application: string): CountedTraffic | null {
  const found = recordOf(recordOf(fieldsOf(text)["traffic"])[application]);
  const { rows, dropped, requests, rejected, pace } = found;
  if (typeof rows !== "number") return null;
  return {
    rows: amountOf(rows),
    dropped: amountOf(dropped),
    requests: amountOf(requests),
    rejected: amountOf(rejected),
    ...(amountOf(pace) > 0 ? { pace: amountOf(pace) } : {}),
  };
}

/** What a front end sees; nothing where the text is none of ours. */
export function loadOfBeat(text: string): SeenLoad {
  const { loadQps, loadVariance } = fieldsOf(text);
  return { qps: amountOf(loadQps), variance: amountOf(loadVariance) };
}

export function leaseText({ holder, epoch }: Lease): string {
  return JSON.stringify({ holder, epoch });
}

/** Null where the text is none of ours: such an entry is nobody's, and is written over. */
export function leaseOfText(text: string): Lease | null {
  const { holder, epoch } = fieldsOf(text);
  if (typeof epoch !== "number" || !Number.isSafeInteger(epoch) || epoch < 1) return null;
  if (holder !== null && (typeof holder !== "string" || holder === "")) return null;
  return { holder, epoch };
}

function fieldsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return recordOf(JSON.parse(text));
  } catch {
    // What somebody else has put there says nothing.
    return {};
  }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function amountOf(value: unknown): number {
  return typeof value === "number" && value >= 0 && Number.isFinite(value) ? value : 0;
}
