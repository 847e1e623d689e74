/** Pipelines that `init` writes: tasks, edges, options of modules, and what it refuses. */
import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { expect, test } from "vitest";
import { defaultTargets } from "../../../compiler/init/default-targets.ts";
import { onnxModel } from "../../../lab/models/onnx-graph.ts";
import { initFile, initHere } from "../../support/init-here.ts";
import { identityModel } from "../../support/onnx-model.ts";
import {
  boxesNamed,
  classifierModel,
  detectorModel,
  PREDICTIONS,
  TWO_BOXES,
} from "../../support/pipeline-models.ts";

const scenes = (name: string) => `models/scenes/${name}.onnx`;
const CUTTER = "cut=stratagem-kit/crop-rows";
const detector = initFile("det.onnx", detectorModel("image", boxesNamed("boxes"), TWO_BOXES));
const classifier = initFile("cls.onnx", classifierModel("crop", 16));

test("tasks are in the order of first mention, with an edge and a worker for each", async () => {
  const models = [
    `detect=${scenes("detector-s")}`,
    `identify=${scenes("mlp-s")}`,
    `detect=${scenes("detector-m")}`,
  ];
  const { spec, text } = await initHere(models);
  expect(text).toMatch(/: a pipeline of detect \(2 variants\), identify$/m);
  expect(spec).toMatchObject({
    application: "detect-identify",
    cluster: { workers: 2 },
    policy: { method: "loki" },
    tasks: [
      {
        name: "detect",
        variants: [
          { name: "detector-s", fanout: 4 },
          { name: "detector-m", fanout: 4 },
        ],
        to: [{ task: "identify", inputs: { crop: "crops" }, count: "crop_count" }],
      },
      { name: "identify", variants: [{ name: "mlp-s" }] },
    ],
  });
  expect(spec.tasks[0]?.variants[0]?.outputs).toBeUndefined();
  expect(spec.tasks[1]?.variants[0]?.fanout).toBeUndefined();
});

test("a cutter gets the image of the detector, and writes what the classifier takes", async () => {
  const { spec, text } = await initHere([`detect=${detector}`, CUTTER, `identify=${classifier}`]);
  const [detect, cut] = spec.tasks;
  expect(detect?.variants[0]?.fanout).toBeUndefined();
  expect(detect?.to).toMatchObject([
    { task: "cut", inputs: { image: "image", boxes: "boxes", count: "count" } },
  ]);
  expect(detect?.to[0]?.count).toBeUndefined();
  expect(cut).toMatchObject({
    variants: [
      {
        kind: "module",
        accuracy: 1,
        options: { image: { size: [64, 64] }, boxes: "corners", max: 4, size: [16, 16] },
        fanout: 4,
      },
    ],
    to: [{ task: "identify", inputs: { crop: "crops" }, count: "count" }],
  });
  expect(text).toContain('name: "image", datatype: "FP32", shape: [1, 3, 64, 64]');
  expect(text).toContain(`--models ${dirname(detector)}\n`);
});

test("a choice between tensors that fit alike is written and marked", async () => {
  const found = [boxesNamed("regions"), boxesNamed("anchors"), TWO_BOXES];
  const either = initFile("either.onnx", detectorModel("image", ...found));
  const { spec, out } = await initHere([`detect=${either}`, CUTTER, `identify=${classifier}`]);
  expect(spec.tasks[0]?.to).toMatchObject([{ inputs: { boxes: "regions" } }]);
  expect(readFileSync(out, "utf8")).toContain(
    "# check: boxes may also be anchors instead of regions\n",
  );
});

test("a task passes on what only later tasks take", async () => {
  const yolo = initFile("yolo.onnx", detectorModel("images", PREDICTIONS));
  const suppress = "suppress=stratagem-kit/nms";
  const models = [`detect=${yolo}`, suppress, CUTTER, `identify=${classifier}`];
  const { spec, text } = await initHere(models);
  expect(spec).toMatchObject({
    cluster: { workers: 4 },
    policy: { method: "loki" },
    tasks: [
      { to: [{ task: "suppress", inputs: { predictions: "output0", images: "images" } }] },
      {
        variants: [{ options: { from: "yolov8", classes: 2 } }],
        to: [{ task: "cut", inputs: { image: "images", boxes: "boxes", count: "count" } }],
      },
      { variants: [{ options: { boxes: "corners", max: 100 } }], to: [{ count: "count" }] },
      {},
    ],
  });
  expect(text).toContain('name: "images", datatype: "FP32", shape: [1, 3, 64, 64]');
});

