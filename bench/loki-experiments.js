// Loki's evaluation once more: its optima beside the checked ones, its comparison with hardware scaling and pipeline-agnostic accuracy scaling (§6.2), the
// ablation of dropping (Fig. 7), the sweep of SLOs (Fig. 8), and what RAMSIS adds within a task; docs/experiments.md explains them.
// `node bench/loki-experiments.js plans|comparison|ablation|slo|stages` after a build; the reference data is where STRATAGEM_REFERENCE says.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { simulateLoki } from "../compiler/dist/methods/loki/simulate/simulate.js";
import { baselineBundle } from "../compiler/dist/methods/loki/simulate-command.js";
import { loadBundle } from "../runtime/dist/load-bundle.js";

const REFERENCE = process.env.STRATAGEM_REFERENCE ?? "../shared/reference";
const TRACE = join(REFERENCE, "traces/twitter-2021-08-counts-per-second.txt.gz");
const SEED = 1;
/** A day of the trace is played in so many seconds, each with the rate of DAY_SECONDS / TRACE_SECONDS seconds of the day. */
const TRACE_SECONDS = 3525;
/** The recording lacks the last half hour of every day. */
const DAY_SECONDS = 84_600;
/** The day's highest rate, by what the most accurate variants alone can carry: what the paper's clusters served beyond that. */
const PEAK_OF_HARDWARE = { traffic_tree: 2.5, social_media_1500: 2.7 };
/** Bundles of the comparison have levels this close in accuracy. */
const MAX_ACCURACY_STEP = "1%";
const DROP_MODES = ["none", "last-task", "per-task", "reroute", "deadline"];
const SLOS_MS = [50, 100, 150, 200, 250, 300, 350, 400];
/** Part of a method's requests that may miss the SLO where its effective capacity is measured. */
const MAX_VIOLATION_RATE = 0.01;

const folder = mkdtempSync(join(tmpdir(), "loki-experiments-"));
const experiments = { plans, comparison, ablation, slo, stages };
const names = process.argv.slice(2);
let applicationCount = 0;
try {
  for (const name of names.length > 0 ? names : Object.keys(experiments)) {
    if (experiments[name] === undefined) throw new Error(`no experiment "${name}"`);
    await experiments[name]();
  }
} finally {
  rmSync(folder, { recursive: true });
}

/** Every row of the reference tables beside what is compiled here. */
function plans() {
  for (const name of ["traffic_chain", "traffic_tree", "social_media_1500"]) {
    const expected = readJson(`loki/${name}.json`);
    const rows = expected.table;
    const app = writeApplication(name, { loads: rows.map(({ demandQps }) => demandQps) });
    const { levels, compileMs } = compile(app);
    console.log(`\n${name}: ${rows.length} loads in ${Math.round(compileMs)} ms, reference | here`);
    let wrong = 0;
    const table = rows.map((row, index) => {
      const { feasible, plan, solve } = levels[index];
      const step = feasible ? plan.step : "-";
      const ok =
        feasible === row.feasible &&
        (!feasible ||
          (step === row.step &&
            Math.abs(plan.accuracy - row.accuracy) <= 1e-6 &&
            (step !== "hardware" || plan.servers === row.servers)));
      if (!ok) wrong++;
      return [
        row.demandQps,
        row.feasible ? row.step : "infeasible",
        feasible ? step : "infeasible",
        row.feasible ? row.servers : "-",
        feasible ? plan.servers : "-",
        row.feasible ? row.accuracy.toFixed(6) : "-",
        feasible ? plan.accuracy.toFixed(6) : "-",
        solve.status,
        solve.ms.toFixed(0),
        ok ? "same" : "DIFFERS",
      ];
    });
    print(["qps", "step", "", "servers", "", "accuracy", "", "proof", "ms", ""], table);
    const found = levels.at(-1).feasible ? Number.NaN : levels.at(-1).capacityQps;
    const capacity = expected.capacityQps.withAccuracyScaling;
    console.log(`capacity ${capacity} | ${found.toFixed(2)}; ${wrong} rows differ`);
  }
}

