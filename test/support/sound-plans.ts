/** What a runtime relies on in a bundle of plans of servers, and what it does with one. */
import type { LokiBundle } from "../../runtime/bundle/schema.ts";
import { inspectBundle } from "../../runtime/bundles/inspect.ts";
import { CommandBuffer } from "../../runtime/core/command-buffer.ts";
import { NO_PARENT } from "../../runtime/core/graph/pipeline-dispatcher.ts";
import { pipelineDispatcherOf } from "../../runtime/methods/loki/core/loki-dispatcher.ts";
import { allFinite } from "./all-finite.ts";

/** Everything that following a plan relies on, spelled out without the validator. */
export function checkServersInRange({ tasks, levels, cluster, leaves, ...rest }: LokiBundle): void {
  const problems: string[] = [];
  const require = (holds: boolean, what: string): void => {
    if (!holds) problems.push(what);
  };
  for (const [task, { parent }] of tasks.entries()) {
    require(parent === null || parent < task, "parents first");
  }
  const weight = leaves.reduce((sum, leaf) => sum + leaf.weight, 0);
  require(Math.abs(weight - 1) < 1e-6, "weights");
  for (const { plan, loadQps, stages } of levels) {
    require(loadQps > 0 && plan.servers >= 1, "a load and servers");
    require(stages === null || stages.length === tasks.length, "a table per task");
    const replicas = cluster.pools.map(() => 0);
    for (const { task, variant, pool, batch, ...instance } of plan.instances) {
      const profile = tasks[task]?.variants[variant]?.profiles[pool];
      require(batch <= (profile?.batches.data.at(-1) ?? 0), "a batch that has a time");
      require(instance.latencyMs > 0 && instance.throughputQps > 0, "a latency");
      replicas[pool] = (replicas[pool] ?? 0) + instance.replicas;
    }
    require(cluster.pools.every(({ workers }, pool) => (replicas[pool] ?? 0) <= workers), "room");
    for (const [at, { parent, instance, ratio }] of plan.nodes.entries()) {
      require(parent === null || parent < at, "nodes after their parents");
      require(plan.instances[instance] !== undefined, "a node on an instance");
      require(ratio >= 0 && ratio <= 1 + 1e-9, "a ratio");
    }
  }
  require(allFinite({ tasks, levels, cluster, leaves, ...rest }), "finite numbers");
  if (problems.length > 0) throw new Error(`accepted, but wrong: ${problems}`);
}

/**
 * Names for queries that wait, beside those that run; more than so many would take long to make
 * room for.
 */
const ROOM = 64;
const MOST_NAMES = 100_000;

/** A few requests to every entry, on workers that all come up; and every level is told. */
export function driveServers(bundle: LokiBundle): void {
  const { levels } = inspectBundle(bundle, { byteCount: 0, sha256: "" });
  if (!allFinite(levels)) throw new Error("a number that is none");
  const workers = bundle.cluster.pools.reduce((sum, pool) => sum + pool.workers, 0);
  const batches = bundle.tasks.flatMap(({ variants }) =>
    variants.flatMap(({ profiles }) => profiles.flatMap((one) => [...(one?.batches.data ?? [])])),
  );
  const queryCapacity = ROOM + (workers + 1) * Math.max(...batches);
  if (queryCapacity > MOST_NAMES) return;
  const dispatcher = pipelineDispatcherOf(bundle, { queryCapacity });
  const out = new CommandBuffer(dispatcher.commandCapacity, queryCapacity);
  for (let worker = 0; worker < dispatcher.workerCount; worker++) {
    dispatcher.onWorkerReady(worker, 0, out);
    out.clear();
  }
  const entries = bundle.tasks.flatMap(({ parent }, task) => (parent === null ? [task] : []));
  for (let query = 0; query < 12; query++) {
    const nowMs = 20 * query;
    if (!dispatcher.onRequest(nowMs)) continue;
    const task = entries[query % entries.length] ?? 0;
    dispatcher.onQuery(query, task, NO_PARENT, nowMs + bundle.slo.latencyMs, nowMs, out);
    out.clear();
    if (dispatcher.wakeMs <= nowMs) dispatcher.onWake(nowMs, out);
    out.clear();
  }
}
