/**
 * `stratagem-kit/nms`: what a detector has found, each thing once (non-maximum suppression).
 *
 * Inputs, by the option `from`: `boxes`, FP32 [boxes, 4], with `scores`, FP32 [boxes, classes]; or
 * of YOLO `predictions`, FP32 [4 + classes, boxes] (v8 and later) or [boxes, 5 + classes] (v5, v7).
 * Outputs `boxes`, FP32 [max, 4] as left, top, right, bottom; `scores`, FP32 [max]; `classes`,
 * INT64 [max]; `count`, INT64 []: how many of these there are, the rest is zeros. The likeliest
 * class of a box counts. Boxes are taken in the order of their scores, of equal ones the first; a
 * box goes that overlaps one taken by more than `iou`, of its class or, with `acrossClasses`, of
 * any. Source: Felzenszwalb and others, Object Detection with Discriminatively Trained Part-Based
 * Models (2010), section 7.2; intersection over union as ONNX's NonMaxSuppression has it.
 */
import {
  type DetectionFormat,
  likelyOnes,
  sampleDetections,
  sourcesOf,
} from "./boxes/detections.ts";
import { suppressed } from "./boxes/suppression.ts";
import type { HostModule, NamedTensors, OpenArguments, TensorSpec } from "./module/contract.ts";
import { OptionReader } from "./module/options.ts";
import { eachRow } from "./module/row-error.ts";

interface Settings extends DetectionFormat {
  readonly maxOverlap: number;
  readonly max: number;
  readonly isAcrossClasses: boolean;
}

const SHARE = { min: 0, max: 1 };

/** @throws TypeError if an option is not what it may be. */
export default async function open({ options }: OpenArguments): Promise<HostModule> {
  const settings = settingsOf(options);
  const { max } = settings;
  return {
    inputs: inputsOf(settings),
    outputs: [
      { name: "boxes", datatype: "FP32", shape: [max, 4] },
      { name: "scores", datatype: "FP32", shape: [max] },
      { name: "classes", datatype: "INT64", shape: [max] },
      { name: "count", datatype: "INT64", shape: [] },
    ],
    batches: null,
    sample: (rows, random) => sampleDetections(rows, random, settings),
    run: (inputs, rows) => detected(inputs, rows, settings),
    close: () => {},
  };
}

function settingsOf(given: unknown): Settings {
  const options = new OptionReader("stratagem-kit/nms", given);
  const from = options.oneOf("from", ["boxes", "yolov8", "yolov5"], "boxes");
  const isYolo = from !== "boxes";
  const settings = {
    from,
    classes: options.integer("classes", { min: 1, max: 100_000 }, isYolo ? 80 : 1),
    areCorners:
      options.oneOf("box", ["corners", "centre"], isYolo ? "centre" : "corners") === "corners",
    minScore: options.number("score", SHARE, 0.25),
    maxOverlap: options.number("iou", SHARE, 0.45),
    max: options.integer("max", { min: 1, max: 100_000 }, 100),
    isAcrossClasses: options.flag("acrossClasses", false),
  };
  options.done();
  return settings;
}

function inputsOf({ from, classes }: Settings): TensorSpec[] {
  if (from === "yolov8") {
    return [{ name: "predictions", datatype: "FP32", shape: [4 + classes, -1] }];
  }
  if (from === "yolov5") {
    return [{ name: "predictions", datatype: "FP32", shape: [-1, 5 + classes] }];
  }
  return [
    { name: "boxes", datatype: "FP32", shape: [-1, 4] },
    { name: "scores", datatype: "FP32", shape: [-1, classes] },
  ];
}

/** @throws RowError for rows with a box or a score that is no number. */
async function detected(
  inputs: NamedTensors,
  rows: number,
  settings: Settings,
): Promise<NamedTensors> {
  const { from, max } = settings;
  const boxes = new Float32Array(rows * max * 4);
  const scores = new Float32Array(rows * max);
  const classes = new BigInt64Array(rows * max);
  const count = new BigInt64Array(rows);
  const sources = sourcesOf(inputs, rows, settings);
  await eachRow(from === "boxes" ? "boxes" : "predictions", sources, (source, row) => {
    const found = likelyOnes(source, settings);
    const kept = suppressed(found, settings);
    for (const [place, index] of kept.entries()) {
      const at = row * max + place;
      boxes.set(found.corners.subarray(index * 4, index * 4 + 4), at * 4);
      scores[at] = found.scores[index] ?? 0;
      classes[at] = BigInt(found.classes[index] ?? 0);
    }
    count[row] = BigInt(kept.length);
  });
  return {
    boxes: { data: boxes, shape: [rows, max, 4] },
    scores: { data: scores, shape: [rows, max] },
    classes: { data: classes, shape: [rows, max] },
    count: { data: count, shape: [rows] },
  };
}
