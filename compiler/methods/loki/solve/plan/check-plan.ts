/** Checks a plan by the definitions alone, independently of its solver. */
import {
  type Leaf,
  type PathNode,
  type PipelinePlan,
  type PipelineProblem,
  pathAccuracy,
} from "../../../../model/pipeline.ts";

const RATIO_TOLERANCE = 1e-6;
const CAPACITY_TOLERANCE = 1e-6;
const LATENCY_ROUNDING = 1 + 1e-12;
const ACCURACY_TOLERANCE = 1e-7;

/**
 * Finds mistakes of a plan from the definitions alone: nothing here knows how plans are computed.
 * @returns one sentence per mistake, none for a plan that serves the demand in time with the
 * available servers.
 */
export function checkPlan(
  problem: PipelineProblem,
  demandQps: number,
  plan: PipelinePlan,
): string[] {
  const steps = stepsOf(problem, demandQps, plan);
  return [
    ...referenceMistakes(problem, plan),
    ...flowMistakes(problem, steps),
    ...capacityMistakes(problem, plan, steps),
    ...latencyMistakes(problem, plan, steps),
    ...serverMistakes(problem, plan),
    ...batchMistakes(problem, plan),
    ...accuracyMistakes(problem, plan, steps),
  ];
}

interface Step {
  readonly node: PathNode;
  readonly task: number;
  readonly variant: number;
  readonly latencyMs: number;
  /** Queries per second that arrive. */
  readonly demandQps: number;
  /** The steps before it and itself, by index. */
  readonly path: readonly number[];
}

function stepsOf(
  problem: PipelineProblem,
  demandQps: number,
  { instances, nodes }: PipelinePlan,
): Step[] {
  const steps: Step[] = [];
  for (const [index, node] of nodes.entries()) {
    const { task, variant, configuration } = instances[node.instance] ?? {
      task: -1,
      variant: -1,
      configuration: -1,
    };
    const before = node.parent === null ? undefined : steps[node.parent];
    const definition = problem.tasks[task];
    const perRequest =
      before === undefined
        ? demandQps * (definition?.entryShare ?? 0)
        : (before.demandQps / before.node.ratio) * sentTo(problem, before, task);
    steps.push({
      node,
      task,
      variant,
      latencyMs:
        definition?.variants[variant]?.configurations[configuration]?.latencyMs ?? Number.NaN,
      demandQps: perRequest * node.ratio,
      path: [...(before?.path ?? []), index],
    });
  }
  return steps;
}

function sentTo({ tasks }: PipelineProblem, { task, variant }: Step, child: number): number {
  const at = tasks[task]?.children.indexOf(child) ?? -1;
  return tasks[task]?.variants[variant]?.fanouts[at] ?? Number.NaN;
}

function* referenceMistakes(
  { tasks }: PipelineProblem,
  { instances, nodes, servers }: PipelinePlan,
) {
  for (const [index, { task, variant, configuration, replicas }] of instances.entries()) {
    if (tasks[task]?.variants[variant]?.configurations[configuration] === undefined) {
      yield `instances[${index}]: no such task, variant or configuration`;
    }
    if (!Number.isInteger(replicas) || replicas < 1)
      yield `instances[${index}]: ${replicas} replicas`;
  }
  for (const [index, { parent, instance, ratio }] of nodes.entries()) {
    if (parent !== null && !(parent < index)) yield `nodes[${index}]: its parent comes later`;
    if (!(ratio > 0 && ratio <= 1 + RATIO_TOLERANCE)) yield `nodes[${index}]: a ratio of ${ratio}`;
    const task = instances[instance]?.task ?? -1;
    const before = parent === null ? null : (instances[nodes[parent]?.instance ?? -1]?.task ?? -1);
    if ((tasks[task]?.parent ?? null) !== before)
      yield `nodes[${index}]: it does not follow its parent`;
  }
  const total = instances.reduce((sum, { replicas }) => sum + replicas, 0);
  if (total !== servers) yield `${servers} servers stated, ${total} used`;
}

