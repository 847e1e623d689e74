/** How V8 collects garbage in the process of a server. */
import { setFlagsFromString } from "node:v8";

/**
 * By how much the heap, with what belongs to it outside, may grow between two markings. Bodies lie
 * outside of the heap of V8, which counts them as a part of it: by itself it lets the heap grow by
 * a few MB before it marks all of it, and bodies of half a MB make that happen with every tenth
 * request, some 20 ms of processor each time. The heap of a server is some 13 MB, so what more room
 * takes of memory is bounded by some 50.
 */
const GROWTH = "--heap-growing-percent=400";

/**
 * What is young and still in use is little, so it is moved by one thread: others would take cores
 * from workers, and from each other.
 */
const YOUNG = "--no-parallel-scavenge";

/** To be called before a server starts. */
export function settleCollection(): void {
  setFlagsFromString(GROWTH);
  setFlagsFromString(YOUNG);
}
