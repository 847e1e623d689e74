/** Puts small chunks of a frame together, so that a stream has few to write. */

/** Larger chunks cost less to write by themselves than to copy. */
const MAX_SMALL_BYTES = 1 << 15;
/** Of small chunks of one frame; what is beyond is written as it is. */
const CAPACITY_BYTES = 1 << 19;

/**
 * A chunk that a stream of Node is given takes several times what it takes to copy a few KB. The
 * copies are in memory that is used again, so a frame has to be gone before the next is gathered.
 */
export class GatheredChunks {
  #memory: Uint8Array | undefined;

  /** @returns the same bytes in the same order; chunks in a row that are small are one. */
  gather(chunks: readonly Uint8Array[]): readonly Uint8Array[] {
    this.#memory ??= new Uint8Array(new ArrayBuffer(CAPACITY_BYTES));
    const memory = this.#memory;
    const gathered: Uint8Array[] = [];
    let begin = 0;
    let end = 0;
    for (const chunk of chunks) {
      if (chunk.length <= MAX_SMALL_BYTES && end + chunk.length <= CAPACITY_BYTES) {
        memory.set(chunk, end);
        end += chunk.length;
        continue;
      }
      if (end > begin) gathered.push(memory.subarray(begin, end));
      begin = end;
      gathered.push(chunk);
    }
    if (end > begin) gathered.push(memory.subarray(begin, end));
    return gathered;
  }
}
