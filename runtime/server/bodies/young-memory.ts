/** Gives the memory of bodies back soon after they are over. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

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
