/** What the client measured of the live burst beside what was simulated. */
import type { LoadResult } from "../../compiler/load/run-load.ts";
import { metricsText } from "../harness/metrics.ts";
import { mean, ms, percent, present, sum } from "../harness/numbers.ts";
import type { Page } from "../harness/page.ts";
import type { Phase, PhaseOutcome, SimulatedPhases } from "./live-phases.ts";
import type { ScaleSample } from "./scale-samples.ts";

export function reportPhases(
  page: Page,
  phases: readonly Phase[],
  measured: readonly LoadResult[],
  samples: readonly ScaleSample[],
  simulated: SimulatedPhases,
): void {
  let beginMs = 0;
  for (const [index, phase] of phases.entries()) {
    const endMs = beginMs + 1000 * phase.seconds;
    const held = samples.filter(({ atMs }) => atMs >= beginMs && atMs < endMs);
    beginMs = endMs;
    const result = present(measured[index]);
    const cores = held.map((sample) => sample.held);
    page.say(phaseText(phase, result, cores, present(simulated.phases[index])));
    const { errors } = result;
    if (Object.keys(errors).length > 0) page.say(`  ${JSON.stringify(errors)}`);
  }
  const { bursts, settled, resizes, up, down } = simulated.scaling;
  page.say(
    `simulated in all: ${bursts} bursts met, ${settled} plans settled on, ` +
      `${resizes} resizes, ${up} instances started, ${down} stopped`,
  );
}

function phaseText(
  { name, seconds, qps }: Phase,
  { queries, late, violationRate, latencyMs, sendLagMs, errors }: LoadResult,
  cores: readonly number[],
  expected: PhaseOutcome,
): string {
  const { dropped, failed, lost } = fatesOf(errors);
  const held = `cores ${mean(cores).toFixed(2)} (most ${Math.max(...cores)})`;
  return [
    `${name}, ${qps} requests/s for ${seconds} s: ` +
      `${queries} requests, ${late} late, ${dropped} given up, ${failed} failed, ` +
      `${lost} lost`,
    `violations ${percent(violationRate)} measured, ${percent(expected.violationRate)} simulated`,
    `p50 ${ms(latencyMs?.p50 ?? Number.NaN)}, ${ms(expected.p50)}`,
    `p99 ${ms(latencyMs?.p99 ?? Number.NaN)}, ${ms(expected.p99)}`,
    `${held}, ${expected.cores.toFixed(2)} (most ${expected.mostCores})`,
    `send lag p99 ${ms(sendLagMs?.p99 ?? Number.NaN)}`,
  ].join("; ");
}

/** The server answers 503 for what it gives up; whatever has no HTTP status was lost. */
function fatesOf(errors: LoadResult["errors"]) {
  const fates = { dropped: 0, failed: 0, lost: 0 };
  for (const [reason, count] of Object.entries(errors)) {
    if (reason === "503") fates.dropped += count;
    else if (/^\d+$/.test(reason)) fates.failed += count;
    else fates.lost += count;
  }
  return fates;
}

/** Ends with 1 unless all that was sent is accounted for. */
export async function reportTotals(
  page: Page,
  url: string,
  measured: readonly LoadResult[],
): Promise<void> {
  const text = await metricsText(url);
  const counted = [...text.matchAll(/^stratagem_queries_total{outcome="(\w+)"} (\d+)$/gm)];
  const byOutcome = Object.fromEntries(counted.map(([, outcome, n]) => [outcome, Number(n)]));
  const of = (name: string) => new RegExp(`^stratagem_${name}_total (\\d+)$`, "m").exec(text)?.[1];
  page.say(
    `measured in all: ${of("bursts")} bursts met, ` +
      `${of("plans_settled")} plans settled on, ${of("looks")} looks`,
  );
  const fates = measured.map(({ errors }) => fatesOf(errors));
  const lost = sum(fates.map((fate) => fate.lost));
  const failed = sum(fates.map((fate) => fate.failed));
  const sent = sum(measured.map(({ queries }) => queries));
  page.say(`${sent} requests sent, ${lost} lost; the server counted ${JSON.stringify(byOutcome)}`);
  // What it counts is answered or given up; what failed is neither.
  if (lost > 0 || sum(Object.values(byOutcome)) + failed !== sent) process.exitCode = 1;
}
