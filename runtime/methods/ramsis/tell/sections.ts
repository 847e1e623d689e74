/** The tables of a bundle of ramsis, in its order. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { type Section, sectionOf, serviceTimeSections } from "../../../tell/bundle-sections.ts";

export function ramsisSections(bundle: RamsisBundle): Section[] {
  const { tasks, decisionSpace, classSpaces = [], buckets = [], levels } = bundle;
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
    ...buckets.flatMap(({ serviceTimes, slackMs, queued }, index) => [
      ...serviceTimeSections(`buckets[${index}].serviceTimes`, serviceTimes),
      sectionOf(`buckets[${index}].slackMs`, slackMs),
      ...(queued === undefined ? [] : [sectionOf(`buckets[${index}].queued`, queued)]),
    ]),
  );
  for (const [index, level] of levels.entries()) {
    const { actionByState, classTables = [], bucketTables = [], mixture } = level;
    sections.push(sectionOf(`levels[${index}].actionByState`, actionByState));
    for (const [at, table] of classTables.entries()) {
      const path = `levels[${index}].classTables[${at}].actionByState`;
      sections.push(sectionOf(path, table.actionByState));
    }
    for (const [at, table] of bucketTables.entries()) {
      sections.push(sectionOf(`levels[${index}].bucketTables[${at}]`, table));
    }
    if (mixture === null) continue;
    sections.push(sectionOf(`levels[${index}].mixture.actionByState`, mixture.actionByState));
  }
  return sections;
}
