/** Tasks and levels of tables as `inspect --json` prints them. */
import type { RamsisBundle, RamsisLevel, RamsisPaceLevel } from "../../../bundle/schema.ts";
import { type Section, sectionOf, serviceTimeSections } from "../../../describe/bundle-sections.ts";
import { classViews } from "./class-level-view.ts";
import { ramsisMissed } from "./missed.ts";
import { serviceMsOf } from "./service-ms.ts";

export function ramsisTasks({ tasks }: RamsisBundle) {
  return tasks.map(taskReport);
}

function taskReport({ name, variants, serviceTimes }: RamsisBundle["tasks"][number]) {
  return {
    name,
    variants: variants.map((variant, index) => ({
      ...variant,
      batch1Ms: serviceMsOf(serviceTimes.decisionMs, index, 1),
    })),
  };
}

/** Reports levels as `compile` does. @param solveMs wall time of each, if known. */
export function ramsisLevels(bundle: RamsisBundle, solveMs: readonly number[]) {
  return bundle.levels.map((level, index) => {
    const { loadQps, feasible, capacityQps, expected } = level;
    const missed = ramsisMissed(bundle, level);
    const solve = { ms: solveMs[index] ?? null, ...level.solve };
    const workers = level.classTables && workersByClass(bundle, level);
    const split = workers === undefined ? {} : { workersByClass: workers };
    return { loadQps, feasible, missed, capacityQps, expected, ...split, solve };
  });
}

/** Returns the workers of each class; null for classes without workers of their own. */
function workersByClass(bundle: RamsisBundle, level: RamsisLevel): Record<string, number | null> {
  return Object.fromEntries(classViews(bundle, level).map(({ name, workers }) => [name, workers]));
}

/** The tables of a bundle of ramsis, in its order. */
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
