/** What became of live queries beside the simulation of the same, by model and by priority. */
import type { AccordionQueries } from "stratagem/internal/methods/accordion/simulate/queries";
import type { AccordionSimulationResult } from "stratagem/internal/methods/accordion/simulate/simulate";
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";
import { ascending, mean, ms, percent, present, quantile } from "../harness/numbers.ts";
import type { Page } from "../harness/page.ts";
import type { PlaceAnswer } from "./place-client.ts";

export function reportOutcomes(
  page: Page,
  bundle: AccordionBundle,
  queries: AccordionQueries,
  answers: readonly PlaceAnswer[],
  { latencyMsByQuery }: AccordionSimulationResult,
): void {
  const all = [...answers.keys()];
  const models = present(bundle.tasks[0]).variants.map(({ name }, model) => {
    return [name, all.filter((query) => queries.model[query] === model)] as const;
  });
  const priorities = (["low", "high"] as const).map((name, isHigh) => {
    return [`${name} priority`, all.filter((query) => queries.isHigh[query] === isHigh)] as const;
  });
  for (const [name, own] of [["all", all] as const, ...models, ...priorities.toReversed()]) {
    const measured = own.map((query) => {
      const { status, latencyMs } = present(answers[query]);
      return status === 200 ? latencyMs : Number.NaN;
    });
    const simulated = own.map((query) => latencyMsByQuery?.[query] ?? Number.NaN);
    const sloMs = bundle.slo.latencyMs;
    page.say(`${name}: ${besideText(fatesOf(measured, sloMs), fatesOf(simulated, sloMs))}`);
  }
}

type Fates = ReturnType<typeof fatesOf>;

function besideText(measured: Fates, simulated: Fates): string {
  const pair = (of: (fates: Fates) => string | number) => `${of(measured)} (${of(simulated)})`;
  const late = pair((fates) => fates.late);
  const dropped = pair((fates) => fates.dropped);
  const violations = pair((fates) => percent(fates.violationRate));
  const latencies = (["mean", "p50", "p99"] as const).map(
    (key) => `${key} ${pair((fates) => ms(fates[key]))}`,
  );
  return (
    `${measured.count} queries; measured (simulated): ` +
    `late ${late}, not served ${dropped}, violations ${violations}; ${latencies.join(", ")}`
  );
}

/** @param latencies ms, NaN for what was not served. */
function fatesOf(latencies: readonly number[], sloMs: number) {
  const served = ascending(latencies.filter((value) => !Number.isNaN(value)));
  const late = served.filter((value) => value > sloMs).length;
  const dropped = latencies.length - served.length;
  return {
    count: latencies.length,
    late,
    dropped,
    violationRate: (late + dropped) / latencies.length,
    mean: mean(served),
    p50: quantile(served, 0.5),
    p99: quantile(served, 0.99),
  };
}
