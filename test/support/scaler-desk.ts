import type { StageFacts, StageState } from "../../compiler/simulate/graph/scalers/scaler.ts";
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

/** Load of a stage from a time on, in seconds. */
export interface StageScene {
  readonly fromS: number;
  readonly qps?: number;
  readonly waiting?: number;
  readonly running?: number;
  readonly busy?: number;
}

/**
 * Returns the decisions of an autoscaler, as shipped except for its target, at every poll of a
 * stage.
 * @param scenes in their order; replicas are ready at once, or as `readyAt` says.
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
  const decided: { atS: number; replicas: number }[] = [];
  let replicas = facts.replicas;
  for (let atS = periodS; atS <= untilS; atS += periodS) {
    const state = stateAt(atS, scenes);
    const seen = { ...state, target: replicas, ready: readyAt?.(atS) ?? replicas };
    replicas = scaler?.decide(seen) ?? Number.NaN;
    decided.push({ atS, replicas });
  }
  return decided;
}

/** Returns the number of replicas at the last poll up to a time. */
export function replicasAt(decided: readonly { atS: number; replicas: number }[], atS: number) {
  return decided.findLast((one) => one.atS <= atS)?.replicas;
}

function stateAt(
  nowS: number,
  scenes: readonly StageScene[],
): Omit<StageState, "target" | "ready"> {
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
