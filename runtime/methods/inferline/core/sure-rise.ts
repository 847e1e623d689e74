/** Predicts a certainly rising rate for the time when replicas requested now are up. */

/** Beats over which a rise must show; it must also continue over the last half of them. */
const BEATS = 20;
const HALF = BEATS / 2;
/** Standard deviations by which a slope must exceed 0 to be no chance. */
const SIGMAS = 2.5;

/**
 * Returns the requests per beat in this many beats, if the rise continues; 0 without a certain
 * rise, or if too little is known. The slope is that of least squares less its deviations, and at
 * most that of the last half, so that a leap that is over does not count as a rise.
 * @param perBeat of whole beats, oldest first, NaN before the start. @param dispersion variance
 * over mean of a count.
 */
export function sureRise(perBeat: Float64Array, aheadBeats: number, dispersion: number): number {
  const mean = meanOf(perBeat, BEATS);
  if (!(mean > 0)) return 0;
  const deviation = Math.sqrt((dispersion * mean) / spreadOf(BEATS));
  const sure = slopeOf(perBeat, BEATS) - SIGMAS * deviation;
  const rise = Math.min(sure, slopeOf(perBeat, HALF));
  return rise > 0 ? mean + rise * ((BEATS - 1) / 2 + aheadBeats) : 0;
}

/** Returns the mean of the last beats; NaN if one is unknown. */
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

/** Returns the sum of squared deviations from the mean of this many consecutive integers. */
function spreadOf(count: number): number {
  return (count * (count * count - 1)) / 12;
}
