/** Tables of a ramsis bundle, in its order. */
import type { RamsisBundle, RamsisPaceLevel } from "../../../bundle/schema.ts";
import { type Section, sectionOf, serviceTimeSections } from "../../../describe/bundle-sections.ts";

export function ramsisSections(bundle: RamsisBundle): Section[] {
  const { tasks, decisionSpace, classSpaces = [], buckets = [] } = bundle;
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
  const { levels, paceLevels = [] } = bundle;
  return [
    ...sections,
    ...levels.flatMap((level, index) => levelSections(`levels[${index}]`, level)),
    ...paceLevels.flatMap((level, index) => levelSections(`paceLevels[${index}]`, level)),
  ];
}

function levelSections(
  path: string,
  { actionByState, classTables = [], bucketTables = [], mixture }: Omit<RamsisPaceLevel, "pace">,
): Section[] {
  return [
    sectionOf(`${path}.actionByState`, actionByState),
    ...classTables.map((table, at) =>
      sectionOf(`${path}.classTables[${at}].actionByState`, table.actionByState),
    ),
    ...bucketTables.map((table, at) => sectionOf(`${path}.bucketTables[${at}]`, table)),
    ...(mixture === null
      ? []
      : [sectionOf(`${path}.mixture.actionByState`, mixture.actionByState)]),
  ];
}
