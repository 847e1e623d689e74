/** Encodes and decodes the entries of front ends in the cluster's store. */
import type { SeenLoad } from "../../../core/load-share.ts";
import { partsOfKey, storeKey } from "../store.ts";
import type { Lease } from "./lease-book.ts";

/** Prefix of the keys of front ends. */
export const FRONT_ENDS = "front-ends";
/** Prefix of the keys of leases. */
export const LEASES = "leases";

export function frontEndKey(frontEnd: string): string {
  return storeKey(FRONT_ENDS, frontEnd);
}

export function leaseKey(worker: string): string {
  return storeKey(LEASES, worker);
}

/** Front end or worker that a key belongs to. */
export function nameOfKey(key: string): string {
  return partsOfKey(key).at(-1) ?? "";
}

/** Traffic of an application that a front end has counted since its start, for autoscalers. */
export interface CountedTraffic {
  /** Rows that were answered or dropped. */
  readonly rows: number;
  /** Dropped rows among them. */
  readonly dropped: number;
  /** Answered requests. */
  readonly requests: number;
  /** Requests that were rejected, before or after they were read. */
  readonly rejected: number;
  /** Measured service times relative to the profile; omitted if unknown. */
  readonly pace?: number;
}

export type TrafficByApplication = Readonly<Record<string, CountedTraffic>>;

/**
 * @param beat different each time, so that the entry changes. @param url for health checks; omitted
 * for none.
 */
export function beatText(
  beat: number,
  load: SeenLoad,
  traffic: TrafficByApplication = {},
  url?: string,
): string {
  return JSON.stringify({ beat, loadQps: load.qps, loadVariance: load.variance, traffic, url });
}

/** Health-check URL of a front end; null for none. */
export function urlOfBeat(text: string): string | null {
  const { url } = fieldsOf(text);
  return typeof url === "string" && /^https?:\/\/[^/?#@]+$/.test(url) ? url : null;
}

/** Traffic of an application in a beat; null for none. */
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

/** Load in a beat; zero for an invalid text. */
export function loadOfBeat(text: string): SeenLoad {
  const { loadQps, loadVariance } = fieldsOf(text);
  return { qps: amountOf(loadQps), variance: amountOf(loadVariance) };
}

export function leaseText({ holder, epoch }: Lease): string {
  return JSON.stringify({ holder, epoch });
}

/** Decodes a lease; null for an invalid text, which counts as free and is overwritten. */
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
    // Foreign content counts as empty.
    return {};
  }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function amountOf(value: unknown): number {
  return typeof value === "number" && value >= 0 && Number.isFinite(value) ? value : 0;
}
