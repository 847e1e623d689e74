/** What the two models of a chain answer, and how often the letter they name is there. */
import { type InferenceSession, Tensor } from "onnxruntime-node";
import { bytesOf, floatsOf, integersOf, shareOf } from "../../answers.ts";
import { CROP_BYTES, SCENE_BYTES, SCENE_SIDE, type SceneObject } from "../scenes/dataset.ts";
import { type Box, boxesOf, classify, MATCH_DISTANCE } from "../scenes/measure.ts";

const BATCH_SIZE = 50;
const NOWHERE: Box = { x: 0, y: 0, score: 0 };

/** What the finder gives of a scene. */
export interface Finding {
  readonly found: boolean;
  readonly letter: Uint8Array;
  readonly place: Box;
}

/**
 * Shares of the scenes in which something is found, of those in which that is a letter, and of
 * those in which its name is right.
 */
export interface Figures {
  readonly foundShare: number;
  readonly shownShare: number;
  readonly accuracy: number;
}

/** What the finder gives, by scene. @param pixels of the scenes, [scenes, SCENE_BYTES]. */
export async function find(session: InferenceSession, pixels: Uint8Array): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (let first = 0; first < pixels.length; first += BATCH_SIZE * SCENE_BYTES) {
    const bytes = pixels.slice(first, first + BATCH_SIZE * SCENE_BYTES);
    const rows = bytes.length / SCENE_BYTES;
    const scene = new Tensor("uint8", bytes, [rows, 1, SCENE_SIDE, SCENE_SIDE]);
    const out = await session.run({ scene });
    const letters = bytesOf(out, "letter");
    const places = boxesOf(floatsOf(out, "place"));
    for (const [row, found] of integersOf(out, "found").entries()) {
      findings.push({
        found: found === 1,
        letter: letters.slice(CROP_BYTES * row, CROP_BYTES * (row + 1)),
        place: places[row] ?? NOWHERE,
      });
    }
  }
  return findings;
}

/** What the chain does with scenes. */
export async function figuresOf(
  finder: InferenceSession,
  namer: InferenceSession,
  { pixels, objectsByScene }: { pixels: Uint8Array; objectsByScene: SceneObject[][] },
): Promise<Figures> {
  const findings = await find(finder, pixels);
  const classes = await classify(namer, Buffer.concat(findings.map(({ letter }) => letter)));
  const answers = findings.map(({ found, place }, scene) => {
    const objects = found ? (objectsByScene[scene] ?? []) : [];
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
function nearest(objects: readonly SceneObject[], { x, y }: Box): SceneObject | undefined {
  const away = (one: SceneObject) => Math.hypot(one.x - x, one.y - y);
  const [next] = objects.toSorted((a, b) => away(a) - away(b));
  return next !== undefined && away(next) <= MATCH_DISTANCE ? next : undefined;
}
