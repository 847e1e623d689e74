/** Mistakes: what an application asks for that Themis does not support. */

import { taskGraphOf } from "stratagem-runtime/internal/core/graph/task-graph";
import { fanoutMistakes, rowMistakes, shapeMistakes } from "../../../graph/task-mistakes.ts";
import { orderedTasks, rowsAlong } from "../../../graph/task-order.ts";
import type { ThemisFrame } from "../../../model/frames.ts";
import { itemsOf, viewOf } from "../../../model/table-view.ts";
import type { Application, Task, ThemisPolicy } from "../../../spec/application.ts";
import { conflict, type Mistake, show } from "../../../spec/document/mistakes.ts";
import { poolWords, profileRemedy, profileWords } from "../../../spec/pool-profiles.ts";
import { mostCores, runnersOf, themisFrame } from "./frame.ts";
import { isUsable, latencyByCores } from "./latency-by-cores.ts";
import { JUDGED_REQUESTS } from "./plan-judge.ts";
import { ThemisPlanner } from "./planner.ts";
import { isPlan } from "./problem.ts";
import { choiceCount, MAX_CHOICES, variantChoices } from "./variant-choices.ts";
import { MAX_OUTCOMES, outcomeCount } from "./visit-rates.ts";

export function* themisMistakes(application: Application<ThemisPolicy>): Generator<Mistake> {
  const { policy, tasks } = application;
  const found = [
    ...loadMistakes(application),
    ...shapeMistakes(tasks, "themis"),
    ...tasks.flatMap((task, index) => [
      ...fanoutMistakes(task, index, "themis"),
      ...variantMistakes(application, task, index),
    ]),
  ];
  if (found.length === 0) found.push(...rowMistakes(application, JUDGED_REQUESTS));
  if (found.length === 0) found.push(...chanceMistakes(application));
  if (found.length === 0) found.push(...latencyMistakes(application, policy));
  if (found.length > 0) return yield* found;
  const choice = [...choiceMistakes(application)];
  if (choice.length > 0) return yield* choice;
  yield* chainMistakes(application, policy);
  yield* sloMistakes(application, policy);
}

function* loadMistakes({ loads }: Application): Generator<Mistake> {
  if (loads.kind === "list") return;
  yield {
    code: "INPUT_UNSUPPORTED",
    path: ["workload", "loads", "maxAccuracyStep"],
    message:
      "themis does not place levels by the accuracy that they reach; allowed: " +
      "a list of rates, or from, to and step",
  };
}

/** Yields tasks without a variant that can run. */
function* variantMistakes(
  application: Application,
  { name, variants, passThrough }: Task,
  index: number,
): Generator<Mistake> {
  const { pools } = application.cluster;
  if (passThrough || runnersOf(application, variants).length > 0) return;
  const found = variants.flatMap(({ profiles }) => profiles.map(profileWords));
  const [pool] = pools;
  const isOne = pools.length === 1;
  const remedy = isOne && pool !== undefined ? profileRemedy(pool) : "";
  const message =
    `${isOne ? "the pool cannot" : "no pool can"} run ${show(name)}: its profiles are of ` +
    `${found.join(", ")}, and the ${isOne ? "pool is" : "pools are"} ` +
    `${pools.map(poolWords).join(", ")}${remedy}`;
  yield conflict(["tasks", index, "variants", 0, "profile"], message);
}

/** Yields too many combinations: each is planned separately. */
function* choiceMistakes(application: Application<ThemisPolicy>): Generator<Mistake> {
  const { policy, cluster } = application;
  const tasks = application.tasks.filter(({ passThrough }) => !passThrough);
  const runners = tasks.map((task) => runnersOf(application, task.variants));
  const choices = choiceCount(runners.map((variants) => ({ variants })));
  if (choices > MAX_CHOICES) {
    const message =
      "themis tries every combination of the variants of all tasks and their pools, " +
      `got ${choices} of them; allowed: ${MAX_CHOICES}`;
    yield { code: "INPUT_UNSUPPORTED", path: ["tasks"], message };
  }
  if (policy.solver !== "paper" || (choices === 1 && cluster.pools.length === 1)) return;
  const message =
    "the programmes of the paper are for one pool and one variant of each task, got " +
    `${choices === 1 ? `${cluster.pools.length} pools` : `${choices} combinations of variants`}; ` +
    "use solver: exact";
  yield { code: "INPUT_UNSUPPORTED", path: ["policy", "solver"], message };
}

function* chanceMistakes(application: Application): Generator<Mistake> {
  const { tasks, entryBranch } = orderedTasks(application);
  const graph = taskGraphOf({
    entryBranch,
    tasks: tasks.map(({ task, edges }) => ({
      branch: task.branch,
      edges: edges.map(({ parent, edge }) => ({
        parent,
        share: edge.share,
        feed: null,
        ...rowsAlong(tasks, parent, edge),
      })),
    })),
  });
  const outcomes = outcomeCount(graph);
  if (outcomes <= MAX_OUTCOMES) return;
  const message =
    "themis enumerates every outcome of the shares of edges, " +
    `got ${outcomes} of them; allowed: ${MAX_OUTCOMES}`;
  yield { code: "INPUT_UNSUPPORTED", path: ["tasks"], message };
}

