/** Streams with speech at known times: clean clips, silences between them, and noise over all. */
import { Rng } from "../../../runtime/core/rng.ts";
import { meanSquare, speechIn } from "./labels.ts";
import { SAMPLE_RATE } from "./silero.ts";

export interface Condition {
  readonly name: string;
  readonly noise: "white" | "pink";
  /** How much louder the speech of a clip is than the noise. */
  readonly ratioDecibels: number;
}

export const CONDITIONS: readonly Condition[] = [
  { name: "quiet room", noise: "pink", ratioDecibels: 45 },
  { name: "pink noise, 20 dB", noise: "pink", ratioDecibels: 20 },
  { name: "pink noise, 10 dB", noise: "pink", ratioDecibels: 10 },
  { name: "white noise, 10 dB", noise: "white", ratioDecibels: 10 },
];

export interface Recording {
  readonly sound: Float32Array;
  /** Of each sample: 1 where there is speech, or 0. */
  readonly speech: Uint8Array;
}

/** Speech is as loud as this in every clip, root mean square. */
const LOUDNESS = 0.06;

/** Clips one after another, with 0.8 to 2.4 s of noise alone before each and after the last. */
export function recordingOf(
  clips: readonly Float32Array[],
  { noise, ratioDecibels }: Condition,
  seed: number,
): Recording {
  const rng = new Rng(seed, 1);
  const pause = () => Math.round((0.8 + 1.6 * rng.nextFloat()) * SAMPLE_RATE);
  const places: { readonly at: number; readonly clip: Float32Array }[] = [];
  let length = pause();
  for (const clip of clips) {
    places.push({ at: length, clip });
    length += clip.length + pause();
  }
  const sound = noise === "white" ? whiteNoise(length, rng) : pinkNoise(length, rng);
  const level = LOUDNESS / 10 ** (ratioDecibels / 20) / Math.sqrt(meanSquare(sound));
  const speech = new Uint8Array(length);
  for (let at = 0; at < length; at++) sound[at] = (sound[at] ?? 0) * level;
  for (const { at, clip } of places) {
    const own = speechIn(clip);
    speech.set(own, at);
    const gain = LOUDNESS / Math.sqrt(meanSquare(clip.filter((_, sample) => own[sample] === 1)));
    clip.forEach((value, sample) => {
      sound[at + sample] = (sound[at + sample] ?? 0) + gain * value;
    });
  }
  return { sound, speech };
}

function whiteNoise(length: number, rng: Rng): Float32Array {
  return Float32Array.from({ length }, () => 2 * rng.nextFloat() - 1);
}

/** About 3 dB less with each octave: white noise through the filter of Paul Kellet ("economy"). */
function pinkNoise(length: number, rng: Rng): Float32Array {
  let [low, middle, high] = [0, 0, 0];
  return whiteNoise(length, rng).map((white) => {
    low = 0.99765 * low + white * 0.099046;
    middle = 0.963 * middle + white * 0.2965164;
    high = 0.57 * high + white * 1.0526913;
    return low + middle + high + white * 0.1848;
  });
}
