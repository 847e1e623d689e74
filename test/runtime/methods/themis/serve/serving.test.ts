/**
 * The whole way: HTTP, the decision core, worker processes that get other cores, and the cascade's
 * own models.
 */
import { fileURLToPath } from "node:url";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { afterEach, expect, test } from "vitest";
import { drawImages, IMAGE_BYTES } from "../../../../../lab/models/image-classification/dataset.js";
import type { ThemisBundle } from "../../../../../runtime/bundle/schema.ts";
import { beatMsOf } from "../../../../../runtime/core/beat.ts";
import { describeModel } from "../../../../../runtime/exec/onnx/model-file.ts";
import { ofOneModel } from "../../../../support/metrics-text.ts";
import { themisBundle } from "../../../../support/themis-bundle.ts";
import { type RealServer, realServer } from "../../../server/graph/real-server.ts";

const FOLDER = fileURLToPath(new URL("../../../../../models/cascade/", import.meta.url));
const IMAGE_COUNT = 64;
const CLIENTS = 4;
const SLO_MS = 1000;
const BEAT_MS = beatMsOf({ latencyMs: SLO_MS });
/** Of the clock, between two requests. */
const CALM_MS = BEAT_MS / 2;
const BURST_MS = BEAT_MS / 100;
/** Thread counts and batches may change the order of sums. */
const TOLERANCE = 1e-3;

let open: RealServer | undefined;
afterEach(() => open?.server.close());

/**
 * A gate, and an accurate model on one instance of one core, one of two, or two of one.
 */
async function cascade(): Promise<ThemisBundle> {
  const bundle = themisBundle({
    sloMs: SLO_MS,
    workers: 2,
    tasks: [
      { name: "gate", fit: { gamma: 2, epsilon: 1, delta: 0.25, eta: 0.25 } },
      {
        name: "accurate",
        from: { gate: 0.5 },
        fit: { gamma: 30, epsilon: 5, delta: 1, eta: 1 },
      },
    ],
    levels: (
      [
        [1.5, [2, 1, 1]],
        [3, [2, 2, 1]],
        [6, [2, 1, 2]],
      ] as const
    ).map(([loadQps, stage]) => ({ loadQps, steady: [[4, 1, 1], stage] })),
  });
  const models = await Promise.all(
    ["cnn-s-gate.onnx", "cnn-xl.onnx"].map(
      async (file) => (await describeModel(`${FOLDER}${file}`)).model,
    ),
  );
  const tasks = bundle.tasks.map((task, index) => ({
    ...task,
    variants: task.variants.map((variant) => ({ ...variant, model: models[index] ?? null })),
    edges: task.edges.map((edge) => {
      if (edge.parent === null) return edge;
      return {
        ...edge,
        feed: { inputs: [{ input: "pixels", output: "image" }], count: "escalate" },
      };
    }),
  }));
  return { ...bundle, tasks };
}

/** Of each image the logits of whoever answers it last, without a server. */
async function answers(pixels: Uint8Array): Promise<Float32Array[]> {
  const feed = { pixels: new Tensor("uint8", pixels, [IMAGE_COUNT, IMAGE_BYTES]) };
  const run = async (file: string) => (await InferenceSession.create(`${FOLDER}${file}`)).run(feed);
  const [gate, accurate] = [await run("cnn-s-gate.onnx"), await run("cnn-xl.onnx")];
  const { escalate } = gate;
  return Array.from({ length: IMAGE_COUNT }, (_, image) => {
    const { logits } = Number(escalate?.data[image]) === 1 ? accurate : gate;
    return Float32Array.from(logits?.data.slice(20 * image, 20 * (image + 1)) ?? [], Number);
  });
}

interface Answer {
  readonly outputs: readonly { readonly name: string; readonly data: number[] }[];
}

function infer(url: string, pixels: Uint8Array, images: readonly number[]): Promise<Response> {
  const data = images.flatMap((image) => [
    ...pixels.subarray(image * IMAGE_BYTES, (image + 1) * IMAGE_BYTES),
  ]);
  const shape = [images.length, IMAGE_BYTES];
  const body = JSON.stringify({ inputs: [{ name: "pixels", datatype: "UINT8", shape, data }] });
  return fetch(`${url}/v2/models/scales/infer`, { method: "POST", body });
}