test("images of another size than the next task takes are resized for each variant", async () => {
  const crops = { name: "crops", shape: [3, 8, 8], values: Array<number>(192).fill(1) };
  const cuts = initFile("cuts.onnx", detectorModel("image", crops));
  const small = initFile("small.onnx", classifierModel("crop", 8));
  const { spec } = await initHere([`cut=${cuts}`, `name=${classifier}`, `name=${small}`]);
  expect(spec.tasks[0]?.to).toMatchObject([{ task: "name", inputs: { crop: "crops" } }]);
  const resized = spec.tasks[1]?.variants.map(({ resize }) => resize);
  expect(resized).toMatchObject([{ crop: { size: [8, 8], fit: "fill" } }, undefined]);
});

test("the request of a module has a sample of its own, in a file if it is no text", async () => {
  const decode = "decode=stratagem-kit/decode-image";
  const { out, text } = await initHere([decode, `identify=${classifier}`]);
  const file = out.replace(/\.yaml$/, "-sample.bin");
  expect(text).toContain(`-H 'Inference-Header-Content-Length: 0' --data-binary @${file}\n`);
  expect(readFileSync(file).subarray(0, 3)).toEqual(Buffer.from([0xff, 0xd8, 0xff]));
  const features = moduleOf("features", {
    inputs: [{ name: "line", datatype: "BYTES", shape: [] }],
    outputs: [{ name: "x", datatype: "FP32", shape: [3] }],
    run: `(_, rows) => {
      if (rows > 1) throw new Error("more rows than it accepts");
      return { x: { data: new Float32Array(3), shape: [1, 3] } };
    }`,
    batches: "[1]",
    sample: "(rows) => ({ line: { data: Array(rows).fill('1,2,3'), shape: [rows] } })",
  });
  const identity = initFile("identity.onnx", identityModel(3));
  const { spec, text: other } = await initHere([`read=${features}`, `classify=${identity}`]);
  expect(spec.tasks[0]?.variants[0]?.model).toBe(`./${basename(features)}`);
  expect(other).toContain('datatype: "BYTES", shape: [1], data: Array(1).fill("1,2,3")');
});

interface Code {
  readonly inputs: readonly object[];
  readonly outputs: readonly object[];
  readonly run: string;
  readonly batches?: string;
  readonly sample?: string;
}

function moduleOf(name: string, { inputs, outputs, run, sample, batches }: Code): string {
  const tensors = `inputs: ${JSON.stringify(inputs)}, outputs: ${JSON.stringify(outputs)}`;
  const samples = sample === undefined ? "" : `, sample: ${sample}`;
  const rest = `run: ${run}, batches: ${batches}${samples}`;
  return initFile(`${name}.mjs`, `export default () => ({ ${tensors}, ${rest} });`);
}

test("refuses tasks that do not fit, with what to do", async () => {
  const identify = `identify=${classifier}`;
  await expect(initHere([`detect=${detector}`, identify])).rejects.toThrow(
    /task "identify" \(.*cls\.onnx\) takes crop .*, but "detect", before it, returns .*cut=/,
  );
  await expect(initHere([detector, identify])).rejects.toThrow(
    /det\.onnx: expected TASK=.*det\.onnx, since other models name their tasks, identify$/,
  );
  const both = [`detect=${detector}`, `detect=${classifier}`, identify];
  await expect(initHere(both)).rejects.toThrow(/task "detect": expected variants with the same/);
  const chain = [`detect=${detector}`, CUTTER, identify];
  await expect(initHere(chain, { workers: 2 })).rejects.toThrow(
    /--workers 2: expected at least 3, one for each task/,
  );
  await expect(initHere([`read=stratagem-kit/ctc`, identify])).rejects.toThrow(
    /stratagem-kit\/ctc: cannot open this module: .*labels.*; give its options defaults, or write/,
  );
  await expect(initHere([`read=no-such-package`, identify])).rejects.toThrow(
    /cannot resolve "no-such-package".*npm install no-such-package/,
  );
  const many = moduleOf("many", {
    inputs: [{ name: "x", datatype: "FP32", shape: [3] }],
    outputs: [{ name: "y", datatype: "FP32", shape: [3] }],
    run: "() => ({ y: { data: new Float32Array(15), shape: [5, 3] } })",
    sample: "(rows) => ({ x: { data: new Float32Array(3 * rows), shape: [rows, 3] } })",
  });
  const identity = initFile("identity.onnx", identityModel(3));
  await expect(initHere([`split=${many}`, `next=${identity}`])).rejects.toThrow(
    /"y" of "split" has a varying number of rows, and no output counts them/,
  );
});

