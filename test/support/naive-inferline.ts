import type { RequestTrace } from "../../compiler/simulate/graph/visits.ts";
import type { InferlineBundle } from "../../runtime/bundle/schema.ts";

interface Happening {
  readonly timeMs: number;
  /** Arrivals, deliveries, completions. */
  readonly kind: 0 | 1 | 2;
  readonly task: number;
  readonly sequence: number;
  readonly requests: readonly number[];
}

type Fate = "open" | "no" | "yes";

export interface NaivePipeline {
  /** Parents before their children; null for the requests. */
  readonly tasks: readonly { readonly edges: readonly { readonly parent: number | null }[] }[];
  /** Largest batch, how many of them are served at a time, and what one of n takes at n − 1. */
  readonly stages: readonly {
    readonly batch: number;
    readonly servers: number;
    readonly latencyMs: ArrayLike<number>;
  }[];
  readonly hopMs: number;
  /**
   * A query is given up, with its request, if this much time has passed since the request came, or
   * more, when its turn comes.
   */
  readonly giveUpAtMs?: number;
}

/** Of every request under a level's plan. */
export function naiveLatencies(
  { tasks, levels, cluster }: InferlineBundle,
  level: number,
  trace: RequestTrace,
): number[] {
  const stages = (levels[level]?.plan.stages ?? []).map(
    ({ batch, replicas, variant, pool }, task) => ({
      batch,
      servers: replicas,
      latencyMs: tasks[task]?.variants[variant]?.profiles[pool]?.serviceTimes.decisionMs.data ?? [],
    }),
  );
  return naiveTimes({ tasks, stages, hopMs: cluster.communicationLatencyMs }, trace);
}

/**
 * Latency of every request, NaN if it is given up, as obviously as it can be said: a list of what
 * is to happen, sorted anew every time, and for every request the rules of visiting and skipping
 * asked again from the start. Slow.
 */
export function naiveTimes(
  { tasks, stages, hopMs, giveUpAtMs = Number.POSITIVE_INFINITY }: NaivePipeline,
  { arrivalMs, takenByEdge }: RequestTrace,
): number[] {
  const edges = tasks.flatMap((task, child) => task.edges.map(({ parent }) => ({ parent, child })));
  const requests = Array.from(arrivalMs, () => ({
    sent: new Set<number>(),
    served: new Set<number>(),
    doneMs: Number.NaN,
    isLost: false,
  }));
  const queues: number[][] = tasks.map(() => []);
  const idle = stages.map(({ servers }) => servers);
  let sequence = 0;
  let happenings: Happening[] = Array.from(arrivalMs, (timeMs, request) => ({
    timeMs,
    kind: 0,
    task: 0,
    sequence: sequence++,
    requests: [request],
  }));

  const edgeFate = (request: number, edge: number): Fate => {
    const parent = edges[edge]?.parent ?? null;
    const isTaken = takenByEdge[edge] == null || takenByEdge[edge]?.[request] === 1;
    if (parent === null || requests[request]?.served.has(parent)) return isTaken ? "yes" : "no";
    return taskFate(request, parent) === "no" ? "no" : "open";
  };
  const taskFate = (request: number, task: number): Fate => {
    const fates = edges.flatMap(({ child }, edge) =>
      child === task ? [edgeFate(request, edge)] : [],
    );
    if (fates.includes("open")) return "open";
    return fates.includes("yes") ? "yes" : "no";
  };
  const sendOn = (request: number, nowMs: number) => {
    const state = requests[request];
    if (state === undefined) return;
    for (const task of tasks.keys()) {
      if (state.sent.has(task) || taskFate(request, task) !== "yes") continue;
      state.sent.add(task);
      if (hopMs > 0) {
        const timeMs = nowMs + hopMs;
        happenings.push({ timeMs, kind: 1, task, sequence: sequence++, requests: [request] });
      } else queues[task]?.push(request);
    }
    const isOver = tasks.every((_, task) => {
      const fate = taskFate(request, task);
      return fate === "no" || (fate === "yes" && state.served.has(task));
    });
    if (isOver) state.doneMs = nowMs;
  };

  while (happenings.length > 0) {
    const nowMs = Math.min(...happenings.map(({ timeMs }) => timeMs));
    const due = happenings.filter(({ timeMs }) => timeMs === nowMs);
    happenings = happenings.filter(({ timeMs }) => timeMs !== nowMs);
    due.sort(
      (a, b) => a.kind - b.kind || (a.kind === 2 ? a.task - b.task : 0) || a.sequence - b.sequence,
    );
    for (const { kind, task, requests: who } of due) {
      const kept = who.filter((request) => !requests[request]?.isLost);
      if (kind === 1) queues[task]?.push(...kept);
      if (kind === 2) idle[task] = (idle[task] ?? 0) + 1;
      for (const request of kept) {
        if (kind === 2) requests[request]?.served.add(task);
        if (kind !== 1) sendOn(request, nowMs);
      }
    }
    const lost: number[] = [];
    for (const [task, { batch, latencyMs }] of stages.entries()) {
      const queue = queues[task] ?? [];
      while ((idle[task] ?? 0) > 0 && queue.length > 0) {
        const who: number[] = [];
        while (who.length < batch && queue.length > 0) {
          const request = queue.shift() ?? -1;
          const isTooOld = nowMs >= (arrivalMs[request] ?? Number.NaN) + giveUpAtMs;
          (isTooOld ? lost : who).push(request);
        }
        if (who.length === 0) break;
        const timeMs = nowMs + (latencyMs[who.length - 1] ?? Number.NaN);
        happenings.push({ timeMs, kind: 2, task, sequence: sequence++, requests: who });
        idle[task] = (idle[task] ?? 0) - 1;
      }
    }
    // The batches of this moment have been chosen.
    for (const request of lost) {
      const state = requests[request];
      if (state !== undefined) state.isLost = true;
      for (const [task, queue] of queues.entries()) {
        queues[task] = queue.filter((other) => other !== request);
      }
    }
  }
  return requests.map(({ doneMs }, request) => doneMs - (arrivalMs[request] ?? Number.NaN));
}
