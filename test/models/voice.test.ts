/** The voice example: its model, its measured accuracy, and a stream through its bundle. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterAll, expect, test } from "vitest";
import { loadApplication } from "../../compiler/spec/load-application.ts";
import { chunkLabels } from "../../lab/models/voice/labels.ts";
import { CONDITIONS, recordingOf } from "../../lab/models/voice/recordings.ts";
import {
  CHUNK,
  openSilero,
  probabilitiesOf,
  SILERO_FILE,
  THRESHOLD,
  windowsOf,
} from "../../lab/models/voice/silero.ts";
import { readWav } from "../../lab/models/voice/wav.ts";
import { startStratagem, urlOf } from "../support/run-cli.ts";

const SAMPLE = "models/voice/sample.wav";
const manifest = JSON.parse(readFileSync("models/voice/models.json", "utf8"));
const sample = readWav(readFileSync(SAMPLE), SAMPLE);
const session = openSilero();
const running: ReturnType<typeof startStratagem>[] = [];
afterAll(async () => {
  for (const child of running) child.kill("SIGKILL");
  await (await session).release();
});

test("the package brings the file that was measured", () => {
  const file = readFileSync(SILERO_FILE);
  const sha256 = createHash("sha256").update(file).digest("hex");
  expect(manifest.model).toEqual({ sha256, bytes: file.length });
});

test("the spec says the accuracy that was measured", () => {
  const { application } = loadApplication("policies/voice/app.yaml");
  const [variant] = application.tasks[0]?.variants ?? [];
  expect(variant?.accuracy).toBeCloseTo(manifest.figures[0].accuracy, 3);
});

test("streams through the committed bundle are what onnxruntime says, bit for bit", async () => {
  const child = startStratagem(
    ...["serve", "--policy", "policies/voice/bundle.msgpack", "--models", dirname(SILERO_FILE)],
    ...["--http", "127.0.0.1:0", "--json", "--no-means-check"],
  );
  running.push(child);
  const entry = "../../models/voice/stream-wav.mjs";
  const { streamWav } = await import(/* @vite-ignore */ entry);
  const url = `${await urlOf(child)}/v2/models/voice`;
  const stream = async (id: string): Promise<number[]> => {
    const told: number[] = [];
    for await (const probability of streamWav(url, SAMPLE, id)) told.push(probability);
    return told;
  };
  const told = await Promise.all(["one", "two"].map(stream));
  const said = await probabilitiesOf(await session, windowsOf(sample));
  expect(said).toHaveLength(Math.floor(sample.length / CHUNK));
  expect(told).toEqual([said, said]);
});

test.each(CONDITIONS)("most of a short recording is heard right: $name", async (condition) => {
  const { sound, speech } = recordingOf([sample], condition, 1);
  const labels = chunkLabels(speech);
  const probabilities = await probabilitiesOf(await session, windowsOf(sound));
  const right = labels.filter((label, at) => label === (probabilities[at] ?? 0) >= THRESHOLD);
  expect(right.length / labels.length).toBeGreaterThan(0.85);
});
