/** Tables of an inferline bundle, in its order. */
import type { InferlineBundle } from "../../../bundle/schema.ts";
import { profileSections, type Section, sectionOf } from "../../../describe/bundle-sections.ts";

export function inferlineSections({ tasks, levels }: InferlineBundle): Section[] {
  const envelopes = levels.flatMap(({ sample: { envelope } }, index) => {
    const path = `levels[${index}].sample.envelope`;
    return [
      sectionOf(`${path}.windowMs`, envelope.windowMs),
      sectionOf(`${path}.requests`, envelope.requests),
    ];
  });
  return [...profileSections(tasks), ...envelopes];
}
