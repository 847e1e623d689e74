/** The pipelines on the pages of the methods that pass an image on: compiled, served and asked. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { afterAll, afterEach, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { onnxModel } from "../../lab/models/onnx-graph.ts";
import { loadBundle } from "../../runtime/bundles/load-bundle.ts";
import { encodeStrings } from "../../runtime/exec/tensors/string-data.ts";
import type { PipelineBundle } from "../../runtime/server/graph/signature/linked-tasks.ts";
import { readMarkdown } from "../docs/markdown.ts";
import { type RealServer, realServer } from "../runtime/server/graph/real-server.ts";
import { stratagemHereIn } from "../support/cli-here.ts";

const home = mkdtempSync(join(tmpdir(), "stratagem-passed-"));
afterAll(() => rmSync(home, { recursive: true }));

const SIDE = 32;
const MOST_BOXES = 4;

const numbers = (name: string, ...values: number[]) =>
  ({ name, type: "int64", shape: [values.length], values }) as const;

/**
 * A detector that finds what the first line of the image's first two channels says: the corners of
 * its boxes, and their number; the score of a box is 1 if it has a right side.
 */
function detector(): Uint8Array {
  return onnxModel({
    inputs: [{ name: "image", type: "uint8", shape: ["rows", 3, SIDE, SIDE] }],
    outputs: [
      { name: "boxes", type: "float32", shape: ["rows", MOST_BOXES, 4] },
      { name: "scores", type: "float32", shape: ["rows", MOST_BOXES, 1] },
      { name: "count", type: "int64", shape: ["rows"] },
    ],
    constants: [
      { name: "zero", type: "float32", shape: [1], values: [0] },
      numbers("right", 2),
      numbers("after", 3),
      numbers("axis", 2),
      numbers("axes", 1, 2, 3),
      numbers("corners_from", 0, 0, 0),
      numbers("corners_to", 1, 1, 4 * MOST_BOXES),
      numbers("count_from", 1, 0, 0),
      numbers("count_to", 2, 1, 1),
      numbers("as_boxes", -1, MOST_BOXES, 4),
      numbers("as_count", -1),
    ],
    nodes: [
      { op: "Slice", inputs: ["image", "corners_from", "corners_to", "axes"], output: "line" },
      { op: "Cast", inputs: ["line"], output: "corners", attributes: { to: 1 } },
      { op: "Reshape", inputs: ["corners", "as_boxes"], output: "boxes" },
      { op: "Slice", inputs: ["boxes", "right", "after", "axis"], output: "sides" },
      { op: "Greater", inputs: ["sides", "zero"], output: "is_box" },
      { op: "Cast", inputs: ["is_box"], output: "scores", attributes: { to: 1 } },
      { op: "Slice", inputs: ["image", "count_from", "count_to", "axes"], output: "number" },
      { op: "Cast", inputs: ["number"], output: "whole", attributes: { to: 7 } },
      { op: "Reshape", inputs: ["whole", "as_count"], output: "count" },
    ],
  });
}

/** A detector of half the size, which always finds one box, in pixels of the whole size. */
function halfDetector(): Uint8Array {
  const half = SIDE / 2;
  return onnxModel({
    inputs: [{ name: "image", type: "uint8", shape: ["rows", 3, half, half] }],
    outputs: [
      { name: "boxes", type: "float32", shape: ["rows", MOST_BOXES, 4] },
      { name: "count", type: "int64", shape: ["rows"] },
    ],
    constants: [
      { name: "zero", type: "float32", shape: [1], values: [0] },
      numbers("one", 1),
      numbers("axes", 1, 2, 3),
      numbers("from", 0, 0, 0),
      numbers("to", 1, 1, 1),
      numbers("as_row", -1, 1, 1),
      numbers("flat", -1),
      {
        name: "found",
        type: "float32",
        shape: [1, MOST_BOXES, 4],
        values: [16, 16, 24, 24, ...new Array(4 * MOST_BOXES - 4).fill(0)],
      },
    ],
    nodes: [
      { op: "Slice", inputs: ["image", "from", "to", "axes"], output: "pixel" },
      { op: "Cast", inputs: ["pixel"], output: "number", attributes: { to: 1 } },
      { op: "Mul", inputs: ["number", "zero"], output: "nothing" },
      { op: "Reshape", inputs: ["nothing", "as_row"], output: "none_each" },
      { op: "Add", inputs: ["found", "none_each"], output: "boxes" },
      { op: "Reshape", inputs: ["nothing", "flat"], output: "zeros" },
      { op: "Cast", inputs: ["zeros"], output: "none", attributes: { to: 7 } },
      { op: "Add", inputs: ["none", "one"], output: "count" },
    ],
  });
}

