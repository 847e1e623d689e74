/** The tables of a bundle, by name: what `inspect` lists instead of their cells. */
import { createHash } from "node:crypto";
import type {
  AccordionBundle,
  Bundle,
  InferlineBundle,
  LokiBundle,
  RamsisBundle,
  ServiceTimes,
  Table,
  ThemisBundle,
} from "./bundle/schema.ts";

export interface Section {
  /** Path of the table inside the bundle. */
  readonly name: string;
  readonly dtype: Table["dtype"];
  readonly shape: readonly number[];
  readonly bytes: number;
  /** Of the table's bytes, little-endian as in the file. */
  readonly sha256: string;
}

/** In the order of the bundle. */
export function sectionsOf(bundle: Bundle): Section[] {
  if (bundle.method === "ramsis") return tableSections(bundle);
  if (bundle.method === "themis") return scaleSections(bundle);
  if (bundle.method === "accordion") return placeSections(bundle);
  return bundle.method === "loki" ? pipelineSections(bundle) : stageSections(bundle);
}

function scaleSections({ tasks, transitions }: ThemisBundle): Section[] {
  const latencies = tasks.flatMap(({ variants }, index) =>
    variants.flatMap(({ latency }, variant) => {
      const path = `tasks[${index}].variants[${variant}].latency`;
      return [sectionOf(`${path}.ms`, latency.ms), sectionOf(`${path}.points`, latency.points)];
    }),
  );
  return [...latencies, sectionOf("transitions", transitions)];
}

function placeSections({ tasks, shapes }: AccordionBundle): Section[] {
  const latencies = tasks.flatMap(({ variants }, index) =>
    variants.map(({ latencyMs }, variant) =>
      sectionOf(`tasks[${index}].variants[${variant}].latencyMs`, latencyMs),
    ),
  );
  return [...latencies, sectionOf("shapes", shapes)];
}

function pipelineSections({ tasks, leaves, levels }: LokiBundle): Section[] {
  const sections = profileSections(tasks);
  for (const [index, { accuracyByPath }] of leaves.entries()) {
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

function stageSections({ tasks, levels }: InferlineBundle): Section[] {
  const envelopes = levels.flatMap(({ sample: { envelope } }, index) => {
    const path = `levels[${index}].sample.envelope`;
    return [
      sectionOf(`${path}.windowMs`, envelope.windowMs),
      sectionOf(`${path}.requests`, envelope.requests),
    ];
  });
  return [...profileSections(tasks), ...envelopes];
}

function profileSections(tasks: LokiBundle["tasks"] | InferlineBundle["tasks"]): Section[] {
  const sections: Section[] = [];
  for (const [index, { variants }] of tasks.entries()) {
    for (const [variant, { profiles }] of variants.entries()) {
      for (const [pool, profile] of profiles.entries()) {
        if (profile === null) continue;
        const path = `tasks[${index}].variants[${variant}].profiles[${pool}]`;
        sections.push(
          sectionOf(`${path}.batches`, profile.batches),
          sectionOf(`${path}.latencyMs`, profile.latencyMs),
          ...serviceTimeSections(`${path}.serviceTimes`, profile.serviceTimes),
        );
      }
    }
  }
  return sections;
}

function serviceTimeSections(path: string, { decisionMs, quantiles }: ServiceTimes): Section[] {
  return [
    sectionOf(`${path}.decisionMs`, decisionMs),
    ...Object.entries(quantiles ?? {}).map(([name, table]) =>
      sectionOf(`${path}.quantiles.${name}`, table),
    ),
  ];
}

function tableSections(bundle: RamsisBundle): Section[] {
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

function sectionOf(name: string, { dtype, shape, data }: Table): Section {
  const sha256 = createHash("sha256").update(data).digest("hex");
  return { name, dtype, shape, bytes: data.byteLength, sha256 };
}
