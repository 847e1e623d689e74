/** Several front ends that share workers over a real NATS, and what becomes of it when some go. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, expect } from "vitest";
import { clusterPackages } from "../../runtime/features/cluster/nats-packages.ts";
import { ClusterSite, clusterAt } from "../support/cluster-site.ts";
import { CLIENTS, CountedLoad } from "../support/counted-load.ts";
import { EdgeServers } from "../support/edge-servers.ts";
import { HAS_NATS_SERVER } from "../support/nats-server.ts";
import { urlOf } from "../support/run-cli.ts";
import { testWith } from "./needs.ts";

const packages = await clusterPackages("test").catch(() => null);
const parts = "nats-server and the packages @nats-io/transport-node, jetstream, kv and obj";
const test = testWith(parts, HAS_NATS_SERVER && packages !== null);

const WIDTH = 3;
const WORKERS = ["w1", "w2", "w3"];
const POLL_MS = 50;

const site = new ClusterSite();
const edge = new EdgeServers(site.folder("edge"));
const running: ChildProcess[] = [];

afterEach(async () => {
  await edge.end();
  for (const child of running.splice(0)) await ended(child, "SIGKILL");
  await site.end();
});
afterAll(() => site.remove());

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill(signal);
  await exit;
}

/** @param models folder of them. @returns its URL. */
async function startWorker(cluster: string, name: string, models: string): Promise<string> {
  const own = ["--name", name, "--models", models, "--store", site.folder("store")];
  const shared = ["--cluster", cluster, "--http", "127.0.0.1:0", "--json"];
  const args = ["runtime/dist/cli.js", "worker", ...own, ...shared];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  running.push(child);
  return urlOf(child);
}

function startFrontEnd(cluster: string, name: string, policy: string) {
  const own = ["--policy", policy, "--cluster", cluster, "--front-end", name];
  return edge.serve(site.folder(name), ...own);
}

/** Sum of the samples of a name at `/metrics`, or of those that have a label. */
async function metric(url: string, name: string, label = ""): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const lines = text
    .split("\n")
    .filter((one) => one.startsWith(`${name} `) || one.startsWith(`${name}{`))
    .filter((one) => one.includes(label));
  return lines.reduce((sum, one) => sum + Number(one.slice(one.lastIndexOf(" "))), 0);
}

const SHARE = ["stratagem_cluster_workers", 'share="own"'] as const;

/** Asks until a front end has so many of the workers: what moves them are other processes. */
async function untilShare(url: string, workers: number): Promise<void> {
  while ((await metric(url, ...SHARE)) !== workers) await pause(POLL_MS);
}

async function untilAnswered(url: string): Promise<void> {
  while ((await edge.answered(url, WIDTH)) !== 200) await pause(POLL_MS);
}

/** Rows that agents have run, and batches that were shown to one twice. */
async function executed(workers: readonly string[]): Promise<{ rows: number; doubled: number }> {
  let [rows, doubled] = [0, 0];
  for (const url of workers) {
    rows += await metric(url, "nv_inference_count");
    const text = await (await fetch(`${url}/metrics`)).text();
    doubled += Number(
      /^stratagem_refused_total\{what="batch",reason="double"\} (\d+)$/m.exec(text)?.[1],
    );
  }
  return { rows, doubled };
}

async function startAll(cluster: string, name: string) {
  const { path } = edge.compile(name, WIDTH, WORKERS.length);
  const models = path.slice(0, path.lastIndexOf("/"));
  const workers = await Promise.all(WORKERS.map((one) => startWorker(cluster, one, models)));
  return { path, models, workers };
}

