/** What front ends write into the cluster's store, and how it is read again. */
import type { SeenLoad } from "../../core/load-share.ts";
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

/** @param beat another number each time, so that the entry changes. */
export function beatText(beat: number, load: SeenLoad): string {
  return JSON.stringify({ beat, loadQps: load.qps, loadVariance: load.variance });
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
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return { ...value };
  } catch {
    // What somebody else has put there says nothing.
  }
  return {};
}

function amountOf(value: unknown): number {
  return typeof value === "number" && value >= 0 && Number.isFinite(value) ? value : 0;
}
