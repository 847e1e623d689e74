// Our policies beside other systems, with their papers' settings and with hindsight: accuracy per query and violations together, load by load.
// docs/experiments.md explains the table. `node bench/peers.js [--case TEXT]... [--loads QPS,...] [--queries N] [--who NAME,...] [--jobs N] [--json FILE]`
// after a build; the reference data is where STRATAGEM_REFERENCE says. `--case` takes cases whose name has the text: image, sentiment, detection,
// pascal, ampere, 2x, 5x, poisson, gamma, trace. Everything is seeded: the same build prints the same tables, whatever `--jobs`.
import { fork } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { baselineBundle } from "../compiler/dist/methods/ramsis/simulate/baselines/baseline.js";
import { simulateCluster } from "../compiler/dist/methods/ramsis/simulate/cluster-simulation.js";
import { PEER_NAMES } from "../compiler/dist/methods/ramsis/simulate/peers/peers.js";
import {
  paperSetting,
  simulatePeer,
  triedSettings,
  tunedSettings,
} from "../compiler/dist/methods/ramsis/simulate/peers/simulate-peer.js";
import { ramsis } from "../compiler/dist/methods/ramsis/solve/ramsis.js";
import { loadApplication } from "../compiler/dist/spec/load-application.js";
import { readTrace } from "../compiler/dist/spec/trace.js";
import { Rng } from "../runtime/dist/core/rng.js";
import { dispatcherOf } from "../runtime/dist/methods/ramsis/core/dispatcher-of.js";

const REFERENCE = process.env.STRATAGEM_REFERENCE ?? "../shared/reference";
const { values: flags } = parseArgs({
  options: {
    case: { type: "string", multiple: true, default: [] },
    loads: { type: "string" },
    queries: { type: "string", default: "100000" },
    who: { type: "string" },
    jobs: { type: "string", default: "2" },
    json: { type: "string" },
  },
});

/** The queries of a point are those of so many seeds, on which everybody is measured. */
const SEEDS = [1, 2];
/** As the simulate command draws them. */
const ARRIVAL_STREAM = 1;
const SERVICE_STREAM = 2;

/** Of the queries those are counted that arrive after so many SLOs and before the last one, and in at least ten. */
const WARM_UP_SLOS = 40;
const COOL_DOWN_SLOS = 1;
const COUNTED_SLOS = 10;

const IMAGE_LOADS = [400, 800, 1200, 1600, 2000, 2400, 2800, 3200, 3400, 3600, 3800];
const GPU_WORKERS = 8;
/** Of the capacity, with the fastest variant in the largest batch that the SLO allows. */
const GPU_SHARES = [0.05, 0.25, 0.5, 0.75, 0.95, 1.1];
const TRACE_WORKERS = 60;
const TRACE_LOADS = { from: 400, to: 4000, step: 200 };
const ROUND_ROBIN = { balancer: "round-robin", discretization: { kind: "fixed", steps: 100 } };
/** Half of the last digit that is printed. */
const SAME_ACCURACY = 5e-5;
const PROCESSES = {
  poisson: { process: "poisson" },
  gamma: { process: "gamma", cv2: 4 },
};

if (process.send === undefined) await main();
else process.on("message", (task) => process.send(measure(task)));

