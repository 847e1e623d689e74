import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Scaler, ScalerHandlers } from "../../../runtime/exec/scaler.ts";
import { ApiError, apiOfPod, KubernetesApi } from "../../../runtime/kubernetes/api.ts";
import { KubernetesScaler } from "../../../runtime/kubernetes/kubernetes-scaler.ts";
import { Leadership } from "../../../runtime/kubernetes/lease.ts";
import { PlanScaler } from "../../../runtime/kubernetes/plan-scaler.ts";
import { cpuOf } from "../../../runtime/kubernetes/pod.ts";
import { WorkerSet } from "../../../runtime/kubernetes/worker-set.ts";
import type { Wanted } from "../../../runtime/scaling/plan-follower.ts";
import { SmallApiServer } from "../../support/small-api-server.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-kubernetes-"));
let server: SmallApiServer;
let api: KubernetesApi;
let set: WorkerSet;

beforeEach(async () => {
  server = new SmallApiServer("vision-cpu", 2);
  const tokenFile = join(folder, "token");
  writeFileSync(tokenFile, `${SmallApiServer.token}\n`);
  api = new KubernetesApi({ url: await server.listen(), namespace: "vision", tokenFile });
  set = new WorkerSet({ api, name: "vision-cpu", container: "worker" });
});

afterEach(async () => {
  api.close();
  await server.close();
  rmSync(join(folder, "token"), { force: true });
});

test("reads the cores of quantities", () => {
  expect(["2", "1500m", "0.5", "", undefined, "two"].map(cpuOf)).toEqual([
    2,
    1.5,
    0.5,
    Number.NaN,
    Number.NaN,
    Number.NaN,
  ]);
});

test("says what was refused, by whom and why", async () => {
  const other = new KubernetesApi({ url: await urlOf(), namespace: "vision" });
  const refused = new WorkerSet({ api: other, name: "vision-cpu", container: "worker" }).replicas();
  await expect(refused).rejects.toThrow(ApiError);
  await expect(api.get("/api/v1/nodes")).rejects.toThrow("GET /api/v1/nodes: 403 Forbidden");
  await expect(apiOfPod({})).rejects.toMatchObject({ code: "RUNTIME_UNREADABLE" });
});

test("finds the API by what a pod is given", async () => {
  for (const name of ["ca.crt", "token"]) writeFileSync(join(folder, name), name);
  writeFileSync(join(folder, "namespace"), "vision\n");
  const environment = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443" };
  const place = await apiOfPod(environment, folder);
  expect(place).toMatchObject({ url: "https://[fd00::1]:6443", namespace: "vision" });
});

test("patches replicas, and cores of a pod in place", async () => {
  expect(await set.replicas()).toBe(2);
  await set.setReplicas(3);
  server.settle();
  expect(server.pods.size).toBe(3);
  expect(await set.pod(2)).toMatchObject({ isReady: true, cores: 1, resize: "done" });
  expect(await set.pod(3)).toBeNull();
  expect(await set.resize(2, 4)).toMatchObject({ wantedCores: 4, cores: 1, resize: "under way" });
  server.settle();
  expect(await set.pod(2)).toMatchObject({ wantedCores: 4, cores: 4, resize: "done" });
  expect(await set.resize(2, 64)).toMatchObject({ resize: "infeasible" });
});

test("one leads at a time; another takes over once the lease is not renewed", async () => {
  let nowMs = 0;
  const epochMs = () => Date.UTC(2026, 10, 23);
  const leader = (identity: string) =>
    new Leadership({ api, name: "scaler", identity, nowMs: () => nowMs, epochMs });
  const [a, b] = [leader("a"), leader("b")];
  expect(await a.attempt()).toBe(true);
  expect(await b.attempt()).toBe(false);
  nowMs = 9000;
  expect([a.isLeader, b.isLeader]).toEqual([true, false]);
  nowMs = 10_001;
  expect([a.isLeader, await b.attempt()]).toEqual([false, false]);
  nowMs = 15_001;
  expect(await b.attempt()).toBe(true);
  expect(await a.attempt()).toBe(false);
  expect(server.lease?.spec).toMatchObject({ holderIdentity: "b", leaseTransitions: 1 });
  await b.release();
  expect(b.isLeader).toBe(false);
  expect(await a.attempt()).toBe(true);
});