/** §6.2 for both pipelines, on a recorded day and on one that rises and falls once. */
async function comparison() {
  for (const name of ["traffic_tree", "social_media_1500"]) {
    const { bundle, capacityQps, hardwareQps } = await compiled(name, {});
    const roomy = await compiled(name, { policy: { headroom: "auto" } });
    const inferline = await baselineOf(bundle, "inferline");
    const proteus = await baselineOf(bundle, "proteus");
    const methods = [
      ["stratagem, headroom: auto", roomy.bundle],
      ["loki's plans, drop: deadline", bundle],
      ["loki as printed, reroute", dropping(bundle, "reroute")],
      ["inferline, drop: deadline", inferline],
      ["inferline, last-task", dropping(inferline, "last-task")],
      ["proteus, drop: deadline", proteus],
      ["proteus, last-task", dropping(proteus, "last-task")],
    ];
    const peakQps = PEAK_OF_HARDWARE[name] * hardwareQps;
    const outcomes = [];
    for (const [day, trace] of [
      ["a recorded day", dayTrace(peakQps)],
      ["a day that rises and falls once", smoothDay(peakQps)],
    ]) {
      console.log(
        `\n${name}: ${day} in ${TRACE_SECONDS} s, peak ${peakQps.toFixed(0)} requests/s, mean ${trace.meanQps.toFixed(0)}`,
      );
      outcomes.push(compareMethods(methods, trace));
    }
    const [ours, printed, hardware] = [roomy.bundle, bundle, inferline].map((own) =>
      effectiveCapacity(own, capacityQps),
    );
    console.log(
      `largest steady load with at most ${percent(MAX_VIOLATION_RATE)} late: headroom ${ours.toFixed(0)}, loki's plans ${printed.toFixed(0)}, inferline ${hardware.toFixed(0)}: ${ratio(printed, hardware)} (paper 2.5–2.7×, its peak)`,
    );
    console.log(
      `plans carry ${capacityQps.toFixed(0)} with accuracy scaling, ${hardwareQps.toFixed(0)} without: ${ratio(capacityQps, hardwareQps)}`,
    );
    for (const [index, day] of ["recorded", "smooth"].entries()) {
      const [roomyDay, own, asPrinted, , , , agnostic] = outcomes[index];
      console.log(
        `${day} day, proteus with last-task over loki as printed: violations ${ratio(agnostic.violationRate, asPrinted.violationRate)}, over drop: deadline ${ratio(agnostic.violationRate, own.violationRate)}, over headroom ${ratio(agnostic.violationRate, roomyDay.violationRate)} (paper up to 10×); servers off-peak ${ratio(offPeakServers(agnostic), offPeakServers(own))} (paper 2.67×)`,
      );
    }
  }
}

function dropping(bundle, drop) {
  return { ...bundle, policy: { ...bundle.policy, drop } };
}

function compareMethods(methods, trace) {
  const outcomes = methods.map(([, bundle]) => replay(bundle, trace));
  print(
    [
      "method",
      "violations",
      "accuracy/satisfied",
      "accuracy/request",
      "servers",
      "off-peak",
      "changes of plan",
    ],
    outcomes.map((outcome, index) => [
      methods[index][0],
      percent(outcome.violationRate),
      percent(outcome.accuracyPerSatisfied),
      percent(outcome.accuracyPerQuery),
      outcome.servers.mean.toFixed(1),
      offPeakServers(outcome).toFixed(1),
      outcome.planSwitches,
    ]),
  );
  return outcomes;
}

/** Fig. 7, on the same day; and under a load that the plans do not know of. */
async function ablation() {
  const { bundle, hardwareQps } = await compiled("traffic_tree", {});
  const trace = dayTrace(PEAK_OF_HARDWARE.traffic_tree * hardwareQps);
  console.log("\ntraffic_tree, what becomes of queries that fall behind");
  const rows = DROP_MODES.map((drop) => {
    const own = dropping(bundle, drop);
    const day = replay(own, trace);
    const top = own.levels.at(-1);
    // A load that the one plan in force just carries, and one that is too much for it.
    const level = levelAt(own, 400);
    const full = steady({ ...own, levels: [level] }, level.loadQps);
    const burst = steady({ ...own, levels: [top] }, 1.1 * top.loadQps);
    return [
      drop,
      percent(day.violationRate),
      percent(day.accuracyPerSatisfied),
      percent(full.violationRate),
      percent(full.accuracyPerSatisfied),
      percent(burst.violationRate),
      percent(burst.accuracyPerSatisfied),
    ];
  });
  print(
    [
      "drop",
      "day: violations",
      "accuracy",
      "a plan at its load: violations",
      "accuracy",
      "1.1 × capacity: violations",
      "accuracy",
    ],
    rows,
  );
}

