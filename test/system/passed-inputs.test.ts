/** The pipelines on the pages of the methods that pass an image on: compiled, served and asked. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { onnxModel } from "../../lab/models/onnx-graph.ts";
import { loadBundle } from "../../runtime/bundles/load-bundle.ts";
import type { PipelineBundle } from "../../runtime/server/graph/signature/linked-tasks.ts";
import { readMarkdown } from "../docs/markdown.ts";
import { type RealServer, realServer } from "../runtime/server/graph/real-server.ts";
import { stratagemHereIn } from "../support/cli-here.ts";

const home = mkdtempSync(join(tmpdir(), "stratagem-passed-"));
afterAll(() => rmSync(home, { recursive: true }));

const SIDE = 32;
const MOST_BOXES = 4;

/**
 * A detector that finds what the first line of the image's first two channels says: the corners of
 * its boxes, and their number.
 */
function detector(): Uint8Array {
  const numbers = (name: string, ...values: number[]) =>
    ({ name, type: "int64", shape: [values.length], values }) as const;
  return onnxModel({
    inputs: [{ name: "image", type: "uint8", shape: ["rows", 3, SIDE, SIDE] }],
    outputs: [
      { name: "boxes", type: "float32", shape: ["rows", MOST_BOXES, 4] },
      { name: "count", type: "int64", shape: ["rows"] },
    ],
    constants: [
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
      { op: "Slice", inputs: ["image", "count_from", "count_to", "axes"], output: "number" },
      { op: "Cast", inputs: ["number"], output: "whole", attributes: { to: 7 } },
      { op: "Reshape", inputs: ["whole", "as_count"], output: "count" },
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
function imageOf(signs: readonly Sign[]): number[] {
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
  return [...pixels];
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
    ["det", "crop", "cnn"].map((name) => [name, { latencyMs: { 1: 5, 2: 8, 4: 12 } }]),
  ),
};

let open: RealServer | undefined;
afterEach(() => open?.server.close());

/** Compiles the marked spec of a page, and serves it. */
async function servedFrom(page: string): Promise<RealServer> {
  const fence = readMarkdown(page).fences.find(({ mark }) => mark === "detector and cutter");
  const folder = join(home, page.replaceAll("/", "-"));
  mkdirSync(folder);
  writeFileSync(join(folder, "app.yaml"), fence?.lines.join("\n") ?? "");
  writeFileSync(join(folder, "det.onnx"), detector());
  writeFileSync(join(folder, "cnn.onnx"), classifier());
  writeFileSync(join(folder, "profile.json"), JSON.stringify(PROFILE));
  const compiled = await stratagemHereIn(folder, "compile", "app.yaml", "-o", "app.msgpack");
  expect(compiled.status, compiled.stderr).toBe(0);
  const { bundle } = await loadBundle(join(folder, "app.msgpack"));
  open = await realServer(bundle as PipelineBundle, folder);
  return open;
}

describe.each(["docs/methods/loki.md", "docs/methods/inferline.md"])(
  "the pipeline of %s",
  (page) => {
    test("cuts the image that its detector got where this found something", async () => {
      const { url } = await servedFrom(page);
      const data = IMAGES.flatMap(imageOf);
      const shape = [IMAGES.length, 3, SIDE, SIDE];
      const inputs = [{ name: "image", datatype: "UINT8", shape, data }];
      const reply = await fetch(`${url}/v2/models/signs/infer`, {
        method: "POST",
        body: JSON.stringify({ inputs }),
      });
      expect(reply.status).toBe(200);
      const { outputs } = (await reply.json()) as {
        outputs: { name: string; shape: number[]; data: number[] }[];
      };
      const named = Object.fromEntries(outputs.map((output) => [output.name, output]));
      expect(named["cut.count"]?.data).toEqual([2, 0, 1]);
      expect(named["identify.brightness"]?.data).toEqual(
        [0.2, 0.8, 1].map((one) => expect.closeTo(one)),
      );
    });
  },
);
