/**
 * Reloads the bundle of every method under load by SIGHUP: other levels, another cluster, which
 * takes new workers, and files that are no bundles. No request is lost, and every bad file is
 * refused.
 */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { encodeBundle, validateBundle } from "stratagem-runtime/internal/bundles/checked-bundle";
import { loadBundle } from "stratagem-runtime/internal/bundles/load-bundle";
import { startServe } from "../experiments/harness/live.ts";
import { type Metrics, metricsOf, sumOf } from "../experiments/harness/metrics.ts";
import { childrenOf } from "./load/process-watch.ts";
import { chosenMethods, requestsOf, type ServedMethod, untilReady } from "./load/served-method.ts";
import type { Attack, Outcome, Part } from "./part.ts";
import { Clients } from "./stopping/clients.ts";

/** Mean pause of each of 17 clients: a light load, for workers start beside it. */
const GAP_MS = 400;
const LOOK_MS = 50;
/** Of a reload, until it is counted, at most. */
const MAX_RELOAD_MS = 60_000;
/** How long the same load goes on before, to know what it is refused without reloads. */
const CONTROL_MS = 10_000;
/** What a client may be told while workers start on the cores that it is served by. */
const SHED = new Set([200, 429, 503]);

export const RELOADS: Part = {
  name: "reloads",
  about: "reloads the bundle of every method under load, every fourth a bad file",
  unit: "reloads of each method",
  sizes: { full: 100, short: 4 },
  minutes: 40,
  run,
};

async function run(attack: Attack): Promise<Outcome> {
  const lost: string[] = [];
  const figures: Record<string, string> = {};
  let tried = 0;
  for (const served of chosenMethods().filter(({ spec }) => spec === undefined)) {
    const one = await reloaded(served, attack);
    tried += attack.size;
    lost.push(...one.lost.map((what) => `${served.method}, ${what}`));
    figures[served.method] = one.told;
    attack.say(`${served.method}: ${one.told}`);
  }
  return { tried, lost, figures };
}

async function reloaded(served: ServedMethod, { size, folder }: Attack) {
  const { messages } = await requestsOf(served);
  const files = filesOf((await loadBundle(served.policy)).bundle);
  const policy = join(folder, `${served.method}.msgpack`);
  put(policy, files[0]);
  const args = ["--models", served.models, "--no-means-check", "--standby", "0"];
  const server = await startServe(policy, args, { isQuiet: true });
  await untilReady(server.url);
  const clientsOf = () => new Clients(Number(new URL(server.url).port), messages, GAP_MS);
  const children = childrenOf(server.pid).length;
  const control = clientsOf();
  control.begin();
  await pause(CONTROL_MS);
  await control.end();
  const clients = clientsOf();
  const lost: string[] = [];
  let longestMs = 0;
  clients.begin();
  for (let at = 1; at <= size; at++) {
    const bytes = files[at % files.length];
    put(policy, bytes);
    const startMs = performance.now();
    process.kill(server.pid, "SIGHUP");
    const metrics = await counted(server.url, at);
    longestMs = Math.max(longestMs, Math.round(performance.now() - startMs));
    const refused = metrics.get(refusedSeries(metrics)) ?? 0;
    const bad = Math.floor((at + files.length - BAD) / files.length);
    if (refused !== bad) lost.push(`reload ${at}: ${refused} refused, expected ${bad}`);
  }
  await clients.end();
  const { fates } = clients;
  if (fates.unanswered.length > 0) lost.push(`${fates.unanswered.length} requests unanswered`);
  if (fates.resetUnheard > 0) lost.push(`${fates.resetUnheard} connections were reset`);
  for (const [status, count] of fates.byStatus) {
    if (!SHED.has(status)) lost.push(`${count} requests answered ${status}`);
  }
  const left = await childrenLeft(server.pid, children);
  if (left > children) lost.push(`${left} processes, ${children} before`);
  await server.stop();
  const refused = `refused ${refusedShare(clients)}, without reloads ${refusedShare(control)}`;
  const told = `${clients.sent} requests, ${refused}, longest reload ${longestMs} ms`;
  return { lost, told };
}

function refusedShare({ sent, fates: { byStatus } }: Clients): string {
  return `${((100 * (sent - (byStatus.get(200) ?? 0))) / Math.max(1, sent)).toFixed(1)} %`;
}

/** Place of the file that is none. */
const BAD = 3;

/** The bundle; of another cluster; with a level less, where that can be; and no bundle. */
function filesOf(bundle: Bundle): Uint8Array[] {
  const whole = encodeBundle(bundle);
  const pools = bundle.cluster.pools.map((pool) => ({ ...pool, name: `${pool.name}-2` }));
  const cluster = { ...bundle.cluster, pools };
  const other = encodeBundle(validateBundle({ ...bundle, cluster }));
  // Plans of themis are in pairs of levels.
  const isWhole = bundle.method === "themis" || bundle.levels.length === 1;
  const levels = isWhole ? bundle.levels : bundle.levels.slice(0, -1);
  const provenance = { ...bundle.provenance, compiler: "another compiler" };
  const fewer = encodeBundle(validateBundle({ ...bundle, levels, provenance }));
  return [whole, other, fewer, whole.subarray(0, whole.length >> 1)];
}

/** As whoever deploys a file should. */
function put(path: string, bytes: Uint8Array = new Uint8Array()): void {
  writeFileSync(`${path}.new`, bytes);
  renameSync(`${path}.new`, path);
}

/** Waits until so many reloads are over. @throws Error if that takes too long. */
async function counted(url: string, count: number): Promise<Metrics> {
  const endMs = performance.now() + MAX_RELOAD_MS;
  while (performance.now() < endMs) {
    const metrics = await metricsOf(url);
    if (sumOf(metrics, "reloads_total") >= count) return metrics;
    await pause(LOOK_MS);
  }
  throw new Error(`reload ${count} was not over within ${MAX_RELOAD_MS} ms`);
}

function refusedSeries(metrics: Metrics): string {
  const isIt = (series: string) => /^stratagem_reloads_total{.*result="refused"}$/.test(series);
  return [...metrics.keys()].find(isIt) ?? "";
}

/** What was replaced may take a moment to end. */
async function childrenLeft(pid: number, expected: number): Promise<number> {
  for (let look = 0; look < 100 && childrenOf(pid).length > expected; look++) await pause(LOOK_MS);
  return childrenOf(pid).length;
}
