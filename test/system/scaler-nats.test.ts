/** What front ends tell a cluster over a real NATS, as a scaler sums it, and what it then does. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { Client, credentials } from "@grpc/grpc-js";
import { afterAll, afterEach, expect } from "vitest";
import { clusterPackages } from "../../runtime/features/cluster/nats-packages.ts";
import { NatsStore } from "../../runtime/features/cluster/nats-store.ts";
import { FRONT_ENDS, trafficOfBeat } from "../../runtime/features/cluster/shares/share-texts.ts";
import type { StoreChange } from "../../runtime/features/cluster/store.ts";
import { ClusterLoad } from "../../runtime/scaler/cluster-load.ts";
import { ClusterSite, clusterAt, untilAway } from "../support/cluster-site.ts";
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
  for (const child of running.splice(0)) {
    const ended = once(child, "exit");
    if (child.kill("SIGKILL")) await ended;
  }
  await site.end();
});
afterAll(() => site.remove());

function started(...args: string[]): ChildProcess {
  const child = spawn(process.execPath, ["runtime/dist/cli.js", ...args, "--json"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.push(child);
  return child;
}

async function grpcOf({ stdout }: ChildProcess): Promise<string> {
  let text = "";
  for await (const chunk of stdout ?? []) {
    text += String(chunk);
    if (text.includes("\n}")) break;
  }
  return JSON.parse(text).grpc;
}

/** Whether KEDA would be told to start workers; false too while the load is not known. */
function isActive(client: Client): Promise<boolean> {
  const path = "/externalscaler.ExternalScaler/IsActive";
  const asIs = (bytes: Uint8Array) => Buffer.from(bytes);
  return new Promise((resolve) => {
    client.makeUnaryRequest(path, asIs, asIs, new Uint8Array(), (_, answer) => {
      resolve(answer?.at(-1) === 1);
    });
  });
}

function sumOf(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

/** What is waited for happens in other processes. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await pause(50);
}

test("every request of two front ends is counted once, and the plan of it comes up", async () => {
  const { path } = edge.compile("counted", 3);
  const nats = await site.nats();
  const cluster = ["--cluster", clusterAt(nats.port)];
  // One for each front end: whoever has none is not ready.
  const workers = ["one", "two"].map((name) => {
    const own = ["--policy", path, "--http", "127.0.0.1:0", "--name", name];
    return started("worker", ...own, "--store", site.folder("store"), ...cluster);
  });
  await Promise.all(workers.map(urlOf));
  const scaler = started("scaler", "--policy", path, ...cluster, "--grpc", "127.0.0.1:0");
  const client = new Client(await grpcOf(scaler), credentials.createInsecure());
  site.endsWith(() => client.close());
  const fronts = await Promise.all(
    ["a", "b"].map((name) => {
      return edge.serve(site.folder(name), "--policy", path, "--front-end", name, ...cluster);
    }),
  );
  const connection = await site.connected(nats.port);
  await untilAway(connection, false);
  const store = new NatsStore(connection);
  const told = new Map<string, number>();
  const onChange = ({ key, value }: StoreChange) => {
    told.set(key, trafficOfBeat(value ?? "", "echo")?.rows ?? 0);
  };
  site.endsWith(store.watch(FRONT_ENDS, { onChange }));
  const load = new ClusterLoad({
    store,
    application: "echo",
    nowMs: () => performance.now(),
  });
  site.endsWith(() => load.close());
  await until(() => load.whyUnknown(performance.now()) === null);
  expect(load.load().window.queries).toBe(0);
  for (let turn = 0; turn < 10; turn++) {
    for (const { url } of fronts) expect(await edge.answered(url, 3)).toBe(200);
  }
  await until(() => sumOf(told) === 20);
  expect([...told.values()]).toEqual([10, 10]);
  expect(load.load().window.queries).toBeGreaterThanOrEqual(20);
  await until(() => isActive(client));
});
