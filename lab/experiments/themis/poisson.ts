/** The reference's steady cases: plans as they are, on requests that they were not chosen with. */
import { simulateThemis } from "stratagem/internal/methods/themis/simulate/simulate";
import type { ThemisBundle } from "stratagem-runtime/internal/bundle/schema";
import type { Experiment, Run } from "../harness/experiment.ts";
import { mean, percent, present, sum } from "../harness/numbers.ts";
import { readReference } from "../harness/reference.ts";
import { compiledPipeline, PIPELINES, SEEDS } from "./reference-apps.ts";

/** Requests that a plan is tried with, for each seed. */
const STEADY_REQUESTS = 40_000;
const MOST_VIOLATIONS = 0.01;
const POLICIES = {
  deterministic: { queueing: "paper" },
  "quantile 0.95": { quantile: 0.95 },
  auto: {},
};

interface SteadyCase {
  readonly pipeline: string;
  readonly lam: number;
  readonly themisCores: number;
  readonly themisViolationRate: number;
}

interface Tried {
  readonly cores: number;
  readonly violationRate: number;
}

export const poisson: Experiment = {
  name: "poisson",
  about: "steady Poisson arrivals: cores and violations",
  takes: "one minute",
  run: compareAll,
};

async function compareAll({ page, folder }: Run): Promise<void> {
  const { cases } = readReference<{ cases: readonly SteadyCase[] }>("themis/poisson-cases.json");
  const names = ["Themis", ...Object.keys(POLICIES)];
  const rows: string[][] = [];
  /** By case, in the order of the names. */
  const all: Tried[][] = [];
  for (const pipeline of PIPELINES) {
    const own = cases.filter((one) => one.pipeline === pipeline);
    const loads = own.map(({ lam }) => lam);
    const bundles: ThemisBundle[] = [];
    for (const policy of Object.values(POLICIES)) {
      bundles.push(await compiledPipeline(folder, pipeline, { loads, ...policy }));
    }
    for (const [level, { lam, themisCores, themisViolationRate }] of own.entries()) {
      const tried = [
        { cores: themisCores, violationRate: themisViolationRate },
        ...bundles.map((bundle) => steady(bundle, level)),
      ];
      const stated = present(bundles.at(-1)?.levels[level]).steady.expected.violationRate;
      rows.push([`${pipeline} ${lam}/s`, ...tried.flatMap(cellsOf), percent(stated)]);
      all.push(tried);
    }
  }
  const requests = `${SEEDS.length} x ${STEADY_REQUESTS} requests`;
  page.say(
    `Steady Poisson arrivals: cores and simulated violations, ${requests}; ` +
      `Themis as the reference has it\n`,
  );
  page.table(["case", ...names.flatMap((name) => [name, ""]), "auto states"], rows);
  for (const [at, name] of names.entries()) {
    page.say(`  ${name} ${summary(all.map((tried) => present(tried[at])))}`);
  }
  page.say();
}

function cellsOf({ cores, violationRate }: Tried): string[] {
  return [String(cores), percent(violationRate)];
}

function summary(tried: readonly Tried[]): string {
  const rates = tried.map(({ violationRate }) => violationRate);
  const held = rates.filter((one) => one <= MOST_VIOLATIONS).length;
  const cores = sum(tried.map((one) => one.cores));
  return (
    `${cores} cores, mean violations ${percent(mean(rates))}, ` +
    `at most 1 % in ${held} of ${rates.length} (${percent(held / rates.length)})`
  );
}

function steady(bundle: ThemisBundle, level: number): Tried {
  const { steady: plan, loadQps } = present(bundle.levels[level]);
  const durationMs = (1000 * STEADY_REQUESTS) / loadQps;
  const arrivals = { kind: "poisson", qps: loadQps } as const;
  const rates = SEEDS.map((seed) => {
    return simulateThemis(bundle, { arrivals, durationMs, seed: 100 + seed, level }).violationRate;
  });
  return { cores: plan.cores, violationRate: mean(rates) };
}
