/** Chooses options of the modules of stratagem-kit from the tensors before and after them. */
import type { TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import { isChannelsLast } from "stratagem-runtime/internal/exec/adapter/resized";
import { imageSizeOf } from "./same-task.ts";

export interface ModuleOptions {
  readonly options: Readonly<Record<string, unknown>>;
  /** Hint about what only the user knows; empty for none. */
  readonly hint: string;
}

interface Around {
  /** Tensors that exist before the module, the nearest first. */
  readonly before: readonly TensorInfo[];
  /** Images that the next model takes, whose format the module writes; null for none. */
  readonly image: TensorInfo | null;
}

/** Boxes of an image when the detector gives any number. */
const MOST_BOXES = 100;
const PIXELS_HINT =
  "set factor (1/255 if unset), mean, std and channels (rgb if unset) as the models were trained";

const HINTS: Readonly<Record<string, string>> = {
  "stratagem-kit/decode-image": PIXELS_HINT,
  "stratagem-kit/resize-image": PIXELS_HINT,
  "stratagem-kit/crop-rows": PIXELS_HINT,
  "stratagem-kit/nms": "check that from and classes are those of the detector",
  "stratagem-kit/classify": "from: probabilities if they are no logits; labels name the classes",
};

/** Returns no options for a module that is not in the kit, or has none to choose. */
export function moduleOptions(module: string, around: Around): ModuleOptions {
  return { options: CHOICES[module]?.(around) ?? {}, hint: HINTS[module] ?? "" };
}

type Choice = (around: Around) => Readonly<Record<string, unknown>>;

const CHOICES: Readonly<Record<string, Choice>> = {
  "stratagem-kit/decode-image": ({ image }) => pixelsOf(image),
  "stratagem-kit/resize-image": ({ before, image }) => {
    return { image: pixelsOf(imageBefore(before, image) ?? image), ...pixelsOf(image) };
  },
  "stratagem-kit/crop-rows": ({ before, image }) => {
    const boxes = before.find(isBoxes);
    const from = imageBefore(before, image);
    const [, most = -1] = boxes?.shape ?? [];
    return {
      ...(from === null ? {} : { image: pixelsOf(from) }),
      ...(boxes?.shape.length === 3 ? { boxes: "corners" } : {}),
      max: most > 0 ? most : MOST_BOXES,
      ...pixelsOf(image),
    };
  },
  "stratagem-kit/nms": ({ before }) => {
    const boxes = before.find((one) => isBoxes(one) && one.shape.length === 3);
    const scores = before.find((one) => one !== boxes && isTable(one));
    const [, rows = -1, columns = -1] = scores?.shape ?? [];
    if (boxes !== undefined) return { from: "boxes", classes: columns };
    const isRowForEach = rows < 0 || (columns > 0 && columns < rows);
    if (isRowForEach) return { from: "yolov5", classes: columns - 5 };
    return { from: "yolov8", classes: rows - 4 };
  },
  "stratagem-kit/db-boxes": ({ before }) => {
    const map = before.find((one) => one.shape[1] === 1 && imageSizeOf(one) !== null);
    return { size: map === undefined ? undefined : imageSizeOf(map) };
  },
  "stratagem-kit/classify": ({ before }) => {
    const scores = before.find(({ dtype, shape }) => dtype === "float32" && shape.length === 2);
    return { classes: scores?.shape[1] };
  },
};

/** Options that describe or write images such as those of a tensor. */
function pixelsOf(image: TensorInfo | null): Readonly<Record<string, unknown>> {
  if (image === null) return {};
  const row = image.shape.slice(1);
  const isLast = isChannelsLast(row);
  const isGrey = row[isLast ? 2 : 0] === 1;
  return {
    size: imageSizeOf(image),
    ...(isLast ? { layout: "nhwc" } : {}),
    ...(isGrey ? { channels: "grey" } : {}),
    ...(image.dtype === "uint8" ? { datatype: "UINT8" } : {}),
  };
}

/** The nearest images, those with the channels of other images first; null for files. */
function imageBefore(before: readonly TensorInfo[], like: TensorInfo | null): TensorInfo | null {
  const images = before.filter(isPixels);
  const isAlike = (one: TensorInfo) => channelsOf(one) === (like === null ? 3 : channelsOf(like));
  return images.find(isAlike) ?? images[0] ?? null;
}

/** Whether a tensor has images that modules of the kit read and write. */
export function isPixels(tensor: TensorInfo): boolean {
  const isRead = tensor.dtype === "float32" || tensor.dtype === "uint8";
  return isRead && imageSizeOf(tensor) !== null && [1, 3].includes(channelsOf(tensor));
}

function channelsOf({ shape }: TensorInfo): number {
  const row = shape.slice(1);
  return row[isChannelsLast(row) ? 2 : 0] ?? 0;
}

/** Boxes of a row: [boxes, 4], or the corners [boxes, 4, 2]. */
function isBoxes({ dtype, shape }: TensorInfo): boolean {
  const [, , numbers, coordinates] = shape;
  const isEither = shape.length === 3 || (shape.length === 4 && coordinates === 2);
  return dtype === "float32" && isEither && numbers === 4;
}

function isTable({ dtype, shape }: TensorInfo): boolean {
  return dtype === "float32" && shape.length === 3;
}
