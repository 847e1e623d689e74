import createGlpk from "glpk.js/node";
import type { PipelineProblem } from "../../compiler/model/pipeline.ts";

const glpk = await createGlpk();

export interface BruteOptimum {
  readonly step: "hardware" | "accuracy";
  readonly accuracy: number;
  readonly servers: number;
}

interface Choice {
  readonly task: number;
  readonly variant: number;
  readonly configuration: number;
  readonly count: number;
}

/**
 * The optimum of a tiny problem: every way to set up servers, and for each the best flow over all
 * paths by linear programming.
 */
export function bruteForce(problem: PipelineProblem, demandQps: number): BruteOptimum | null {
  const best = problem.tasks.map(({ variants }) => Math.max(...variants.map((v) => v.accuracy)));
  const all = setups(problem).sort((one, other) => totalOf(one) - totalOf(other));
  for (const setup of all) {
    const isAccurate = setup.every(
      ({ task, variant }) => problem.tasks[task]?.variants[variant]?.accuracy === best[task],
    );
    if (!isAccurate) continue;
    const accuracy = bestFlow(problem, setup, demandQps);
    if (accuracy !== null) return { step: "hardware", accuracy, servers: totalOf(setup) };
  }
  let found: BruteOptimum | null = null;
  for (const setup of all) {
    const accuracy = bestFlow(problem, setup, demandQps);
    if (accuracy === null || (found !== null && accuracy <= found.accuracy + 1e-8)) continue;
    found = { step: "accuracy", accuracy, servers: totalOf(setup) };
  }
  return found;
}

/** Largest demand of a tiny problem. */
export function bruteCapacity(problem: PipelineProblem): number {
  return Math.max(0, ...setups(problem).map((setup) => bestFlow(problem, setup, null) ?? 0));
}

function totalOf(setup: readonly Choice[]): number {
  return setup.reduce((sum, { count }) => sum + count, 0);
}

/**
 * All numbers of servers of each configuration that fit the pools, with a server for every task.
 */
function setups(problem: PipelineProblem): Choice[][] {
  const slots = problem.tasks.flatMap(({ variants }, task) =>
    variants.flatMap(({ configurations }, variant) =>
      configurations.map(({ pool }, configuration) => ({ task, variant, configuration, pool })),
    ),
  );
  const found: Choice[][] = [];
  const extend = (at: number, chosen: readonly (Choice & { pool: number })[]) => {
    const slot = slots[at];
    if (slot === undefined) {
      const isWhole = problem.tasks.every((_, task) => chosen.some((one) => one.task === task));
      if (isWhole) found.push([...chosen]);
      return;
    }
    const inPool = chosen.filter(({ pool }) => pool === slot.pool);
    const left = (problem.servers[slot.pool] ?? 0) - totalOf(inPool);
    const isTaken =
      problem.oneBatchPerVariant &&
      inPool.some(({ task, variant }) => task === slot.task && variant === slot.variant);
    extend(at + 1, chosen);
    for (let count = 1; count <= left && !isTaken; count++) {
      extend(at + 1, [...chosen, { ...slot, count }]);
    }
  };
  extend(0, []);
  return found;
}

interface FlowNode {
  readonly name: string;
  readonly parent: FlowNode | null;
  readonly choice: Choice;
  readonly queries: number;
  readonly latencyMs: number;
  readonly row: number;
}

/**
 * Highest accuracy of a flow through given servers at a demand, or, for none, the highest demand.
 */
function bestFlow(
  problem: PipelineProblem,
  setup: readonly Choice[],
  demandQps: number | null,
): number | null {
  const nodes = flowNodes(problem, setup);
  const equal = (vars: { name: string; coef: number }[], bound: number, index: number) => ({
    name: `e${index}`,
    vars,
    bnds: { type: glpk.GLP_FX, lb: bound, ub: bound },
  });
  const rows = [];
  for (const [task, { parent, children }] of problem.tasks.entries()) {
    const own = nodes.filter(({ choice }) => choice.task === task);
    if (parent === null) {
      const terms = own.map(({ name }) => ({ name, coef: 1 }));
      if (demandQps === null) terms.push({ name: "demand", coef: -1 });
      rows.push(equal(terms, demandQps === null ? 0 : 1, rows.length));
    }
    for (const node of own) {
      for (const child of children) {
        const after = nodes.filter((one) => one.parent === node && one.choice.task === child);
        const terms = after.map(({ name }) => ({ name, coef: 1 }));
        rows.push(equal([{ name: node.name, coef: -1 }, ...terms], 0, rows.length));
      }
    }
  }
  for (const choice of setup) {
    const { throughputQps } = configurationOf(problem, choice);
    const own = nodes.filter((node) => node.choice === choice);
    if (own.length === 0) return null;
    const ub = (choice.count * throughputQps) / (demandQps ?? 1);
    rows.push({
      name: `c${rows.length}`,
      vars: own.map(({ name, queries }) => ({ name, coef: queries })),
      bnds: { type: glpk.GLP_UP, lb: 0, ub },
    });
  }
  const accuracy = problem.leaves.flatMap(({ task, weight, accuracyByPath }) =>
    nodes
      .filter(({ choice }) => choice.task === task)
      .map(({ name, row }) => ({ name, coef: weight * (accuracyByPath?.[row] ?? Number.NaN) })),
  );
  const vars = demandQps === null ? [{ name: "demand", coef: 1 }] : accuracy;
  const objective = { direction: glpk.GLP_MAX, name: "worth", vars };
  const options = { msglev: glpk.GLP_MSG_OFF, presol: false };
  const { result } = glpk.solve({ name: "flow", objective, subjectTo: rows }, options);
  return result.status === glpk.GLP_OPT ? result.z : null;
}

/** The prefixes of all paths, without the ends that are too late. */
function flowNodes(problem: PipelineProblem, setup: readonly Choice[]): FlowNode[] {
  const nodes: FlowNode[] = [];
  for (const [task, { parent, entryShare, variants }] of problem.tasks.entries()) {
    const befores: (FlowNode | null)[] =
      parent === null ? [null] : nodes.filter(({ choice }) => choice.task === parent);
    for (const before of befores) {
      for (const choice of setup.filter((one) => one.task === task)) {
        const latencyMs = (before?.latencyMs ?? 0) + configurationOf(problem, choice).latencyMs;
        const leaf = problem.leaves.find((one) => one.task === task);
        if (leaf !== undefined && latencyMs > leaf.latencyLimitMs + 1e-9) continue;
        const fanout =
          before === null
            ? entryShare
            : (problem.tasks[before.choice.task]?.variants[before.choice.variant]?.fanouts[
                problem.tasks[before.choice.task]?.children.indexOf(task) ?? -1
              ] ?? 0);
        nodes.push({
          name: `n${nodes.length}`,
          parent: before,
          choice,
          queries: (before?.queries ?? 1) * fanout,
          latencyMs,
          row: (before?.row ?? 0) * variants.length + choice.variant,
        });
      }
    }
  }
  return nodes;
}

function configurationOf(problem: PipelineProblem, { task, variant, configuration }: Choice) {
  const found = problem.tasks[task]?.variants[variant]?.configurations[configuration];
  if (found === undefined) throw new Error("no such configuration");
  return found;
}
