// The main job end to end: profile the example models on this machine, compile a bundle for four load levels, serve it, send a Poisson
// load that climbs and falls across the levels, and set what the bundle predicts beside what was measured; then the same on each single model.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { runLoad } from "../compiler/dist/load/run-load.js";
import { decodeBundle } from "../runtime/dist/checked-bundle.js";
import { alignColumns, percent } from "../runtime/dist/tell/text.js";
import { drawImages, HELD_OUT_SEED, IMAGE_BYTES } from "./image-classification/dataset.js";

/** Kept between runs: the profile of this machine. */
const FOLDER = ".stratagem";
const SLO_MS = 100;
/** Levels, as multiples of what one worker carries with the slowest model and no batching. */
const LEVELS = [0.3, 0.6, 1.2, 1.8];
const CLIMB_AND_FALL = [0, 1, 2, 3, 2, 1, 0];
const POLICY_SECONDS = 4;
const SINGLE_SECONDS = 1.5;
const IMAGE_COUNT = 1000;

const { variants } = JSON.parse(readFileSync("models/image-classification/models.json", "utf8"));
const images = drawImages(HELD_OUT_SEED, IMAGE_COUNT);
mkdirSync(FOLDER, { recursive: true });

title("1. Profile the models on this machine");
const profilePath = `${FOLDER}/profile.json`;
writeSpec("app", variants, [1]);
if (existsSync(profilePath))
  console.log(`${profilePath} is there from an earlier run; remove it to measure again`);
else
  await stratagem(
    "profile",
    `${FOLDER}/app.json`,
    "-o",
    profilePath,
    "--batches",
    "1,2,4,8",
    "--force",
  );

title("2. Compile a policy for four load levels");
const slowestMs = Math.max(
  ...Object.values(JSON.parse(readFileSync(profilePath, "utf8")).variants).map(
    ({ latencyMs }) => latencyMs["1"].p50,
  ),
);
const loads = LEVELS.map((level) => Number(((1000 * level) / slowestMs).toPrecision(2)));
const policy = await compile("app", variants);

title(`3. Serve it under ${CLIMB_AND_FALL.map((level) => loads[level]).join(", ")} queries/s`);
const outcomes = await measure("app", POLICY_SECONDS);
console.log(
  alignColumns([
    [
      "load qps",
      "accuracy predicted",
      "measured",
      "by labels",
      "late predicted",
      "measured",
      "p50 ms",
      "p99 ms",
      "share of each variant",
    ],
    ...policy.levels.map(({ loadQps, expected }, level) => [
      String(loadQps),
      percent(expected.accuracyPerSatisfied),
      ...columns(outcomes[level], percent(expected.violationRate)),
      shares(outcomes[level]),
    ]),
  ]),
);

title("4. The same load on each single model");
const rows = [];
for (const variant of variants) {
  await compile(variant.name, [variant], "ignore");
  const single = await measure(variant.name, SINGLE_SECONDS);
  for (const [level, qps] of loads.entries()) {
    rows.push([variant.name, String(qps), ...columns(single[level], "")]);
  }
}
console.log(
  alignColumns([
    ["model", "load qps", "accuracy", "by labels", "", "late or lost", "p50 ms", "p99 ms"],
    ...rows,
  ]),
);

function title(text) {
  console.log(`\n== ${text}`);
}

function writeSpec(name, chosen, loadsQps) {
  const spec = {
    version: 1,
    application: "glyphs",
    slo: { latency: `${SLO_MS} ms` },
    workload: { arrivals: { process: "poisson" }, loads: loadsQps },
    cluster: { workers: 1 },
    tasks: [
      {
        name: "classify",
        variants: chosen.map(({ name: variant, file, accuracy }) => ({
          name: variant,
          accuracy,
          model: `../models/image-classification/${file}`,
          profile: `profile.json#${variant}`,
        })),
      },
    ],
    policy: { method: "ramsis", maxQueue: 16 },
  };
  writeFileSync(`${FOLDER}/${name}.json`, JSON.stringify(spec, null, 2));
}

