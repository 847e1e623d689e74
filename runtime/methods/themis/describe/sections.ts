/** Tables of a themis bundle, in its order. */
import type { ThemisBundle } from "../../../bundle/schema.ts";
import { type Section, sectionOf } from "../../../describe/bundle-sections.ts";

export function themisSections({ tasks, transitions }: ThemisBundle): Section[] {
  const latencies = tasks.flatMap(({ variants }, index) =>
    variants.flatMap(({ latency }, variant) => {
      const path = `tasks[${index}].variants[${variant}].latency`;
      return [sectionOf(`${path}.ms`, latency.ms), sectionOf(`${path}.points`, latency.points)];
    }),
  );
  return [...latencies, sectionOf("transitions", transitions)];
}
