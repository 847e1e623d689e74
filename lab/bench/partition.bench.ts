/**
 * Cutting a chain of layers into stages: all depths up to 8 at once, and all shapes of two pools of
 * places.
 */

import { layerPartitions, mixedPartitions } from "stratagem/internal/numeric/partition";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { placeShapes } from "stratagem-runtime/internal/methods/accordion/bundle/place-shapes";
import { bench, describe } from "vitest";

const MAX_DEPTH = 8;
const SHAPES = [...placeShapes([64, 64], MAX_DEPTH)];

/** From light to heavy, as layers are: the heaviest weighs some twenty times the lightest. */
function chainOf(layers: number, seed: number): number[] {
  const rng = new Rng(seed, 1);
  return Array.from({ length: layers }, () => Math.exp(3 * rng.nextFloat()));
}

for (const layers of [16, 50, 152, 1000]) {
  describe(`${layers} layers, depths 1 to ${MAX_DEPTH}`, () => {
    const layerMs = chainOf(layers, layers);
    const fast = { layerMs, overheadMs: 0.2 };
    const slow = { layerMs: layerMs.map((ms) => 1.7 * ms), overheadMs: 0.5 };
    bench("exact, places that are alike", () => {
      if (layerPartitions(layerMs, MAX_DEPTH).length !== MAX_DEPTH) throw new Error("all depths");
    });
    bench(`exact, ${SHAPES.length} shapes of two pools`, () => {
      if (mixedPartitions([fast, slow], SHAPES).includes(null)) throw new Error("all shapes");
    });
  });
}
