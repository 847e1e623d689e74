/** Tunes the setting of an autoscaler in hindsight. */
import type { ScalerChoice } from "./scaler.ts";
import { SCALERS, type ScalerSetting, sameForAll } from "./scaler-settings.ts";
import type { ScalerName } from "./scalers.ts";

/** Outcome of a setting on the requests that it is tuned for. */
export interface ScalerTrial {
  readonly violationRate: number;
  /** Currency or cores, mean over time. */
  readonly cost: number;
}

/** A setting, with its plan. */
export interface PlannedSetting {
  /** Index of a level. */
  readonly plan: number;
  readonly setting: ScalerSetting;
}

/** A tried setting and its outcome. */
export interface TriedSetting extends PlannedSetting {
  readonly trial: ScalerTrial;
}

interface TuningFrame {
  readonly name: ScalerName;
  readonly stageCount: number;
  /** Indices of levels whose hardware and batches an autoscaler may be given. */
  readonly plans: readonly number[];
  /** Ratio of requests that may violate the SLO. */
  readonly ceiling: number;
  measure(plan: number, setting: ScalerSetting): ScalerTrial;
}

/**
 * Tries every plan and choice of options, with the highest target for all stages that keeps the
 * ceiling, bisected on the assumption that more replicas always help; then, from the best of these,
 * a higher target for one stage after the other, while that is better.
 * @returns all trials, the best first: the cheapest within the ceiling or, if no trial keeps it,
 * the one with the fewest violations.
 */
export function tuneScaler(frame: TuningFrame): TriedSetting[] {
  const { name, plans } = frame;
  const tried = plans.flatMap((plan) =>
    SCALERS[name].tried.flatMap((choice) => bisected(frame, plan, choice)),
  );
  const [best] = tried.toSorted(bestFirst(frame.ceiling));
  if (best !== undefined && frame.stageCount > 1) refine(frame, best, tried);
  return tried.sort(bestFirst(frame.ceiling));
}

/** Orders trials by their value under a ceiling. */
function bestFirst(ceiling: number): (a: TriedSetting, b: TriedSetting) => number {
  const excess = ({ trial }: TriedSetting) => Math.max(0, trial.violationRate - ceiling);
  return (a, b) =>
    excess(a) - excess(b) ||
    a.trial.cost - b.trial.cost ||
    a.trial.violationRate - b.trial.violationRate;
}

function bisected(frame: TuningFrame, plan: number, choice: ScalerChoice): TriedSetting[] {
  const { stageCount, ceiling } = frame;
  const tried: TriedSetting[] = [];
  let low = 0;
  let high = choice.targets.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const target = choice.targets[middle] ?? Number.NaN;
    const one = attempt(frame, plan, sameForAll(choice, target, stageCount));
    tried.push(one);
    if (one.trial.violationRate <= ceiling) low = middle + 1;
    else high = middle;
  }
  return tried;
}

/** Raises the targets of a setting, stage by stage, and adds the trials. */
function refine(frame: TuningFrame, start: TriedSetting, tried: TriedSetting[]): void {
  const order = bestFirst(frame.ceiling);
  let best = start;
  for (let stage = 0; stage < frame.stageCount; stage++) {
    for (let isBetter = true; isBetter; ) {
      const setting = raised(best.setting, stage);
      if (setting === null) break;
      const next = attempt(frame, best.plan, setting);
      tried.push(next);
      isBetter = order(next, best) < 0;
      if (isBetter) best = next;
    }
  }
}

/** @returns null if the target is already the highest. */
function raised(setting: ScalerSetting, stage: number): ScalerSetting | null {
  const { choice, targets } = setting;
  const position = choice.targets.indexOf(targets[stage] ?? Number.NaN);
  const target = choice.targets[position + 1];
  return target === undefined ? null : { choice, targets: targets.with(stage, target) };
}

function attempt(frame: TuningFrame, plan: number, setting: ScalerSetting): TriedSetting {
  return { plan, setting, trial: frame.measure(plan, setting) };
}
