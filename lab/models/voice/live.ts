/**
 * Streams in real time, as if people spoke: a chunk of each stream every 32 ms, whatever has been
 * answered by then, and how late the answers were.
 * Usage: node dist/lab/models/voice/live.js URL STREAMS SECONDS, URL of the server
 */
import { setTimeout as sleep } from "node:timers/promises";
import { InferenceClient } from "../../../compiler/load/inference-client.ts";
import { Rng } from "../../../runtime/core/rng.ts";
import { CHUNK, SAMPLE_RATE, WINDOW } from "./silero.ts";

const CHUNK_MS = (1000 * CHUNK) / SAMPLE_RATE;
const WARM_UP_MS = 2000;

const [url, streams, seconds] = process.argv.slice(2);
if (url === undefined || seconds === undefined)
  throw new Error("Usage: live.js URL STREAMS SECONDS");
const client = new InferenceClient({ url, timeoutMs: 60_000 });
const rng = new Rng(1, 0);
const latenciesMs: number[] = [];
const sentLateMs: number[] = [];
let refused = 0;

const beginMs = performance.now() + 100;
const chunks = Math.round((1000 * Number(seconds) + WARM_UP_MS) / CHUNK_MS);
const offsetsMs = Array.from({ length: Number(streams) }, () => rng.nextFloat() * CHUNK_MS);
await Promise.all(offsetsMs.map((offsetMs, stream) => speak(stream, beginMs + offsetMs)));
const sent = latenciesMs.length + refused;
const late = latenciesMs.filter((latency) => latency > CHUNK_MS).length + refused;
const told = {
  ...{ streams: Number(streams), sent, refused, lateShare: Number((late / sent).toFixed(5)) },
  ...{ p50Ms: quantile(latenciesMs, 0.5), p99Ms: quantile(latenciesMs, 0.99) },
  clientBehindP99Ms: quantile(sentLateMs, 0.99),
};
process.stdout.write(`${JSON.stringify(told)}\n`);
await client.close();

/** A stream, and the latencies of its answers from when each chunk was sent. */
async function speak(stream: number, firstMs: number): Promise<void> {
  const id = `live-${process.pid}-${stream}`;
  const sound = Float32Array.from({ length: WINDOW }, () => 0.05 * (rng.nextFloat() - 0.5));
  const answers: Promise<void>[] = [];
  // A sequence whose first request was refused at the door is not open, and begins anew.
  let begins = true;
  for (let chunk = 0; chunk < chunks; chunk++) {
    const dueMs = firstMs + chunk * CHUNK_MS;
    await sleep(Math.max(0, dueMs - performance.now()));
    const counts = dueMs >= beginMs + WARM_UP_MS;
    const asked = ask({ id, sound, isFirst: begins, isLast: chunk === chunks - 1 }, counts);
    begins = false;
    const follow = asked.then((isOpen) => {
      if (!isOpen) begins = true;
    });
    answers.push(follow);
    if (counts) sentLateMs.push(performance.now() - dueMs);
  }
  await Promise.all(answers);
}

interface Chunk {
  readonly id: string;
  readonly sound: Float32Array;
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

/** @returns whether the sequence is open. */
async function ask({ id, sound, isFirst, isLast }: Chunk, counts: boolean): Promise<boolean> {
  const parameters = { sequence_id: id, sequence_start: isFirst, sequence_end: isLast };
  const binary = { binary_data_size: sound.byteLength };
  const input = { name: "input", datatype: "FP32", shape: [1, WINDOW], parameters: binary };
  const header = Buffer.from(JSON.stringify({ parameters, inputs: [input] }));
  const sentMs = performance.now();
  const headers = { "inference-header-content-length": String(header.length) };
  const body = Buffer.concat([header, Buffer.from(sound.buffer)]);
  const { status } = await client.send("/v2/models/voice/infer", body, headers);
  const isOpen = status !== 400;
  if (!counts) return isOpen;
  if (status === 200) latenciesMs.push(performance.now() - sentMs);
  else refused++;
  return isOpen;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return Number((sorted[Math.ceil(share * sorted.length) - 1] ?? 0).toFixed(2));
}