async function compile(name, chosen, stdout = "inherit") {
  writeSpec(name, chosen, loads);
  await run(["compile", `${FOLDER}/${name}.json`, "-o", `${FOLDER}/${name}.msgpack`], stdout);
  return decodeBundle(readFileSync(`${FOLDER}/${name}.msgpack`));
}

async function stratagem(...args) {
  console.log(`$ stratagem ${args.join(" ")}`);
  await run(args, "inherit");
}

async function run(args, stdout) {
  const child = spawn(process.execPath, ["compiler/dist/cli.js", ...args], {
    stdio: ["ignore", stdout, "inherit"],
  });
  const [code] = await once(child, "exit");
  if (code !== 0) process.exit(code ?? 1);
}

/** Serves a bundle while the load climbs and falls. @returns per level what its one or two phases came to. */
async function measure(name, seconds) {
  const args = [
    "serve",
    "--policy",
    `${FOLDER}/${name}.msgpack`,
    "--models",
    "models/image-classification",
  ];
  const server = spawn(
    process.execPath,
    ["compiler/dist/cli.js", ...args, "--http", "127.0.0.1:0", "--json"],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  const exited = once(server, "exit");
  const notices = [];
  server.stderr.on("data", (chunk) => notices.push(chunk));
  try {
    const url = await urlOf(server);
    const phases = [];
    for (const [phase, level] of CLIMB_AND_FALL.entries()) {
      if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${name}: ${loads[level]} queries/s`);
      phases.push({ level, outcome: await phaseAt(url, loads[level], seconds, phase) });
    }
    if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
    return loads.map((_, level) => together(phases.filter((phase) => phase.level === level)));
  } finally {
    server.kill("SIGTERM");
    const [code] = await exited;
    if (code !== 0) process.stderr.write(Buffer.concat(notices));
  }
}

async function urlOf(server) {
  let text = "";
  for await (const chunk of server.stdout) {
    text += chunk;
    if (text.includes("\n}")) return JSON.parse(text).url;
  }
  throw new Error("the server ended before it was ready");
}

function phaseAt(url, qps, seconds, seed) {
  return runLoad({
    url,
    model: null,
    arrivals: { kind: "poisson", qps },
    durationMs: seconds * 1000,
    seed,
    sloMs: SLO_MS,
    inputs: (index) => {
      const image = index % IMAGE_COUNT;
      const bytes = images.pixels.subarray(image * IMAGE_BYTES, (image + 1) * IMAGE_BYTES);
      return { bytes, label: images.labels[image] };
    },
    maxOutstanding: 4096,
    warmUpQueries: seed === 0 ? 200 : 0,
    timeoutMs: 10_000,
    nowMs: () => performance.now(),
    onProgress: () => {},
    signal: new AbortController().signal,
  });
}

/** Phases of one level as one outcome; of the latency quantiles the worse phase counts. */
function together(phases) {
  const outcomes = phases.map(({ outcome }) => outcome);
  const sum = (of) => outcomes.reduce((total, outcome) => total + of(outcome), 0);
  const mean = (of) =>
    sum((each) => (of(each) ?? 0) * each.satisfied) / sum((each) => each.satisfied);
  const byVariant = {};
  for (const outcome of outcomes) {
    for (const [name, { queries }] of Object.entries(outcome.byVariant)) {
      byVariant[name] = (byVariant[name] ?? 0) + queries;
    }
  }
  return {
    queries: sum((each) => each.queries),
    violationRate: sum((each) => each.late + each.dropped) / sum((each) => each.queries),
    accuracy: mean((each) => each.accuracyPerSatisfied),
    byLabels: mean((each) => each.measuredAccuracy),
    p50: Math.max(...outcomes.map((each) => each.latencyMs?.p50 ?? Number.NaN)),
    p99: Math.max(...outcomes.map((each) => each.latencyMs?.p99 ?? Number.NaN)),
    byVariant,
  };
}

function columns({ accuracy, byLabels, violationRate, p50, p99 }, latePredicted) {
  return [
    percent(accuracy),
    percent(byLabels),
    latePredicted,
    percent(violationRate),
    p50.toFixed(1),
    p99.toFixed(1),
  ];
}

function shares({ byVariant, queries }) {
  return Object.entries(byVariant)
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${Math.round((100 * count) / queries)}%`)
    .join(", ");
}