function* latencyMistakes(application: Application, policy: ThemisPolicy): Generator<Mistake> {
  for (const [index, { variants }] of application.tasks.entries()) {
    for (const { profile, position, pool } of runnersOf(application, variants)) {
      const cores = mostCores(application, policy, pool);
      const latency = latencyByCores(profile, policy.maxBatch, cores);
      if (isUsable(latency)) continue;
      const path = ["tasks", index, "variants", position, "profile"];
      const message =
        `${profile.file}#${profile.variant} has ${latency.found}; ` + `allowed: ${latency.allowed}`;
      yield conflict(path, message);
    }
  }
}

/** Yields graphs that are not chains, for the programmes of the paper. */
function* chainMistakes(application: Application, { solver }: ThemisPolicy): Generator<Mistake> {
  if (solver !== "paper") return;
  const { tasks } = orderedTasks(application);
  const joint = tasks.find(({ edges }, index) => {
    const parents = edges.map(({ parent }) => parent);
    return parents.length !== 1 || parents[0] !== (index === 0 ? null : index - 1);
  });
  if (joint === undefined) return;
  const message =
    `the programmes of the paper are for chains, and ${show(joint.task.name)} does not just ` +
    "follow the task before; use solver: exact";
  yield { code: "INPUT_UNSUPPORTED", path: ["policy", "solver"], message };
}

/** Yields SLOs that are too short even without any waiting. */
function* sloMistakes(
  application: Application<ThemisPolicy>,
  policy: ThemisPolicy,
): Generator<Mistake> {
  const { slo, cluster } = application;
  const frame = themisFrame(application, new Map());
  const isHorizontal = policy.scaling === "horizontal";
  const { planner, answer, tasks } = easiest(frame, isHorizontal ? "horizontal" : "joint");
  if (isPlan(answer)) {
    if (planner.fits(answer)) return;
    const { machines, coreBudget } = planner;
    const sizes = machines.pools.map((pool) => `${pool.machines} of ${pool.machineCores} cores`);
    const each = answer.stages.map(({ cores }) => cores).join(", ");
    const message =
      answer.cores > coreBudget
        ? `expected at least ${answer.cores} cores, to serve one query at a time in ` +
          `${slo.latencyMs} ms, got ${coreBudget} (machines times their cores)`
        : `expected machines with room for instances of ${each} cores, to serve one ` +
          `query at a time in ${slo.latencyMs} ms, got ${sizes.join(", ")}`;
    return yield conflict(["cluster"], message);
  }
  const { bindingStage, leastLatencyMs } = answer;
  const task = tasks[bindingStage];
  const latencyMs = task?.variants[0]?.latency.ms;
  const [most = 1] = latencyMs?.shape ?? [];
  const aloneMs = latencyMs === undefined ? [] : itemsOf(viewOf(latencyMs).pick(null, 0));
  const least = Math.min(...(isHorizontal ? aloneMs.slice(0, 1) : aloneMs));
  const on = isHorizontal || most === 1 ? "1 core each" : `up to ${most} cores each`;
  const hops = cluster.communicationLatencyMs > 0 ? ", communication included" : "";
  yield conflict(
    ["slo", "latency"],
    `expected at least the ${rounded(leastLatencyMs)} ms that the longest path takes one ` +
      `query at a time on ${on}${hops}; ${show(task?.name)} takes most of it, ` +
      `${rounded(least)} ms; got ${slo.latencyMs} ms`,
  );
}

/**
 * Returns the first combination of variants and pools that serves queries one at a time in time and
 * within the machines; if none does, one that is in time, or else the fastest.
 */
function easiest(frame: ThemisFrame, kind: "horizontal" | "joint") {
  let best: { planner: ThemisPlanner; answer: Answer; tasks: ThemisFrame["tasks"] } | null = null;
  for (const { frame: own } of variantChoices(frame)) {
    const planner = new ThemisPlanner(own);
    const answer = planner.alone(kind);
    const found = { planner, answer, tasks: own.tasks };
    if (isPlan(answer) && planner.fits(answer)) return found;
    if (best === null || isEasier(answer, best.answer)) best = found;
  }
  if (best === null) throw new RangeError("task without a variant");
  return best;
}

type Answer = ReturnType<ThemisPlanner["alone"]>;

function isEasier(one: Answer, other: Answer): boolean {
  if (isPlan(one)) return !isPlan(other) || one.cores < other.cores;
  return !isPlan(other) && one.leastLatencyMs < other.leastLatencyMs;
}

function rounded(ms: number): number {
  return Math.ceil(ms * 1000) / 1000;
}
