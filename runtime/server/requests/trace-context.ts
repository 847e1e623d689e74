/** Names of a request: the id that its client gives it, and its place in a trace (W3C). */
import { randomFillSync } from "node:crypto";

/** Trace context of a request. Source: W3C Trace Context, Level 1, §3.2 and §3.3. */
export interface TraceParent {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits: the caller's span. */
  readonly spanId: string;
  readonly isSampled: boolean;
  /** Value of `tracestate`; empty without one. */
  readonly state: string;
}

const PARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const NO_TRACE = "0".repeat(32);
const NO_SPAN = "0".repeat(16);
/** Maximum length of a state that is passed on; §3.3.1.5 requires at least this. */
const LONGEST_STATE = 512;

/** @returns undefined for an invalid header, which must be ignored. */
export function traceParentOf(
  traceparent: string | undefined,
  tracestate: string | undefined,
): TraceParent | undefined {
  const match = traceparent === undefined ? null : PARENT.exec(traceparent.trim());
  if (match === null) return undefined;
  const [, version, traceId = NO_TRACE, spanId = NO_SPAN, flags = "00", more] = match;
  // Future versions may add fields after the flags; this version has none.
  if (version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (traceId === NO_TRACE || spanId === NO_SPAN) return undefined;
  const isSampled = (Number.parseInt(flags, 16) & 1) === 1;
  const state = tracestate !== undefined && tracestate.length <= LONGEST_STATE ? tracestate : "";
  return { traceId, spanId, isSampled, state };
}

export function traceParentText(traceId: string, spanId: string, isSampled: boolean): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

const pool = Buffer.alloc(4096);
let used = pool.length;

/** Hexadecimal digits of random bytes, not all of them 0. @param bytes 8 or 16. */
export function randomHex(bytes: 8 | 16): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const text = pool.toString("hex", used, used + bytes);
  used += bytes;
  return text === (bytes === 8 ? NO_SPAN : NO_TRACE) ? randomHex(bytes) : text;
}

/** Header, and metadata of gRPC, that has the id and repeats it. */
export const REQUEST_ID = "x-request-id";

/** Ids that are valid in headers and logs; other ids are ignored. */
const ID = /^[\x21-\x7e]{1,128}$/;

/** @param text as the client has it. @returns undefined for what is no id. */
export function requestIdOf(text: unknown): string | undefined {
  return typeof text === "string" && ID.test(text) ? text : undefined;
}
