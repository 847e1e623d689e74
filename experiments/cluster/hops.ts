/** Promises of plans whose workers are on another machine, as far away as the plan says. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
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
  takes: "about nine minutes; needs root, python3 and /dev/net/tun",
  options: {
    app: `${REMOTES.map(({ name }) => name).join(", ")}; all`,
    delays: `ms there and back, separated by commas; ${DELAYS.join(",")}`,
    seconds: "of each load; 10",
    loads: "of each bundle; 2",
  },
  isExtra: true,
  run: runHops,
};

const HEAD = [
  ...["application", "link ms", "hop ms", "load/s", "p50 ms", "measured", "p99 ms", "measured"],
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
        const found = await tryDelay({ remote, trial, urls, folder: own, linkMs, ...extent });
        await machine.hasten();
        rows.push(...found);
        for (const row of found) process.stderr.write(`${row.join(" | ")}\n`);
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
  readonly seconds: number;
  readonly loads: number;
}

/** Measures the hop first, as whoever writes a spec does, and has the plan know it. */
async function tryDelay(trial: Trial): Promise<(string | number)[][]> {
  const { remote, folder, linkMs } = trial;
  const spec = join(folder, "app.json");
  writeFileSync(spec, specOf(trial, linkMs));
  const probed = join(folder, "probe.msgpack");
  await stratagem("compile", spec, "-o", probed);
  const hopMs = Math.round((await measuredHopMs(probed, remote)) * 10) / 10;
  writeFileSync(spec, specOf(trial, hopMs));
  const document = await truthOf(trial, spec);
  return document.points.map(({ loadQps, predicted, measured, holds, checks }) => [
    remote.name,
    linkMs.toFixed(1),
    hopMs.toFixed(1),
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

function namesOf(checks: readonly { readonly name: string }[]): string {
  return checks.map(({ name }) => name).join(", ");
}

/** The application as the repository has it, but for where its workers are. */
function specOf({ remote, urls }: Trial, hopMs: number): string {
  const file = join("policies", remote.name, "app.yaml");
  const text = readFileSync(file, "utf8").replaceAll("../../", `${resolve(".")}/`);
  const spec = parse(text) as { cluster: { pools?: Record<string, unknown>[] } };
  const { pools } = spec.cluster;
  const cluster = {
    ...spec.cluster,
    ...(pools === undefined
      ? { workers: urls }
      : { pools: pools.map((pool) => ({ ...pool, workers: urls })) }),
    communicationLatency: `${hopMs} ms`,
  };
  return JSON.stringify({ ...spec, cluster });
}

/** Mean over the batches of a load once it is warm, by the front end's metrics. */
async function measuredHopMs(policy: string, { models, probeQps }: Remote): Promise<number> {
  const starting = startServe(policy, ["--models", models, "--no-means-check"], { isQuiet: true });
  return withServer(starting, async ({ url }) => {
    await stratagem("bench", url, "--poisson", probeQps, ...WARM_UP);
    const before = await hopsOf(url);
    await stratagem("bench", url, "--poisson", probeQps, ...PROBE);
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

async function truthOf(trial: Trial, spec: string): Promise<TruthDocument> {
  const { folder, seconds, loads, trial: application } = trial;
  const out = join(folder, "truth");
  mkdirSync(out, { recursive: true });
  const profile = join(folder, "profile.json");
  const known = existsSync(profile) ? ["--profile", profile] : [];
  const extent = ["--loads", `${loads}`, "--seconds", `${seconds}`, "--runs", "1"];
  const args = [CLI, "truth", spec, "-o", out, ...extent, ...known, ...application.inputs(out)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
  const [code]: (number | null)[] = await once(child, "exit");
  if (code !== 0 && code !== EXIT_NOT_VERIFIED) throw new Error(`truth ended with ${code}`);
  if (!existsSync(profile)) writeFileSync(profile, readFileSync(join(out, "profile.json")));
  return JSON.parse(readFileSync(join(out, "truth.json"), "utf8")) as TruthDocument;
}

function digit(ms: number | null): string {
  return ms === null ? "-" : ms.toFixed(1);
}
