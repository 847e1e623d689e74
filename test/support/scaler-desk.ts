import type { StageFacts, StageSight } from "../../compiler/simulate/graph/scalers/scaler.ts";
import {
  openScalers,
  SCALERS,
  sameForAll,
} from "../../compiler/simulate/graph/scalers/scaler-settings.ts";
import type { ScalerName } from "../../compiler/simulate/graph/scalers/scalers.ts";

/** A stage whose batches of 1 and 2 take 10 and 16 ms. */
export const FACTS: StageFacts = {
  batchMs: Float64Array.of(10, 16),
  shareMs: 100,
  startMs: 5000,
  replicas: 2,
};

/** What a stage is like from a time on, in seconds. */
export interface StageScene {
  readonly fromS: number;
  readonly qps?: number;
  readonly waiting?: number;
  readonly running?: number;
  readonly busy?: number;
}

/**
 * What an autoscaler as shipped, but for its target, says with every look at a stage.
 * @param scenes in their order; replicas are up when they are asked for, or as `readyAt` says.
 */
export function decisions(
  name: ScalerName,
  target: number,
  untilS: number,
  scenes: readonly StageScene[],
  options: { readonly facts?: StageFacts; readonly readyAt?: (nowS: number) => number } = {},
): { readonly atS: number; readonly replicas: number }[] {
  const { facts = FACTS, readyAt } = options;
  const [scaler] = openScalers(sameForAll(SCALERS[name].shipped, target, 1), [facts]);
  const periodS = SCALERS[name].periodMs / 1000;
  const told: { atS: number; replicas: number }[] = [];
  let replicas = facts.replicas;
  for (let atS = periodS; atS <= untilS; atS += periodS) {
    const sight = sightAt(atS, scenes);
    const seen = { ...sight, target: replicas, ready: readyAt?.(atS) ?? replicas };
    replicas = scaler?.look(seen) ?? Number.NaN;
    told.push({ atS, replicas });
  }
  return told;
}

/** The number at the last look that is not after a time. */
export function replicasAt(told: readonly { atS: number; replicas: number }[], atS: number) {
  return told.findLast((one) => one.atS <= atS)?.replicas;
}

function sightAt(
  nowS: number,
  scenes: readonly StageScene[],
): Omit<StageSight, "target" | "ready"> {
  const over = (of: (scene: StageScene) => number): number =>
    scenes.reduce((sum, scene, at) => {
      const endS = Math.min(nowS, scenes[at + 1]?.fromS ?? nowS);
      return sum + Math.max(0, endS - scene.fromS) * of(scene);
    }, 0);
  const now = scenes.findLast(({ fromS }) => fromS < nowS);
  const waiting = ({ waiting: count = 0 }: StageScene) => count;
  const running = ({ running: count = 0 }: StageScene) => count;
  return {
    nowMs: 1000 * nowS,
    waiting: now === undefined ? 0 : waiting(now),
    running: now === undefined ? 0 : running(now),
    arrived: over(({ qps = 0 }) => qps),
    inStageMs: 1000 * over((scene) => waiting(scene) + running(scene)),
    waitingMs: 1000 * over(waiting),
    busyMs: 1000 * over(({ busy = 0 }) => busy),
  };
}
