/** Finds the load at which a server still answers nearly all in time. */
import type { LoadPhase, PhaseReport } from "./report.ts";

/** Of what was due, what has to be answered in time. */
const SERVED_SHARE = 0.98;
/** Before a load is judged the server settles for so long: plans follow it. */
const SETTLE_SECONDS = 3;
/** The search ends when the bounds are so close. */
const RATIO = 1.08;

export type SendPhases = (phases: readonly LoadPhase[]) => Promise<PhaseReport[]>;

/**
 * Doubles the load until it is not served, then halves the distance on a logarithmic scale. A load
 * that fails is tried once more, for a stall of the machine is no limit of the server.
 * @returns the highest load that was served, queries/s.
 */
export async function findCapacityQps(
  send: SendPhases,
  firstQps: number,
  seconds: number,
  say: (line: string) => void,
): Promise<number> {
  const isServedOnce = async (qps: number) => {
    const reports = await send([
      { qps, seconds: SETTLE_SECONDS },
      { qps, seconds },
    ]);
    const { good, due } = reports[1] ?? { good: 0, due: Number.NaN };
    if (due === 0)
      throw new Error(`no request is due at ${qps}/s: the machine serves nothing in time`);
    say(`at ${qps.toFixed(1)} requests/s ${((100 * good) / due).toFixed(2)} % in time`);
    return good >= SERVED_SHARE * due;
  };
  const isServed = async (qps: number) => (await isServedOnce(qps)) || isServedOnce(qps);
  let low = firstQps;
  while (!(await isServed(low))) low /= 2;
  let high = 2 * low;
  while (await isServed(high)) [low, high] = [high, 2 * high];
  while (high / low > RATIO) {
    const middle = Math.sqrt(low * high);
    if (await isServed(middle)) low = middle;
    else high = middle;
  }
  return low;
}
