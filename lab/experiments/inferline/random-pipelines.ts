/**
 * What the planner is worth on random pipelines: four stages, three kinds of hardware at the AWS
 * prices of the authors, 120 s of gamma arrivals. For each the greedy plan as printed, the one that
 * may go to any cheaper hardware, the exact one and its proof, and the plan whose margin the tool
 * has chosen; and of 200 traces that no plan was made with, how many meet the SLO.
 */
import { judge } from "stratagem/internal/methods/inferline/solve/judge";
import {
  planWithLeastMargin,
  planWithMargin,
} from "stratagem/internal/methods/inferline/solve/margin";
import {
  costOf,
  type ProvisioningProblem,
} from "stratagem/internal/methods/inferline/solve/problem";
import { nextMeasuredTimes } from "stratagem/internal/model/service-time";
import { drawRequests } from "stratagem/internal/simulate/graph/drawn-requests";
import type { RequestTrace } from "stratagem/internal/simulate/graph/visits";
import { taskGraphOf } from "stratagem-runtime/internal/core/graph/task-graph";
import { Rng } from "stratagem-runtime/internal/core/rng";
import type { Experiment, Run } from "../harness/experiment.ts";
import { ascending, mean, percent, present } from "../harness/numbers.ts";

const BATCHES = [1, 2, 4, 8, 16, 32];
export const SAMPLE_MS = 120_000;
const HELD_OUT = 200;
const QUERY_LIMIT = 5000 * 100_000;
/** Pipelines that the two rules of greedy are told of beside all: as many as were counted once. */
const ISSUE_CASES = 43;
const LOADS_QPS = [50, 100, 150, 200, 300];

export interface Instance {
  readonly problem: ProvisioningProblem;
  readonly arrivals: { readonly kind: "gamma"; readonly qps: number; readonly cv2: number };
}

/** A plan, judged. */
interface Outcome {
  /** Millionths an hour, NaN without a plan. */
  readonly cost: number;
  readonly ms: number;
  /** Of the held-out traces. */
  readonly met: number;
  readonly gap: number;
  readonly margin: number;
}

type PlanName = "greedy" | "any" | "exact" | "auto";
type Row = Readonly<Record<PlanName, Outcome>>;
const PLAN_NAMES: readonly PlanName[] = ["greedy", "any", "exact", "auto"];

export const random: Experiment = {
  name: "random",
  about: "greedy and exact plans, and chosen margins, of random pipelines",
  takes: "six minutes",
  options: {
    instances: "how many; 40",
    first: "seed of the first; 1",
    limit: "times the default limit of a search; 1",
    margins: "0 leaves plans with chosen margins out, and other traces; 1",
  },
  run: compareAll,
};

export const greedy: Experiment = {
  name: "greedy",
  about: "greedy plans of random pipelines, to the next cheaper hardware and to any",
  takes: "one minute",
  options: { instances: "how many; 200", first: "seed of the first; 1" },
  run: compareGreedy,
};

/** The printed rule beside ours, without a search. */
function compareGreedy({ page, flags }: Run): void {
  const first = flags.number("first") ?? 1;
  const count = flags.number("instances") ?? 200;
  const costs: (readonly [printed: number, any: number])[] = [];
  for (let seed = first; seed < first + count; seed++) {
    const instance = instanceOf(seed);
    const samples = tracesOf(instance, seed, 1);
    const costOfRule = (downgrade: "next" | "any"): number => {
      const options = { refine: "none", downgrade, queryLimit: 0 } as const;
      const { configuration } = planWithMargin(instance.problem, samples, 0, options);
      return configuration === null ? Number.NaN : costOf(instance.problem, configuration);
    };
    costs.push([costOfRule("next"), costOfRule("any")]);
  }
  page.say(ruleLine(costs));
  page.say(ruleLine(costs.slice(0, ISSUE_CASES)));
}

