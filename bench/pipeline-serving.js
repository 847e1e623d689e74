// A live pipeline under a rising load, through changes of plan: what the client measured beside what a simulation of the same load says, and what of the
// scenes' letters was really found and named. `node bench/pipeline-serving.js` after a build; server, workers and load generator share the machine.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { drawScenes, HELD_OUT_SEED, SCENE_BYTES, SCENE_SIDE } from "../tools/scenes/dataset.js";
import { matchCrops } from "../tools/scenes/measure.js";

const CLI = "compiler/dist/cli.js";
const BUNDLE = "policies/scenes/bundle.msgpack";
const SLO = "100ms";
/** Seconds and requests per second of the phases: every one belongs to another plan. */
const PHASES = [
  [20, 100],
  [20, 210],
  [20, 420],
];
const SCENES = 400;
/** Scenes whose answers are compared with the truth, one after another, under no other load. */
const CHECKED = 200;

const folder = mkdtempSync(join(tmpdir(), "pipeline-serving-"));
const scenes = drawScenes(HELD_OUT_SEED, SCENES);
const inputs = join(folder, "scenes.bin");
writeFileSync(inputs, scenes.pixels);
const server = spawn(process.execPath, [
  CLI,
  "serve",
  ...["--policy", BUNDLE, "--models", "models/scenes", "--http", "127.0.0.1:0", "--json"],
]);
try {
  const url = await listening(server);
  console.log(`${cpus().length} cores, ${cpus()[0]?.model}, Node ${process.version}`);
  await warmUp(url);
  for (const [seconds, qps] of PHASES) comparePhase(url, seconds, qps);
  rising(url);
  await checkTruth(url);
  console.log(await metricsOf(url));
} finally {
  server.kill("SIGTERM");
  rmSync(folder, { recursive: true });
}

async function listening(child) {
  child.stderr.pipe(process.stderr);
  for await (const chunk of child.stdout) {
    const found = /http:\/\/[\d.]+:\d+/.exec(chunk.toString());
    if (found !== null) return found[0];
  }
  throw new Error("the server ended before it listened");
}

async function warmUp(url) {
  run("bench", url, ["--poisson", "50", "--duration", "5s"]);
}

/** A steady load, by itself. */
function comparePhase(url, seconds, qps) {
  // The demand is known once its average has settled.
  run("bench", url, ["--poisson", String(qps), "--duration", "6s"]);
  const load = ["--poisson", String(qps), "--duration", `${seconds}s`];
  print(`${qps} requests/s`, run("bench", url, load), run("simulate", BUNDLE, load));
}

/** All phases in one, without a break. */
function rising(url) {
  let second = 0;
  const rows = [];
  for (const [seconds, qps] of PHASES) {
    rows.push(`${second} ${qps}`);
    second += seconds;
  }
  const trace = join(folder, "rising.txt");
  writeFileSync(trace, `${rows.join("\n")}\n`);
  const load = ["--trace", trace];
  print("all, rising", run("bench", url, load), run("simulate", BUNDLE, load));
}

function print(name, measured, simulated) {
  const percent = (value) => `${(100 * value).toFixed(2)} %`;
  const lag = measured.sendLagMs.p99.toFixed(1);
  console.log(
    `${name}: accuracy ${percent(measured.accuracyPerSatisfied)} measured, ${percent(simulated.accuracyPerSatisfied)} simulated; violations ${percent(measured.violationRate)}, ${percent(simulated.violationRate)}; p99 ${measured.latencyMs.p99.toFixed(1)} ms, ${simulated.latencyMs.p99.toFixed(1)} ms; ${measured.queries} requests, errors ${JSON.stringify(measured.errors)}, send lag p99 ${lag} ms`,
  );
}

function run(command, target, load) {
  const args =
    command === "bench"
      ? [...load, "--slo", SLO, "--inputs", inputs, "--seed", "7"]
      : [...load, "--seed", "7"];
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [CLI, command, target, ...args, "--json"],
    { maxBuffer: 1e9 },
  );
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stderr}`);
  return JSON.parse(stdout);
}

/** Letters that were found and rightly named, of all. */
async function checkTruth(url) {
  let right = 0;
  let letters = 0;
  let stated = 0;
  for (let scene = 0; scene < CHECKED; scene++) {
    const answer = await infer(url, scene);
    const boxes = answer.boxes.map(([x, y, score]) => ({ x, y, score }));
    const truth = scenes.objectsByScene[scene];
    for (const { classIndex, crop } of matchCrops([truth], [boxes])) {
      letters++;
      if (crop >= 0 && answer.classes[crop] === classIndex) right++;
    }
    stated += answer.accuracy;
  }
  const percent = (value) => `${(100 * value).toFixed(2)} %`;
  console.log(
    `by the truth of ${CHECKED} scenes: ${percent(right / letters)} of ${letters} letters found and rightly named, stated ${percent(stated / CHECKED)}`,
  );
}

async function infer(url, scene) {
  const start = scene * SCENE_BYTES;
  const data = Array.from(scenes.pixels.subarray(start, start + SCENE_BYTES));
  const shape = [1, 1, SCENE_SIDE, SCENE_SIDE];
  const response = await fetch(`${url}/v2/models/scenes/infer`, {
    method: "POST",
    body: JSON.stringify({ inputs: [{ name: "scene", datatype: "UINT8", shape, data }] }),
  });
  const body = await response.json();
  if (!response.ok) throw new Error(JSON.stringify(body));
  const rowsOf = (name, width) => {
    const flat = body.outputs.find((output) => output.name === name).data.flat();
    return Array.from({ length: flat.length / width }, (_, row) =>
      flat.slice(row * width, (row + 1) * width),
    );
  };
  const classes = rowsOf("identify.logits", 12).map((row) => row.indexOf(Math.max(...row)));
  return { boxes: rowsOf("detect.boxes", 3), classes, accuracy: body.parameters.accuracy };
}

async function metricsOf(url) {
  const text = await (await fetch(`${url}/metrics`)).text();
  return text
    .split("\n")
    .filter((line) => /^stratagem_(plan_switches|model_loads|servers|level|fanout)/.test(line))
    .join("\n");
}