async function main() {
  const cases = [...allCases()].filter(({ name }) =>
    flags.case.every((text) => name.split(" ").some((word) => word === text)),
  );
  if (cases.length === 0) throw new Error(`no case has ${flags.case.join(" and ")}`);
  const folder = mkdtempSync(join(tmpdir(), "peers-"));
  try {
    const tasks = cases.flatMap((each) => tasksOf(each, folder));
    const points = await inProcesses(tasks);
    for (const { name, about } of cases) {
      print(
        `${name}: ${about}`,
        points.filter((point) => point.name === name),
      );
    }
    summarise(points);
    if (flags.json !== undefined) writeFileSync(flags.json, JSON.stringify(points));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What is served, on what, and under which arrivals. */
function* allCases() {
  const image = read("ramsis/profiles-image.json");
  const imageVariants = Object.entries(image.variants).map(([name, { accuracy, latencyMs }]) => {
    return { name, accuracy, latencyMs };
  });
  for (const arrivals of Object.keys(PROCESSES)) {
    yield {
      name: `image cpu ${arrivals}`,
      about: "nine ImageNet classifiers on 60 CPU workers, SLO 150 ms, p95 service times",
      spec: specOf(imageVariants, { workers: 60, sloMs: 150, maxQueue: 32, arrivals }),
      loads: IMAGE_LOADS,
    };
  }
  const { families } = read("peers/gpu-profiles.json");
  for (const family of ["sentiment", "detection"]) {
    for (const gpu of ["pascal", "ampere"]) {
      const variants = families[family].map(({ name, accuracy, latencies }) => {
        const rows = Object.entries(latencies[`gpu_${gpu}`]);
        return {
          name,
          accuracy,
          latencyMs: Object.fromEntries(rows.map(([b, { p90Ms }]) => [b, p90Ms])),
        };
      });
      const slowestMs = Math.max(...variants.map(({ latencyMs }) => latencyMs[1]));
      for (const times of [2, 5]) {
        for (const arrivals of Object.keys(PROCESSES)) {
          const sloMs = Math.round(10 * times * slowestMs) / 10;
          yield {
            name: `${family} ${gpu} ${times}x ${arrivals}`,
            about: `${variants.length} variants on ${GPU_WORKERS} GPUs, SLO ${sloMs} ms, p90 service times`,
            spec: specOf(variants, { workers: GPU_WORKERS, sloMs, maxQueue: 16, arrivals }),
            shares: GPU_SHARES,
          };
        }
      }
    }
  }
  yield {
    name: "image trace",
    about: `twitter-2018-04-25, five minutes, nine ImageNet classifiers on ${TRACE_WORKERS} CPU workers, SLO 150 ms`,
    spec: specOf(imageVariants, {
      workers: TRACE_WORKERS,
      sloMs: 150,
      maxQueue: 32,
      arrivals: "poisson",
    }),
    trace: join(REFERENCE, "traces/twitter-2018-04-25-5min.txt"),
  };
}

function specOf(variants, { workers, sloMs, maxQueue, arrivals }) {
  return {
    profile: {
      format: "latency-profile/1",
      hardware: "reference",
      variants: Object.fromEntries(variants.map(({ name, ...rest }) => [name, rest])),
    },
    app: {
      version: 1,
      application: "peers",
      slo: { latency: `${sloMs} ms` },
      workload: { arrivals: PROCESSES[arrivals], loads: [1] },
      cluster: { workers },
      tasks: [
        {
          name: "task",
          variants: variants.map(({ name }) => ({ name, profile: `profile.json#${name}` })),
        },
      ],
      policy: { method: "ramsis", maxQueue },
    },
  };
}

/** One task for each load; a trace is one task. Those that take longest come first. */
function tasksOf({ name, spec, loads, shares, trace }, folder) {
  const common = { name, spec, folder };
  if (trace !== undefined) return [{ ...common, trace }];
  const own = flags.loads?.split(",").map(Number);
  const given = own ?? loads ?? shares.map((share) => Math.round(share * capacityOf(spec)));
  return given.map((loadQps) => ({ ...common, loadQps }));
}

function capacityOf({ profile, app }) {
  const sloMs = Number.parseFloat(app.slo.latency);
  const rates = Object.values(profile.variants).flatMap(({ latencyMs }) =>
    Object.entries(latencyMs).map(([batch, ms]) => (ms <= sloMs ? (1000 * batch) / ms : 0)),
  );
  return app.cluster.workers * Math.max(...rates);
}

/** Everybody at one point, the arrivals being the same for all. */
function measure({ name, spec, folder, loadQps, trace }) {
  const path = writeSpec(join(folder, `${name}-${loadQps}`.replaceAll(" ", "-")), spec, loadQps);
  const pooled = compile(path, {});
  const roundRobin = compile(path, ROUND_ROBIN);
  const runs = runsOf(spec, loadQps, trace);
  const rows = [
    { who: "pooled (ours)", ...mean(runs.map((run) => policyRun(pooled, run))) },
    { who: "round-robin (RAMSIS)", ...mean(runs.map((run) => policyRun(roundRobin, run))) },
    tunedRow("fixed", "fixed variant", pooled, fixedSettings(pooled), runs),
  ];
  const wanted = flags.who?.split(",") ?? PEER_NAMES;
  for (const peer of PEER_NAMES.filter((each) => wanted.includes(each))) {
    const [{ arrivals }] = runs;
    const paper = paperSetting(pooled, peer, arrivals);
    rows.push({ who: peer, setting: paper.parameters, ...meanOf(pooled, paper, runs) });
    const tried = triedSettings(pooled, peer, arrivals);
    const tuned = tunedRow(peer, `${peer} tuned`, pooled, tried, runs);
    rows.push({ ...tuned, within: bestWithin(tuned, rows[0], pooled, tried, runs) });
  }
  const expected = trace === undefined ? pooled.levels[0].expected : null;
  return { name, loadQps: loadQps ?? null, expected: withoutTables(expected), rows };
}

function withoutTables(expected) {
  if (expected === null) return null;
  const { upperBoundAccuracy, servedBoundAccuracy } = expected;
  return { upperBoundAccuracy, servedBoundAccuracy };
}

function writeSpec(folder, { profile, app }, loadQps) {
  // The child that measures a point is the only one that writes its files.
  const path = `${folder}.json`;
  const profilePath = `${folder}-profile.json`;
  const [task] = app.tasks;
  const file = profilePath.slice(profilePath.lastIndexOf("/") + 1);
  const variants = task.variants.map(({ name }) => ({ name, profile: `${file}#${name}` }));
  const loads = loadQps === undefined ? TRACE_LOADS : [loadQps];
  writeFileSync(profilePath, JSON.stringify(profile));
  writeFileSync(
    path,
    JSON.stringify({
      ...app,
      workload: { ...app.workload, loads },
      tasks: [{ ...task, variants }],
    }),
  );
  return path;
}

/** The policy of every load of a spec, solved here. */
function compile(path, policy) {
  const spec = JSON.parse(readFileSync(path, "utf8"));
  const own = path.replace(/json$/, `${policy.balancer ?? "pooled"}.json`);
  writeFileSync(own, JSON.stringify({ ...spec, policy: { ...spec.policy, ...policy } }));
  const { application } = loadApplication(own);
  const frame = ramsis.frame(application, new Map());
  const levels = application.loads.qps.map((qps) => ramsis.solveLevel(frame, qps));
  return { ...frame, levels, provenance: { compiler: "bench", inputs: [] } };
}

/** What is simulated: of a steady load some queries with each seed, of a trace all with one. */
function runsOf({ app }, loadQps, trace) {
  if (trace !== undefined) {
    const recorded = readTrace(trace);
    const durationMs = recorded.kind === "rates" ? recorded.endMs : recorded.arrivalMs.at(-1) + 1;
    return [{ arrivals: { kind: "trace", trace: recorded }, durationMs, seed: SEEDS[0] }];
  }
  const { process: kind, ...rest } = app.workload.arrivals;
  const sloMs = Number.parseFloat(app.slo.latency);
  const wantedMs = (1000 * Number(flags.queries)) / SEEDS.length / loadQps;
  const fromMs = WARM_UP_SLOS * sloMs;
  const untilMs = fromMs + Math.max(wantedMs, COUNTED_SLOS * sloMs);
  const durationMs = untilMs + COOL_DOWN_SLOS * sloMs;
  const arrivals = { kind, qps: loadQps, ...rest };
  return SEEDS.map((seed) => ({ arrivals, durationMs, counted: { fromMs, untilMs }, seed }));
}

function policyRun(bundle, run) {
  return simulateCluster(bundle, dispatcherOf(bundle), optionsOf(run));
}

function optionsOf({ seed, ...run }) {
  return {
    ...run,
    serviceTimes: "p95",
    arrivalRng: new Rng(seed, ARRIVAL_STREAM),
    serviceRng: new Rng(seed, SERVICE_STREAM),
  };
}

function fixedSettings(bundle) {
  const variants = bundle.tasks[0].variants.filter(({ dominated }) => !dominated);
  return variants.map(({ name: variant }) => ({
    parameters: { variant },
    open: () => dispatcherOf(baselineBundle(bundle, { kind: "fixed", variant }, () => 0)),
  }));
}

function tunedRow(peer, who, bundle, settings, runs) {
  const [run] = runs;
  const [best] = tunedSettings(bundle, settings, { ...run, serviceTimes: "p95" });
  return { who, peer, setting: best.setting.parameters, ...meanOf(bundle, best.setting, runs) };
}

/**
 * Where hindsight has more accuracy than ours at the price of violations: the best of all settings with no more violations than ours, chosen
 * on the very arrivals that are measured. Null where there is nothing to look for, or nothing found.
 */
function bestWithin(tuned, ours, bundle, settings, runs) {
  if (tuned.accuracy <= ours.accuracy + SAME_ACCURACY) return null;
  const measured = settings.map((setting) => {
    return { setting: setting.parameters, ...meanOf(bundle, setting, runs) };
  });
  const [best = null] = measured
    .filter(({ violations }) => violations <= ours.violations)
    .sort((a, b) => b.accuracy - a.accuracy);
  return best;
}

function meanOf(bundle, setting, runs) {
  return mean(runs.map((run) => simulatePeer(bundle, setting, optionsOf(run))));
}

/** Over all queries. */
function mean(outcomes) {
  const queries = sum(outcomes.map((outcome) => outcome.queries));
  const satisfied = sum(outcomes.map((outcome) => outcome.satisfied));
  const accuracy = sum(outcomes.map((outcome) => outcome.queries * outcome.accuracyPerQuery));
  return { accuracy: accuracy / queries, violations: (queries - satisfied) / queries };
}

/** Results in the order of the tasks. */
async function inProcesses(tasks) {
  const results = [];
  let next = 0;
  let done = 0;
  const drain = () =>
    new Promise((resolve, reject) => {
      const child = fork(fileURLToPath(import.meta.url), process.argv.slice(2));
      let current = 0;
      const sendNext = () => {
        current = next++;
        if (current < tasks.length) child.send(tasks[current]);
        else child.kill();
      };
      child.on("message", (result) => {
        results[current] = result;
        process.stderr.write(`\r${++done} of ${tasks.length} points`);
        sendNext();
      });
      child.on("error", reject);
      child.on("exit", (code) => {
        if (code === null) resolve();
        else reject(new Error(`a process ended with ${code} at ${JSON.stringify(tasks[current])}`));
      });
      sendNext();
    });
  await Promise.all(Array.from({ length: Math.min(Number(flags.jobs), tasks.length) }, drain));
  process.stderr.write("\n");
  return results;
}

/** A row for each that was measured, a column for each load. */
function print(title, points) {
  console.log(
    `\n${title}\naccuracy per query % (violations %); * above ours in accuracy, with no more violations`,
  );
  const whos = points[0].rows.map(({ who }) => who);
  const cells = whos.map((who, row) => [
    who,
    ...points.map((point) => cellOf(point.rows[row], point)),
  ]);
  const bounds = [
    ["bound, drops allowed", "upperBoundAccuracy"],
    ["bound, all served", "servedBoundAccuracy"],
  ].flatMap(([label, key]) => {
    const values = points.map(({ expected }) => expected?.[key]);
    if (values.every((value) => value === undefined)) return [];
    return [[label, ...values.map((value) => (value === undefined ? "-" : hundredths(value)))]];
  });
  const loads = points.map(({ loadQps }) => (loadQps === null ? "trace" : `${loadQps}`));
  table([["queries/s", ...loads], ...cells, ...bounds]);
  console.log(
    "\nfrontier: whom nobody beats in accuracy per query and in attainment, most accurate first",
  );
  for (const point of points) {
    const named = frontier(point.rows).map(
      ({ who, accuracy, violations }) =>
        `${who} ${hundredths(accuracy)} @ ${hundredths(1 - violations)}`,
    );
    console.log(`  ${point.loadQps ?? "trace"}: ${named.join("; ")}`);
  }
  console.log("\nwhat hindsight chose");
  for (const point of points) {
    for (const { who, setting } of point.rows.filter(({ peer }) => peer !== undefined)) {
      const pairs = Object.entries(setting).map(([key, value]) => `${key} ${value}`);
      console.log(`  ${point.loadQps ?? "trace"} ${who}: ${pairs.join(", ")}`);
    }
  }
}

function cellOf(row, { rows }) {
  const mark = isAbove(row, rows[0]) ? "*" : "";
  return `${hundredths(row.accuracy)} (${short(row.violations)})${mark}`;
}

/** More accuracy per query than rounding shows as the same, and no more violations. */
function isAbove(row, ours) {
  return row.accuracy > ours.accuracy + SAME_ACCURACY && row.violations <= ours.violations;
}

function frontier(rows) {
  const isBeaten = (row) =>
    rows.some(
      (other) =>
        other.accuracy >= row.accuracy &&
        other.violations <= row.violations &&
        (other.accuracy > row.accuracy || other.violations < row.violations),
    );
  return rows.filter((row) => !isBeaten(row)).sort((a, b) => b.accuracy - a.accuracy);
}

function summarise(points) {
  const isPeer = ({ who }) => !who.startsWith("pooled") && !who.startsWith("round-robin");
  const beaten = points.flatMap((point) =>
    point.rows
      .filter((row) => isPeer(row) && isAbove(row, point.rows[0]))
      .map((row) => ({ point, row })),
  );
  console.log(
    `\n${points.length} points; a peer is above ours in accuracy per query, with no more violations, ${beaten.length} times`,
  );
  for (const { point, row } of beaten) {
    const [ours] = point.rows;
    console.log(
      `  ${point.name} ${point.loadQps ?? ""}: ${row.who} ${textOf(row)}, ours ${textOf(ours)}`,
    );
  }
  const others = points.flatMap((point) =>
    point.rows
      .filter((row) => isPeer(row) && row.accuracy > point.rows[0].accuracy + SAME_ACCURACY)
      .map((row) => ({ point, row })),
  );
  console.log(`more accurate than ours, with whatever violations, ${others.length} times`);
  for (const { point, row } of others) {
    const [ours] = point.rows;
    const { within } = row;
    const best = within === undefined ? "" : `; with no more than our violations ${textOf(within)}`;
    console.log(
      `  ${point.name} ${point.loadQps ?? ""}: ${row.who} ${textOf(row)}, ours ${textOf(ours)}${best}`,
    );
  }
}

function textOf(row) {
  return row === null ? "none" : `${(100 * row.accuracy).toFixed(3)} (${short(row.violations)})`;
}

function table(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  for (const row of rows) {
    const [first, ...others] = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]),
    );
    console.log([first, ...others].join("  "));
  }
}

function read(name) {
  return JSON.parse(readFileSync(join(REFERENCE, name), "utf8"));
}

function hundredths(value) {
  return (100 * value).toFixed(2);
}

/** A ratio in percent, as short as it can be said. */
function short(ratio) {
  const percent = 100 * ratio;
  if (percent === 0) return "0";
  return percent < 0.01 ? percent.toExponential(0) : percent.toFixed(percent < 1 ? 2 : 1);
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}
