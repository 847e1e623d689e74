/** Memory of bodies that are over: used again by the next ones, or collected soon. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Smaller bodies cost less to allocate than to keep; larger ones are rare, and mapped. */
const LEAST_BYTES = 1 << 16;
const MOST_BYTES = 1 << 20;
/** Sizes of memory, so that bodies that differ by a little share it. */
const STEP_BYTES = 1 << 16;
/** Of what is kept and not used. */
const MAX_KEPT_BYTES = 1 << 25;
/** What nobody has taken for so long goes back to the system. */
const IDLE_MS = 20_000;

/**
 * What lies outside of the heap of V8 and outlives two of its small collections goes back with the
 * next large one only, and bodies of half a MB make those come often. So the memory of a body that
 * surely nobody reads any more is used for another; of all others V8 finds out.
 */
export class BodyMemory {
  readonly #maxKeptBytes: number;
  readonly #keptBySize = new Map<number, ArrayBuffer[]>();
  readonly #lent = new WeakSet<ArrayBufferLike>();
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

  /** @returns so many bytes, whatever they are; undefined for sizes that are not kept. */
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

  /** Nobody reads it any more. @param memory any; what was not taken here is left alone. */
  giveBack(memory: ArrayBufferLike): void {
    if (!(memory instanceof ArrayBuffer) || !this.#lent.delete(memory)) return;
    const size = memory.byteLength;
    // Another thread may have taken it over.
    if (size === 0 || this.#keptBytes + size > this.#maxKeptBytes) return;
    const kept = this.#keptBySize.get(size);
    if (kept === undefined) this.#keptBySize.set(size, [memory]);
    else kept.push(memory);
    this.#keptBytes += size;
    this.#timer ??= setInterval(() => this.#look(), IDLE_MS).unref();
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
 * Bodies come in chunks of memory of their own, outside of the heap of V8, that are nearly all over
 * within milliseconds. A collection of what is young finds them at a small part of what marking the
 * whole heap takes, but V8 only begins one when its heap has grown, which bodies hardly make it do.
 */
export class YoungMemory {
  #collect: Collect | undefined;
  #bytes = 0;

  /** @param collect left out for that of V8. */
  constructor(collect?: Collect) {
    this.#collect = collect;
  }

  /** So many bytes of a body have come. */
  onBytes(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < COLLECT_BYTES) return;
    this.#bytes = 0;
    this.#collect ??= collector();
    this.#collect({ type: "minor" });
  }
}

/** What V8 offers in contexts that are made while it is asked to; nothing where it does not. */
function collector(): Collect {
  setFlagsFromString("--expose-gc");
  const found: unknown = runInNewContext("globalThis.gc");
  setFlagsFromString("--no-expose-gc");
  return typeof found === "function" ? (found as Collect) : () => {};
}
