/** A front end that finds its workers over a real NATS, and goes on while that is away. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, expect } from "vitest";
import { clusterPackages } from "../../runtime/features/cluster/nats-packages.ts";
import { ClusterSite, clusterAt, fill, until, untilAway } from "../support/cluster-site.ts";
import { EdgeServers } from "../support/edge-servers.ts";
import { HAS_NATS_SERVER } from "../support/nats-server.ts";
import { urlOf } from "../support/run-cli.ts";
import { testWith } from "./needs.ts";

const packages = await clusterPackages("test").catch(() => null);
const parts = "nats-server and the packages @nats-io/transport-node, jetstream, kv and obj";
const test = testWith(parts, HAS_NATS_SERVER && packages !== null);

const site = new ClusterSite();
const edge = new EdgeServers(site.folder("edge"));
const running: ChildProcess[] = [];

afterEach(async () => {
  await edge.end();
  for (const child of running.splice(0)) await killed(child);
  await site.end();
});
afterAll(() => site.remove());

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

/** An agent whose folder has no models: what it holds was brought. */
function startWorker(name: string, port: number): ChildProcess {
  const own = ["--name", name, "--models", site.folder("none"), "--store", site.folder("store")];
  const shared = ["--cluster", clusterAt(port), "--http", "127.0.0.1:0", "--json"];
  const args = ["runtime/dist/cli.js", "worker", ...own, ...shared];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  running.push(child);
  return child;
}

/** Asks until it answers with that status: what is waited for is in other processes. */
async function untilAnswered(url: string, status: number): Promise<void> {
  while ((await edge.answered(url, 3)) !== status) await pause(50);
}

test("a model goes from NATS to a worker, whose front end goes on without NATS", async () => {
  const { path, models } = edge.compile("found", 3);
  const nats = await site.nats();
  const [members, connection] = await site.membership(nats.port);
  await untilAway(connection, false);
  await fill(connection, "policies", models);
  const first = startWorker("first", nats.port);
  const second = startWorker("second", nats.port);
  await Promise.all([urlOf(first), urlOf(second)]);
  await until(members, (names) => names === "first second");
  const cluster = ["--cluster", clusterAt(nats.port)];
  const served = await edge.serve(site.folder("served"), "--policy", path, ...cluster);
  await untilAnswered(served.url, 200);
  await nats.kill();
  await untilAway(connection, true);
  for (let count = 0; count < 20; count++) expect(await edge.answered(served.url, 3)).toBe(200);
  // The bundle has one worker: the other one stands by, and takes its place.
  await killed(first);
  await untilAnswered(served.url, 200);
  for (let count = 0; count < 20; count++) expect(await edge.answered(served.url, 3)).toBe(200);
  await nats.start();
  await until(members, (names) => names === "second");
  const third = startWorker("third", nats.port);
  await until(members, (names) => names === "second third");
  await urlOf(third);
  second.kill("SIGTERM");
  await until(members, (names) => names === "third");
  await untilAnswered(served.url, 200);
  const metrics = await (await fetch(`${served.url}/metrics`)).text();
  expect(metrics).toContain('stratagem_cluster_workers{pool="default",share="own"} 1');
  expect(metrics).toContain("stratagem_cluster_away 0");
});
