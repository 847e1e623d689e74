// How long plans of pipelines take by size, demand and solver, and how near the optimum they are proven to be; docs/performance.md has the table.
// `node bench/loki-plans.js [--solver auto]... [--limit MS] [--only TEXT] [--runs N] [--dist FOLDER]` after a build. Reference inputs are read where
// STRATAGEM_REFERENCE says; without it only seeded pipelines are planned.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const { values: flags } = parseArgs({
  options: {
    solver: { type: "string", multiple: true, default: ["auto"] },
    limit: { type: "string", default: "20000" },
    only: { type: "string", default: "" },
    runs: { type: "string", default: "5" },
    dist: { type: "string", default: "dist" },
  },
});
const folder = resolve(flags.dist, "compiler/methods/loki/solve/plan");
const load = (file) => import(pathToFileURL(join(folder, file)).href);
const { planPipeline } = await load("plan-pipeline.js");
const { capacityOf, hardwareCapacityOf } = await load("capacity.js");

const LIMITS = { timeLimitMs: Number(flags.limit), nowMs: () => performance.now() };
/** Runs of a plan that takes longer than this are not repeated, ms. */
const SLOW_MS = 1000;
/** From the capacity of the most accurate variants (0) to that of all (1); the first is just above, where accuracy starts to be scaled. */
const SHARES = [0.002, 0.02, 0.05, 0.1, 0.2, 0.35, 0.6, 0.9, 0.99, 0.999];

function* instances() {
  const reference = process.env.STRATAGEM_REFERENCE;
  const names = ["traffic_chain", "traffic_tree", "social_media_1500"];
  const synthetic = ["synthetic_2x8x6", "synthetic_3x6x6", "synthetic_3x8x6"];
  for (const name of reference === undefined ? [] : [...names, ...synthetic]) {
    const file = join(reference, "loki/inputs", `${name}.json`);
    yield [name, problemOf(JSON.parse(readFileSync(file, "utf8")))];
  }
  for (const seed of [1, 2]) {
    yield [`chain 3x8x6 S=100 seed ${seed}`, seeded(seed, [null, 0, 1], 8, 6, [100])];
    yield [`tree 3x8x6 S=100 seed ${seed}`, seeded(seed, [null, 0, 0], 8, 6, [100])];
    yield [`chain 4x8x6 S=100 seed ${seed}`, seeded(seed, [null, 0, 1, 2], 8, 6, [100])];
  }
  yield ["tree 5x5x5 S=60", seeded(3, [null, 0, 0, 1, 1], 5, 5, [60])];
  yield ["chain 2x8x6 pools of 50 and 30", seeded(4, [null, 0], 8, 6, [50, 30])];
}

const HEADINGS = ["instance", "QPS", "step", "solver", "ms", "status", "gap %", "nodes", "columns"];
const WIDTHS = [32, 9, 9, 7, 8, 10, 8, 7, 8];
const row = (cells) =>
  console.log(cells.map((cell, index) => String(cell).padEnd(WIDTHS[index])).join(" "));
row(HEADINGS);
const allMs = [];
for (const [name, problem] of instances()) {
  if (!name.includes(flags.only)) continue;
  const hardware = hardwareCapacityOf(problem, LIMITS).qps;
  const start = performance.now();
  const capacity = capacityOf(problem, LIMITS).qps;
  row([name, capacity.toFixed(0), "capacity", "auto", (performance.now() - start).toFixed(1)]);
  for (const share of [null, ...SHARES]) {
    const demandQps = share === null ? 0.9 * hardware : hardware + share * (capacity - hardware);
    if (demandQps <= 0) continue;
    for (const solver of flags.solver) await measure(name, problem, demandQps, solver);
  }
}
allMs.sort((one, other) => one - other);
const at = (part) => allMs[Math.floor(part * (allMs.length - 1))]?.toFixed(1);
console.log(`\n${allMs.length} plans: median ${at(0.5)} ms, p90 ${at(0.9)} ms, max ${at(1)} ms`);
console.log(`Node ${process.version}, ${process.arch}`);

async function measure(name, problem, demandQps, solver) {
  const times = [];
  let result = null;
  for (let run = 0; run <= Number(flags.runs); run++) {
    const start = performance.now();
    result = await planPipeline(problem, demandQps, { ...LIMITS, solver });
    times.push(performance.now() - start);
    if (times[0] > SLOW_MS) break;
  }
  // The first run warms up unless it is the only one.
  const warm = (times.length > 1 ? times.slice(1) : times).sort((one, other) => one - other);
  const ms = warm[Math.floor(warm.length / 2)];
  const { report, plan, step } = result;
  const scale = step === "hardware" ? (plan?.servers ?? 1) : (plan?.accuracy ?? 1);
  const gap = ((100 * report.gap) / scale).toFixed(4);
  const { status, nodes, columns } = report;
  row([name, demandQps.toFixed(1), step, solver, ms.toFixed(1), status, gap, nodes, columns]);
  allMs.push(ms);
}