test("plain models of several tasks are refused with the command of their pipeline", async () => {
  await expect(initHere([scenes("mlp-s"), scenes("detector-s")])).rejects.toThrow(
    / As a pipeline: npx stratagem init detector-s=\S+detector-s\.onnx mlp-s=\S+mlp-s\.onnx$/,
  );
  const refused = await initHere([classifier, detector]).catch((error: Error) => error);
  const [, command = ""] = / npx stratagem init (.*)$/.exec((refused as Error).message) ?? [];
  expect(command).toBe(`det=${detector} cut=stratagem-kit/crop-rows cls=${classifier}`);
  const { spec } = await initHere(command.split(" "));
  expect(spec.tasks.map(({ name }) => name)).toEqual(["det", "cut", "cls"]);
  const strangers = [scenes("mlp-s"), initFile("identity.onnx", identityModel(3))];
  await expect(initHere(strangers)).rejects.toThrow(/name the tasks of a pipeline: TASK=PATH$/);
});

test("outputs that only their names tell apart are matched by them", async () => {
  const nodes = ["left", "right"].map((name) => {
    return { op: "Identity", inputs: ["x"], output: name };
  });
  const ofRows = (name: string) => ({ name, type: "float32", shape: ["n", 4] }) as const;
  const split = onnxModel({
    nodes,
    inputs: [ofRows("x")],
    outputs: [ofRows("left"), ofRows("right")],
  });
  const join_ = onnxModel({
    nodes: [{ op: "Sub", inputs: ["rights", "left"], output: "y" }],
    inputs: [ofRows("rights"), ofRows("left")],
    outputs: [ofRows("y")],
  });
  const models = [`a=${initFile("split.onnx", split)}`, `b=${initFile("join.onnx", join_)}`];
  const { spec, out } = await initHere(models);
  expect(spec.tasks[0]?.to).toMatchObject([{ inputs: { rights: "right", left: "left" } }]);
  expect(readFileSync(out, "utf8")).not.toContain("# check");
});

test("outputs whose rows a server cannot assign are left out beside counted rows", async () => {
  const rows = (name: string, axis: string, ...shape: number[]) =>
    ({ name, type: "float32", shape: [axis, ...shape] }) as const;
  const model = onnxModel({
    nodes: [
      { op: "NonZero", inputs: ["x"], output: "at" },
      { op: "Transpose", inputs: ["at"], output: "places" },
      { op: "Cast", inputs: ["places"], output: "found", attributes: { to: 1 } },
      { op: "Identity", inputs: ["found"], output: "again" },
      { op: "ReduceSum", inputs: ["x", "last"], output: "sum", attributes: { keepdims: 0 } },
      { op: "Cast", inputs: ["sum"], output: "count", attributes: { to: 7 } },
    ],
    constants: [{ name: "last", type: "int64", shape: [1], values: [1] }],
    inputs: [rows("x", "n", 3)],
    outputs: [
      rows("found", "", 2),
      rows("again", "", 2),
      { name: "count", type: "int64", shape: ["n"] },
    ],
  });
  const pair = initFile("pair.onnx", identityModel(2));
  const { spec } = await initHere([`find=${initFile("find.onnx", model)}`, `next=${pair}`]);
  expect(spec.tasks[0]?.to).toMatchObject([{ inputs: { x: "found" }, count: "count" }]);
  expect(spec.tasks[0]?.variants[0]?.outputs).toEqual({ found: "found", count: "count" });
});

test("SLO and loads allow for the runs of all tasks, and the rows of a fan-out", () => {
  const stated = { slo: null, loads: null, workers: 2 };
  const times = (...ranMs: number[]) => ranMs.map((ms) => ({ models: [{ ranMs: ms }] }));
  const [first, second] = times(300, 200).map((task) => ({ ...task, count: null }));
  const chain = [first, second].flatMap((task) => task ?? []);
  expect(defaultTargets(chain, stated)).toEqual({ slo: "3 s", loads: [0.3, 0.6, 1.5] });
  const counted = chain.map((task, index) => ({ ...task, count: index === 1 ? {} : null }));
  expect(defaultTargets(counted, stated)).toEqual({ slo: "6 s", loads: [0.1, 0.2, 0.5] });
});