/** Largest difference of any logit. */
function errorOf(answer: Answer, images: readonly number[], expected: readonly Float32Array[]) {
  const data = (name: string) => answer.outputs.find((output) => output.name === name)?.data ?? [];
  const slow = data("accurate.logits");
  let error = 0;
  let escalated = 0;
  for (const [row, image] of images.entries()) {
    const isEscalated = data("gate.escalate")[row] === 1;
    const from = isEscalated ? 20 * escalated++ : 20 * row;
    const logits = isEscalated ? slow : data("gate.logits");
    for (const [index, value] of (expected[image] ?? []).entries()) {
      error = Math.max(error, Math.abs(value - (logits[from + index] ?? Number.NaN)));
    }
  }
  return slow.length === 20 * escalated ? error : Number.NaN;
}

interface Accurate {
  /**
   * Instances of the accurate model that are up, cores that each is to have, and cores that are
   * held.
   */
  readonly state: string;
  /** Since the start. */
  readonly raised: number;
  readonly lowered: number;
  readonly lost: number;
}

async function accurateOf(url: string): Promise<Accurate> {
  const text = ofOneModel(await (await fetch(`${url}/metrics`)).text());
  const of = (name: string, ...labels: readonly string[]) => {
    const lines = text.split("\n").filter((one) => one.startsWith(`stratagem_${name}{`));
    const line = lines.find((one) => labels.every((label) => one.includes(label)));
    return Number(line?.split(" ").at(-1));
  };
  const task = 'task="accurate"';
  const resized = (direction: string) =>
    of("scaling_actions_total", task, 'resource="cores"', `direction="${direction}"`);
  return {
    state:
      `${of("task_workers", task, 'state="ready"')} up of ${of("worker_cores_target", task)}, ` +
      `${of("cores", task, 'state="held"')} held`,
    raised: resized("up"),
    lowered: resized("down"),
    lost: of("workers_lost_total", 'reason="ended"'),
  };
}

test("cores and instances change under load, a worker dies, and all are answered", async () => {
  const clock = { nowMs: 0 };
  const { pixels } = drawImages(3, IMAGE_COUNT);
  const expected = await answers(pixels);
  const house = await realServer(await cascade(), FOLDER, () => clock.nowMs);
  open = house;
  const { url, executor, server } = house;
  const tally = { sent: 0, answered: 0, failed: 0 };

  const ask = async () => {
    const first = (7 * tally.sent++) % IMAGE_COUNT;
    const images = [first, (first + 1) % IMAGE_COUNT].slice(0, 1 + (tally.sent % 2));
    const reply = await infer(url, pixels, images);
    if (reply.status === 200) {
      expect(errorOf((await reply.json()) as Answer, images, expected)).toBeLessThan(TOLERANCE);
      tally.answered++;
    } else {
      expect(await reply.json()).toEqual({ error: expect.stringMatching(/worker/) });
      tally.failed++;
    }
  };
  /**
   * All clients ask at once, again and again, until the accurate model is as it is to be. The clock
   * goes by the requests, and stands still while they are answered: no deadline matters.
   */
  const until = async (gapMs: number, isThere: (accurate: Accurate) => boolean) => {
    const wait: { accurate?: Accurate } = {};
    const clients = async () => {
      while (wait.accurate === undefined) {
        clock.nowMs += CLIENTS * gapMs;
        await Promise.all(Array.from({ length: CLIENTS }, () => ask()));
      }
    };
    const watch = async (): Promise<Accurate> => {
      const accurate = await accurateOf(url);
      if (!isThere(accurate)) return watch();
      wait.accurate = accurate;
      return accurate;
    };
    const [accurate] = await Promise.all([watch(), clients()]);
    return accurate;
  };

  const single = "1 up of 1, 1 held";
  const double = "2 up of 1, 2 held";
  expect((await accurateOf(url)).state).toBe(double);
  await until(CALM_MS, ({ state }) => state === single);
  const calm = await accurateOf(url);
  // The one instance has two cores until the other is up.
  const risen = await until(BURST_MS, ({ state }) => state === double);
  expect(risen.raised).toBeGreaterThan(calm.raised);
  expect(risen.lowered).toBeGreaterThan(calm.lowered);
  expect(tally.failed).toBe(0);

  const [, pid] = executor.pids().slots;
  process.kill(pid ?? Number.NaN, "SIGKILL");
  await until(BURST_MS, ({ state, lost }) => lost === 1 && state === double);
  await until(CALM_MS, ({ state }) => state === single);
  expect(tally.answered + tally.failed).toBe(tally.sent);
  expect(tally.failed).toBeLessThanOrEqual(CLIENTS);
  expect(server.isReady()).toBe(true);
  const text = ofOneModel(await (await fetch(`${url}/metrics`)).text());
  expect(text).not.toMatch(/^stratagem_queries_dropped_total.* [1-9]/m);
});
