/**
 * Why `compile --shard` leaves a Loki level to one shard: the halves of its root, searched apart,
 * come to plans of the same worth, but not to the same plan, nor to its counts, which are in the
 * bundle. Linear programs are solved over the assignments that came up before, in either half.
 */
import { expect, test } from "vitest";
import { branches } from "../../../../../../compiler/methods/loki/solve/plan/branching.ts";
import { planOf } from "../../../../../../compiler/methods/loki/solve/plan/build-plan.ts";
import { hardwareCapacityOf } from "../../../../../../compiler/methods/loki/solve/plan/capacity.ts";
import { ColumnPool } from "../../../../../../compiler/methods/loki/solve/plan/column-pool.ts";
import {
  type NodeBounds,
  NodeProgram,
} from "../../../../../../compiler/methods/loki/solve/plan/node-program.ts";
import { search } from "../../../../../../compiler/methods/loki/solve/plan/search.ts";
import {
  type SlotModel,
  slotModel,
} from "../../../../../../compiler/methods/loki/solve/plan/slots.ts";
import { rootOf } from "../../../../../../compiler/methods/loki/solve/plan/step.ts";
import { randomProblem } from "../../../../../support/loki-random.ts";

const SHAPE = {
  parents: [null, 0, 0],
  variants: 3,
  batches: 3,
  servers: [10],
  oneBatchPerVariant: true,
  isProduct: true,
  zeroFanout: 0,
  tightness: 1.5,
};
const NO_LIMIT = { left: Number.POSITIVE_INFINITY };
const LIMITS = { nodes: 20_000, steps: NO_LIMIT };
const SEEDS = Array.from({ length: 24 }, (_, index) => index + 1);

interface Found {
  readonly worth: number;
  readonly plan: string;
  readonly nodes: number;
  readonly columns: number;
}

/** The most accurate plan within bounds that are made of the solution at the root. */
function searched(
  model: SlotModel,
  demandQps: number,
  within: (root: NodeBounds, program: NodeProgram) => NodeBounds | null,
): Found | null {
  const pool = new ColumnPool(model, demandQps);
  const objective = {
    valueScale: 1,
    serverCost: new Float64Array(model.sets.length),
    isDemand: false,
    leastValue: null,
    held: new Map(),
  };
  const program = new NodeProgram(model, pool, objective, NO_LIMIT);
  const bounds = within(rootOf(model), program);
  if (bounds === null) return null;
  const goal = {
    above: -1,
    isWhole: false,
    isRounded: true,
    isAnyEnough: false,
    gap: () => 1e-9,
    worth: ({ columns, shares }: { columns: readonly number[]; shares: readonly number[] }) =>
      columns.reduce((sum, column, at) => sum + (shares[at] ?? 0) * (pool.value[column] ?? 0), 0),
  };
  const { best, nodes } = search(model, program, bounds, goal, LIMITS);
  if (best === null) return null;
  const plan = JSON.stringify(planOf(model, pool, best));
  return { worth: best.worth, plan, nodes, columns: pool.count };
}

function halfOf(model: SlotModel, half: 0 | 1) {
  return (root: NodeBounds, program: NodeProgram): NodeBounds | null => {
    const solution = program.solve(root, -1);
    if (solution.status !== "optimal") return null;
    return branches(model, root, solution)?.[half] ?? null;
  };
}

test("halves searched apart are as good together, and are not the search of both", () => {
  let divided = 0;
  let otherCounts = 0;
  let otherPlans = 0;
  for (const seed of SEEDS) {
    const problem = randomProblem(seed, SHAPE);
    const demandQps = 1.2 * hardwareCapacityOf(problem, { timeLimitMs: 10_000 }).qps;
    const model = slotModel(problem);
    const whole = searched(model, demandQps, (root) => root);
    const halves = ([0, 1] as const).map((half) => searched(model, demandQps, halfOf(model, half)));
    const found = halves.filter((one) => one !== null).sort((a, b) => b.worth - a.worth);
    const [better] = found;
    if (whole === null || better === undefined || found.length < 2) continue;
    divided++;
    expect(better.worth).toBeCloseTo(whole.worth, 8);
    // The root and both halves, as the whole search counts them.
    const nodes = 1 + found.reduce((sum, one) => sum + one.nodes, 0);
    const columns = Math.max(...found.map((one) => one.columns));
    if (nodes !== whole.nodes || columns !== whole.columns) otherCounts++;
    if (better.plan !== whole.plan) otherPlans++;
  }
  expect(divided).toBeGreaterThan(5);
  expect(otherCounts).toBeGreaterThan(divided / 2);
  expect(otherPlans).toBeGreaterThan(0);
});