/** Of a reference input; a free task is the first and is left out. */
function problemOf(input) {
  const kept = input.tasks.filter((task) => !task.free).map((task) => task.name);
  const limitMs = input.sloMs / input.sloDivisor;
  const parents = kept.map((name) => {
    const parent = kept.indexOf(input.edges.find((edge) => edge.to === name)?.from);
    return parent < 0 ? null : parent;
  });
  const variantsOf = (task) =>
    input.tasks
      .find(({ name }) => name === kept[task])
      .variants.map(({ name, accuracy, latencyMs, multFactor = {} }) => ({
        name,
        accuracy,
        fanoutTo: (child) => multFactor[kept[child]] ?? 1,
        configurations: input.batchSizes
          .filter((batch) => latencyMs[batch] !== undefined)
          .map((batch) => configuration(0, batch, latencyMs[batch])),
      }));
  const variants = kept.map((_, task) => variantsOf(task));
  return pipeline(kept, parents, variants, [input.servers], (path) => ({
    weight: input.leafWeights[kept[path.at(-1)]],
    latencyLimitMs: limitMs - input.commLatencyMs * path.length,
    accuracyOf: (names) =>
      input.pathAccuracy.find(
        (one) =>
          one.tasks.at(-1) === kept[path.at(-1)] &&
          one.variants.slice(one.variants.length - path.length).join("|") === names.join("|"),
      ).accuracy,
  }));
}

/** Variants whose time and accuracy rise together, in batches that take less per query. */
function seeded(seed, parents, variantCount, batchCount, servers) {
  let state = (seed * 2654435761) >>> 0;
  const between = (low, high) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return low + ((high - low) * state) / 2 ** 32;
  };
  const names = parents.map((_, task) => `task${task}`);
  const variants = parents.map(() => {
    const slowestMs = between(8, 40);
    return Array.from({ length: variantCount }, (_, index) => {
      const rank = (index + 1) / variantCount;
      const oneMs = slowestMs * rank ** 1.6 * between(0.85, 1.15);
      const fanouts = new Map(names.map((__, child) => [child, between(0.5, 2.5)]));
      return {
        name: `v${index}`,
        accuracy: 0.6 + 0.4 * rank ** 0.8 * between(0.98, 1),
        fanoutTo: (child) => fanouts.get(child),
        configurations: servers.flatMap((__, pool) =>
          Array.from({ length: batchCount }, (___, power) =>
            configuration(
              pool,
              2 ** power,
              oneMs * (1 + 0.7 * pool) * (0.5 + 0.5 * 2 ** (0.9 * power)),
            ),
          ),
        ),
      };
    });
  });
  return pipeline(names, parents, variants, servers, (path, leafCount) => ({
    weight: 1 / leafCount,
    latencyLimitMs: path.length * 75,
    accuracyOf: (chosen) =>
      chosen.reduce((product, name, at) => {
        return product * variants[path[at]].find((one) => one.name === name).accuracy;
      }, 1),
  }));
}

function configuration(pool, batch, latencyMs) {
  return { pool, batch, latencyMs, throughputQps: (1000 * batch) / latencyMs };
}

function pipeline(names, parents, variants, servers, leafOf) {
  const childrenOf = (task) => parents.flatMap((parent, child) => (parent === task ? [child] : []));
  const tasks = names.map((name, task) => ({
    name,
    parent: parents[task],
    children: childrenOf(task),
    entryShare: 1,
    variants: variants[task].map(({ fanoutTo, ...variant }) => ({
      ...variant,
      fanouts: childrenOf(task).map(fanoutTo),
    })),
  }));
  const ends = names.flatMap((_, task) => (childrenOf(task).length === 0 ? [task] : []));
  const leaves = ends.map((task) => {
    const path = [];
    for (let step = task; step !== null; step = parents[step]) path.unshift(step);
    const { accuracyOf, ...leaf } = leafOf(path, ends.length);
    const rows = path.reduce(
      (all, step) => all.flatMap((row) => variants[step].map(({ name }) => [...row, name])),
      [[]],
    );
    return { task, path, ...leaf, accuracyByPath: Float64Array.from(rows, accuracyOf) };
  });
  return { tasks, servers, leaves, oneBatchPerVariant: true };
}