/** Fig. 8: the same day under other SLOs. */
async function slo() {
  const { hardwareQps } = await compiled("traffic_tree", {});
  const trace = dayTrace(PEAK_OF_HARDWARE.traffic_tree * hardwareQps);
  const rows = [];
  for (const sloMs of SLOS_MS) {
    const found = await compiled("traffic_tree", { sloMs }).catch((error) => {
      rows.push([`${sloMs} ms`, "-", "-", "-", "-", String(error.message).slice(0, 120)]);
      return null;
    });
    if (found === null) continue;
    const day = replay(found.bundle, trace);
    const best = Math.max(...found.bundle.levels.map(({ plan }) => plan.accuracy));
    const seconds = day.timeline.filter(({ accuracy }) => accuracy !== null);
    const least = Math.min(...seconds.map(({ accuracy }) => accuracy));
    rows.push([
      `${sloMs} ms`,
      percent(day.accuracyPerSatisfied),
      percent(best - least),
      percent(day.violationRate),
      found.capacityQps.toFixed(0),
      "",
    ]);
  }
  console.log("\ntraffic_tree, the day of 250 ms under other SLOs");
  print(["SLO", "accuracy/satisfied", "largest drop", "violations", "capacity qps", ""], rows);
}

/** What a RAMSIS table for each task adds over the plan's fixed variants, at loads between the levels and at them. */
async function stages() {
  for (const name of ["traffic_chain", "traffic_tree"]) {
    const fixed = await compiled(name, {});
    const tables = await compiled(name, { policy: { stagePolicy: "ramsis" } });
    const rows = [0.1, 0.2, 0.4, 0.6, 0.8, 0.95].map((part) => {
      const qps = part * fixed.capacityQps;
      const [without, with_] = [fixed, tables].map(({ bundle }) => steady(bundle, qps));
      return [
        qps.toFixed(0),
        percent(without.accuracyPerQuery),
        percent(with_.accuracyPerQuery),
        percent(without.violationRate),
        percent(with_.violationRate),
      ];
    });
    console.log(
      `\n${name}: accuracy per request and violations, fixed variants | RAMSIS in the stages`,
    );
    print(["qps", "accuracy", "", "violations", ""], rows);
  }
}

/** A bundle with levels placed by accuracy over all that the cluster can carry, and the capacities. */
async function compiled(name, { sloMs, policy = {} }) {
  const input = readJson(`loki/inputs/${name}.json`);
  const slo = sloMs ?? input.sloMs;
  // One level far beyond tells the capacity.
  const probe = compile(writeApplication(name, { loads: [1, 1e6], sloMs: slo }));
  const capacityQps = probe.levels.at(-1).capacityQps;
  const hardware = await baselineOf(
    (await loadBundle(probe.bundle.path)).bundle,
    "inferline",
  ).catch(() => null);
  const loads = {
    from: Math.max(1, Math.round(capacityQps / 200)),
    to: Number(capacityQps.toFixed(3)) - 0.001,
    maxAccuracyStep: MAX_ACCURACY_STEP,
  };
  const app = writeApplication(name, { loads, sloMs: slo, policy });
  const out = compile(app);
  const { bundle } = await loadBundle(out.bundle.path);
  return { bundle, capacityQps, hardwareQps: hardware?.levels.at(-1).plan.demandQps ?? 0 };
}

function compile(app) {
  const out = app.replace(/app\.yaml$/, "bundle.msgpack");
  const cli = ["compiler/dist/cli.js", "compile", app, "-o", out, "--json"];
  try {
    return JSON.parse(
      execFileSync(process.execPath, cli, { maxBuffer: 1e9, stdio: ["ignore", "pipe", "pipe"] }),
    );
  } catch (error) {
    throw new Error(String(error.stderr ?? error).trim());
  }
}

