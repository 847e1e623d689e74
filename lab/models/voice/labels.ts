/** Where somebody speaks in a clean recording, by its loudness. */
import { CHUNK, SAMPLE_RATE } from "./silero.ts";

/** 10 ms. */
const FRAME = SAMPLE_RATE / 100;
/** How much softer than the loudest frame speech may be. */
const RANGE_DECIBELS = 35;
/** Silences of a word, as before a "t", that are shorter are speech: 100 ms. */
const SHORTEST_PAUSE_FRAMES = 10;

/** @param clip samples without noise. @returns for each sample 1 where there is speech, or 0. */
export function speechIn(clip: Float32Array): Uint8Array {
  const energies = Array.from({ length: Math.ceil(clip.length / FRAME) }, (_, frame) => {
    return meanSquare(clip.subarray(frame * FRAME, (frame + 1) * FRAME));
  });
  const least = Math.max(...energies) / 10 ** (RANGE_DECIBELS / 10);
  const isSpeech = energies.map((energy) => energy > 0 && energy >= least);
  let last = -1;
  isSpeech.forEach((speaks, frame) => {
    if (!speaks) return;
    if (last >= 0 && frame - last <= SHORTEST_PAUSE_FRAMES) isSpeech.fill(true, last, frame);
    last = frame;
  });
  return Uint8Array.from(clip, (_, sample) => Number(isSpeech[Math.floor(sample / FRAME)]));
}

/** @returns of each whole chunk whether at least half of it is speech. */
export function chunkLabels(speech: Uint8Array): boolean[] {
  return Array.from({ length: Math.floor(speech.length / CHUNK) }, (_, chunk) => {
    const own = speech.subarray(chunk * CHUNK, (chunk + 1) * CHUNK);
    return own.reduce((sum, one) => sum + one, 0) >= CHUNK / 2;
  });
}

export function meanSquare(samples: Float32Array): number {
  return samples.reduce((sum, value) => sum + value * value, 0) / Math.max(1, samples.length);
}
