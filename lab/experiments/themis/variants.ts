/** What several variants of a task and several pools are worth, load by load. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { simulateThemis } from "stratagem/internal/methods/themis/simulate/simulate";
import { MICROS, priceMicros, type ThemisBundle } from "stratagem-runtime/internal/bundle/schema";
import { planAccuracy } from "stratagem-runtime/internal/methods/themis/core/plan-accuracy";
import { compiled } from "../harness/cli.ts";
import type { Experiment } from "../harness/experiment.ts";
import { percent, present } from "../harness/numbers.ts";

const LOADS = [60, 180, 300, 450, 600, 1200, 1800, 2400, 3000];
const DURATION_MS = 120_000;
const SEED = 11;

interface Variant {
  readonly name: string;
  readonly accuracy: number;
}

/**
 * The finders of models/scenes with the head of models/scaling, and namers behind them. Shares of
 * the 1,000 held-out scenes in which a letter is found, and of those that the largest finder finds
 * in which its name is right.
 */
const FINDERS: readonly Variant[] = [
  { name: "detector-l", accuracy: 0.995 },
  { name: "detector-m", accuracy: 0.993 },
  { name: "detector-s", accuracy: 0.934 },
];
const NAMERS: readonly Variant[] = [
  { name: "cnn-m", accuracy: 0.9869 },
  { name: "cnn-s", accuracy: 0.9809 },
];

interface Choices {
  readonly finders: readonly Variant[];
  readonly namers: readonly Variant[];
  readonly pools: readonly object[];
}

const ALL = { finders: FINDERS, namers: NAMERS };
const MOST_ACCURATE = { finders: FINDERS.slice(0, 1), namers: NAMERS.slice(0, 1) };
const FASTEST = { finders: FINDERS.slice(-1), namers: NAMERS.slice(-1) };
const ONE_POOL = [{ name: "local", hardware: "epyc-2vcpu", workers: 2, cores: 2 }];
/** What is there is cheap; what is rented beside it is not. */
const OWN = { name: "own", hardware: "epyc-2vcpu", workers: 1, cores: 2, pricePerHour: 0.03 };
const RENTED = { name: "rented", hardware: "epyc-2vcpu", workers: 3, cores: 2, pricePerHour: 0.1 };

export const variants: Experiment = {
  name: "variants",
  about: "what several variants of a task and several pools give at each load",
  takes: "half a minute",
  run: async ({ page, folder }) => {
    const open = (name: string, choices: Choices) => compiledChoices(folder, name, choices);
    const all = await open("all", { ...ALL, pools: ONE_POOL });
    const best = await open("best", { ...MOST_ACCURATE, pools: ONE_POOL });
    const fast = await open("fast", { ...FASTEST, pools: ONE_POOL });
    page.say("two machines of two cores: the variants that each load has, and what others take\n");
    page.table(
      [
        ...["load qps", "variants", "accuracy", "simulated", "cores", "violations", "simulated"],
        ...["most accurate alone", "fastest alone"],
      ],
      all.levels.map((_, level) => [
        ...row(all, level),
        coresOf(best, level),
        coresOf(fast, level),
      ]),
    );
    const both = await open("both", { ...ALL, pools: [OWN, RENTED] });
    const rented = await open("rented", { ...ALL, pools: [{ ...RENTED, workers: 4 }] });
    page.say(
      "\na machine at 0.03 an hour and three at 0.10: where tasks run, and what that costs\n",
    );
    page.table(
      [
        ...["load qps", "variants and pools", "accuracy", "simulated", "cores", "violations"],
        ...["simulated", "an hour", "four at 0.10"],
      ],
      both.levels.map((_, level) => [...row(both, level), cost(both, level), cost(rented, level)]),
    );
  },
};

function row(bundle: ThemisBundle, level: number): string[] {
  const { loadQps, feasible, steady } = present(bundle.levels[level]);
  const ran = simulateThemis(bundle, {
    arrivals: { kind: "poisson", qps: loadQps },
    durationMs: DURATION_MS,
    seed: SEED,
    level,
  });
  const { pools } = bundle.cluster;
  const chosen = steady.stages.map(({ variant = 0 }, task) => {
    const { name, pool = 0 } = present(present(bundle.tasks[task]).variants[variant]);
    return pools.length === 1 ? name : `${name} on ${present(pools[pool]).name}`;
  });
  return [
    String(loadQps),
    chosen.join(", "),
    percent(planAccuracy(bundle.tasks, steady.stages)),
    percent(ran.accuracyPerSatisfied ?? Number.NaN),
    feasible ? String(steady.cores) : "beyond",
    percent(steady.expected.violationRate),
    percent(ran.violationRate),
  ];
}

function coresOf({ levels }: ThemisBundle, level: number): string {
  const { feasible, steady } = present(levels[level]);
  const missed = percent(steady.expected.violationRate);
  return feasible ? `${steady.cores} cores, ${missed}` : "beyond";
}

function cost({ levels, tasks, cluster }: ThemisBundle, level: number): string {
  const { feasible, steady } = present(levels[level]);
  if (!feasible) return "beyond";
  const micros = steady.stages.reduce((sum, { cores, instances, variant = 0 }, task) => {
    const { pool = 0 } = present(present(tasks[task]).variants[variant]);
    const on = present(cluster.pools[pool]);
    return sum + (cores * instances * priceMicros(on)) / (on.cores ?? 1);
  }, 0);
  return (micros / MICROS).toFixed(3);
}

async function compiledChoices(
  folder: string,
  name: string,
  { finders, namers, pools }: Choices,
): Promise<ThemisBundle> {
  writeFileSync(join(folder, "profile.json"), JSON.stringify(profile()));
  const spec = {
    version: 1,
    application: "variants",
    slo: { latency: "80 ms", maxViolationRate: 0.01 },
    workload: { arrivals: { process: "poisson" }, loads: LOADS },
    cluster: { pools },
    tasks: [
      { name: "find", variants: finders.map(profiled), to: [{ task: "name" }] },
      { name: "name", variants: namers.map(profiled) },
    ],
    policy: { method: "themis", maxBatch: 8, maxCores: 2 },
  };
  const app = join(folder, `${name}.json`);
  writeFileSync(app, JSON.stringify(spec));
  const { bundle } = await compiled("themis", app);
  return bundle;
}

function profiled({ name, accuracy }: Variant): object {
  return { name, accuracy, profile: `profile.json#${name}` };
}

type Rows = Readonly<Record<string, object>>;
interface Measured {
  readonly hardware: string;
  readonly variants: Readonly<Record<string, { latencyMs: Rows; byCores?: Rows }>>;
}

/**
 * The largest of both by number of cores as policies/scaling has them, the others as measured on
 * one core for policies/scenes, of the same hardware.
 */
function profile(): object {
  const read = (file: string) => JSON.parse(readFileSync(file, "utf8")) as Measured;
  const scaling = read("profiles/scaling/epyc-2vcpu.json").variants;
  const scenes = read("profiles/scenes/epyc-2vcpu.json");
  const single = (name: string) => {
    const { latencyMs } = present(scenes.variants[name]);
    const rows = Object.fromEntries(Object.entries(latencyMs).filter(([batch]) => +batch <= 8));
    return { latencyMs: rows, byCores: { 1: rows } };
  };
  return {
    format: "latency-profile/1",
    hardware: scenes.hardware,
    variants: {
      "detector-l": present(scaling["detector-l-clearest"]),
      "detector-m": single("detector-m"),
      "detector-s": single("detector-s"),
      "cnn-m": present(scaling["cnn-m"]),
      "cnn-s": single("cnn-s"),
    },
  };
}
