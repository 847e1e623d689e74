import { describe, expect, test } from "vitest";
import {
  type AccordionSimulationResult,
  simulateAccordion,
} from "../../../../../compiler/methods/accordion/simulate/simulate.ts";
import type { SizeOutcome } from "../../../../../compiler/methods/accordion/simulate/tally.ts";
import { rareStream } from "../../../../../lab/experiments/accordion/rare-stream.ts";
import type { AccordionOptions } from "../../../../../runtime/bundle/schema.ts";
import { table1Bundle } from "../../../../support/accordion-bundle.ts";

/** What policies have by default, and each of the rules beyond the paper alone. */
const POLICIES = {
  "by default": { regrow: true, backfill: true, dropout: "turn" },
  "with regrow alone": { regrow: true, backfill: false, dropout: "turn" },
  "with backfill alone": { regrow: false, backfill: true, dropout: "turn" },
} satisfies Record<string, Partial<AccordionOptions>>;

function served(
  policy: Partial<AccordionOptions>,
  timing: AccordionOptions["timing"],
  load: number,
  seed: number,
): AccordionSimulationResult {
  const { bundle, queries, durationMs } = rareStream(table1Bundle({ timing, policy }), {
    load,
    seed,
  });
  return simulateAccordion(bundle, { arrivals: { kind: "queries", queries }, durationMs, seed });
}

/** Of the class with the large queries, which need six to eight places. */
function large({ bySize }: AccordionSimulationResult): SizeOutcome | undefined {
  return bySize.find(({ places }) => places?.from === 5);
}

describe.each(Object.entries(POLICIES))("rare large queries of high priority, %s,", (_, policy) => {
  test.each([
    ["paper", 0.97, 1],
    ["paper", 0.98, 2],
    ["pipelined", 0.98, 3],
  ] as const)("are on time among small ones, %s timing, load %d", (timing, load, seed) => {
    const result = served(policy, timing, load, seed);
    expect(large(result)?.high).toMatchObject({ queries: 10, late: 0 });
    for (const { high, low } of result.bySize) {
      expect(high.violationRate).toBeLessThanOrEqual(0.001);
      expect(low.violationRate).toBeLessThanOrEqual(0.001);
    }
  });
});
