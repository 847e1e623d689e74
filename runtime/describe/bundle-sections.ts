/** Summaries of a bundle's tables, which `inspect` lists instead of their cells. */
import { createHash } from "node:crypto";
import type { InferlineBundle, LokiBundle, ServiceTimes, Table } from "../bundle/schema.ts";

export interface Section {
  /** Path of the table inside the bundle. */
  readonly name: string;
  readonly dtype: Table["dtype"];
  readonly shape: readonly number[];
  readonly bytes: number;
  /** Digest of the table's bytes, little-endian as in the file. */
  readonly sha256: string;
}

export function sectionOf(name: string, { dtype, shape, data }: Table): Section {
  const sha256 = createHash("sha256").update(data).digest("hex");
  return { name, dtype, shape, bytes: data.byteLength, sha256 };
}

export function serviceTimeSections(
  path: string,
  { decisionMs, quantiles }: ServiceTimes,
): Section[] {
  return [
    sectionOf(`${path}.decisionMs`, decisionMs),
    ...Object.entries(quantiles ?? {}).map(([name, table]) =>
      sectionOf(`${path}.quantiles.${name}`, table),
    ),
  ];
}

export function profileSections(tasks: LokiBundle["tasks"] | InferlineBundle["tasks"]): Section[] {
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
