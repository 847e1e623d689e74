/** Chunks of 32 ms through one sequence, for ten minutes or an hour, as fast as it answers. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { Tensor } from "onnxruntime-node";
import { afterAll, expect, test, vi } from "vitest";
import { CHUNK, CONTEXT, SAMPLE_RATE, SILERO_FILE, WINDOW } from "../../lab/models/voice/silero.ts";
import { Rng } from "../../runtime/core/rng.ts";
import { closeClients } from "../runtime/server/grpc/client.ts";
import { startStratagem, stratagem } from "../support/run-cli.ts";
import { HOUR_CHUNKS, type Stream, streamAll } from "../support/stream-hour.ts";
import { WIDTH, writeSummingApplication } from "../support/summing-application.ts";

const IS_WHOLE = process.env["STRATAGEM_HOUR"] === "whole";
const COUNT = IS_WHOLE ? HOUR_CHUNKS : HOUR_CHUNKS / 6;
const LENGTH = IS_WHOLE ? "an hour" : "ten minutes (STRATAGEM_HOUR=whole: an hour)";

// An hour of silero takes four minutes of a machine that nobody else uses.
vi.setConfig({ testTimeout: 1_200_000 });

const folder = mkdtempSync(join(tmpdir(), "stratagem-hour-"));
const running: ReturnType<typeof startStratagem>[] = [];

afterAll(() => {
  closeClients();
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

/** Compiles and serves a spec. @returns where its gRPC listens. */
async function serve(app: string, models = folder): Promise<string> {
  const policy = `${app}.msgpack`;
  expect(stratagem("compile", app, "-o", policy).stderr).toBe("");
  const child = startStratagem(
    ...["serve", "--policy", policy, "--models", models],
    ...["--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--json", "--no-means-check"],
  );
  running.push(child);
  let text = "";
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk);
    if (text.includes("\n}")) break;
  }
  return JSON.parse(text).grpcUrl;
}

async function expectSame(stream: Stream): Promise<void> {
  const told = await streamAll(stream);
  const rate = Math.round(told.answers / told.seconds);
  process.stdout.write(`${stream.names.model}: ${JSON.stringify(told)}, ${rate} requests/s\n`);
  expect(told).toMatchObject({ answers: COUNT, different: 0, largestDifference: 0 });
}

test(`a model that keeps sums, ${LENGTH}`, async () => {
  const rng = new Rng(1, 0);
  // Whole numbers, so that sums are exact whatever the order.
  const values = Int8Array.from({ length: COUNT * WIDTH }, () => {
    return Math.floor(rng.nextFloat() * 200) - 100;
  });
  await expectSame({
    grpcUrl: await serve(writeSummingApplication(folder)),
    names: { model: "sums", input: "x", output: "y" },
    count: COUNT,
    chunk: (index) => Float32Array.from(values.subarray(index * WIDTH, (index + 1) * WIDTH)),
    direct: {
      file: join(folder, "sum.onnx"),
      input: "x",
      output: "y",
      state: { sum: { from: "next", shape: [2, 1, WIDTH] } },
    },
  });
});

test(`silero as it ships, ${LENGTH}`, async () => {
  const app = join(folder, "voice.json");
  writeFileSync(app, JSON.stringify(voiceSpec()));
  const profile = { voice: { accuracy: 0.9, latencyMs: { 1: 1, 8: 4 } } };
  const measured = { format: "latency-profile/1", hardware: "test", variants: profile };
  writeFileSync(join(folder, "voice-profile.json"), JSON.stringify(measured));
  await expectSame({
    grpcUrl: await serve(app, dirname(SILERO_FILE)),
    names: { model: "voice", input: "input", output: "output" },
    count: COUNT,
    chunk: windowAt,
    direct: {
      file: SILERO_FILE,
      input: "input",
      output: "output",
      state: { state: { from: "stateN", shape: [2, 1, 128] } },
      constants: { sr: new Tensor("int64", BigInt64Array.of(BigInt(SAMPLE_RATE)), []) },
    },
  });
});

/** As policies/voice, with an SLO that a busy machine meets too. */
function voiceSpec(): object {
  const variant = {
    name: "voice",
    profile: "voice-profile.json#voice",
    model: resolve(SILERO_FILE),
    axes: { "input.0": "batch", "input.1": WINDOW, "state.1": "batch" },
    constants: { sr: SAMPLE_RATE },
    state: { stateN: "state" },
  };
  return {
    version: 1,
    application: "voice",
    slo: { latency: "5 s" },
    workload: { loads: [31.25], arrivals: { process: "poisson" } },
    cluster: { workers: 1 },
    tasks: [{ name: "detect", variants: [variant] }],
    policy: { method: "ramsis", maxQueue: 8 },
  };
}

/** A chunk and the samples before it. */
function windowAt(chunk: number): Float32Array {
  const window = new Float32Array(WINDOW);
  if (chunk > 0) window.set(soundAt(chunk - 1).subarray(CHUNK - CONTEXT));
  window.set(soundAt(chunk), CONTEXT);
  return window;
}

/** 32 ms of a voice-like sound: some harmonics that come and go, and noise. */
function soundAt(chunk: number): Float32Array {
  const rng = new Rng(2, chunk);
  return Float32Array.from({ length: CHUNK }, (_, sample) => {
    const s = (chunk * CHUNK + sample) / SAMPLE_RATE;
    const loudness = Math.max(0, Math.sin(2 * Math.PI * 0.4 * s));
    const pitch = 2 * Math.PI * (120 + 20 * Math.sin(5 * s)) * s;
    const voiced = Math.sin(pitch) + 0.5 * Math.sin(2 * pitch) + 0.25 * Math.sin(3 * pitch);
    return 0.3 * loudness * voiced + 0.02 * (rng.nextFloat() - 0.5);
  });
}
