/** Settings of V8's garbage collector in the process of a server. */
import { setFlagsFromString } from "node:v8";

/**
 * Growth of the heap, external memory included, between two markings. Bodies lie outside V8's heap
 * but count as part of it: by default V8 lets the heap grow by a few MB before it marks all of it,
 * so bodies of half a MB cause a marking with every tenth request, some 20 ms of processor each
 * time. A server's heap is about 13 MB, so this setting costs at most about 50 MB of memory.
 */
const GROWTH = "--heap-growing-percent=400";

/**
 * Few young objects survive, so one thread moves them: more threads would take cores from workers,
 * and from each other.
 */
const YOUNG = "--no-parallel-scavenge";

/** Call before a server starts. */
export function settleCollection(): void {
  setFlagsFromString(GROWTH);
  setFlagsFromString(YOUNG);
}
