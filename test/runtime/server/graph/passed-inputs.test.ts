/**
 * Inputs that tasks pass on, by loki, inferline and themis. An image, a text, is found to have as
 * many boxes as letters; they are picked by a task that does not take the image, and cut by one
 * that does, each to the image and its box.
 */
import { describe, expect, test } from "vitest";
import type { Feed, ModelFile, TensorInfo } from "../../../../runtime/bundle/schema.ts";
import type { Batch, BatchResult } from "../../../../runtime/exec/models/executor.ts";
import {
  decodeStrings,
  encodeStrings,
  stringOf,
} from "../../../../runtime/exec/tensors/string-data.ts";
import { inferlinePipeline } from "../../../../runtime/methods/inferline/serve/inferline-pipeline.ts";
import { lokiPipeline } from "../../../../runtime/methods/loki/serve/loki-pipeline.ts";
import { themisPipeline } from "../../../../runtime/methods/themis/serve/themis-pipeline.ts";
import { PipelineMetrics } from "../../../../runtime/server/graph/pipeline-metrics.ts";
import { PipelineScheduler } from "../../../../runtime/server/graph/pipeline-scheduler.ts";
import type { ServedPipeline } from "../../../../runtime/server/graph/served-pipeline.ts";
import { pipelineSignatureOf } from "../../../../runtime/server/graph/signature/pipeline-signature.ts";
import { inferlineBundle } from "../../../support/inferline-bundle.ts";
import { lokiBundle } from "../../../support/loki-bundle.ts";
import { themisBundle } from "../../../support/themis-bundle.ts";
import { answerOf, finishAll, finishOf, settled } from "../../methods/inferline/serve/scheduled.ts";
import { FakeAssignedExecutor } from "./fake-executor.ts";
import { floats, verdicts } from "./served-tasks.ts";

const CUT = 2;
const PAIR = 3;
const NAMES = ["find", "pick", "cut", "pair"];

const IMAGE: TensorInfo = { name: "image", dtype: "string", shape: [-1] };
const float = (name: string, ...row: number[]): TensorInfo => {
  return { name, dtype: "float32", shape: [-1, ...row] };
};

const MODELS: readonly Pick<ModelFile, "inputs" | "outputs">[] = [
  { inputs: [IMAGE], outputs: [float("boxes", 1)] },
  {
    inputs: [float("boxes", 1)],
    outputs: [float("box", 1), { name: "count", dtype: "int64", shape: [-1] }],
  },
  {
    inputs: [float("box", 1), IMAGE],
    outputs: [{ name: "crop", dtype: "string", shape: [-1] }],
  },
  { inputs: [float("pair", 2, 1)], outputs: [float("sum", 1)] },
];

const FEEDS: readonly (Feed | null)[] = [
  null,
  {
    inputs: [{ input: "boxes", output: "boxes" }],
    passed: [{ input: "scene", parentInput: "image" }],
    count: null,
  },
  {
    inputs: [{ input: "box", output: "box" }],
    passed: [{ input: "image", parentInput: "scene" }],
    count: "count",
  },
  { inputs: [], passed: [{ input: "pair", parentInput: "box" }], count: null },
];

const modelOf = (task: number): ModelFile => {
  const model = MODELS[task] ?? { inputs: [], outputs: [] };
  return { file: `${NAMES[task]}.onnx`, sha256: "", ...model };
};

function withModels<T extends { readonly variants: readonly object[] }>(task: T, index: number) {
  return {
    ...task,
    variants: task.variants.map((variant) => ({ ...variant, model: modelOf(index) })),
  };
}

const variants = [{ name: "only", accuracy: 1, latencyMs: { 1: 5, 4: 8 } }];

function loki() {
  const bundle = lokiBundle({
    tasks: [
      { name: "find", variants },
      { name: "pick", parent: "find", variants },
      { name: "cut", parent: "pick", variants },
    ],
    sloMs: 1000,
    workers: [6],
    levels: [
      {
        loadQps: 20,
        instances: ["find", "pick", "cut"].map((task) => {
          return { of: `${task}/only`, batch: 4, replicas: 2 };
        }),
        paths: [{ along: ["find/only", "pick/only", "cut/only"], ratio: 1 }],
      },
    ],
  });
  const tasks = bundle.tasks.map((task, index) => {
    return { ...withModels(task, index), feed: FEEDS[index] ?? null };
  });
  return { ...bundle, tasks };
}

const LATENCY = { latencyMs: { 1: 5, 4: 8 } };

function inferline() {
  const bundle = inferlineBundle({
    sloMs: 1000,
    workers: [6],
    tasks: [
      { name: "find", ...LATENCY },
      { name: "pick", from: { find: 1 }, ...LATENCY },
      { name: "cut", from: { pick: { fanout: 2 } }, ...LATENCY },
      { name: "pair", from: { cut: { gather: 2 } }, ...LATENCY },
    ],
    levels: [
      {
        loadQps: 20,
        stages: [
          [4, 1],
          [4, 1],
          [4, 2],
          [4, 1],
        ],
      },
    ],
  });
  return { ...bundle, tasks: bundle.tasks.map(fedTask) };
}

