/** Foretells a rate that surely rises, for when replicas are up that are asked for now. */

/** A rise has to show over this many beats, and to go on over the last half of them. */
const BEATS = 20;
const HALF = BEATS / 2;
/** Standard deviations that a slope has to be above 0 to be no chance. */
const SIGMAS = 2.5;

/**
 * Requests per beat so many beats from now, if it goes on to rise as it surely did; 0 where it did
 * not, or not enough is known. The slope is that of the least squares less its deviations, and no
 * more than that of the last half, so that a leap is not taken for a rise once it is over.
 * @param perBeat of whole beats, oldest first, NaN where there was nothing yet.
 * @param dispersion variance over mean of a count.
 */
export function sureRise(perBeat: Float64Array, aheadBeats: number, dispersion: number): number {
  const mean = meanOf(perBeat, BEATS);
  if (!(mean > 0)) return 0;
  const deviation = Math.sqrt((dispersion * mean) / spreadOf(BEATS));
  const sure = slopeOf(perBeat, BEATS) - SIGMAS * deviation;
  const rise = Math.min(sure, slopeOf(perBeat, HALF));
  return rise > 0 ? mean + rise * ((BEATS - 1) / 2 + aheadBeats) : 0;
}

/** Mean of the last beats; NaN where one is not known. */
function meanOf(perBeat: Float64Array, beats: number): number {
  let sum = 0;
  for (let at = perBeat.length - beats; at < perBeat.length; at++) {
    sum += perBeat[at]!;
  }
  return sum / beats;
}

function slopeOf(perBeat: Float64Array, beats: number): number {
  const first = perBeat.length - beats;
  const middle = (beats - 1) / 2;
  let sum = 0;
  for (let beat = 0; beat < beats; beat++) {
    sum += (beat - middle) * perBeat[first + beat]!;
  }
  return sum / spreadOf(beats);
}

/** Sum of the squares of so many whole numbers in a row, less their mean. */
function spreadOf(count: number): number {
  return (count * (count * count - 1)) / 12;
}