/** Gives the mean brightness of a crop, 0 to 1. */
function classifier(): Uint8Array {
  return onnxModel({
    inputs: [{ name: "crop", type: "float32", shape: ["rows", 3, 8, 8] }],
    outputs: [{ name: "brightness", type: "float32", shape: ["rows"] }],
    constants: [],
    nodes: [
      {
        op: "ReduceMean",
        inputs: ["crop"],
        output: "brightness",
        attributes: { axes: [1, 2, 3], keepdims: 0 },
      },
    ],
  });
}

interface Sign {
  readonly box: readonly [left: number, top: number, right: number, bottom: number];
  readonly brightness: number;
}

/** An image with signs of one brightness each, as the detector above reads it. */
function imageOf(signs: readonly Sign[]): Uint8Array {
  const pixels = new Uint8Array(3 * SIDE * SIDE);
  for (const { box, brightness } of signs) {
    const [left, top, right, bottom] = box;
    for (let channel = 0; channel < 3; channel++) {
      // Pixels at an edge are mixed with those beside them.
      for (let y = top - 1; y <= bottom; y++) {
        const line = (channel * SIDE + y) * SIDE;
        pixels.fill(brightness, line + left - 1, line + right + 1);
      }
    }
  }
  pixels.set(signs.flatMap(({ box }) => box));
  pixels[SIDE * SIDE] = signs.length;
  return pixels;
}

const IMAGES: readonly (readonly Sign[])[] = [
  [
    { box: [2, 4, 12, 14], brightness: 51 },
    { box: [16, 8, 30, 20], brightness: 204 },
  ],
  [],
  [{ box: [4, 20, 20, 30], brightness: 255 }],
];

const PROFILE = {
  format: "latency-profile/1",
  hardware: "epyc-2vcpu",
  variants: Object.fromEntries(
    ["det", "nms", "crop", "cnn"].map((name) => [name, { latencyMs: { 1: 5, 2: 8, 4: 12 } }]),
  ),
};

const TASKS = parse(specOf("docs/methods/loki.md")).tasks;
const [, CUT, IDENTIFY] = TASKS;

let open: RealServer | undefined;
afterEach(() => open?.server.close());

function specOf(page: string): string {
  const fence = readMarkdown(page).fences.find(({ mark }) => mark === "detector and cutter");
  return fence?.lines.join("\n") ?? "";
}