function themis() {
  const bundle = themisBundle({
    tasks: NAMES.map((name, task) => ({
      name,
      ...(task === 0 ? {} : { from: { [NAMES[task - 1] ?? ""]: 1 } }),
      scaleFactor: [1, 1, 2, 1][task] ?? 1,
      latencyMs: [[2, 3, 4, 5]],
    })),
    policy: { maxBatch: 4, maxCores: 1 },
    workers: 6,
    cores: 1,
    levels: [{ loadQps: 20, steady: NAMES.map(() => [4, 1, 1]) }],
  });
  return { ...bundle, tasks: bundle.tasks.map(fedTask) };
}

function fedTask<
  T extends { readonly variants: readonly object[]; readonly edges: readonly object[] },
>(task: T, index: number) {
  const rows = [{}, {}, { fanout: 2 }, { gather: 2 as const }][index];
  return {
    ...withModels(task, index),
    edges: task.edges.map((edge) => ({ ...edge, ...rows, feed: FEEDS[index] ?? null })),
  };
}

function outputsOf({ variant, inputs, rows }: Batch): BatchResult["outputs"] {
  const [first, second] = [0, 1].map((index) => {
    return Uint8Array.from(Buffer.concat([...(inputs[index] ?? [])]));
  }) as [Uint8Array, Uint8Array];
  const numbers = () => [...new Float32Array(Uint8Array.from(first).buffer)];
  if (variant === 0) {
    const lengths = decodeStrings(first, stringOf).map(({ length }) => length);
    return [floats(1, Float32Array.from(lengths))];
  }
  if (variant === 1) {
    const counts = numbers();
    const boxes = counts.flatMap((count) => Array.from({ length: count }, (_, box) => box));
    return [floats(1, Float32Array.from(boxes)), verdicts(counts)];
  }
  if (variant === CUT) {
    const images = decodeStrings(second, stringOf);
    const crops = numbers().map((box, row) => `${images[row]}@${box}`);
    return [{ shape: [rows], bytes: encodeStrings(crops) }];
  }
  const [pairs, sums] = [numbers(), new Float32Array(rows)];
  for (const [index, box] of pairs.entries()) sums[index >> 1] = (sums[index >> 1] ?? 0) + box;
  return [floats(1, sums)];
}

function scheduled(pipeline: ServedPipeline) {
  const scheduler = new PipelineScheduler({
    ...pipeline,
    maxPending: 40,
    nowMs: () => 0,
    observer: new PipelineMetrics(pipeline.signature),
  });
  const executor = FakeAssignedExecutor.of(scheduler, outputsOf);
  for (let worker = 0; worker < pipeline.dispatcher.workerCount; worker++) {
    scheduler.onWorkerReady(worker);
  }
  while (executor.loading.length > 0) executor.load();
  const bytes = encodeStrings(IMAGES);
  const submission = scheduler.submit({ rows: IMAGES.length, inputs: [bytes] }, 1000);
  return { pipeline, scheduler, executor, bytes, submission };
}

type Setup = ReturnType<typeof scheduled>;

const IMAGES = ["abc", "", "d", "ef"];
const CROPS = ["abc@0", "abc@1", "abc@2", "d@0", "ef@0", "ef@1"];

async function outputOf({ pipeline, submission }: Setup, name: string) {
  const { outputs } = await answerOf(submission);
  const index = pipeline.signature.outputs.findIndex((output) => output.name === name);
  const { parts = [] } = outputs[index] ?? {};
  return { bytes: Uint8Array.from(Buffer.concat([...parts])) };
}

async function cropsOf(setup: Setup): Promise<string[]> {
  const { bytes } = await outputOf(setup, "cut.crop");
  return decodeStrings(bytes, stringOf);
}

const METHODS: readonly [string, () => ServedPipeline][] = [
  ["loki", () => lokiPipeline(loki(), undefined, 40)],
  ["inferline", () => inferlinePipeline(inferline(), 40)],
  ["themis", () => themisPipeline(themis(), { maxPending: 40 })],
];

