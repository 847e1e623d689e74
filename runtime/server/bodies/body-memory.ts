/** Memory of request bodies: the limit of one body, the budget of all, and buffers used again. */

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { MetricLine } from "../../base/exposition.ts";
import { bufferedByteLines, refusedLines } from "../../base/metric-families.ts";
import { NotesAt } from "../connections/connection.ts";
import { HttpError, RETRY_LATER } from "../connections/http-error.ts";
import type { JsonLimits } from "../tensors/json-text.ts";
import { largestRowShape } from "../tensors/padding.ts";
import type { ModelTensor } from "../tensors/signature.ts";
import { DATATYPES, type Datatype, elementCountOf } from "../tensors/tensors.ts";

/** Limits of a body in bytes, before and after decompression, with their reason. */
export interface BodyLimit {
  readonly bytes: number;
  /** Source of the limit in messages, such as "the limit of this server". */
  readonly why: string;
}

/** Limits of the bodies of inference requests for a model. */
export interface InferLimits {
  /** Limit where the tensors are in the JSON. */
  readonly json: BodyLimit;
  /** Bytes of all tensors behind the JSON. */
  readonly maxBinaryBytes: number;
  /** Limits of the parts of long JSON. */
  readonly parts: JsonLimits;
  readonly maxRows: number;
}

/**
 * Bytes of an element in JSON with its comma, whitespace and brackets: the longest 16-bit integer
 * has 6 characters, the longest number 24.
 */
const SHORT_ELEMENT_BYTES = 16;
const ELEMENT_BYTES = 32;
/** Bytes of the JSON other than the tensors. */
export const HEADER_BYTES = 65_536;
/** Limit of the values, arrays, objects and strings of the JSON other than the tensors. */
const HEADER_PARTS = 16_384;

/** BYTES elements may be images or books, so only the body's limit applies. */
const UNKNOWN_BYTES = Number.POSITIVE_INFINITY;

const SHORT_TYPES: readonly Datatype[] = ["BOOL", "UINT8", "INT8", "UINT16", "INT16"];

/** Limit of repository index, admin and settings requests. */
export const SMALL_LIMIT: BodyLimit = {
  bytes: 4096,
  why: "the limit of such requests",
};

/**
 * @param maxRows of one request.
 * @param maxBodyBytes upper bound of all limits.
 */
export function inferLimits(
  inputs: readonly ModelTensor[],
  maxRows: number,
  maxBodyBytes: number,
): InferLimits {
  let jsonBytes = HEADER_BYTES;
  let binaryBytes = 0;
  let [values, containers, strings] = [HEADER_PARTS, HEADER_PARTS, HEADER_PARTS];
  for (const tensor of inputs) {
    const { datatype } = tensor;
    const rowShape = largestRowShape(tensor);
    const elements = maxRows * elementCountOf(rowShape);
    jsonBytes += elements * jsonBytesOf(datatype);
    binaryBytes += elements * (DATATYPES[datatype].elementBytes || UNKNOWN_BYTES);
    let arrays = 1;
    for (let size = maxRows, axis = 0; axis < rowShape.length; axis++) {
      arrays += size;
      size *= rowShape[axis] ?? 1;
    }
    containers += arrays;
    // A comma or colon, and a bracket, come before each array.
    values += elements + 2 * arrays;
    if (datatype === "BYTES") strings += elements;
  }
  const types = [...new Set(inputs.map(({ datatype }) => datatype))];
  const sizes = types.map((type) => `${jsonBytesOf(type)} bytes per element of ${type}`).join(", ");
  const needed = `${maxRows} rows as JSON, ${sizes}, and ${HEADER_BYTES} bytes beside them`;
  return {
    json: limited({ bytes: jsonBytes, why: needed }, maxBodyBytes),
    maxBinaryBytes: binaryBytes,
    parts: { values, containers, strings },
    maxRows,
  };
}

/** @param headerLength value of `Inference-Header-Content-Length`; undefined without one. */
export function bodyLimit(limits: InferLimits, headerLength: string | undefined): BodyLimit {
  const { json, maxBinaryBytes, maxRows } = limits;
  const jsonBytes = plainLength(headerLength);
  if (jsonBytes === undefined || jsonBytes + maxBinaryBytes >= json.bytes) return json;
  const why = `${maxRows} rows in ${maxBinaryBytes} bytes after ${jsonBytes} of JSON`;
  return { bytes: jsonBytes + maxBinaryBytes, why };
}