test("who cannot reach the API stops to lead before another may", async () => {
  let nowMs = 0;
  const one = new Leadership({
    api,
    name: "scaler",
    identity: "a",
    nowMs: () => nowMs,
    epochMs: () => 0,
  });
  await one.attempt();
  server.isDown = true;
  nowMs = 9999;
  await expect(one.attempt()).rejects.toThrow("503 ServiceUnavailable");
  expect(one.isLeader).toBe(true);
  nowMs = 10_000;
  expect(one.isLeader).toBe(false);
});

test("keeps replicas and cores as the plan has them, if it leads and knows the load", async () => {
  const told: string[] = [];
  let wanted: Wanted | null = null;
  let isLeader = false;
  const scaler = new PlanScaler({
    pools: [{ set, wanted: () => wanted, least: 1, most: 4 }],
    isLeader: () => isLeader,
    onNotice: (message) => told.push(message),
  });
  await scaler.reconcile();
  wanted = { workers: 9, cores: 2 };
  await scaler.reconcile();
  expect(server.requests).toEqual([]);
  isLeader = true;
  await scaler.reconcile();
  server.settle();
  await scaler.reconcile();
  server.settle();
  expect(server.replicas).toBe(4);
  expect([...server.pods.values()].map(({ actual }) => actual)).toEqual(["2", "2", "2", "2"]);
  wanted = { workers: 0, cores: 16 };
  for (let turn = 0; turn < 3; turn++) await scaler.reconcile();
  expect(server.replicas).toBe(1);
  expect(told.filter((line) => line.includes("infeasible"))).toHaveLength(1);
  server.isDown = true;
  for (let turn = 0; turn < 2; turn++) await scaler.reconcile();
  expect(told.filter((line) => line.includes("503"))).toHaveLength(1);
});

/** The workers in the pods: they do as they are told, and are up when the test says so. */
class ToldWorkers implements Scaler {
  readonly told: string[] = [];
  readonly handlers: ScalerHandlers;

  constructor(handlers: ScalerHandlers) {
    this.handlers = handlers;
  }

  assign(worker: number, variants: readonly number[], cores?: number): void {
    this.told.push(`assign ${worker} [${variants.join()}] ${cores}`);
    this.handlers.onModelReady(worker, variants.length);
  }

  resize(worker: number, cores: number): void {
    this.told.push(`resize ${worker} ${cores}`);
    this.handlers.onResized?.(worker, cores);
  }

  release(worker: number): void {
    this.told.push(`release ${worker}`);
  }
}

function scaled() {
  const heard: string[] = [];
  const notices: string[] = [];
  const made: ToldWorkers[] = [];
  const scaler = new KubernetesScaler(
    {
      set,
      workerCount: 4,
      least: 1,
      workers: (handlers) => {
        const workers = new ToldWorkers(handlers);
        made.push(workers);
        return workers;
      },
      onNotice: (message) => notices.push(message),
    },
    {
      onReady: (worker) => heard.push(`ready ${worker}`),
      onModelReady: (worker) => heard.push(`holds ${worker}`),
      onResized: (worker, cores) => heard.push(`resized ${worker} ${cores}`),
      onLost: (worker) => heard.push(`lost ${worker}`),
    },
  );
  const [workers] = made;
  if (workers === undefined) throw new Error("the scaler makes its workers");
  return { scaler, workers, heard, notices };
}

