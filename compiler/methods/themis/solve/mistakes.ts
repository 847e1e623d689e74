/** What an application asks for that Themis cannot do. */

import { taskGraphOf } from "stratagem-runtime/internal/core/graph/task-graph";
import { fanoutMistakes, rowMistakes, shapeMistakes } from "../../../graph/task-mistakes.ts";
import { orderedTasks, rowsAlong } from "../../../graph/task-order.ts";
import { itemsOf, viewOf } from "../../../model/table-view.ts";
import type { Application, Pool, Task, ThemisPolicy } from "../../../spec/application.ts";
import { conflict, type Mistake, show } from "../../../spec/mistakes.ts";
import { poolWords, profileFor, profileRemedy, profileWords } from "../../../spec/pool-profiles.ts";
import { mostCores, themisFrame } from "./frame.ts";
import { isUsable, latencyByCores } from "./latency-by-cores.ts";
import { JUDGED_REQUESTS } from "./plan-judge.ts";
import { ThemisPlanner } from "./planner.ts";
import { isPlan } from "./problem.ts";
import { MAX_OUTCOMES, outcomeCount } from "./visit-rates.ts";

export function* themisMistakes(application: Application<ThemisPolicy>): Generator<Mistake> {
  const { policy, tasks } = application;
  const found = [
    ...loadMistakes(application),
    ...poolMistakes(application),
    ...shapeMistakes(tasks, "themis"),
    ...tasks.flatMap((task, index) => [
      ...fanoutMistakes(task, index, "themis"),
      ...variantMistakes(task, index, application.cluster.pools[0]),
    ]),
  ];
  if (found.length === 0) found.push(...rowMistakes(application, JUDGED_REQUESTS));
  if (found.length === 0) found.push(...chanceMistakes(application));
  if (found.length === 0) found.push(...latencyMistakes(application, policy));
  if (found.length > 0) return yield* found;
  yield* chainMistakes(application, policy);
  yield* sloMistakes(application, policy);
}

function* loadMistakes({ loads }: Application): Generator<Mistake> {
  if (loads.kind === "list") return;
  yield {
    code: "INPUT_UNSUPPORTED",
    path: ["workload", "loads", "maxAccuracyStep"],
    message:
      "themis does not choose accuracies, so levels cannot be placed by them; allowed: " +
      "a list of rates, or from, to and step",
  };
}

function* poolMistakes({ cluster }: Application): Generator<Mistake> {
  const { pools } = cluster;
  if (pools.length === 1) return;
  const message =
    `themis scales the instances of one pool, got ${pools.length}; allowed: one, ` +
    "of machines that are alike";
  yield { code: "INPUT_UNSUPPORTED", path: ["cluster", "pools", 1], message };
}

/** A task is one model. */
function* variantMistakes(
  { name, variants, passThrough }: Task,
  index: number,
  pool: Pool | undefined,
): Generator<Mistake> {
  if (passThrough || pool === undefined) return;
  const runners = variants.flatMap((variant, position) =>
    profileFor(variant, pool) === null ? [] : [position],
  );
  const [first, second] = runners;
  if (first === undefined) {
    const found = variants.flatMap(({ profiles }) => profiles.map(profileWords));
    const message =
      `the pool cannot run ${show(name)}: its profiles are of ${found.join(", ")}, ` +
      `and the pool is ${poolWords(pool)}${profileRemedy(pool)}`;
    yield conflict(["tasks", index, "variants", 0, "profile"], message);
  } else if (second !== undefined) {
    const names = `${show(variants[first]?.name)} and ${show(variants[second]?.name)}`;
    const message =
      `themis does not choose among variants: ${names} can both run in pool ` +
      `${show(pool.name)}; expected one`;
    yield conflict(["tasks", index, "variants", second], message);
  }
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
    "themis goes through every outcome of the shares of edges, " +
    `got ${outcomes} of them; allowed: ${MAX_OUTCOMES}`;
  yield { code: "INPUT_UNSUPPORTED", path: ["tasks"], message };
}

function* latencyMistakes(application: Application, policy: ThemisPolicy): Generator<Mistake> {
  const [pool] = application.cluster.pools;
  if (pool === undefined) return;
  for (const [index, { variants }] of application.tasks.entries()) {
    for (const [position, variant] of variants.entries()) {
      const profile = profileFor(variant, pool);
      if (profile === null) continue;
      const latency = latencyByCores(profile, policy.maxBatch, mostCores(application, policy));
      if (isUsable(latency)) continue;
      const path = ["tasks", index, "variants", position, "profile"];
      const message =
        `${profile.file}#${profile.variant} has ${latency.found}; ` + `allowed: ${latency.allowed}`;
      yield conflict(path, message);
    }
  }
}

/** The programmes of the paper go from task to task. */
function* chainMistakes(application: Application, { solver }: ThemisPolicy): Generator<Mistake> {
  if (solver !== "paper") return;
  const { tasks } = orderedTasks(application);
  const joint = tasks.find(({ edges }, index) => {
    const parents = edges.map(({ parent }) => parent);
    return parents.length !== 1 || parents[0] !== (index === 0 ? null : index - 1);
  });
  if (joint === undefined) return;
  const message =
    `the programmes of the paper are for chains, and ${show(joint.task.name)} does not simply ` +
    "follow the task before; use solver: exact";
  yield { code: "INPUT_UNSUPPORTED", path: ["policy", "solver"], message };
}

/** Where nothing waits for anything. */
function* sloMistakes(
  application: Application<ThemisPolicy>,
  policy: ThemisPolicy,
): Generator<Mistake> {
  const { slo, cluster } = application;
  const frame = themisFrame(application, new Map());
  const isHorizontal = policy.scaling === "horizontal";
  const planner = new ThemisPlanner(frame);
  const answer = planner.alone(isHorizontal ? "horizontal" : "joint");
  if (isPlan(answer)) {
    if (planner.fits(answer)) return;
    const { machines, coreBudget } = planner;
    const each = answer.stages.map(({ cores }) => cores).join(", ");
    const message =
      answer.cores > coreBudget
        ? `expected at least ${answer.cores} cores, which serving one query at a time in ` +
          `${slo.latencyMs} ms takes, got ${coreBudget} (machines times their cores)`
        : `expected machines that have room for instances of ${each} cores, which serving one ` +
          `query at a time in ${slo.latencyMs} ms takes, got ${machines.machines} of ` +
          `${machines.machineCores} cores`;
    return yield conflict(["cluster"], message);
  }
  const { bindingStage, leastLatencyMs } = answer;
  const task = frame.tasks[bindingStage];
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

function rounded(ms: number): number {
  return Math.ceil(ms * 1000) / 1000;
}
