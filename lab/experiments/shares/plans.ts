/** What it costs that several front ends each follow plans for their part of load and workers. */
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { simulateInferline } from "stratagem/internal/methods/inferline/simulate/simulate";
import { simulateLoki } from "stratagem/internal/methods/loki/simulate/simulate";
import { simulateThemis } from "stratagem/internal/methods/themis/simulate/simulate";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import type { LoadShare } from "stratagem-runtime/internal/core/load-share";
import { parse } from "yaml";
import { compiled } from "../harness/cli.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { meanOf, percent, range, rate, sum } from "../harness/numbers.ts";
import { seedsTo } from "../harness/seeds.ts";

type PlanBundle = Extract<Bundle, { method: "loki" | "inferline" | "themis" }>;

/** An application of this repository on more workers than it has. */
interface Planned {
  readonly policy: string;
  readonly method: PlanBundle["method"];
  readonly workers: number;
  readonly loads: readonly number[];
  /** That are sent: just below a level, and so is each part of them, where chance crosses it. */
  readonly sent: readonly number[];
}

const PLANNED: readonly Planned[] = [
  {
    policy: "scenes",
    method: "loki",
    workers: 24,
    loads: range(240, 5760, 240),
    sent: [1880, 3820],
  },
  {
    policy: "cascade",
    method: "inferline",
    workers: 24,
    loads: range(75, 1050, 75),
    sent: [590, 890],
  },
  {
    policy: "scaling",
    method: "themis",
    workers: 16,
    loads: range(60, 1440, 60),
    sent: [470, 950],
  },
];
const SHARE_COUNTS = [1, 2, 4];
const SEEDS = 3;
const SECONDS = 120;

export const plans: Experiment = {
  name: "plans",
  about: "plans of loki, inferline and themis, split among 1, 2 and 4 front ends",
  takes: "two minutes",
  run: splitPlans,
};

async function splitPlans({ page, folder }: Run): Promise<void> {
  const rows: (string | number)[][] = [];
  for (const planned of PLANNED) {
    const bundle = await compiledOn(planned, folder);
    for (const loadQps of planned.sent) {
      for (const count of SHARE_COUNTS) {
        const name = `${planned.method}, ${loadQps}/s, ${count}`;
        const own = outcomeOf(bundle, loadQps, count, false);
        const all = count === 1 ? own : outcomeOf(bundle, loadQps, count, true);
        rows.push([name, ...cellsOf(all), ...cellsOf(own)]);
      }
    }
  }
  page.say("\nlevels by the load of all front ends, then by that of each alone");
  const told = ["accuracy", "violations", "workers (themis: cores)", "changes/min"];
  page.table(["method, load, shares", ...told, ...told], rows);
}

async function compiledOn(planned: Planned, folder: string): Promise<PlanBundle> {
  const { policy, method, workers, loads } = planned;
  const text = readFileSync(join("policies", policy, "app.yaml"), "utf8");
  const spec = parse(text.replaceAll("../../", `${resolve(".")}/`));
  const pools = spec.cluster.pools?.map((pool: object) => ({ ...pool, workers }));
  const cluster = pools === undefined ? { workers } : { pools };
  const workload = { ...spec.workload, loads };
  const app = join(folder, `${policy}.json`);
  writeFileSync(app, JSON.stringify({ ...spec, workload, cluster }));
  return (await compiled(method, app)).bundle;
}

interface SplitOutcome {
  /** Null where plans of the method have one accuracy. */
  readonly accuracy: number | null;
  readonly violationRate: number;
  /** Of all front ends together, in the mean; of themis their cores. */
  readonly workers: number;
  /** Of one front end. */
  readonly changesPerMinute: number;
}

/** Each front end has its part of the workers and of the requests, which are Poisson then too. */
function outcomeOf(
  bundle: PlanBundle,
  loadQps: number,
  count: number,
  knowsAll: boolean,
): SplitOutcome {
  const ends = seedsTo(SEEDS * count).map((seed) => {
    return simulateShare(bundle, { loadQps, count, knowsAll, seed });
  });
  const each = (of: (one: SplitOutcome) => number) => meanOf(ends, of);
  const isAccurate = ends.every(({ accuracy }) => accuracy !== null);
  return {
    accuracy: isAccurate ? each(({ accuracy }) => accuracy ?? 0) : null,
    violationRate: each(({ violationRate }) => violationRate),
    workers: count * each(({ workers }) => workers),
    changesPerMinute: each(({ changesPerMinute }) => changesPerMinute),
  };
}

interface Share {
  readonly loadQps: number;
  readonly count: number;
  readonly knowsAll: boolean;
  readonly seed: number;
}

function simulateShare(bundle: PlanBundle, { loadQps, count, knowsAll, seed }: Share) {
  const qps = loadQps / count;
  const { pools } = bundle.cluster;
  const own = pools.map((pool) => ({ ...pool, workers: Math.floor(pool.workers / count) }));
  const allWorkers = sum(pools.map(({ workers }) => workers));
  const othersQps = loadQps - qps;
  const share: LoadShare = {
    othersQps: knowsAll ? othersQps : null,
    // As the mean over five seconds has it.
    othersVariance: othersQps / 5,
    workers: sum(own.map(({ workers }) => workers)),
    allWorkers,
  };
  const options = {
    arrivals: { kind: "poisson" as const, qps },
    durationMs: SECONDS * 1000,
    seed,
    serviceTimes: "p95" as const,
    fanout: "rounded" as const,
    ...(count === 1 ? {} : { share }),
  };
  return simulated({ ...bundle, cluster: { ...bundle.cluster, pools: own } }, options);
}

function simulated(bundle: PlanBundle, options: Parameters<typeof simulateLoki>[1]): SplitOutcome {
  const perMinute = 60 / SECONDS;
  if (bundle.method === "loki") {
    const found = simulateLoki(bundle, options);
    const { accuracyPerQuery: accuracy, violationRate, planSwitches, servers } = found;
    const changesPerMinute = planSwitches * perMinute;
    return { accuracy, violationRate, workers: servers.mean, changesPerMinute };
  }
  if (bundle.method === "inferline") {
    const { violationRate, planSwitches, servers } = simulateInferline(bundle, options);
    const changesPerMinute = planSwitches * perMinute;
    return { accuracy: null, violationRate, workers: servers.mean, changesPerMinute };
  }
  const { violationRate, planSwitches, cores } = simulateThemis(bundle, options);
  const changesPerMinute = planSwitches * perMinute;
  return { accuracy: null, violationRate, workers: cores.mean, changesPerMinute };
}

function cellsOf({ accuracy, violationRate, workers, changesPerMinute }: SplitOutcome): string[] {
  const told = accuracy === null ? "-" : percent(accuracy, 2);
  return [told, rate(violationRate), workers.toFixed(1), changesPerMinute.toFixed(1)];
}