function ruleLine(costs: readonly (readonly [printed: number, any: number])[]): string {
  const planned = costs.filter((pair) => pair.every(Number.isFinite));
  const cheaper = planned.filter(([printed, any]) => printed < any);
  const dearer = planned.filter(([printed, any]) => printed > any);
  const ratios = planned.map(([printed, any]) => printed / any);
  return (
    `${planned.length} pipelines: the next cheaper hardware is cheaper than any in ` +
    `${cheaper.length}, dearer in ${dearer.length}; cost over that of any: mean ` +
    `${mean(ratios).toFixed(3)}, from ${Math.min(...ratios).toFixed(2)} to ` +
    `${Math.max(...ratios).toFixed(2)}`
  );
}

function compareAll({ page, flags }: Run): void {
  const first = flags.number("first") ?? 1;
  const count = flags.number("instances") ?? 40;
  const queryLimit = (flags.number("limit") ?? 1) * QUERY_LIMIT;
  const hasMargins = flags.number("margins") !== 0;
  const rows: Row[] = [];
  for (let seed = first; seed < first + count; seed++) {
    const instance = instanceOf(seed);
    const row = plansOf(instance, seed, { queryLimit, hasMargins });
    if (row === null) continue;
    rows.push(row);
    const { arrivals, problem } = instance;
    const text = PLAN_NAMES.map((name) => outcomeText(name, row[name])).join("; ");
    page.say(
      `${seed}: ${arrivals.qps}/s cv² ${arrivals.cv2}, SLO ${problem.sloMs.toFixed(0)} ms: ${text}`,
    );
  }
  for (const line of summaryLines(rows)) page.say(line);
}

function outcomeText(name: PlanName, { cost, ms, met, gap, margin }: Outcome): string {
  const proof = name === "greedy" || name === "any" ? "" : `, gap ${percent(gap, 1)}`;
  const kept = name === "auto" ? `, margin ${margin.toFixed(2)}` : "";
  const how = `${ms.toFixed(0)} ms${proof}${kept}, ${met}/${HELD_OUT}`;
  return `${name} ${(cost / 1e6).toFixed(3)} $/h (${how})`;
}

const LEFT_OUT: Outcome = { cost: Number.NaN, ms: 0, met: 0, gap: Number.NaN, margin: 0 };

/** Null where nothing meets the SLO. */
function plansOf(
  instance: Instance,
  seed: number,
  { queryLimit, hasMargins }: { readonly queryLimit: number; readonly hasMargins: boolean },
): Row | null {
  const { problem } = instance;
  const samples = tracesOf(instance, seed, 1);
  const others = hasMargins ? HELD_OUT : 0;
  const heldOut = tracesOf(instance, 2_000_000 + 1000 * seed, others);
  const calibration = tracesOf(instance, 1_000_000 + 1000 * seed, others);
  const printed = { refine: "none", downgrade: "next", queryLimit: 0 } as const;
  const any = { refine: "none", downgrade: "any", queryLimit: 0 } as const;
  const exact = { refine: "exact", queryLimit } as const;
  const judged = (plan: () => ReturnType<typeof planWithMargin>): Outcome => {
    const startMs = performance.now();
    const { configuration, lowerBound, margin } = plan();
    const ms = performance.now() - startMs;
    if (configuration === null) {
      return { cost: Number.NaN, ms, met: 0, gap: Number.NaN, margin };
    }
    const cost = costOf(problem, configuration);
    const { met } = judge(problem, configuration, heldOut);
    return { cost, ms, met, gap: Math.max(0, 1 - lowerBound / cost), margin };
  };
  const row = {
    greedy: judged(() => planWithMargin(problem, samples, 0, printed)),
    any: judged(() => planWithMargin(problem, samples, 0, any)),
    exact: judged(() => planWithMargin(problem, samples, 0, exact)),
    auto: hasMargins
      ? judged(() => planWithLeastMargin(problem, samples, calibration, exact))
      : LEFT_OUT,
  };
  return Number.isNaN(row.exact.cost) ? null : row;
}

