/** Tasks and levels of plans, as in `inspect --json`. */
import type { LokiBundle } from "../../../bundle/schema.ts";
import {
  profileSections,
  type Section,
  sectionOf,
  serviceTimeSections,
} from "../../../describe/bundle-sections.ts";
import { measuredReports } from "../../../describe/profile-reports.ts";
import { lokiMissed } from "./missed.ts";
import { planView } from "./plan-view.ts";

export function lokiTasks({ tasks }: LokiBundle) {
  return tasks.map(({ variants, ...task }) => ({ ...task, variants: measuredReports(variants) }));
}

/** Reports levels as `compile` does. @param solveMs wall time of each, if known. */
export function lokiLevels(bundle: LokiBundle, solveMs: readonly number[]) {
  return bundle.levels.map((level, index) => {
    const { loadQps, feasible, capacityQps, expected, transition } = level;
    const missed = lokiMissed(bundle, level);
    const plan = planView(bundle, level);
    const solve = { ms: solveMs[index] ?? null, ...level.solve };
    return { loadQps, feasible, missed, capacityQps, plan, transition, expected, solve };
  });
}

/** The tables of a bundle of loki, in its order. */
export function lokiSections({ tasks, leaves, levels }: LokiBundle): Section[] {
  const sections = profileSections(tasks);
  for (const [index, { accuracyByPath }] of leaves.entries()) {
    if (accuracyByPath === null) continue;
    sections.push(sectionOf(`leaves[${index}].accuracyByPath`, accuracyByPath));
  }
  for (const [index, { stages }] of levels.entries()) {
    for (const [task, stage] of (stages ?? []).entries()) {
      if (stage === null) continue;
      const path = `levels[${index}].stages[${task}]`;
      sections.push(
        ...serviceTimeSections(`${path}.serviceTimes`, stage.serviceTimes),
        sectionOf(`${path}.decisionSpace.slackMs`, stage.decisionSpace.slackMs),
        sectionOf(`${path}.decisionSpace.actions`, stage.decisionSpace.actions),
        sectionOf(`${path}.actionByState`, stage.actionByState),
      );
    }
  }
  return sections;
}
