/** The tables of a bundle of ramsis, in its order. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { type Section, sectionOf, serviceTimeSections } from "../../../tell/bundle-sections.ts";

export function ramsisSections(bundle: RamsisBundle): Section[] {
  const { tasks, decisionSpace, classSpaces = [], levels } = bundle;
  const sections = tasks.flatMap(({ serviceTimes }, index) =>
    serviceTimeSections(`tasks[${index}].serviceTimes`, serviceTimes),
  );
  sections.push(
    ...(decisionSpace.queued === undefined
      ? []
      : [sectionOf("decisionSpace.queued", decisionSpace.queued)]),
    sectionOf("decisionSpace.slackMs", decisionSpace.slackMs),
    sectionOf("decisionSpace.actions", decisionSpace.actions),
    ...classSpaces.flatMap(({ slackMs, queued }, index) => [
      sectionOf(`classSpaces[${index}].slackMs`, slackMs),
      ...(queued === undefined ? [] : [sectionOf(`classSpaces[${index}].queued`, queued)]),
    ]),
  );
  for (const [index, { actionByState, classTables = [], mixture }] of levels.entries()) {
    sections.push(sectionOf(`levels[${index}].actionByState`, actionByState));
    for (const [at, table] of classTables.entries()) {
      const path = `levels[${index}].classTables[${at}].actionByState`;
      sections.push(sectionOf(path, table.actionByState));
    }
    if (mixture === null) continue;
    sections.push(sectionOf(`levels[${index}].mixture.actionByState`, mixture.actionByState));
  }
  return sections;
}