/** Compiles and serves a spec. @returns what asks it, by the names of its outputs. */
async function served(spec: string) {
  const folder = mkdtempSync(join(home, "served-"));
  writeFileSync(join(folder, "app.yaml"), spec);
  writeFileSync(join(folder, "det.onnx"), detector());
  writeFileSync(join(folder, "half.onnx"), halfDetector());
  writeFileSync(join(folder, "cnn.onnx"), classifier());
  writeFileSync(join(folder, "profile.json"), JSON.stringify(PROFILE));
  const compiled = await stratagemHereIn(folder, "compile", "app.yaml", "-o", "app.msgpack");
  expect(compiled.status, compiled.stderr).toBe(0);
  const { bundle } = await loadBundle(join(folder, "app.msgpack"));
  const server = await realServer(bundle as PipelineBundle, folder);
  open = server;
  return async (datatype: string, shape: readonly number[], bytes: Uint8Array) => {
    const parameters = { binary_data_size: bytes.length };
    const inputs = [{ name: "image", datatype, shape, parameters }];
    const header = Buffer.from(JSON.stringify({ inputs }));
    const reply = await fetch(`${server.url}/v2/models/signs/infer`, {
      method: "POST",
      headers: { "Inference-Header-Content-Length": `${header.length}` },
      body: Buffer.concat([header, bytes]),
    });
    expect(reply.status).toBe(200);
    const { outputs } = (await reply.json()) as { outputs: { name: string; data: number[] }[] };
    return Object.fromEntries(outputs.map(({ name, data: values }) => [name, values]));
  };
}

const PIXELS = [3, SIDE, SIDE];

test.each(["docs/methods/loki.md", "docs/methods/inferline.md"])(
  "the pipeline of %s cuts the image that its detector got",
  async (page) => {
    const ask = await served(specOf(page));
    const answer = await ask(
      "UINT8",
      [IMAGES.length, ...PIXELS],
      Buffer.concat(IMAGES.map(imageOf)),
    );
    expect(answer["cut.count"]).toEqual([2, 0, 1]);
    expect(answer["identify.brightness"]).toEqual([0.2, 0.8, 1].map((one) => expect.closeTo(one)));
  },
);

test("an image is passed on before it is resized for its detector", async () => {
  const half = {
    ...TASKS[0].variants[0],
    model: "half.onnx",
    resize: { image: { size: [SIDE, SIDE] } },
  };
  const spec = { ...parse(specOf("docs/methods/loki.md")) };
  const detect = { ...TASKS[0], variants: [half] };
  const ask = await served(stringify({ ...spec, tasks: [detect, CUT, IDENTIFY] }));
  const image = imageOf([{ box: [16, 16, 24, 24], brightness: 204 }]);
  const answer = await ask("UINT8", [1, ...PIXELS], image);
  expect(answer["identify.brightness"]).toEqual([expect.closeTo(0.8)]);
});

test("a file is passed on past the detector to what cuts the file", async () => {
  const profile = "profile.json#crop";
  const decode = {
    name: "decode",
    variants: [
      {
        ...{ name: "decode", accuracy: 1, profile, kind: "module" },
        model: "stratagem-kit/decode-image",
        options: { size: [SIDE, SIDE], datatype: "UINT8", formats: ["png"] },
      },
    ],
    to: [{ task: "detect", inputs: { image: "pixels", file: "image" } }],
  };
  const detect = { ...TASKS[0], to: [{ task: "cut", inputs: { image: "file", boxes: "boxes" } }] };
  const [crop] = CUT.variants;
  const { image: _, ...options } = crop.options;
  const cut = { ...CUT, variants: [{ ...crop, options }] };
  const spec = {
    ...parse(specOf("docs/methods/loki.md")),
    cluster: { workers: 4 },
    tasks: [decode, detect, cut, IDENTIFY],
  };
  const ask = await served(stringify(spec));
  const files = IMAGES.map((signs) => {
    const planes = imageOf(signs);
    const pixels = Array.from({ length: 3 * SIDE * SIDE }, (__, index) => {
      return planes[(index % 3) * SIDE * SIDE + Math.floor(index / 3)] ?? 0;
    });
    const raw = { width: SIDE, height: SIDE, channels: 3 } as const;
    return sharp(Uint8Array.from(pixels), { raw }).png().toBuffer();
  });
  const answer = await ask("BYTES", [files.length], encodeStrings(await Promise.all(files)));
  expect(answer["cut.count"]).toEqual([2, 0, 1]);
  expect(answer["identify.brightness"]).toEqual([0.2, 0.8, 1].map((one) => expect.closeTo(one)));
});
