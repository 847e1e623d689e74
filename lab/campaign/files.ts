/** Outputs of the commands: real ones that are killed, and places where no file belongs. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  watch,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { CLI, compiled } from "../experiments/harness/cli.ts";
import { placesTried } from "./odd-outputs.ts";
import type { Attack, Outcome, Part } from "./part.ts";

const KILLER = resolve("lab/campaign/killed-at.cjs");
const MOMENTS = ["write:1", "sync:1", "rename:1", "renamed:1"];
const LATENCIES = { small: { 1: 10, 4: 22, 8: 38 }, large: { 1: 40, 4: 120 } };

export const FILES: Part = {
  name: "files",
  about: "kills of a compile at random moments and at each step, odd places of outputs",
  unit: "kills",
  sizes: { full: 200, short: 3 },
  minutes: 5,
  run: attackFiles,
};

async function attackFiles(attack: Attack): Promise<Outcome> {
  const kills = await killsTried(attack);
  const places = await placesTried(attack.folder, kills.bundle, attack.size <= FILES.sizes.short);
  return {
    tried: kills.tried + places.tried,
    lost: [...kills.lost, ...places.lost],
    figures: { ...kills.figures, places: String(places.tried), ...places.figures },
  };
}

/** What is there before a kill is one bundle, and what the command writes is another. */
async function killsTried({ size, seed, folder, say }: Attack): Promise<Outcome & Bundle> {
  const home = join(folder, "kills");
  mkdirSync(home);
  const [before, after] = [100, 200].map((loadQps) => specIn(folder, loadQps));
  const old = await compiled("ramsis", before ?? "");
  const startMs = performance.now();
  const fresh = await compiled("ramsis", after ?? "");
  const slowestMs = performance.now() - startMs;
  const allowed = new Map([old, fresh].map(({ path }, which) => [digestOf(path), which]));
  const out = join(home, "out.msgpack");
  const lost: string[] = [];
  const left = [0, 0];
  let leftOver = 0;
  const rng = new Rng(seed, 0);
  for (let kill = 0; kill < size; kill++) {
    copyFileSync(old.path, out);
    const how = howToKill(kill, slowestMs * rng.nextFloat());
    await killed(["compile", after ?? "", "-o", out], home, how);
    const found = existsSync(out) ? allowed.get(digestOf(out)) : undefined;
    if (found === undefined) lost.push(`kill ${kill} (${nameOf(how)}): neither old nor new`);
    else left[found] = (left[found] ?? 0) + 1;
    leftOver += readdirSync(home).length - 1;
    if (kill % 20 === 19) say(`${kill + 1} of ${size} kills`);
  }
  const abandoned = readdirSync(home).length - 1;
  await compiled("ramsis", after ?? "", out);
  const entries = readdirSync(home);
  if (entries.length !== 1) lost.push(`the next run leaves ${entries.join(", ")}`);
  const [olds, news] = left;
  const figures = {
    "old left": String(olds),
    "new left": String(news),
    "temporaries seen": String(leftOver),
    "before the last run": String(abandoned),
  };
  return { tried: size + 1, lost, figures, bundle: old.path };
}

interface Bundle {
  /** Path of one. */
  readonly bundle: string;
}

type How = { readonly moment: string } | { readonly afterMs: number } | "at the temporary";

/** A third each: at a step, as soon as a temporary file is seen, at any moment. */
function howToKill(kill: number, afterMs: number): How {
  if (kill % 3 === 0) return { moment: MOMENTS[(kill / 3) % MOMENTS.length] ?? "" };
  return kill % 3 === 1 ? "at the temporary" : { afterMs };
}

function nameOf(how: How): string {
  if (typeof how === "string") return how;
  return "moment" in how ? `at ${how.moment}` : `after ${how.afterMs.toFixed(1)} ms`;
}

async function killed(args: readonly string[], home: string, how: How): Promise<void> {
  const isStep = typeof how === "object" && "moment" in how;
  const child = spawn(process.execPath, [...(isStep ? ["--require", KILLER] : []), CLI, ...args], {
    stdio: "ignore",
    env: { ...process.env, STRATAGEM_KILLED_AT: isStep ? how.moment : "" },
  });
  const ended = once(child, "close");
  const kill = () => child.kill("SIGKILL");
  const watcher =
    how === "at the temporary"
      ? watch(home, (_, name) => {
          if (name?.startsWith(".stratagem.tmp-")) kill();
        })
      : null;
  const timer =
    typeof how === "object" && "afterMs" in how ? setTimeout(kill, how.afterMs) : undefined;
  await ended;
  clearTimeout(timer);
  watcher?.close();
}

function digestOf(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

/** A spec with its profile, quick to compile: one load, a queue for each worker. @returns path. */
function specIn(folder: string, loadQps: number): string {
  const variants = Object.entries(LATENCIES).map(([name, latencyMs], index) => {
    return [name, { accuracy: 0.7 + 0.2 * index, latencyMs }] as const;
  });
  const profile = {
    format: "latency-profile/1",
    hardware: "test",
    percentile: 95,
    variants: Object.fromEntries(variants),
  };
  writeFileSync(join(folder, "profile.json"), JSON.stringify(profile));
  const path = join(folder, `load-${loadQps}.json`);
  const spec = {
    version: 1,
    application: "files",
    slo: { latency: "100 ms" },
    workload: { arrivals: { process: "poisson" }, loads: [loadQps] },
    cluster: { workers: 4 },
    tasks: [
      {
        name: "classify",
        variants: variants.map(([name]) => ({ name, profile: `profile.json#${name}` })),
      },
    ],
    policy: { method: "ramsis", balancer: "round-robin" },
  };
  writeFileSync(path, JSON.stringify(spec));
  return path;
}
