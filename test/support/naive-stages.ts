import type { RequestTrace } from "../../compiler/simulate/stages/visits.ts";
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

/**
 * Latency of every request under a level's plan, as obviously as it can be said: a list of what is to happen, sorted anew every time, and for every request the
 * rules of visiting and skipping asked again from the start. Slow.
 */
export function naiveLatencies(
  { tasks, levels, cluster }: InferlineBundle,
  level: number,
  { arrivalMs, takenByEdge }: RequestTrace,
): number[] {
  const hopMs = cluster.communicationLatencyMs;
  const stages = levels[level]?.plan.stages ?? [];
  const edges = tasks.flatMap((task, child) => task.edges.map(({ parent }) => ({ parent, child })));
  const requests = Array.from(arrivalMs, () => ({
    sent: new Set<number>(),
    served: new Set<number>(),
    doneMs: Number.NaN,
  }));
  const queues: number[][] = tasks.map(() => []);
  const idle = stages.map(({ replicas }) => replicas);
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
      if (kind === 1) queues[task]?.push(...who);
      if (kind === 2) idle[task] = (idle[task] ?? 0) + 1;
      for (const request of who) {
        if (kind === 2) requests[request]?.served.add(task);
        if (kind !== 1) sendOn(request, nowMs);
      }
    }
    for (const [task, { batch, pool, variant }] of stages.entries()) {
      const queue = queues[task] ?? [];
      while ((idle[task] ?? 0) > 0 && queue.length > 0) {
        const who = queue.splice(0, batch);
        const times = tasks[task]?.variants[variant]?.profiles[pool]?.serviceTimes.decisionMs.data;
        const timeMs = nowMs + (times?.[who.length - 1] ?? Number.NaN);
        happenings.push({ timeMs, kind: 2, task, sequence: sequence++, requests: who });
        idle[task] = (idle[task] ?? 0) - 1;
      }
    }
  }
  return requests.map(({ doneMs }, request) => doneMs - (arrivalMs[request] ?? Number.NaN));
}