test("front ends come, are killed and stopped under load, and no batch runs twice", async () => {
  const nats = await site.nats();
  const cluster = clusterAt(nats.port);
  const { path, workers } = await startAll(cluster, "shared");
  const one = await startFrontEnd(cluster, "one", path);
  await untilShare(one.url, 3);
  await untilAnswered(one.url);
  const first = new CountedLoad(edge, one.url, WIDTH);
  await first.answeredMore(100);

  // Workers move to a second one while the first serves.
  const two = await startFrontEnd(cluster, "two", path);
  await untilShare(two.url, 1);
  await untilShare(one.url, 2);
  await untilAnswered(two.url);
  const second = new CountedLoad(edge, two.url, WIDTH);
  await Promise.all([first.answeredMore(100), second.answeredMore(100)]);
  expect(first.failures).toEqual([]);

  await ended(one.child, "SIGKILL");
  const killedMs = performance.now();
  await untilShare(two.url, 3);
  const takenMs = performance.now() - killedMs;
  await first.end();
  expect(first.failures.length).toBeGreaterThan(0);
  await second.answeredMore(100);
  expect(second.failures).toEqual([]);

  // A third one comes, and the second is stopped once its clients have gone to that.
  const three = await startFrontEnd(cluster, "three", path);
  await untilShare(three.url, 1);
  await untilAnswered(three.url);
  const third = new CountedLoad(edge, three.url, WIDTH);
  await third.answeredMore(100);
  await second.end();
  await ended(two.child, "SIGTERM");
  await untilShare(three.url, 3);
  await third.answeredMore(100);
  await third.end();
  expect([...second.failures, ...third.failures]).toEqual([]);

  const loads = [first, second, third];
  // Beside the loads, each front end was asked once for the answer that says that it serves.
  const sent = loads.reduce((sum, load) => sum + load.sent, 0) + 3;
  const answered = loads.reduce((sum, load) => sum + load.answered, 0) + 3;
  const ran = await executed(workers);
  expect(ran.rows).toBeGreaterThanOrEqual(answered);
  // What the first one had under way when it was killed may have run, and nothing else.
  expect(ran.rows).toBeLessThanOrEqual(answered + CLIENTS);
  expect(ran.doubled).toBe(0);
  const counts = `sent ${sent}, answered ${answered}, run ${ran.rows}`;
  process.stdout.write(`taken over in ${Math.round(takenMs)} ms; ${counts}\n`);
});

test("a front end whose line to NATS is cut goes on with its workers while it serves", async () => {
  const nats = await site.nats();
  const cluster = clusterAt(nats.port);
  const line = await site.line(nats.port);
  const { path } = await startAll(cluster, "kept");
  const one = await startFrontEnd(clusterAt(line.port), "one", path);
  await untilShare(one.url, 3);
  const two = await startFrontEnd(cluster, "two", path);
  await untilShare(two.url, 1);
  await untilShare(one.url, 2);
  for (const { url } of [one, two]) await untilAnswered(url);
  const told = await (await fetch(`${one.url}/v2/health/ready`)).json();
  expect(told).toMatchObject({ ready: true, frontEnd: expect.stringMatching(/^one-/) });
  const loads = [one, two].map(({ url }) => new CountedLoad(edge, url, WIDTH));
  line.cut();
  while ((await metric(one.url, "stratagem_cluster_away")) !== 1) await pause(POLL_MS);
  // Longer than a lease, and all the while both are asked.
  await pause(5000);
  for (const load of loads) await load.answeredMore(100);
  expect([await metric(one.url, ...SHARE), await metric(two.url, ...SHARE)]).toEqual([2, 1]);
  for (const load of loads) await load.end();
  expect(loads.flatMap(({ failures }) => failures)).toEqual([]);
});

test("of a NATS of three the leader is killed: serving and then membership go on", async () => {
  const trio = await site.trio();
  const { path, models } = await startAll(trio.url, "trio");
  const served = await startFrontEnd(trio.url, "only", path);
  await untilShare(served.url, 3);
  await untilAnswered(served.url);
  const { leader, replicas } = await trio.leader("tried");
  expect(replicas).toBe(3);
  const load = new CountedLoad(edge, served.url, WIDTH);
  await load.answeredMore(100);
  await trio.killOne(leader);
  await load.answeredMore(100);
  // Leases can be written again only once there is another leader.
  await startWorker(trio.url, "w4", models);
  await untilShare(served.url, 4);
  expect((await trio.leader("tried", leader)).leader).not.toBe(leader);
  await load.answeredMore(100);
  await load.end();
  expect(load.failures).toEqual([]);
});
