/** Recordings in WAV files, as samples at 16 kHz. */

const PCM = 1;
/** Half of the taps of the filter between samples. */
const REACH = 16;

/**
 * @param file PCM of 16 bits, one channel, at 8 or 16 kHz.
 * @returns float32 [samples] at 16 kHz, from −1 to 1.
 */
export function readWav(file: Buffer, name: string): Float32Array {
  const format = chunkOf(file, "fmt ");
  const data = chunkOf(file, "data");
  if (format === undefined || data === undefined) throw new Error(`${name}: expected a WAV file`);
  const [coding, channels] = [format.readUInt16LE(0), format.readUInt16LE(2)];
  const [rate, bits] = [format.readUInt32LE(4), format.readUInt16LE(14)];
  if (coding !== PCM || channels !== 1 || bits !== 16 || (rate !== 8000 && rate !== 16_000)) {
    const found = `coding ${coding}, ${bits} bits, ${channels} channels, ${rate} Hz`;
    throw new Error(`${name}: expected PCM of 16 bits, one channel, 8 or 16 kHz, got ${found}`);
  }
  const samples = Float32Array.from({ length: data.length >> 1 }, (_, at) => {
    return data.readInt16LE(2 * at) / 32_768;
  });
  return rate === 16_000 ? samples : doubled(samples);
}

function chunkOf(file: Buffer, id: string): Buffer | undefined {
  if (file.toString("latin1", 0, 4) !== "RIFF") return undefined;
  for (let at = 12; at + 8 <= file.length; ) {
    const length = file.readUInt32LE(at + 4);
    if (file.toString("latin1", at, at + 4) === id) return file.subarray(at + 8, at + 8 + length);
    at += 8 + length + (length % 2);
  }
  return undefined;
}

/** Twice as many samples: those between by a sinc under a Hann window. */
function doubled(samples: Float32Array): Float32Array {
  const weights = Array.from({ length: 2 * REACH }, (_, tap) => {
    const distance = Math.abs(tap - REACH + 0.5);
    const angle = Math.PI * distance;
    return (Math.sin(angle) / angle) * Math.cos(angle / (2 * REACH)) ** 2;
  });
  return Float32Array.from({ length: 2 * samples.length }, (_, at) => {
    const before = at >> 1;
    if (at % 2 === 0) return samples[before] ?? 0;
    return weights.reduce((sum, weight, tap) => {
      return sum + weight * (samples[before - REACH + 1 + tap] ?? 0);
    }, 0);
  });
}
