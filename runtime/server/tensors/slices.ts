/** Copies long tensors in slices, each in a turn of the event loop: 60 MB take 40 ms or more. */
import { lengthOf } from "./tensors.ts";

/** Bytes that are copied in one turn: some 5 ms. */
export const SLICE_BYTES = 2 ** 22;

/**
 * Joins parts in memory of their own, which can be handed over.
 * @param room bytes that are left free before them.
 */
export async function copied(
  parts: readonly Uint8Array[],
  room = 0,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(room + lengthOf(parts));
  let at = room;
  let leftBytes = SLICE_BYTES;
  for (const part of parts) {
    for (let from = 0; from < part.length; ) {
      const slice = part.subarray(from, from + leftBytes);
      bytes.set(slice, at);
      at += slice.length;
      from += slice.length;
      leftBytes -= slice.length;
      if (leftBytes > 0) continue;
      leftBytes = SLICE_BYTES;
      await new Promise(setImmediate);
    }
  }
  return bytes;
}