function* flowMistakes({ tasks }: PipelineProblem, steps: readonly Step[]) {
  for (const [task, { name, children }] of tasks.entries()) {
    const own = steps.filter((step) => step.task === task);
    const sum = sumOf(own, ({ node }) => node.ratio);
    if (!isNear(sum, 1, RATIO_TOLERANCE)) yield `${name}: the ratios of its nodes sum to ${sum}`;
    for (const { node, path } of own) {
      const index = path.at(-1) ?? -1;
      for (const child of children) {
        const after = steps.filter((step) => step.node.parent === index && step.task === child);
        const passed = sumOf(after, (step) => step.node.ratio);
        if (!isNear(passed, node.ratio, RATIO_TOLERANCE)) {
          yield `nodes[${index}]: ${node.ratio} arrives, ${passed} goes on to ` +
            `${tasks[child]?.name}`;
        }
      }
    }
  }
}

function* capacityMistakes(
  { tasks }: PipelineProblem,
  { instances }: PipelinePlan,
  steps: readonly Step[],
) {
  for (const [index, { task, variant, configuration, replicas }] of instances.entries()) {
    const own = steps.filter(({ node }) => node.instance === index);
    const demand = sumOf(own, (step) => step.demandQps);
    const one = tasks[task]?.variants[variant]?.configurations[configuration]?.throughputQps ?? 0;
    const capacity = replicas * one;
    if (own.length === 0) yield `instances[${index}]: no path uses it`;
    if (!(demand <= capacity * (1 + CAPACITY_TOLERANCE))) {
      yield `instances[${index}]: ${demand} queries/s arrive, it serves ${capacity}`;
    }
  }
}

function* latencyMistakes({ leaves }: PipelineProblem, _: PipelinePlan, steps: readonly Step[]) {
  for (const { task, path } of steps) {
    const leaf = leaves.find((one) => one.task === task);
    if (leaf === undefined) continue;
    const latency = path.reduce((sum, step) => sum + (steps[step]?.latencyMs ?? Number.NaN), 0);
    if (!(latency <= leaf.latencyLimitMs * LATENCY_ROUNDING)) {
      yield `nodes[${path.join(", ")}]: ${latency} ms, the limit is ${leaf.latencyLimitMs} ms`;
    }
  }
}

function* serverMistakes({ tasks, servers }: PipelineProblem, { instances }: PipelinePlan) {
  for (const [pool, count] of servers.entries()) {
    const own = instances.filter(
      ({ task, variant, configuration }) =>
        tasks[task]?.variants[variant]?.configurations[configuration]?.pool === pool,
    );
    const used = own.reduce((sum, { replicas }) => sum + replicas, 0);
    if (used > count) yield `pool ${pool}: ${used} servers used of ${count}`;
  }
}

function* batchMistakes(
  { tasks, oneBatchPerVariant }: PipelineProblem,
  { instances }: PipelinePlan,
) {
  const seen = new Set<string>();
  for (const { task, variant, configuration } of instances) {
    const found = tasks[task]?.variants[variant];
    const pool = found?.configurations[configuration]?.pool;
    const key = oneBatchPerVariant
      ? `${task} ${variant} ${pool}`
      : `${task} ${variant} ${pool} ${configuration}`;
    if (seen.has(key)) yield `${tasks[task]?.name}, ${found?.name}: several batch sizes`;
    seen.add(key);
  }
}

function* accuracyMistakes(problem: PipelineProblem, plan: PipelinePlan, steps: readonly Step[]) {
  let accuracy = 0;
  for (const step of steps) {
    const leaf = problem.leaves.find((one) => one.task === step.task);
    if (leaf !== undefined)
      accuracy += step.node.ratio * leaf.weight * accuracyOf(problem, leaf, steps, step);
  }
  if (!isNear(accuracy, plan.accuracy, ACCURACY_TOLERANCE)) {
    yield `an accuracy of ${plan.accuracy} stated, its paths have ${accuracy}`;
  }
}

function accuracyOf(
  problem: PipelineProblem,
  leaf: Leaf,
  steps: readonly Step[],
  { path }: Step,
): number {
  const variants = path.map((index) => steps[index]?.variant ?? 0);
  return pathAccuracy(problem, leaf, variants);
}

function sumOf<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((sum, item) => sum + of(item), 0);
}

function isNear(one: number, other: number, tolerance: number): boolean {
  return Math.abs(one - other) <= tolerance;
}
