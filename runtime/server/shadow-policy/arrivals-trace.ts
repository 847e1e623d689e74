/** When queries came, as a file that `simulate --trace` reads. */
import { setImmediate as nextTurn } from "node:timers/promises";

/** Lines that are written in one turn of the event loop, in well under 10 ms. */
const LINES_PER_TURN = 8192;

/**
 * @param atMs ascending. @param fromMs that times are told from.
 * @param title of a comment above them, in one line.
 */
export async function arrivalsTrace(
  atMs: Float64Array,
  fromMs: number,
  title: string,
): Promise<Uint8Array> {
  const pieces = [Buffer.from(`# ${title}\narrivalMs\n`)];
  for (let first = 0; first < atMs.length; first += LINES_PER_TURN) {
    const own = atMs.subarray(first, first + LINES_PER_TURN);
    const lines = Array.from(own, (ms) => `${(ms - fromMs).toFixed(3)}\n`);
    pieces.push(Buffer.from(lines.join("")));
    await nextTurn();
  }
  return Buffer.concat(pieces);
}
