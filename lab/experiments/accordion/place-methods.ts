/**
 * Accordion and its baselines on drawn streams.
 *
 * Queries of low priority that would take longer than the SLO are dropped under every method
 * (§3.2), which counts as a violation. The baselines and `settled` foretell it when a query comes,
 * by Algorithm 1; `accordion` drops once it is certain (policy.dropout: turn), and `--dropout turn`
 * lets the baselines do so too.
 */
import {
  type AccordionSimulationOptions,
  type AccordionSimulationResult,
  simulateAccordion,
} from "stratagem/internal/methods/accordion/simulate/simulate";
import type { AccordionBundle, AccordionOptions } from "stratagem-runtime/internal/bundle/schema";
import type { Flags } from "../harness/flags.ts";
import { seedsTo } from "../harness/seeds.ts";
import { type DrawnStream, DURATION_MS, SLO_NAMES, type SloName } from "./drawn-streams.ts";
import { TIMINGS, type Timing } from "./table-one.ts";

export type PlacePolicy = Partial<AccordionOptions>;
type Dropout = AccordionOptions["dropout"];

export const BASELINES = ["slo-conforming", "fastest", "bbs", "one-stage"] as const;

/** Ours by default, and as the paper's Algorithms 1 and 2 have it, settled. */
export const ACCORDIONS: Readonly<Record<string, PlacePolicy>> = {
  accordion: { scheduler: "accordion", regrow: true, backfill: true, dropout: "turn" },
  settled: { scheduler: "accordion", regrow: false, backfill: false, dropout: "arrival" },
};

/** Policies by name. @param dropout of the baselines. */
export function placeMethods(dropout: Dropout): Readonly<Record<string, PlacePolicy>> {
  const baselines = BASELINES.map((scheduler) => [scheduler, { scheduler, dropout }] as const);
  return { ...ACCORDIONS, ...Object.fromEntries(baselines) };
}

export interface Settings {
  readonly seeds: readonly number[];
  readonly low: number;
  readonly dropout: Dropout;
  readonly timings: readonly Timing[];
  /** Undefined where the experiment is to choose. */
  readonly loads: readonly number[] | undefined;
  readonly slos: readonly SloName[] | undefined;
}

export const SETTINGS = {
  seeds: "how many; 5",
  "first-seed": "the first of them; 1",
  low: "lowest rate of a stream over its highest; 0.2",
  dropout: "when the baselines drop: arrival (what is left out) or turn",
  timing: "paper or pipelined; both",
  load: "offered load",
  slo: "strict, moderate or relaxed",
};

export function settingsOf(flags: Flags): Settings {
  return {
    seeds: seedsTo(flags.number("seeds") ?? 5, flags.number("first-seed")),
    low: flags.number("low") ?? 0.2,
    dropout: flags.among("dropout", ["arrival", "turn"] as const)?.at(-1) ?? "arrival",
    timings: flags.among("timing", TIMINGS) ?? TIMINGS,
    loads: flags.numbers("load"),
    slos: flags.among("slo", SLO_NAMES),
  };
}

export function simulated(
  { bundle, queries }: DrawnStream,
  policy: PlacePolicy,
  options: Pick<AccordionSimulationOptions, "timelineStepMs" | "withLatencies"> = {},
): AccordionSimulationResult {
  const one: AccordionBundle = { ...bundle, policy: { ...bundle.policy, ...policy } };
  const arrivals = { kind: "queries", queries } as const;
  return simulateAccordion(one, { arrivals, durationMs: DURATION_MS, seed: 1, ...options });
}
