/** Tables of an accordion bundle, in its order. */
import type { AccordionBundle } from "../../../bundle/schema.ts";
import { type Section, sectionOf } from "../../../describe/bundle-sections.ts";

export function accordionSections({ tasks, shapes }: AccordionBundle): Section[] {
  const latencies = tasks.flatMap(({ variants }, index) =>
    variants.map(({ latencyMs }, variant) =>
      sectionOf(`tasks[${index}].variants[${variant}].latencyMs`, latencyMs),
    ),
  );
  return [...latencies, sectionOf("shapes", shapes)];
}
