/** Foretells a rate that surely rises, for when replicas are up that are asked for now. */

/** A rise has to show over this many seconds, and to go on over the last half of them. */
const SECONDS = 20;
const HALF = SECONDS / 2;
/** Standard deviations that a slope has to be above 0 to be no chance. */
const SIGMAS = 2.5;

/**
 * The rate so many seconds from now, if it goes on to rise as it surely did; 0 where it did not, or
 * not enough is known. The slope is that of the least squares less its deviations, and no more than
 * that of the last half, so that a leap is not taken for a rise once it is over.
 * @param perSecondQps of whole seconds, oldest first, NaN where there was nothing yet.
 * @param dispersion variance over mean of a count.
 */
export function sureRiseQps(
  perSecondQps: Float64Array,
  aheadSeconds: number,
  dispersion: number,
): number {
  const meanQps = meanOf(perSecondQps, SECONDS);
  if (!(meanQps > 0)) return 0;
  const deviation = Math.sqrt((dispersion * meanQps) / spreadOf(SECONDS));
  const sure = slopeOf(perSecondQps, SECONDS) - SIGMAS * deviation;
  const rise = Math.min(sure, slopeOf(perSecondQps, HALF));
  return rise > 0 ? meanQps + rise * ((SECONDS - 1) / 2 + aheadSeconds) : 0;
}

/** Of the last seconds; NaN where one is not known. */
function meanOf(perSecondQps: Float64Array, seconds: number): number {
  let sum = 0;
  for (let at = perSecondQps.length - seconds; at < perSecondQps.length; at++) {
    sum += perSecondQps[at]!;
  }
  return sum / seconds;
}

function slopeOf(perSecondQps: Float64Array, seconds: number): number {
  const first = perSecondQps.length - seconds;
  const middle = (seconds - 1) / 2;
  let sum = 0;
  for (let second = 0; second < seconds; second++) {
    sum += (second - middle) * perSecondQps[first + second]!;
  }
  return sum / spreadOf(seconds);
}

/** Sum of the squares of so many whole numbers in a row, less their mean. */
function spreadOf(count: number): number {
  return (count * (count * count - 1)) / 12;
}
