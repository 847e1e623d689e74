/** How V8 collects garbage in the process of a server. */
import { setFlagsFromString } from "node:v8";

/** By how much the heap, with what belongs to it outside, may grow between two markings. */
const GROWTH_PERCENT = 400;

/**
 * Bodies lie outside of the heap of V8, which counts them as a part of it: by itself it lets the
 * heap grow by a few MB before it marks all of it, and bodies of half a MB make that happen with
 * every tenth request, some 20 ms of processor each time. With more room it happens rarely. The
 * heap of a server is some 13 MB, so what this takes of memory is bounded by some 50.
 */
export function giveHeapRoom(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}
