/** A client: streams a WAV file of 16 kHz, 16 bits, one channel, and says where somebody speaks. */
import { readFileSync } from "node:fs";

const [CHUNK, CONTEXT] = [512, 64];

/** @param url of the model. Yields each 32 ms's probability of speech, as soon as it is there. */
export async function* streamWav(url, file, id = `wav-${Date.now()}`) {
  const pcm = readFileSync(file).subarray(44); // behind the header
  const chunks = Math.floor(pcm.length / 2 / CHUNK);
  const window = new Float32Array(CONTEXT + CHUNK);
  for (let chunk = 0; chunk < chunks; chunk++) {
    window.copyWithin(0, CHUNK); // the 64 samples before
    for (let at = 0; at < CHUNK; at++) {
      window[CONTEXT + at] = pcm.readInt16LE(2 * (chunk * CHUNK + at)) / 32_768;
    }
    const body = JSON.stringify({
      inputs: [{ name: "input", datatype: "FP32", shape: [1, 576], data: [...window] }],
      outputs: [{ name: "output" }],
      parameters: {
        sequence_id: id,
        sequence_start: chunk === 0,
        sequence_end: chunk === chunks - 1,
      },
    });
    let reply = await fetch(`${url}/infer`, { method: "POST", body });
    // A late answer has changed nothing, and a file can wait. A live client goes on instead.
    for (let left = 100; reply.status === 503 && left > 0; left--) {
      reply = await fetch(`${url}/infer`, { method: "POST", body });
    }
    const { outputs, error } = await reply.json();
    if (!reply.ok) throw new Error(error);
    yield Math.fround(outputs[0].data[0]);
  }
}

const [, program, url, file] = process.argv;
if (program?.endsWith("stream-wav.mjs")) {
  let chunk = 0;
  for await (const probability of streamWav(url, file)) {
    const bar = "#".repeat(Math.round(40 * probability));
    process.stdout.write(`${(0.032 * chunk++).toFixed(2)} s ${probability.toFixed(3)} ${bar}\n`);
  }
}
