/** Boxes with scores from the tensors that detectors give, those that are likely enough. */
import type { NamedTensors, Tensor } from "../module/contract.ts";
import { floatsOf } from "../module/tensors.ts";
import type { Detections } from "./suppression.ts";

export type DetectionLayout = "boxes" | "yolov8" | "yolov5";

export interface DetectionFormat {
  readonly from: DetectionLayout;
  readonly classes: number;
  /** Left, top, right and bottom; else a middle with width and height. */
  readonly areCorners: boolean;
  readonly minScore: number;
}

/** Numbers of boxes: that of a box and a part lies at start + box * boxStep + part * partStep. */
interface Strided {
  readonly data: Float32Array;
  readonly start: number;
  readonly boxStep: number;
  readonly partStep: number;
}

/** Boxes of one row as a detector returns them. */
export interface Source {
  readonly boxes: number;
  readonly coordinates: Strided;
  readonly scores: Strided;
  /** How likely it is a thing at all; null where a detector does not say. */
  readonly objectness: Strided | null;
}

/** One for each row. @throws TypeError if the tensors do not fit each other. */
export function sourcesOf(inputs: NamedTensors, rows: number, format: DetectionFormat): Source[] {
  const { from, classes } = format;
  const each = Array.from({ length: rows }, (_, row) => row);
  if (from === "boxes") {
    const boxes = floatsOf(inputs, "boxes", rows, 3);
    const scores = floatsOf(inputs, "scores", rows, 3);
    const [, count = 0] = boxes.shape;
    if (scores.shape[1] !== count) {
      throw new TypeError(
        `input "scores": expected those of ${count} boxes, got ${scores.shape[1]}`,
      );
    }
    return each.map((row) => ({
      boxes: count,
      coordinates: { data: boxes.data, start: row * count * 4, boxStep: 4, partStep: 1 },
      scores: { data: scores.data, start: row * count * classes, boxStep: classes, partStep: 1 },
      objectness: null,
    }));
  }
  const { data, shape } = floatsOf(inputs, "predictions", rows, 3);
  const [, first = 0, second = 0] = shape;
  const areColumns = from === "yolov8";
  const [boxes, parts] = areColumns ? [second, first] : [first, second];
  const steps = areColumns ? { boxStep: 1, partStep: boxes } : { boxStep: parts, partStep: 1 };
  return each.map((row) => {
    const start = row * boxes * parts;
    const at = (part: number): Strided => ({
      data,
      start: start + part * steps.partStep,
      ...steps,
    });
    const scores = areColumns ? at(4) : at(5);
    return { boxes, coordinates: at(0), scores, objectness: areColumns ? null : at(4) };
  });
}

/**
 * The likely ones in the order of the boxes, each as its likeliest class.
 * @throws RangeError if a score is no number, or a likely box is not finite.
 */
export function likelyOnes(source: Source, format: DetectionFormat): Detections {
  const corners: number[] = [];
  const scores: number[] = [];
  const classes: number[] = [];
  for (let box = 0; box < source.boxes; box++) {
    const objectness = source.objectness === null ? 1 : valueAt(source.objectness, box, 0);
    // A score is at most 1, so that the product is no more than this.
    if (objectness < format.minScore) continue;
    const best = likeliestClass(source.scores, box, format.classes);
    const score = valueAt(source.scores, box, best) * objectness;
    if (score < format.minScore) continue;
    const values = [0, 1, 2, 3].map((part) => valueAt(source.coordinates, box, part));
    if (![...values, score].every(Number.isFinite)) {
      throw new RangeError(`expected finite numbers, got ${[...values, score]} in box ${box}`);
    }
    corners.push(...(format.areCorners ? values : cornersOf(values)));
    scores.push(score);
    classes.push(best);
  }
  return {
    corners: Float32Array.from(corners),
    scores: Float32Array.from(scores),
    classes: Uint32Array.from(classes),
  };
}

function likeliestClass({ data, start, boxStep, partStep }: Strided, box: number, classes: number) {
  let best = 0;
  let max = Number.NEGATIVE_INFINITY;
  for (let index = 0, at = start + box * boxStep; index < classes; index++, at += partStep) {
    const score = data[at] as number;
    if (score <= max) continue;
    if (Number.isNaN(score)) throw new RangeError(`expected numbers, got NaN in box ${box}`);
    max = score;
    best = index;
  }
  return best;
}

function valueAt({ data, start, boxStep, partStep }: Strided, box: number, part: number): number {
  return data[start + box * boxStep + part * partStep] as number;
}

function cornersOf([x = 0, y = 0, width = 0, height = 0]: readonly number[]): number[] {
  return [x - width / 2, y - height / 2, x + width / 2, y + height / 2];
}

/** Boxes of a picture of 640 x 640 pixels, and the share of them that found something. */
const SAMPLE_BOXES = 8400;
const SAMPLE_LIKELY = 0.01;

/** Pictures with some things, each found by a few boxes among many that found nothing. */
export function sampleDetections(
  rows: number,
  random: () => number,
  format: DetectionFormat,
): NamedTensors {
  const { from, classes, areCorners } = format;
  const tensors = emptyTensors(rows, from, classes);
  for (const { boxes, coordinates, scores, objectness } of sourcesOf(tensors, rows, format)) {
    const put = (
      { data, start, boxStep, partStep }: Strided,
      box: number,
      part: number,
      value: number,
    ) => {
      data[start + box * boxStep + part * partStep] = value;
    };
    for (let box = 0; box < boxes; box++) {
      const [x, y] = [random(), random()].map(
        (place) => Math.floor(place * 4) * 160 + random() * 20,
      );
      const middle = [x ?? 0, y ?? 0, 60 + random() * 20, 60 + random() * 20];
      const values = areCorners ? cornersOf(middle) : middle;
      for (const [part, value] of values.entries()) put(coordinates, box, part, value);
      const isLikely = random() < SAMPLE_LIKELY;
      put(scores, box, Math.floor(random() * classes), isLikely ? 0.3 + random() * 0.7 : 0.05);
      if (objectness !== null) put(objectness, box, 0, isLikely ? 0.95 : 0.02);
    }
  }
  return tensors;
}

function emptyTensors(
  rows: number,
  from: DetectionLayout,
  classes: number,
): Record<string, Tensor> {
  const empty = (shape: number[]): Tensor => {
    return { data: new Float32Array(shape.reduce((product, size) => product * size, 1)), shape };
  };
  if (from === "yolov8") return { predictions: empty([rows, 4 + classes, SAMPLE_BOXES]) };
  if (from === "yolov5") return { predictions: empty([rows, SAMPLE_BOXES, 5 + classes]) };
  const [boxes, scores] = [empty([rows, SAMPLE_BOXES, 4]), empty([rows, SAMPLE_BOXES, classes])];
  return { boxes, scores };
}