describe.each(METHODS)("an input that is passed on in %s", (_, pipelineOf) => {
  test("is that of the row that a row was made of, past a task that does not take it", async () => {
    const setup = scheduled(pipelineOf());
    await finishAll(setup);
    expect(await cropsOf(setup)).toEqual(CROPS);
  });

  test("is not copied, and not sent to models that do not take it", async () => {
    const setup = scheduled(pipelineOf());
    await finishAll(setup);
    await answerOf(setup.submission);
    const cuts = setup.executor.batches.filter(({ variant }) => variant === CUT);
    const images = cuts.flatMap(({ inputs }) => inputs[1] ?? []);
    expect(images.length).toBeGreaterThan(0);
    expect(images.every(({ buffer }) => buffer === setup.bytes.buffer)).toBe(true);
    const picks = setup.executor.batches.filter(({ variant }) => variant === 1);
    expect(picks.map(({ inputs }) => inputs.length)).toEqual(picks.map(() => 1));
  });

  test.each([1, CUT])(
    "is there when a worker was lost with a batch of task %s",
    async (variant) => {
      const setup = scheduled(pipelineOf());
      const isHeld = () => setup.executor.held.find(({ batch }) => batch.variant === variant);
      for (await settled(setup); isHeld() === undefined; await settled(setup)) {
        setup.executor.finish();
      }
      const worker = isHeld()?.worker ?? -1;
      setup.executor.lose(worker);
      setup.scheduler.onWorkerReady(worker);
      await finishAll(setup);
      expect(await cropsOf(setup)).toEqual(CROPS);
    },
  );

  test("is no output for clients", () => {
    const { outputs, inputs } = pipelineOf().signature;
    expect(inputs.map(({ name }) => name)).toEqual(["image"]);
    expect(outputs.map(({ name }) => name)).not.toContain("find.image");
  });
});

test.each(METHODS.slice(1))(
  "rows are gathered of what was passed on, in %s",
  async (_, pipelineOf) => {
    const setup = scheduled(pipelineOf());
    await finishAll(setup);
    const { bytes } = await outputOf(setup, "pair.sum");
    // Boxes 0 and 1 of the first image and of the last; what is left over is not gathered.
    expect([...new Float32Array(bytes.buffer)]).toEqual([1, 1]);
    expect(setup.executor.batches.some(({ variant }) => variant === PAIR)).toBe(true);
  },
);

describe("a bundle is refused", () => {
  const refusal = (ofCut: Feed, ofPick = FEEDS[1] ?? null) => {
    const bundle = loki();
    const tasks = bundle.tasks.map((task, index) => {
      return { ...task, feed: [null, ofPick, ofCut][index] ?? null };
    });
    return () => pipelineSignatureOf({ ...bundle, tasks });
  };
  const pass = (input: string, parentInput: string): Feed => ({
    inputs: [{ input: "box", output: "box" }],
    passed: [{ input, parentInput }],
    count: "count",
  });
  const boxesOnly: Feed = { inputs: [{ input: "boxes", output: "boxes" }], count: null };

  test.each<[string, () => unknown, string]>([
    [
      "that passes an input on which there is not",
      refusal(pass("image", "images"), boxesOnly),
      'task "pick" inputs: expected "images", which task "cut" is passed, got "boxes"',
    ],
    [
      "that passes on what the next task cannot take",
      refusal(pass("image", "boxes"), boxesOnly),
      'task "cut" input "image" from "pick": expected what it can take, "boxes" BYTES [rows], ' +
        'got "boxes" FP32 [rows, 1]',
    ],
    [
      "that gives a task what it neither takes nor passes on",
      refusal(pass("scenes", "scene")),
      'task "cut" feed "scenes": expected an input of its variants, or one that it passes on, ' +
        'got "box", "image"',
    ],
  ])("%s", (_, refused, message) => {
    expect(refused).toThrow(message);
    expect(refused).toThrow(expect.objectContaining({ code: "RUNTIME_MODEL" }));
  });
});

test("what is passed on repeats as often as is counted, though no output is sent on", async () => {
  const bundle = loki();
  const passed = [
    { input: "image", parentInput: "scene" },
    { input: "box", parentInput: "boxes" },
  ];
  const tasks = bundle.tasks.map((task, index) => {
    return index === CUT ? { ...task, feed: { inputs: [], passed, count: "count" } } : task;
  });
  const axes = [{}, { boxes: "rows", box: "rows" }, {}];
  const answered = async (counts: readonly number[]) => {
    const setup = scheduled(lokiPipeline({ ...bundle, tasks }, axes, 40));
    await settled(setup);
    await finishOf(setup, 0);
    const { resolve } = setup.executor.take();
    const boxes = floats(1, new Float32Array(counts.length));
    resolve({ outputs: [boxes, verdicts(counts)], wallMs: 1, cpuMs: 1, cores: 1 });
    await finishAll(setup);
    return setup;
  };
  expect(await cropsOf(await answered([2, 1, 0, 1]))).toEqual(["abc@3", "abc@3", "@0", "ef@2"]);
  const failed = await answered([2, -1, 0, 1]);
  expect(await failed.submission.outcome).toMatchObject({
    reason: "inference",
    message: 'pick/only: output "count" counts -1 for a row, expected 0 to 1048576',
  });
});
