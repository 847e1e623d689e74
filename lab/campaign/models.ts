/** Hostile models through `compile`, `profile` and `profile --layers` of the command line. */
import { spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HOSTILE_MODELS, type HostileModel } from "./hostile-models.ts";
import type { Attack, Outcome, Part } from "./part.ts";

const CLI = "compiler/dist/cli.js";
/** Longer than all limits of the commands together: whoever takes it hangs. */
const HANGS_MS = 200_000;
const MEASURES = ["--batches", "1", "--repeat", "2", "--force"];

const COMMANDS: readonly { readonly verb: string; readonly more: readonly string[] }[] = [
  { verb: "compile", more: [] },
  { verb: "profile", more: MEASURES },
  { verb: "profile", more: ["--layers", "--repeat", "2", "--force"] },
];

/** Short: one of these by each command. */
const SHORT = ["16 GiB in one value", "outputs that are NaN", "random bytes"];

export const MODELS: Part = {
  name: "models",
  about: "hostile models through compile, profile and profile --layers",
  unit: "models",
  sizes: { full: HOSTILE_MODELS.length, short: SHORT.length },
  minutes: 5,
  run: attack,
};

async function attack({ size, folder, say }: Attack): Promise<Outcome> {
  const isShort = size <= SHORT.length;
  const models = isShort
    ? HOSTILE_MODELS.filter(({ name }) => SHORT.includes(name))
    : HOSTILE_MODELS.slice(0, size);
  const commands = isShort ? COMMANDS.slice(0, 2) : COMMANDS;
  const lost: string[] = [];
  let [tried, refused, longestMs] = [0, 0, 0];
  for (const model of models) {
    for (const { verb, more } of commands) {
      const ended = await runOn(model, join(folder, String(tried++)), verb, more);
      longestMs = Math.max(longestMs, ended.ms);
      if (ended.status === 65) refused++;
      const harm = harmOf(ended);
      if (harm !== null) lost.push(`${model.name}, ${verb} ${more.join(" ")}: ${harm}`);
    }
    say(`${tried} of ${models.length * commands.length}`);
  }
  const figures = { refused: `${refused}`, longest: `${(longestMs / 1000).toFixed(1)} s` };
  return { tried, lost, figures };
}

interface Ended {
  readonly status: number | null;
  readonly stderr: string;
  readonly ms: number;
}

/** What is wrong with how a command ended: it is to do its work or to refuse with a place. */
function harmOf({ status, stderr, ms }: Ended): string | null {
  if (status === null) return `hung, or ended by a signal after ${Math.round(ms)} ms`;
  if (status !== 0 && status !== 65) return `exit code ${status}: ${stderr.slice(0, 300)}`;
  if (/\n\s+at /.test(stderr)) return `a stack: ${stderr.slice(0, 300)}`;
  const named = /^[A-Z]+_[A-Z_]+ \S+/m.test(stderr) && /m\.onnx|tasks\[0\]|\bm\b/.test(stderr);
  return status === 65 && !named ? `no name: ${stderr.slice(0, 300)}` : null;
}

async function runOn(
  { bytes }: HostileModel,
  folder: string,
  verb: string,
  more: readonly string[],
): Promise<Ended> {
  mkdirSync(folder);
  writeFileSync(join(folder, "m.onnx"), bytes());
  writeFileSync(join(folder, "app.json"), JSON.stringify(spec()));
  writeFileSync(join(folder, "profile.json"), JSON.stringify(profile()));
  const args = [CLI, verb, join(folder, "app.json"), "-o", join(folder, "out"), ...more];
  const startMs = performance.now();
  const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] });
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-20_000);
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), HANGS_MS);
  const status = await new Promise<number | null>((resolve) => child.once("close", resolve));
  clearTimeout(timer);
  rmSync(folder, { recursive: true });
  return { status, stderr, ms: performance.now() - startMs };
}

function spec(): object {
  return {
    version: 1,
    application: "hostile",
    slo: { latency: "100 ms" },
    workload: { arrivals: { process: "poisson" }, loads: [10] },
    cluster: { workers: 1 },
    tasks: [{ name: "t", variants: [{ name: "m", model: "m.onnx", profile: "profile.json#m" }] }],
    policy: { method: "ramsis", maxQueue: 2 },
  };
}

function profile(): object {
  const m = { accuracy: 0.9, latencyMs: { 1: 5, 2: 6 } };
  return { format: "latency-profile/1", hardware: "cpu", variants: { m } };
}
