/** A row for each method: means over runs of what became of requests and cores. */
import { themisBaseline } from "stratagem/internal/methods/themis/baselines";
import type { ThemisSimulationResult } from "stratagem/internal/methods/themis/simulate/simulate";
import type { ThemisBundle } from "stratagem-runtime/internal/bundle/schema";
import { meanOf, percent } from "../harness/numbers.ts";
import { withPolicy } from "./reference-apps.ts";

export const HEAD = [
  "",
  ...["violations", "worst seed", "dropped", "p50 ms", "p99 ms"],
  ...["mean cores", "most", "bursts", "plans"],
];

/** The paper's systems beside ours, by their names. */
export function systemsOf(bundle: ThemisBundle): Readonly<Record<string, ThemisBundle>> {
  return {
    "FA2, horizontal": themisBaseline(bundle, "fa2"),
    "Sponge, vertical": themisBaseline(bundle, "sponge"),
    Themis: withPolicy(themisBaseline(bundle, "themis"), { predictor: "lstm" }),
    Stratagem: bundle,
  };
}

/** The same that gives up by age alone. */
export function byAge(bundle: ThemisBundle): ThemisBundle {
  const { dropRule: _, ...policy } = bundle.policy;
  return { ...bundle, policy };
}

export function meanViolations(results: readonly ThemisSimulationResult[]): number {
  return meanOf(results, ({ violationRate }) => violationRate);
}

export function scaleRow(label: string, results: readonly ThemisSimulationResult[]): string[] {
  const mean = (of: (one: ThemisSimulationResult) => number) => meanOf(results, of);
  return [
    label,
    percent(meanViolations(results)),
    percent(Math.max(...results.map(({ violationRate }) => violationRate))),
    percent(mean(({ dropped, queries }) => dropped / queries)),
    mean(({ latencyMs }) => latencyMs?.p50 ?? Number.NaN).toFixed(0),
    mean(({ latencyMs }) => latencyMs?.p99 ?? Number.NaN).toFixed(0),
    mean(({ cores }) => cores.mean).toFixed(2),
    String(Math.max(...results.map(({ cores }) => cores.max))),
    mean(({ scaling }) => scaling.bursts).toFixed(0),
    mean(({ scaling }) => scaling.settled).toFixed(0),
  ];
}
