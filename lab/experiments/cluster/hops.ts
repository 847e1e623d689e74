/** Promises of plans whose workers are on another machine, as far away as the plan says. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { TruthDocument } from "stratagem/internal/truth/truth-document";
import { parse } from "yaml";
import { CLI, stratagem } from "../harness/cli.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { machineLines, startServe, withServer } from "../harness/live.ts";
import { percent, present } from "../harness/numbers.ts";
import { APPLICATIONS, type TrialApplication } from "../truth/applications.ts";
import { requireFreshBuild } from "./built.ts";
import type { Machine } from "./machine.ts";
import { Network } from "./network.ts";
import { Node } from "./node.ts";

/** There and back, ms. */
const DELAYS = [0, 2, 10];
const PORT = 8000;
const EXIT_NOT_VERIFIED = 3;
const WARM_UP = ["--duration", "2s"];
const PROBE = ["--duration", "5s"];
const WAYS = ["profile", "stated"];
/** Batches as large as plans send. */
const PROFILED = ["--batches", "1,2,4,8,16"];

interface Remote {
  readonly name: string;
  /** Folder of its models. */
  readonly models: string;
  readonly method: string;
  readonly workers: number;
  /** Of a load that is planned, at which its hop is measured first. */
  readonly probeQps: number;
}

const REMOTES: readonly Remote[] = [
  {
    name: "letters",
    models: "models/image-classification",
    method: "ramsis",
    workers: 1,
    probeQps: 220,
  },
  { name: "cascade", models: "models/cascade", method: "inferline", workers: 6, probeQps: 50 },
];

export const hops: Experiment = {
  name: "hops",
  about: "workers behind a link of 0, 2 and 10 ms: promised beside measured",
  takes: "about twenty minutes; needs root, python3 and /dev/net/tun",
  options: {
    app: `${REMOTES.map(({ name }) => name).join(", ")}; all`,
    delays: `ms there and back, separated by commas; ${DELAYS.join(",")}`,
    seconds: "of each load; 10",
    loads: "of each bundle; 2",
    by: "what plans know the way by: a profile measured through the workers, or a stated hop; all",
  },
  isExtra: true,
  run: runHops,
};

const HEAD = [
  ...["application", "link ms", "by", "load/s", "p50 ms", "measured", "p99 ms", "measured"],
  ...["late", "measured", "accuracy", "measured", "verdict"],
];

async function runHops({ page, flags, folder }: Run): Promise<void> {
  requireFreshBuild();
  for (const line of machineLines()) page.say(line);
  const startMs = performance.now();
  const names = flags.among(
    "app",
    REMOTES.map(({ name }) => name),
  );
  const delays = flags.text("delays")?.split(",").map(Number) ?? DELAYS;
  const ways = flags.among("by", WAYS) ?? WAYS;
  const extent = { seconds: flags.number("seconds") ?? 10, loads: flags.number("loads") ?? 2 };
  const rows: (string | number)[][] = [];
  for (const remote of REMOTES) {
    if (names !== undefined && !names.includes(remote.name)) continue;
    const own = join(folder, remote.name);
    mkdirSync(own);
    await Network.with(folder, async (network) => {
      const machine = await network.machine("w");
      const urls = await startAgents(machine, remote, own);
      const trial = present(APPLICATIONS.find(({ name }) => name === remote.name));
      for (const delayMs of delays) {
        if (delayMs > 0) await machine.slow(delayMs / 2);
        const linkMs = await machine.roundTripMs();
        for (const way of ways) {
          const found = await tryDelay({
            remote,
            trial,
            urls,
            folder: own,
            linkMs,
            way,
            ...extent,
          });
          rows.push(...found);
          for (const row of found) process.stderr.write(`${row.join(" | ")}\n`);
        }
        await machine.hasten();
      }
    });
  }
  page.table(HEAD, rows);
  page.say(`${((performance.now() - startMs) / 60_000).toFixed(1)} minutes`);
}

/** One port for each. @returns their URLs, once all models are ready. */
async function startAgents(machine: Machine, remote: Remote, folder: string): Promise<string[]> {
  const urls = Array.from({ length: remote.workers }, (_, at) => {
    return `http://${machine.address}:${PORT + at}`;
  });
  for (const [at, url] of urls.entries()) {
    const http = ["--http", url.slice("http://".length), "--name", `w${at + 1}`];
    const args = [process.execPath, CLI, "worker", "--models", remote.models, ...http];
    const node = new Node({ machine, folder, args, readyUrl: `${url}/v2/health/ready` });
    node.start();
    await node.ready();
  }
  return urls;
}

interface Trial {
  readonly remote: Remote;
  readonly trial: TrialApplication;
  readonly urls: readonly string[];
  readonly folder: string;
  readonly linkMs: number;
  readonly way: string;
  readonly seconds: number;
  readonly loads: number;
}

async function tryDelay(trial: Trial): Promise<(string | number)[][]> {
  const { remote, linkMs } = trial;
  const { document, by } = await (trial.way === "profile" ? byProfile : byStatedHop)(trial);
  return document.points.map(({ loadQps, predicted, measured, holds, checks }) => [
    remote.name,
    linkMs.toFixed(1),
    by,
    loadQps,
    digit(predicted.p50Ms),
    digit(measured.p50Ms),
    digit(predicted.p99Ms),
    digit(measured.p99Ms),
    percent(predicted.violationRate),
    percent(measured.violationRate),
    percent(predicted.accuracy),
    percent(measured.accuracy),
    holds ? "holds" : namesOf(checks.filter((check) => !check.holds)),
  ]);
}

interface Tried {
  readonly document: TruthDocument;
  readonly by: string;
}

