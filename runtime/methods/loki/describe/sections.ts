/** Tables of a loki bundle, in its order. */
import type { LokiBundle } from "../../../bundle/schema.ts";
import {
  profileSections,
  type Section,
  sectionOf,
  serviceTimeSections,
} from "../../../describe/bundle-sections.ts";

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
