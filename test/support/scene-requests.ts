/** Scenes as clients send them, and the letters that answers name in them. */
import {
  CLASS_NAMES,
  CROP_BYTES,
  CROP_SIDE,
  cutCrop,
  drawScenes,
  SCENE_BYTES,
  SCENE_SIDE,
} from "../../lab/models/scenes/dataset.ts";
import type { Answer, SentInput } from "./device-server.ts";

/** Of all sets that models were trained on none has it. */
const SEED = 21;
const { pixels, objectsByScene } = drawScenes(SEED, 4);

const ofScene = (at: number) => pixels.subarray(at * SCENE_BYTES, (at + 1) * SCENE_BYTES);

/** One request each. */
export const SCENES: readonly SentInput[] = objectsByScene.map((_, at) => {
  const shape = [1, 1, SCENE_SIDE, SCENE_SIDE];
  return { name: "scene", datatype: "UINT8", shape, data: [...ofScene(at)] };
});

/** The letters that were drawn, by scene. */
export const DRAWN_LETTERS: readonly string[][] = objectsByScene.map((objects) => {
  return objects.map(({ classIndex }) => CLASS_NAMES[classIndex] ?? "");
});

/** One letter of the first scene, for a model that names letters. */
export function drawnCrop(): SentInput {
  const [object] = objectsByScene[0] ?? [];
  if (object === undefined) throw new Error("the first scene has no letters");
  const crop = new Uint8Array(CROP_BYTES);
  cutCrop(ofScene(0), object.x, object.y, crop);
  const shape = [1, 1, CROP_SIDE, CROP_SIDE];
  return { name: "crop", datatype: "UINT8", shape, data: [...crop] };
}

/** The letters that an answer names. */
export function lettersOf({ outputs }: Answer): string[] {
  const logits = outputs?.find(({ name }) => name === "identify.logits");
  if (logits === undefined) return [];
  return Array.from({ length: logits.shape[0] ?? 0 }, (_, row) => {
    const own = logits.data.slice(row * CLASS_NAMES.length, (row + 1) * CLASS_NAMES.length);
    return CLASS_NAMES[own.indexOf(Math.max(...own))] ?? "";
  });
}
