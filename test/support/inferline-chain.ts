import type { InferlineBundle } from "../../runtime/bundle/schema.ts";
import {
  type InferlineBundleSketch,
  type InferlineLevelSketch,
  inferlineBundle,
} from "./inferline-bundle.ts";
import { InferlineDriver, ToldTuner } from "./inferline-driver.ts";

export const A = { name: "a", latencyMs: { 1: 10, 2: 15, 4: 25 } };
export const B = { name: "b", from: { a: 1 }, latencyMs: { 1: 20, 2: 30 } };

/** Two tasks, one after the other. */
export function chain(
  stages: InferlineLevelSketch["stages"],
  sketch: Partial<InferlineBundleSketch> = {},
): InferlineBundle {
  return inferlineBundle({ tasks: [A, B], levels: [{ loadQps: 100, stages }], ...sketch });
}

/** A driver whose tuner does as it is told. */
export function told(bundle: InferlineBundle) {
  const tuner = new ToldTuner(bundle);
  const driver = new InferlineDriver(bundle, { tuner }).start();
  const tell = (...targets: number[]) => {
    tuner.tell(...targets);
    tuner.wakeMs = driver.nowMs;
    driver.endEvent();
  };
  return { driver, tuner, tell };
}
