/** Arrivals of a whole trace over windows of many lengths. Source: InferLine §5. */

/**
 * Window lengths of a traffic envelope, ms, ascending: the service time doubled again and again
 * below the horizon, and the horizon itself.
 * @throws RangeError unless the service time is above 0.
 */
export function windowLengths(serviceMs: number, horizonMs: number): Float64Array {
  if (!(serviceMs > 0)) throw new RangeError(`expected a service time above 0, got ${serviceMs}`);
  const lengths: number[] = [];
  for (let ms = serviceMs; ms < horizonMs; ms *= 2) lengths.push(ms);
  lengths.push(horizonMs);
  return Float64Array.from(lengths);
}

/**
 * Most arrivals in any closed window [t, t + length], for each length.
 * @param arrivalMs non-decreasing. Two arrivals share a window if their difference is at most its
 * length.
 */
export function envelopeOf(arrivalMs: Float64Array, windowMs: Float64Array): Float64Array {
  const most = new Float64Array(windowMs.length);
  for (let index = 0; index < windowMs.length; index++) {
    most[index] = mostWithin(arrivalMs, windowMs[index]!);
  }
  return most;
}

/**
 * Highest rate of a closed window that slides over the arrivals, per second: the most arrivals over
 * its length.
 */
export function slidingPeakRate(arrivalMs: Float64Array, windowMs: number): number {
  return (1000 * mostWithin(arrivalMs, windowMs)) / windowMs;
}

/**
 * Highest rate of the windows [0, length), [length, 2 length) …, per second. The last one is left
 * out unless it ends within the duration; if no window does, the rate of the whole duration.
 * @param arrivalMs non-decreasing, from 0 on.
 */
export function peakRate(arrivalMs: Float64Array, windowMs: number, durationMs: number): number {
  // A duration that is a whole number of windows up to rounding counts as one.
  const windowCount = Math.floor(durationMs / windowMs + 1e-9);
  if (windowCount === 0) return (1000 * arrivalMs.length) / durationMs;
  let most = 0;
  let count = 0;
  let current = 0;
  for (let index = 0; index < arrivalMs.length; index++) {
    const window = Math.floor(arrivalMs[index]! / windowMs);
    if (window >= windowCount) break;
    if (window !== current) count = 0;
    current = window;
    count++;
    if (count > most) most = count;
  }
  return (1000 * most) / windowMs;
}

function mostWithin(arrivalMs: Float64Array, lengthMs: number): number {
  let most = 0;
  let start = 0;
  for (let end = 0; end < arrivalMs.length; end++) {
    const endMs = arrivalMs[end]!;
    while (endMs - arrivalMs[start]! > lengthMs) start++;
    if (end - start + 1 > most) most = end - start + 1;
  }
  return most;
}
