/** Plan of a pipeline's level with tasks, variants and pools by name. */
import { pathAccuracy } from "../../../bundle/path-accuracy.ts";
import type { LokiBundle, LokiLevel, PlanNode } from "../../../bundle/schema.ts";

export interface PlanView {
  readonly step: "hardware" | "accuracy";
  readonly demandQps: number;
  readonly servers: number;
  readonly accuracy: number;
  readonly instances: readonly InstanceView[];
  /** All paths that requests take to each leaf. */
  readonly paths: readonly PathView[];
  /**
   * Share of the queries for each variant of the next task, keyed by the variants so far, joined by
   * `
   * `, and by that task.
   */
  readonly routing: Readonly<
    Record<string, Readonly<Record<string, Readonly<Record<string, number>>>>>
  >;
}

interface InstanceView {
  readonly task: string;
  readonly variant: string;
  readonly pool: string;
  readonly batch: number;
  readonly replicas: number;
  readonly latencyMs: number;
  readonly throughputQps: number;
}

export interface PathView {
  readonly variants: Readonly<Record<string, string>>;
  /** Share of the requests. */
  readonly ratio: number;
  readonly accuracy: number;
  /** Time of full batches, without waiting. */
  readonly latencyMs: number;
}

export function planView(bundle: LokiBundle, { plan }: Pick<LokiLevel, "plan">): PlanView {
  const { tasks, cluster } = bundle;
  const { step, demandQps, servers, accuracy } = plan;
  return {
    step,
    demandQps,
    servers,
    accuracy,
    instances: plan.instances.map(({ task, variant, pool, ...rest }) => ({
      task: tasks[task]?.name ?? "",
      variant: tasks[task]?.variants[variant]?.name ?? "",
      pool: cluster.pools[pool]?.name ?? "",
      ...rest,
    })),
    paths: pathsOf(bundle, plan),
    routing: routingOf(bundle, plan),
  };
}

type Plan = LokiLevel["plan"];

/** Returns one line for every sequence of variants to a leaf, whatever batches serve it. */
function pathsOf(bundle: LokiBundle, plan: Plan): PathView[] {
  const paths = new Map<string, PathView>();
  for (const leaf of bundle.leaves) {
    for (const node of plan.nodes) {
      if (plan.instances[node.instance]?.task !== leaf.task) continue;
      const steps = stepsTo(bundle, plan, node);
      const cell = steps.reduce((index, { count, variant }) => index * count + variant, 0);
      const key = `${leaf.task} ${cell}`;
      const other = paths.get(key);
      paths.set(key, {
        variants: Object.fromEntries(steps.map(({ taskName, name }) => [taskName, name])),
        ratio: (other?.ratio ?? 0) + node.ratio,
        accuracy: pathAccuracy(bundle.tasks, leaf, cell),
        latencyMs: Math.max(
          other?.latencyMs ?? 0,
          steps.reduce((sum, { latencyMs }) => sum + latencyMs, 0),
        ),
      });
    }
  }
  return [...paths.values()];
}

interface Step {
  readonly taskName: string;
  /** Variants of the task. */
  readonly count: number;
  readonly variant: number;
  readonly name: string;
  readonly latencyMs: number;
}

/** Returns the steps from the entry task to the node, both included. */
function stepsTo({ tasks }: LokiBundle, { instances, nodes }: Plan, last: PlanNode): Step[] {
  const steps: Step[] = [];
  for (let node: PlanNode | undefined = last; node !== undefined; ) {
    const instance = instances[node.instance];
    if (instance === undefined) break;
    const task = tasks[instance.task];
    const { variant, latencyMs } = instance;
    const { name: taskName = "", variants = [] } = task ?? {};
    const name = variants[variant]?.name ?? "";
    steps.unshift({ taskName, count: variants.length, variant, name, latencyMs });
    node = node.parent === null ? undefined : nodes[node.parent];
  }
  return steps;
}

function routingOf(bundle: LokiBundle, plan: Plan): PlanView["routing"] {
  const flows = new Map<string, Map<string, Map<string, number>>>();
  for (const node of plan.nodes) {
    const steps = stepsTo(bundle, plan, node);
    const last = steps.pop();
    if (last === undefined) continue;
    const prefix = steps.map(({ name }) => name).join("|");
    const byTask = flows.get(prefix) ?? new Map<string, Map<string, number>>();
    const byVariant = byTask.get(last.taskName) ?? new Map<string, number>();
    byVariant.set(last.name, (byVariant.get(last.name) ?? 0) + node.ratio);
    byTask.set(last.taskName, byVariant);
    flows.set(prefix, byTask);
  }
  return mapValues(flows, (byTask) =>
    mapValues(byTask, (byVariant) => {
      const total = [...byVariant.values()].reduce((sum, ratio) => sum + ratio, 0);
      return mapValues(byVariant, (ratio) => (total === 0 ? 0 : ratio / total));
    }),
  );
}

function mapValues<From, To>(
  map: ReadonlyMap<string, From>,
  of: (value: From) => To,
): Record<string, To> {
  return Object.fromEntries([...map].map(([key, value]) => [key, of(value)]));
}
