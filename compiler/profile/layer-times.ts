/** Times of runs of layers → times of layers that add up. */

/** What was measured of one model, all of one instance, inside the worker, in ms. */
interface LayerRuns {
  /** Of each layer as a model of its own, at least one. */
  readonly unitMs: readonly number[];
  readonly wholeMs: number;
  /** Of a model that computes nothing. */
  readonly emptyMs: number;
}

/**
 * A layer that takes no longer than an empty run is given this much: clocks tell no less apart, and
 * a layer of no time has no place in a cut.
 */
export const LEAST_LAYER_MS = 0.001;

/**
 * Times of the layers, each above 0, that together take as long as the whole. What a run takes
 * whatever it computes is no part of any of them, so it is taken off each; what is left is scaled,
 * since layers by themselves miss what the engine gains where it computes neighbours together.
 */
export function layerTimes({ unitMs, wholeMs, emptyMs }: LayerRuns): number[] {
  const ownMs = unitMs.map((ms) => Math.max(LEAST_LAYER_MS, ms - emptyMs));
  const sumMs = ownMs.reduce((sum, ms) => sum + ms, 0);
  const scale = Math.max(LEAST_LAYER_MS, wholeMs) / sumMs;
  return ownMs.map((ms) => ms * scale);
}

/** What a stage takes by the times of its layers, in ms. */
export function addedUpMs(
  layerMs: readonly number[],
  overheadMs: number,
  { from, to }: { readonly from: number; readonly to: number },
): number {
  return layerMs.slice(from, to).reduce((sum, ms) => sum + ms, overheadMs);
}