/** A profile of the workers where they are has the way to them in it. */
async function byProfile(trial: Trial): Promise<Tried> {
  const { folder, trial: application } = trial;
  const out = outOf(folder);
  const spec = writtenSpec(trial, null);
  const profile = join(folder, "elsewhere.json");
  rmSync(profile, { force: true });
  const hardware = ["--hardware", hardwareOf(spec) ?? "elsewhere"];
  const rows = application.inputs(out).slice(0, 2);
  // The agents are neighbours here, for all share the processors; elsewhere they are not.
  const how = [...PROFILED, "--serving", ...rows, ...hardware, "--force"];
  await stratagem("profile", spec, "-o", profile, ...how);
  return { document: await truthOf(trial, spec, profile), by: "profile" };
}

/** Measures the hop first, as whoever writes a spec does, and has the plan know it. */
async function byStatedHop(trial: Trial): Promise<Tried> {
  const { remote, folder, linkMs } = trial;
  const spec = writtenSpec(trial, linkMs);
  const probed = join(folder, "probe.msgpack");
  await stratagem("compile", spec, "-o", probed);
  const hopMs = Math.round((await measuredHopMs(probed, remote)) * 10) / 10;
  const profile = join(folder, "profile.json");
  if (!existsSync(profile)) await measureHere(trial, spec, profile);
  writtenSpec(trial, hopMs);
  return { document: await truthOf(trial, spec, profile), by: `hop ${hopMs.toFixed(1)}` };
}

/** The models by themselves, as processes of this machine. */
async function measureHere(trial: Trial, spec: string, profile: string): Promise<void> {
  const here = join(trial.folder, "here.json");
  const { cluster, ...rest } = JSON.parse(readFileSync(spec, "utf8"));
  const { pools, workers: _, ...others } = cluster;
  const counted = pools?.map((pool: object) => ({ ...pool, workers: trial.remote.workers }));
  const own = counted === undefined ? { workers: trial.remote.workers } : { pools: counted };
  writeFileSync(here, JSON.stringify({ ...rest, cluster: { ...others, ...own } }));
  const hardware = ["--hardware", hardwareOf(spec) ?? "here"];
  await stratagem("profile", here, "-o", profile, ...PROFILED, ...hardware, "--force");
}

/** Of its first pool; null where no pool names it. */
function hardwareOf(spec: string): string | null {
  const { cluster } = JSON.parse(readFileSync(spec, "utf8"));
  return cluster.pools?.[0]?.hardware ?? null;
}

function outOf(folder: string): string {
  const out = join(folder, "truth");
  mkdirSync(out, { recursive: true });
  return out;
}

/** @param hopMs null to leave it to the profile. @returns its path. */
function writtenSpec(trial: Trial, hopMs: number | null): string {
  const spec = join(trial.folder, "app.json");
  writeFileSync(spec, specOf(trial, hopMs));
  return spec;
}

function namesOf(checks: readonly { readonly name: string }[]): string {
  return checks.map(({ name }) => name).join(", ");
}

/** The application as the repository has it, but for where its workers are. */
function specOf({ remote, urls }: Trial, hopMs: number | null): string {
  const file = join("policies", remote.name, "app.yaml");
  const text = readFileSync(file, "utf8").replaceAll("../../", `${resolve(".")}/`);
  const spec = parse(text) as { cluster: { pools?: Record<string, unknown>[] } };
  const { pools } = spec.cluster;
  const cluster = {
    ...spec.cluster,
    ...(pools === undefined
      ? { workers: urls }
      : { pools: pools.map((pool) => ({ ...pool, workers: urls })) }),
    communicationLatency: hopMs === null ? "auto" : `${hopMs} ms`,
  };
  return JSON.stringify({ ...spec, cluster });
}

/** Mean over the batches of a load once it is warm, by the front end's metrics. */
async function measuredHopMs(policy: string, { models, probeQps }: Remote): Promise<number> {
  const starting = startServe(policy, ["--models", models, "--no-means-check"], { isQuiet: true });
  return withServer(starting, async ({ url }) => {
    await stratagem("bench", url, "--arrivals", `poisson:${probeQps}`, ...WARM_UP);
    const before = await hopsOf(url);
    await stratagem("bench", url, "--arrivals", `poisson:${probeQps}`, ...PROBE);
    const after = await hopsOf(url);
    const batches = after.batches - before.batches;
    if (batches === 0) throw new Error("no hop was measured: no worker had a batch");
    return (1000 * (after.seconds - before.seconds)) / batches;
  });
}

async function hopsOf(url: string): Promise<{ seconds: number; batches: number }> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const sumOf = (name: string) => {
    const found = text.match(new RegExp(`^${name}\\{.*\\} .*$`, "gm")) ?? [];
    return found.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  };
  const name = "stratagem_worker_hop_seconds";
  return { seconds: sumOf(`${name}_sum`), batches: sumOf(`${name}_count`) };
}

async function truthOf(trial: Trial, spec: string, profile: string): Promise<TruthDocument> {
  const { folder, seconds, loads, trial: application } = trial;
  const out = outOf(folder);
  const extent = ["--loads", `${loads}`, "--duration", `${seconds}s`, "--runs", "1"];
  const inputs = application.inputs(out);
  const args = [CLI, "truth", spec, "-o", out, ...extent, "--profile", profile, ...inputs];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
  const [code]: (number | null)[] = await once(child, "exit");
  if (code !== 0 && code !== EXIT_NOT_VERIFIED) throw new Error(`truth ended with ${code}`);
  return JSON.parse(readFileSync(join(out, "truth.json"), "utf8")) as TruthDocument;
}

function digit(ms: number | null): string {
  return ms === null ? "-" : ms.toFixed(1);
}
