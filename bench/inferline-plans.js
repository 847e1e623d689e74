/**
 * What the planner is worth on random pipelines: `node bench/inferline-plans.js [--instances 40] [--first 1] [--margin]` after `npm run build`.
 *
 * Four stages, three kinds of hardware at the AWS prices of the authors, 120 s of gamma arrivals. For each instance the greedy plan, the exact one and its proof, and
 * with --margin the plan whose margin the tool has chosen; and of 200 traces that no plan was made with, how many meet the SLO.
 */
import { parseArgs } from "node:util";
import { judge } from "../compiler/dist/methods/inferline/solve/judge.js";
import {
  planWithLeastMargin,
  planWithMargin,
} from "../compiler/dist/methods/inferline/solve/margin.js";
import { costOf } from "../compiler/dist/methods/inferline/solve/problem.js";
import { nextMeasuredTimes } from "../compiler/dist/model/next-measured-times.js";
import { drawRequests } from "../compiler/dist/simulate/graph/drawn-requests.js";
import { taskGraphOf } from "../runtime/dist/core/graph/task-graph.js";
import { Rng } from "../runtime/dist/core/rng.js";

const { values } = parseArgs({
  options: {
    instances: { type: "string", default: "40" },
    first: { type: "string", default: "1" },
    margin: { type: "boolean", default: false },
  },
});

const BATCHES = [1, 2, 4, 8, 16, 32];
const SAMPLE_MS = 120_000;
const HELD_OUT = 200;
const QUERY_LIMIT = 5000 * 100_000;
const LOADS_QPS = [50, 100, 150, 200, 300];

/** A stage of a pipeline: slow and barely batching on a core, faster on a card, faster still on a new one. */
function stageOf(name, between) {
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

function instanceOf(seed) {
  const rng = new Rng(seed, 9);
  const between = (low, high) => low + (high - low) * rng.nextFloat();
  const stages = ["a", "b", "c", "d"].map((name) => stageOf(name, between));
  const graph = taskGraphOf({
    entryBranch: "independent",
    tasks: stages.map((_, index) => ({
      branch: "independent",
      edges: [{ parent: index === 0 ? null : index - 1, share: index === 2 ? 0.6 : 1 }],
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
  const arrivals = {
    kind: "gamma",
    qps: LOADS_QPS[seed % LOADS_QPS.length],
    cv2: seed % 2 === 0 ? 4 : 1,
  };
  return { problem, arrivals };
}

function tracesOf({ problem, arrivals }, seed, count) {
  return Array.from({ length: count }, (_, index) =>
    drawRequests(problem.graph, arrivals, SAMPLE_MS, seed + index),
  );
}

function timed(work) {
  const startMs = performance.now();
  const result = work();
  return { result, ms: performance.now() - startMs };
}

const rows = [];
for (
  let seed = Number(values.first);
  seed < Number(values.first) + Number(values.instances);
  seed++
) {
  const instance = instanceOf(seed);
  const { problem, arrivals } = instance;
  const samples = tracesOf(instance, seed, 1);
  const heldOut = tracesOf(instance, 2_000_000 + 1000 * seed, HELD_OUT);
  const plans = {
    greedy: timed(() => planWithMargin(problem, samples, 0, { refine: "none", queryLimit: 0 })),
    exact: timed(() =>
      planWithMargin(problem, samples, 0, { refine: "exact", queryLimit: QUERY_LIMIT }),
    ),
  };
  if (values.margin) {
    const calibration = tracesOf(instance, 1_000_000 + 1000 * seed, 200);
    plans.auto = timed(() =>
      planWithLeastMargin(problem, samples, calibration, {
        refine: "exact",
        queryLimit: QUERY_LIMIT,
      }),
    );
  }
  if (plans.exact.result.configuration === null) continue;
  const row = { seed };
  for (const [name, { result, ms }] of Object.entries(plans)) {
    const cost = result.configuration === null ? Number.NaN : costOf(problem, result.configuration);
    const met =
      result.configuration === null ? 0 : judge(problem, result.configuration, heldOut).met;
    row[name] = {
      cost,
      ms,
      met,
      gap: Math.max(0, 1 - result.lowerBound / cost),
      margin: result.margin,
    };
  }
  rows.push(row);
  const text = Object.entries(row)
    .filter(([name]) => name !== "seed")
    .map(([name, { cost, ms, met, gap, margin }]) => {
      const proof = name === "greedy" ? "" : `, gap ${(100 * gap).toFixed(1)} %`;
      const kept = name === "auto" ? `, margin ${margin.toFixed(2)}` : "";
      return `${name} ${(cost / 1e6).toFixed(3)} $/h (${ms.toFixed(0)} ms${proof}${kept}, ${met}/${HELD_OUT})`;
    });
  console.log(
    `${seed}: ${arrivals.qps}/s cv² ${arrivals.cv2}, SLO ${problem.sloMs.toFixed(0)} ms: ${text.join("; ")}`,
  );
}

const quantile = (numbers, part) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(part * (numbers.length - 1))];
const ratios = rows.map(({ greedy, exact }) => greedy.cost / exact.cost);
const worse = ratios.filter((ratio) => ratio > 1 || Number.isNaN(ratio));
const proven = rows.filter(({ exact }) => exact.gap === 0).length;
console.log(
  `\n${rows.length} instances; greedy dearer in ${worse.length}, median ${quantile(ratios, 0.5).toFixed(2)} of the optimum, most ${Math.max(...ratios).toFixed(2)}`,
);
console.log(
  `proven optimal: ${proven}; largest gap ${(100 * Math.max(...rows.map(({ exact }) => exact.gap))).toFixed(1)} %`,
);
for (const name of Object.keys(rows[0] ?? {}).filter((key) => key !== "seed")) {
  const times = rows.map((row) => row[name].ms);
  const met = rows.map((row) => row[name].met / HELD_OUT);
  const mean = met.reduce((sum, one) => sum + one, 0) / met.length;
  console.log(
    `${name}: median ${quantile(times, 0.5).toFixed(0)} ms, 90 % ${quantile(times, 0.9).toFixed(0)} ms, most ${Math.max(...times).toFixed(0)} ms; held-out traces met: mean ${(100 * mean).toFixed(1)} %, least ${(100 * Math.min(...met)).toFixed(1)} %, instances with at least 95 %: ${met.filter((one) => one >= 0.95).length}`,
  );
}
