/** Two scalers as processes that compete for a lease, at an API server by its wire contract. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { loadBundle } from "../../runtime/load-bundle.ts";
import { methodOf } from "../../runtime/methods/registry.ts";
import { SmallApiServer } from "../support/small-api-server.ts";
import { ToldTraffic } from "../support/told-traffic.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-scalers-"));
const POLICY = "policies/scaling/bundle.msgpack";
const { bundle } = await loadBundle(POLICY);
const pool = bundle.cluster.pools[0]?.name ?? "";
/** What the plan of the lowest level wants of the pool. */
const planned = (methodOf(bundle).plannedWorkers?.(bundle, 0) ?? []).filter((one) => {
  return one.pool === pool;
});
const workers = Math.max(
  1,
  planned.reduce((sum, one) => sum + one.workers, 0),
);
const cores = Math.max(...planned.map((one) => one.cores ?? Number.NaN));
const running: ChildProcess[] = [];
const open: Server[] = [];

afterEach(async () => {
  for (const child of running.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }
  for (const server of open.splice(0)) server.close();
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A front end of which the metrics are all that is asked, and a row comes with each look. */
async function metricsUrl(): Promise<string> {
  const traffic = new ToldTraffic(bundle.application);
  const server = createServer((_, response) => {
    traffic.rows++;
    response.end(traffic.text());
  });
  open.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;
}

function scaler(api: string, metrics: string) {
  const args = [
    ...["scaler", "--policy", POLICY, "--metrics", metrics, "--grpc", "127.0.0.1:0"],
    ...["--scale", `${pool}=vision-cpu`, "--resize", "--kube-api", api],
    ...["--kube-namespace", "vision", "--kube-token-file", join(folder, "token"), "--json"],
  ];
  // One by each command line.
  const cli = running.length === 0 ? "runtime/dist/cli.js" : "compiler/dist/cli.js";
  const child = spawn(process.execPath, [cli, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  running.push(child);
  let told = "";
  child.stderr.on("data", (chunk) => {
    told += String(chunk);
  });
  return { child, told: () => told };
}

/** The process whose identity ends with its number. */
function holderOf(server: SmallApiServer, scalers: readonly ReturnType<typeof scaler>[]) {
  const { holderIdentity = "" } = (server.lease?.spec ?? {}) as { holderIdentity?: string };
  return scalers.find(({ child }) => holderIdentity.endsWith(`-${child.pid}`));
}

const settled = { timeout: 60_000, interval: 50 };

test("one of two scales; the other goes on when it is killed, and the API was away", async () => {
  writeFileSync(join(folder, "token"), SmallApiServer.token);
  const server = new SmallApiServer("vision-cpu", 1);
  server.nodeCores = 64;
  const [api, metrics] = [await server.listen(), await metricsUrl()];
  server.conflicts = 3;
  for (const pod of server.pods.values()) pod.cpu = pod.actual = String(cores + 1);
  const both = [scaler(api, metrics), scaler(api, metrics)];
  const turn = () => {
    server.settle();
    return [server.replicas, ...[...server.pods.values()].map(({ actual }) => Number(actual))];
  };
  const wanted = [workers, ...Array<number>(workers).fill(cores)];
  try {
    await expect.poll(turn, settled).toEqual(wanted);
    expect(server.conflicts).toBe(0);
    const first = holderOf(server, both);
    const second = both.find((one) => one !== first);
    expect([first?.told().includes("replicas become"), second?.told()]).toEqual([workers > 1, ""]);
    first?.child.kill("SIGKILL");
    server.replicas = workers + 1;
    await expect.poll(turn, settled).toEqual(wanted);
    expect(holderOf(server, both)).toBe(second);
    expect(server.lease?.spec).toMatchObject({ leaseTransitions: 1 });
    server.isDown = true;
    await expect.poll(() => second?.told(), settled).toContain("503 ServiceUnavailable");
    server.replicas = workers + 2;
    server.isDown = false;
    await expect.poll(turn, settled).toEqual(wanted);
    second?.child.kill("SIGTERM");
    await expect.poll(() => server.lease?.spec, settled).toMatchObject({ holderIdentity: "" });
  } finally {
    await server.close();
  }
});

test("what it may not do and what cannot be is told once, and the rest is done", async () => {
  writeFileSync(join(folder, "token"), SmallApiServer.token);
  const server = new SmallApiServer("vision-cpu", workers);
  server.nodeCores = 64;
  for (const pod of server.pods.values()) pod.cpu = pod.actual = String(cores + 1);
  server.fixed.add(0);
  server.forbidden = "/scale";
  const one = scaler(await server.listen(), await metricsUrl());
  try {
    await expect.poll(() => one.told(), settled).toContain("403 Forbidden");
    expect(one.told()).toContain("give the service account the role that stratagem manifests");
    server.forbidden = null;
    await expect.poll(() => one.told(), settled).toContain("422 Invalid: resize of static-cpu");
    const others = () => [...server.pods].slice(1).map(([, { cpu }]) => Number(cpu));
    await expect.poll(others, settled).toEqual(Array<number>(workers - 1).fill(cores));
    const looks = server.requests.length + 10;
    await expect.poll(() => server.requests.length, settled).toBeGreaterThan(looks);
    const lines = one.told().split("\n");
    expect(lines.filter((line) => line.includes("403 Forbidden"))).toHaveLength(1);
    expect(lines.filter((line) => line.includes("422 Invalid"))).toHaveLength(1);
  } finally {
    await server.close();
  }
});