/** @returns undefined for what is no length, which is refused when the body is read. */
export function plainLength(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function jsonBytesOf(datatype: Datatype): number {
  if (datatype === "BYTES") return UNKNOWN_BYTES;
  return SHORT_TYPES.includes(datatype) ? SHORT_ELEMENT_BYTES : ELEMENT_BYTES;
}

function limited(limit: BodyLimit, maxBodyBytes: number): BodyLimit {
  if (limit.bytes <= maxBodyBytes) return limit;
  return { bytes: maxBodyBytes, why: "the limit of this server" };
}

/** Share of the budget for the requests of one connection, and of one token. */
const CONNECTION_SHARE = 1 / 4;
const TOKEN_SHARE = 1 / 2;

/** Memory that all requests may hold together, and those of a connection or a token. */
export class ByteBudget {
  readonly maxBytes: number;
  readonly #byConnection = new NotesAt<object, number>();
  readonly #byToken = new Map<string, number>();
  #heldBytes = 0;
  #refusedCount = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Bytes of bodies and tensors of all requests that have no answer yet. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Requests that there was no room for. */
  get refusedCount(): number {
    return this.#refusedCount;
  }

  metricLines(): MetricLine[] {
    return [
      ...bufferedByteLines("requests", this.#heldBytes),
      ...bufferedByteLines("requests_limit", this.maxBytes),
      ...refusedLines("request", [["request_bytes", this.#refusedCount]]),
    ];
  }

  /**
   * Creates the hold of a request, which is empty.
   * @param connection of the client, a socket or a session. Default: only the sum is limited.
   * @param token name of the client's token. Default: none.
   */
  hold(connection?: object, token?: string): ByteHold {
    return new ByteHold(this, connection, token);
  }

  /**
   * Changes what a request holds. Of a connection or a token, the only request may hold anything.
   * @param isSure whether the memory is in use already, and not refused.
   * @throws HttpError 429 or 503
   */
  change({ bytes: before, connection, token }: ByteHold, bytes: number, isSure: boolean): void {
    const change = bytes - before;
    const ofConnection = connection === undefined ? 0 : (this.#byConnection.get(connection) ?? 0);
    const ofToken = token === undefined ? 0 : (this.#byToken.get(token) ?? 0);
    if (!isSure) {
      const freeBytes = this.maxBytes - this.#heldBytes;
      if (change > freeBytes)
        throw this.#refusal(503, freeBytes, "the requests of all clients", change);
      if (ofConnection > before) {
        const left = this.maxBytes * CONNECTION_SHARE - ofConnection;
        if (change > left) throw this.#refusal(429, left, "the requests of a connection", change);
      }
      if (ofToken > before) {
        const left = this.maxBytes * TOKEN_SHARE - ofToken;
        if (change > left) throw this.#refusal(429, left, "the requests of a token", change);
      }
    }
    this.#heldBytes += change;
    if (connection !== undefined) this.#byConnection.set(connection, ofConnection + change);
    if (token === undefined) return;
    if (ofToken + change > 0) this.#byToken.set(token, ofToken + change);
    else this.#byToken.delete(token);
  }

  #refusal(status: 429 | 503, freeBytes: number, whose: string, bytes: number): HttpError {
    this.#refusedCount++;
    const expected = `expected at most the ${Math.max(0, Math.floor(freeBytes))} bytes`;
    const room = `that are free of ${this.maxBytes} for ${whose}`;
    return new HttpError(status, `request: ${expected} ${room}, got ${bytes} more`, RETRY_LATER);
  }
}

/** Memory that one request holds. */
export class ByteHold {
  readonly connection: object | undefined;
  readonly token: string | undefined;
  readonly #budget: Pick<ByteBudget, "change">;
  #bytes = 0;

  constructor(budget: Pick<ByteBudget, "change">, connection?: object, token?: string) {
    this.#budget = budget;
    this.connection = connection;
    this.token = token;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Increases the hold to at least this size. @throws HttpError if the budget is exhausted. */
  growTo(bytes: number): void {
    if (bytes <= this.#bytes) return;
    this.#budget.change(this, bytes, false);
    this.#bytes = bytes;
  }

  /** Sets the hold to this size, even beyond the budget, since the memory is already in use. */
  settle(bytes: number): void {
    this.#budget.change(this, bytes, true);
    this.#bytes = bytes;
  }

  /** Any number of times. */
  release(): void {
    this.settle(0);
  }
}

/**
 * Memory that grows in place. It has its own mapping, so it returns to the system with the body;
 * the C heap may keep memory that was shared by many bodies.
 */
export interface Growing extends ArrayBuffer {
  resize(bytes: number): void;
}

function isGrowing(memory: ArrayBuffer): memory is Growing {
  return (memory as { readonly resizable?: boolean }).resizable === true;
}

/** Smaller bodies cost less to allocate than to keep; larger ones are rare, and mapped. */
const LEAST_BYTES = 1 << 16;
const MOST_BYTES = 1 << 20;
/** Memory sizes are multiples of this, so that bodies of similar size can share memory. */
const STEP_BYTES = 1 << 16;
/** Memory that is returned to the system in one turn of the event loop. */
const SHRUNK_BYTES = 1 << 23;
/** Limit of the memory that is kept for reuse. */
const MAX_KEPT_BYTES = 1 << 25;
/** Unused memory is released after this time. */
const IDLE_MS = 20_000;

/**
 * Reuses the memory of request bodies. V8 frees memory outside of its heap that survived two minor
 * collections only with the next major one, and bodies of half a MB would cause frequent major
 * collections. So memory of a body that is certainly no longer read is used for another body; all
 * other memory is left to V8.
 */
export class BodyMemory {
  readonly #maxKeptBytes: number;
  readonly #keptBySize = new Map<number, ArrayBuffer[]>();
  readonly #lent = new WeakSet<ArrayBufferLike>();
  readonly #shrinking: Growing[] = [];
  #keptBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #isUsed = false;

  constructor(maxKeptBytes: number = MAX_KEPT_BYTES) {
    this.#maxKeptBytes = maxKeptBytes;
  }

  /** Bytes that wait for a body. */
  get keptBytes(): number {
    return this.#keptBytes;
  }

  /** @returns a buffer of that size with any content; undefined for sizes that are not pooled. */
  take(bytes: number): Buffer | undefined {
    if (bytes < LEAST_BYTES || bytes > MOST_BYTES) return undefined;
    this.#isUsed = true;
    const size = Math.ceil(bytes / STEP_BYTES) * STEP_BYTES;
    const kept = this.#keptBySize.get(size)?.pop();
    if (kept !== undefined) this.#keptBytes -= size;
    const memory = kept ?? Buffer.allocUnsafeSlow(size).buffer;
    this.#lent.add(memory);
    return Buffer.from(memory, 0, bytes);
  }

  /**
   * Called when the memory is no longer read. @param memory may be any; memory that was not taken
   * here is ignored.
   */
  giveBack(memory: ArrayBufferLike): void {
    if (!(memory instanceof ArrayBuffer)) return;
    if (isGrowing(memory)) this.#shrink(memory);
    if (!this.#lent.delete(memory)) return;
    const size = memory.byteLength;
    // Another thread may have received the memory.
    if (size === 0 || this.#keptBytes + size > this.#maxKeptBytes) return;
    const kept = this.#keptBySize.get(size);
    if (kept === undefined) this.#keptBySize.set(size, [memory]);
    else kept.push(memory);
    this.#keptBytes += size;
    this.#timer ??= setInterval(() => this.#look(), IDLE_MS).unref();
  }

  /**
   * Returns memory to the system. V8 would keep it until its next major collection, which an idle
   * server does not have. A MiB takes up to a millisecond.
   */
  #shrink(memory: Growing): void {
    if (memory.byteLength === 0) return;
    if (this.#shrinking.push(memory) > 1) return;
    const next = () => {
      const [first] = this.#shrinking;
      if (first === undefined) return;
      first.resize(Math.max(0, first.byteLength - SHRUNK_BYTES));
      if (first.byteLength === 0) this.#shrinking.shift();
      if (this.#shrinking.length > 0) setImmediate(next);
    };
    next();
  }

  #look(): void {
    if (!this.#isUsed) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      this.#keptBySize.clear();
      this.#keptBytes = 0;
    }
    this.#isUsed = false;
  }
}

/** That of the process. */
export const bodyMemory = new BodyMemory();

/**
 * Bytes of bodies from one collection to the next. From 64 MiB outside of its heap on, V8 marks the
 * whole heap to find out which of them are over, tens of milliseconds of processor each time.
 */
const COLLECT_BYTES = 24 * 2 ** 20;

type Collect = (options: { readonly type: "minor" }) => void;

/**
 * Triggers minor collections of V8 for the memory of body chunks. Chunks have memory outside of
 * V8's heap, and nearly all are unused within milliseconds. A minor collection frees them at a
 * small part of the cost of a major one, but V8 starts one only when its heap has grown, which
 * bodies hardly cause.
 */
export class YoungMemory {
  #collect: Collect | undefined;
  #bytes = 0;

  /** @param collect runs a collection. Default: V8's own. */
  constructor(collect?: Collect) {
    this.#collect = collect;
  }

  /** Called with the number of body bytes received. */
  onBytes(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < COLLECT_BYTES) return;
    this.#bytes = 0;
    this.#collect ??= collector();
    this.#collect({ type: "minor" });
  }
}

/** V8's `gc` function, which new contexts have while V8 exposes it; a no-op where V8 does not. */
function collector(): Collect {
  setFlagsFromString("--expose-gc");
  const found: unknown = runInNewContext("globalThis.gc");
  setFlagsFromString("--no-expose-gc");
  return typeof found === "function" ? (found as Collect) : () => {};
}