test("an assignment brings the pod, with its cores before its models", async () => {
  const { scaler, workers, heard } = scaled();
  scaler.start();
  expect(heard).toEqual(["ready 0", "ready 1", "ready 2", "ready 3"]);
  scaler.assign(2, [7], 3);
  await scaler.look();
  expect(server.replicas).toBe(3);
  server.settle();
  await scaler.look();
  expect(workers.told).toEqual([]);
  workers.handlers.onReady(2);
  await scaler.look();
  expect(server.pods.get(2)).toMatchObject({ cpu: "3" });
  expect(workers.told).toEqual([]);
  server.settle();
  await scaler.look();
  expect(workers.told).toEqual(["assign 2 [7] 3"]);
  expect(heard.at(-1)).toBe("holds 2");
});

test("more cores are the pod's first, fewer the worker's first", async () => {
  const { scaler, workers, heard } = scaled();
  scaler.assign(0, [1], 1);
  workers.handlers.onReady(0);
  await scaler.look();
  scaler.resize(0, 4);
  await scaler.look();
  expect(workers.told).toEqual(["assign 0 [1] 1"]);
  server.settle();
  await scaler.look();
  expect(workers.told.at(-1)).toBe("resize 0 4");
  expect(heard.at(-1)).toBe("resized 0 4");
  scaler.resize(0, 2);
  expect(workers.told.at(-1)).toBe("resize 0 2");
  expect(server.pods.get(0)).toMatchObject({ cpu: "4" });
  await scaler.look();
  expect(server.pods.get(0)).toMatchObject({ cpu: "2" });
});

test("cores that the node does not have are told once, and the worker serves on", async () => {
  const { scaler, workers, notices } = scaled();
  scaler.assign(0, [1], 1);
  workers.handlers.onReady(0);
  await scaler.look();
  scaler.resize(0, 16);
  for (let turn = 0; turn < 3; turn++) await scaler.look();
  expect(workers.told).toEqual(["assign 0 [1] 1"]);
  expect(notices).toHaveLength(1);
  expect(notices[0]).toMatch(/vision-cpu-0: 16 cores are infeasible: Node didn't have/);
});

test("pods go from the highest on, once nothing is assigned to them", async () => {
  const { scaler, workers } = scaled();
  for (const worker of [0, 1, 3]) scaler.assign(worker, [1]);
  await scaler.look();
  expect(server.replicas).toBe(4);
  scaler.release(1);
  await scaler.look();
  expect(server.replicas).toBe(4);
  scaler.release(3);
  await scaler.look();
  expect(server.replicas).toBe(1);
  expect(workers.told).toEqual([]);
});

test("a lost worker can be assigned again at once, and its pod stays", async () => {
  const { scaler, workers, heard } = scaled();
  scaler.assign(1, [1]);
  workers.handlers.onReady(1);
  await scaler.look();
  workers.handlers.onLost(1, "the pod was evicted");
  expect(heard.slice(-2)).toEqual(["lost 1", "ready 1"]);
  scaler.assign(1, [1]);
  await scaler.look();
  expect(server.replicas).toBe(2);
  expect(workers.told).toEqual(["assign 1 [1] undefined"]);
  workers.handlers.onReady(1);
  await scaler.look();
  expect(workers.told).toHaveLength(2);
});

test("goes on where it was once the API is back", async () => {
  const { scaler, notices } = scaled();
  server.isDown = true;
  scaler.assign(3, [1]);
  for (let turn = 0; turn < 3; turn++) await scaler.look();
  expect(notices).toHaveLength(1);
  server.isDown = false;
  await scaler.look();
  expect(server.replicas).toBe(4);
});

async function urlOf(): Promise<string> {
  const other = new SmallApiServer("vision-cpu", 1);
  const url = await other.listen();
  servers.push(other);
  return url;
}

const servers: SmallApiServer[] = [];

afterEach(async () => {
  for (const other of servers.splice(0)) await other.close();
});