/** @param loads a list, or the mapping of a spec. */
function writeApplication(name, { loads, sloMs, policy = {} }) {
  const out = join(folder, String(applicationCount++));
  const list = Array.isArray(loads) ? loads : [1];
  execFileSync(process.execPath, [
    join(REFERENCE, "apps.mjs"),
    "loki",
    ...["--input", `loki/inputs/${name}.json`, "--loads", list.join(",")],
    ...["--policy", JSON.stringify(policy), "--out", out],
  ]);
  const path = join(out, "app.yaml");
  const app = JSON.parse(readFileSync(path, "utf8"));
  app.workload.loads = loads;
  if (sloMs !== undefined) app.slo.latency = `${sloMs} ms`;
  writeFileSync(path, JSON.stringify(app));
  return path;
}

function readJson(path) {
  return JSON.parse(readFileSync(join(REFERENCE, path), "utf8"));
}

async function baselineOf(bundle, baseline) {
  const signal = new AbortController().signal;
  return baselineBundle(bundle, baseline, { jobs: 2, onProgress() {}, signal });
}

/** The first day of the trace, its shape kept, the highest rate being `peakQps`. */
function dayTrace(peakQps) {
  const counts = gunzipSync(readFileSync(TRACE)).toString().split("\n", DAY_SECONDS).map(Number);
  const width = DAY_SECONDS / TRACE_SECONDS;
  const rates = Array.from({ length: TRACE_SECONDS }, (_, bin) => {
    const own = counts.slice(bin * width, (bin + 1) * width);
    return own.reduce((sum, count) => sum + count, 0) / own.length;
  });
  return traceOf(rates, peakQps);
}

/** From a tenth of the peak to the peak and back, as a cosine. */
function smoothDay(peakQps) {
  const rates = Array.from({ length: TRACE_SECONDS }, (_, second) => {
    return 0.1 + 0.45 * (1 - Math.cos((2 * Math.PI * second) / TRACE_SECONDS));
  });
  return traceOf(rates, peakQps);
}

/** A rate for every second, the highest scaled to `peakQps`. */
function traceOf(rates, peakQps) {
  const scale = peakQps / Math.max(...rates);
  const qps = Float64Array.from(rates, (rate) => scale * rate);
  const startMs = Float64Array.from(rates, (_, second) => 1000 * second);
  return {
    trace: { kind: "rates", startMs, qps, endMs: 1000 * rates.length },
    meanQps: qps.reduce((sum, rate) => sum + rate, 0) / qps.length,
  };
}

function replay(bundle, { trace }) {
  return simulateLoki(bundle, {
    arrivals: { kind: "trace", trace },
    durationMs: trace.endMs,
    seed: SEED,
    serviceTimes: "p95",
    fanout: "rounded",
    timeline: true,
  });
}

/** The level that carries a load. */
function levelAt({ levels }, qps) {
  return levels.find(({ loadQps }) => loadQps >= qps);
}

function steady(bundle, qps) {
  return simulateLoki(bundle, {
    arrivals: { kind: "poisson", qps },
    durationMs: 60_000,
    seed: SEED,
    serviceTimes: "p95",
    fanout: "rounded",
  });
}

/** The largest steady load of which at most a hundredth misses the SLO, to 2 %. */
function effectiveCapacity(bundle, capacityQps) {
  const holds = (qps) => steady(bundle, qps).violationRate <= MAX_VIOLATION_RATE;
  let [low, high] = [0, capacityQps];
  if (holds(high)) return high;
  while (high - low > 0.02 * high) {
    const middle = (low + high) / 2;
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** Mean servers of the quarter of the seconds with the fewest requests. */
function offPeakServers({ timeline }) {
  const quiet = [...timeline].sort((a, b) => a.requests - b.requests);
  const quarter = quiet.slice(0, Math.ceil(quiet.length / 4));
  return quarter.reduce((sum, { servers }) => sum + servers, 0) / quarter.length;
}

function percent(value) {
  return value === null ? "-" : `${(100 * value).toFixed(2)} %`;
}

function ratio(a, b) {
  return b === 0 ? "∞" : `${(a / b).toFixed(2)}×`;
}

function print(head, rows) {
  const table = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  for (const row of table) {
    console.log(row.map((cell, column) => cell.padStart(widths[column])).join("  "));
  }
}
