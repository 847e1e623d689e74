/** Rows for models of any shape: pictures where they take those of this repository, else noise. */

import { drawImages, IMAGE_BYTES } from "../../lab/models/image-classification/dataset.ts";
import {
  CROP_BYTES,
  CROP_SIDE,
  cutCrop,
  drawScenes,
  SCENE_BYTES,
} from "../../lab/models/scenes/dataset.ts";
import { Rng } from "../../runtime/core/rng.ts";
import type { VariantModel } from "../../runtime/exec/models/executor.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** Of all sets that models were trained on none has it. */
const SEED = 21;

/** The bytes of every input; the same for the same model and rows. */
export function rowsFor({ inputs }: VariantModel, rows: number): Bytes[] {
  const rng = new Rng(SEED, 0);
  return inputs.map(({ name, dtype, shape }) => {
    const elements = shape.slice(1).reduce((product, size) => product * size, rows);
    if (elements < 0) throw new Error(`${name}: an axis other than the first is open`);
    if (dtype === "uint8") return pictures(rows, elements / rows);
    if (dtype !== "float32") throw new Error(`${name}: no rows of ${dtype}`);
    const values = Float32Array.from({ length: elements }, () => 2 * rng.nextFloat() - 1);
    return new Uint8Array(values.buffer);
  });
}

/** By their bytes: letters, scenes with letters, or letters cut out of these. */
function pictures(rows: number, bytes: number): Bytes {
  if (bytes === IMAGE_BYTES) return drawImages(SEED, rows).pixels;
  const { pixels, objectsByScene } = drawScenes(SEED, rows);
  if (bytes === SCENE_BYTES) return pixels;
  if (bytes !== CROP_BYTES) throw new Error(`${CROP_SIDE} x ${CROP_SIDE} or larger, not ${bytes}`);
  const crops = new Uint8Array(rows * CROP_BYTES);
  for (const [row, objects] of objectsByScene.entries()) {
    const [object] = objects;
    if (object === undefined) continue;
    const scene = pixels.subarray(row * SCENE_BYTES, (row + 1) * SCENE_BYTES);
    cutCrop(scene, object.x, object.y, crops.subarray(row * CROP_BYTES, (row + 1) * CROP_BYTES));
  }
  return crops;
}