/** A pipeline and its traffic, of a seed. */
export function instanceOf(seed: number): Instance {
  const rng = new Rng(seed, 9);
  const between = (low: number, high: number) => low + (high - low) * rng.nextFloat();
  const stages = ["a", "b", "c", "d"].map((name) => stageOf(name, between));
  const graph = taskGraphOf({
    entryBranch: "independent",
    tasks: stages.map((_, index) => ({
      branch: "independent",
      edges: [{ parent: index === 0 ? null : index - 1, share: index === 2 ? 0.6 : 1, feed: null }],
    })),
  });
  const problem = {
    graph,
    stages,
    workersByPool: [1000, 1000, 1000],
    sloMs: between(150, 400),
    hopMs: 0,
    violationCeiling: 0.01,
  };
  const qps = present(LOADS_QPS[seed % LOADS_QPS.length]);
  return { problem, arrivals: { kind: "gamma", qps, cv2: seed % 2 === 0 ? 4 : 1 } };
}

/** Slow and barely batching on a core, faster on a card, faster still on a new one. */
function stageOf(
  name: string,
  between: (low: number, high: number) => number,
): ProvisioningProblem["stages"][number] {
  const cardMs = between(3, 25);
  const hardware = [
    { price: 66_500, aloneMs: cardMs * between(2, 12), slope: between(0.7, 1) },
    { price: 700_500, aloneMs: cardMs, slope: between(0.1, 0.5) },
    { price: 2_594_500, aloneMs: cardMs * between(0.3, 0.7), slope: between(0.03, 0.3) },
  ];
  return {
    name,
    hardware: hardware.map(({ price, aloneMs, slope }, pool) => ({
      variant: 0,
      pool,
      price,
      batches: BATCHES,
      batchMs: nextMeasuredTimes(
        BATCHES.map((batch) => ({ batch, ms: aloneMs * (1 + slope * (batch - 1)) })),
      ),
    })),
  };
}

/** Traces of seeds that follow each other. */
export function tracesOf(
  { problem, arrivals }: Instance,
  seed: number,
  count: number,
): RequestTrace[] {
  return Array.from({ length: count }, (_, index) =>
    drawRequests(problem.graph, arrivals, SAMPLE_MS, seed + index),
  );
}

function summaryLines(rows: readonly Row[]): string[] {
  return [
    `\n${rows.length} instances`,
    ...(["greedy", "any", "auto"] as const).map((name) => overExact(rows, name)),
    ruleLine(rows.map(({ greedy, any }) => [greedy.cost, any.cost])),
    ...(["exact", "auto"] as const).map((name) => {
      const gaps = rows.map((row) => row[name].gap);
      return (
        `${name} proven optimal: ${gaps.filter((gap) => gap === 0).length}; ` +
        `largest gap ${percent(Math.max(...gaps), 1)}`
      );
    }),
    ...PLAN_NAMES.map((name) => {
      const ms = rows.map((row) => row[name].ms);
      const met = rows.map((row) => row[name].met / HELD_OUT);
      const took =
        `median ${at(ms, 0.5).toFixed(0)} ms, 90 % ${at(ms, 0.9).toFixed(0)} ms, ` +
        `most ${Math.max(...ms).toFixed(0)} ms`;
      const held = `mean ${percent(mean(met), 1)}, least ${percent(Math.min(...met), 1)}`;
      const most = met.filter((one) => one >= 0.95).length;
      return (
        `${name}: ${took}; held-out traces met: ${held}, instances with at least 95 %: ` + `${most}`
      );
    }),
  ];
}

function overExact(rows: readonly Row[], name: PlanName): string {
  const ratios = rows.map((row) => row[name].cost / row.exact.cost);
  const worse = ratios.filter((ratio) => ratio > 1 || Number.isNaN(ratio));
  return (
    `${name} dearer than exact in ${worse.length}, median ${at(ratios, 0.5).toFixed(2)} times, ` +
    `most ${Math.max(...ratios).toFixed(2)}`
  );
}

function at(values: readonly number[], part: number): number {
  return present(ascending(values)[Math.floor(part * (values.length - 1))]);
}
