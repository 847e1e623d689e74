/** What the two models of a chain answer, and how often the letter they name is there. */
import { Tensor } from "onnxruntime-node";
import { CROP_BYTES, SCENE_BYTES, SCENE_SIDE } from "../scenes/dataset.js";
import { classify, MATCH_DISTANCE, shareOf } from "../scenes/measure.js";

const BATCH_SIZE = 50;
/** Numbers per scene in `place`: x and y of the centre, and the score. */
const PLACE_WIDTH = 3;

/**
 * What the finder gives.
 * @param {import("onnxruntime-node").InferenceSession} session of the finder.
 * @param {Uint8Array} pixels of the scenes, shape (scenes, SCENE_BYTES).
 * @returns {Promise<{ found: boolean, letter: Uint8Array, place: { x: number, y: number, score: number } }[]>} by scene.
 */
export async function find(session, pixels) {
  const findings = [];
  for (let first = 0; first < pixels.length; first += BATCH_SIZE * SCENE_BYTES) {
    const bytes = pixels.slice(first, first + BATCH_SIZE * SCENE_BYTES);
    const rows = bytes.length / SCENE_BYTES;
    const scene = new Tensor("uint8", bytes, [rows, 1, SCENE_SIDE, SCENE_SIDE]);
    const out = await session.run({ scene });
    for (let row = 0; row < rows; row++) {
      const [x, y, score] = out.place.data.subarray(PLACE_WIDTH * row, PLACE_WIDTH * (row + 1));
      findings.push({
        found: Number(out.found.data[row]) === 1,
        letter: out.letter.data.slice(CROP_BYTES * row, CROP_BYTES * (row + 1)),
        place: { x, y, score },
      });
    }
  }
  return findings;
}

/**
 * What the chain does with scenes.
 * @param {import("onnxruntime-node").InferenceSession} finder
 * @param {import("onnxruntime-node").InferenceSession} namer
 * @param {{ pixels: Uint8Array, objectsByScene: { classIndex: number, x: number, y: number }[][] }} scenes
 * @returns {Promise<{ foundShare: number, shownShare: number, accuracy: number }>} shares of the scenes in which something is found, of those in
 * which that is a letter, and of those in which its name is right.
 */
export async function figuresOf(finder, namer, { pixels, objectsByScene }) {
  const findings = await find(finder, pixels);
  const classes = await classify(namer, Buffer.concat(findings.map(({ letter }) => letter)));
  const answers = findings.map(({ found, place }, scene) => {
    const objects = found ? objectsByScene[scene] : [];
    return { found, shown: nearest(objects, place), named: classes[scene] };
  });
  const found = answers.filter((answer) => answer.found);
  return {
    foundShare: found.length / answers.length,
    shownShare: shareOf(found, ({ shown }) => shown !== undefined),
    accuracy: shareOf(found, ({ shown, named }) => shown?.classIndex === named),
  };
}

/** The letter whose centre is next to a place, if one is near enough. */
function nearest(objects, { x, y }) {
  const away = (one) => Math.hypot(one.x - x, one.y - y);
  const [next] = objects.toSorted((a, b) => away(a) - away(b));
  return next !== undefined && away(next) <= MATCH_DISTANCE ? next : undefined;
}
