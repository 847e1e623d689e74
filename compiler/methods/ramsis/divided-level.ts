/**
 * Levels with queries of several kinds, with a separately solved table for each kind. Promises come
 * from a simulation with the production code.
 *
 * Classes have one table for a common queue and, if that is better, a table and workers for each.
 * Buckets, which are never batched together, have a table each, for workers that are slowed down by
 * the other buckets; the slowdown is tuned.
 */
import type { ClassTable, RamsisLevel, Table } from "stratagem-runtime/internal/bundle/schema";
import { viewOf } from "../../model/table-view.ts";
import { judged, type PromiseSample, scoreOf, simulatedPromise } from "./promise.ts";
import { classCapacityQps, fluidSplit, fluidUse } from "./solve/class-fluid.ts";
import type { LevelProblem } from "./solve/level-problem.ts";
import { type LevelTables, ramsis } from "./solve/ramsis.ts";

/** Number of divisions of the workers to try, beginning with that of the fluid limit. */
const MOST_SPLITS = 6;
/**
 * Accuracy per query by which separate workers must be better than one queue, which adapts to other
 * shares of the load.
 */
const LEAST_GAIN = 1e-4;
/**
 * Assumed use of the other buckets, relative to the fluid limit: their batches come in clusters,
 * and a queue does not always find a worker free.
 */
const CAUTIONS = [0.9, 1, 1.1, 1.2];
/** Fewer cautions, for so many buckets that trying all would take long. */
const FEW_CAUTIONS = [0.95, 1.1];
const FEW_BUCKETS = 4;
/** Sample that chooses tables of buckets; its arrivals are not those of the promise. */
const LOOK: PromiseSample = { queries: 80_000, seed: 2 };
/** Smallest fraction of the workers that a bucket is planned with. */
const LEAST_PART = 0.02;

/** The same frame and load give the same level, bit for bit. */
export function classedLevel(problem: LevelProblem, loadQps: number): RamsisLevel {
  const { classes } = problem.frame.policy;
  const shared = sharedLevel(problem, loadQps);
  const separate = classes === "shared" ? null : separateLevel(problem, shared.level);
  if (separate === null) return shared.level;
  const isBetter = separate.score > shared.score + LEAST_GAIN;
  return isBetter || classes === "separate" ? separate.level : shared.level;
}

interface Scored {
  readonly level: RamsisLevel;
  readonly score: number;
}

function scored(problem: LevelProblem, tables: LevelTables): Scored {
  const level = judged(problem, tables);
  return { level, score: scoreOf(problem, level.expected) };
}

/** One table for all: the solver's or, if better, that of the shortest SLO, as without classes. */
function sharedLevel(problem: LevelProblem, loadQps: number): Scored {
  const own = scored(problem, ramsis.solveLevel(problem.frame, loadQps));
  const strict = scored(problem, asOfShortest(problem, loadQps));
  return strict.score > own.score ? strict : own;
}

/** The level if all queries had the shortest SLO, and its result with the time that is left. */
function asOfShortest({ frame, kinds }: LevelProblem, loadQps: number): RamsisLevel {
  const { classSpaces = [], arrivals, cluster, decisionSpace } = frame;
  const latencies = kinds.map(({ latencyMs }) => latencyMs);
  const shortest = latencies.indexOf(Math.min(...latencies));
  const { slackMs = decisionSpace.slackMs } = classSpaces[shortest] ?? {};
  const kind = kinds[shortest];
  if (kind === undefined) throw new RangeError("no classes");
  const space = { ...decisionSpace, slackMs };
  const alone = { ...kind.alone(), arrivals, cluster, decisionSpace: space };
  const { actionByState, mixture, solve, ...level } = ramsis.solveLevel(alone, loadQps);
  const widened = (table: Table) => withColumns(table, slackMs, decisionSpace.slackMs);
  return {
    ...level,
    solve: { ...solve, method: `${solve.method}, all held to ${latencies[shortest]} ms` },
    actionByState: widened(actionByState),
    mixture: mixture && { ...mixture, actionByState: widened(mixture.actionByState) },
  };
}

/**
 * The same decisions on another slack grid: those of the last entry of the old one that is not
 * above.
 */
function withColumns(table: Table, from: Table, to: Table): Table {
  const [rowCount = 0] = table.shape;
  const view = viewOf(table);
  const columns = Array.from(to.data, (ms) => from.data.findLastIndex((own) => own <= ms));
  const cells = Array.from({ length: rowCount }, (_, row) =>
    columns.map((column) => view.get(row, column)),
  );
  const flat = Uint16Array.from(cells.flat());
  return { dtype: "uint16", shape: [rowCount, columns.length], data: flat };
}

/** Null if there are fewer workers than classes. */
function separateLevel(problem: LevelProblem, shared: RamsisLevel): Scored | null {
  const { kinds } = problem;
  const { loadQps, solve } = shared;
  const split = fluidSplit(problem, loadQps);
  if (split === null) return null;
  /** Solved so far, by class and number of workers. */
  const solved = new Map<string, RamsisLevel>();
  const tableOf = (workers: number, index: number): ClassTable => {
    const key = `${index}/${workers}`;
    const kind = kinds[index];
    if (kind === undefined) throw new RangeError("class index out of range");
    const level = solved.get(key) ?? ramsis.solveLevel(kind.alone(workers), kind.share * loadQps);
    solved.set(key, level);
    return { workers, actionByState: level.actionByState };
  };
  return bestSplit(split, (workers) => {
    const classTables = workers.map(tableOf);
    const all = [...solved.values()];
    const iterations = all.reduce((sum, own) => sum + own.solve.iterations, solve.iterations);
    return scored(problem, { ...shared, solve: { ...solve, iterations }, classTables });
  });
}

/**
 * Moves workers from class to class, one at a time and on in the same direction, as long as that is
 * better.
 */
function bestSplit(start: readonly number[], judge: (split: readonly number[]) => Scored): Scored {
  const judgedByKey = new Map<string, Scored>();
  let split = start;
  let best = judge(split);
  judgedByKey.set(split.join(), best);
  for (let from = 0; from < split.length; from++) {
    for (let to = 0; to < split.length; to++) {
      while (from !== to && (split[from] ?? 0) > 1) {
        const moved = split.map((count, at) => count - Number(at === from) + Number(at === to));
        if (judgedByKey.has(moved.join())) break;
        if (judgedByKey.size === MOST_SPLITS) return best;
        const other = judge(moved);
        judgedByKey.set(moved.join(), other);
        if (other.score <= best.score) break;
        best = other;
        split = moved;
      }
    }
  }
  return best;
}

/** The same frame and load give the same level, bit for bit. */
export function bucketedLevel(problem: LevelProblem, loadQps: number): RamsisLevel {
  const { kinds } = problem;
  const use = fluidUse(problem, loadQps);
  const cautions = kinds.length > FEW_BUCKETS ? FEW_CAUTIONS : CAUTIONS;
  const solved = cautions.map((caution) => {
    const slowed = slowdowns(problem, use, caution);
    return kinds.map(({ share, alone }, index) =>
      ramsis.slowedTable(alone(), share * loadQps, slowed[index] ?? 1),
    );
  });
  const levelOf = (choice: readonly number[]): LevelTables => {
    const chosen = choice.map((caution, bucket) => {
      const table = solved[caution]?.[bucket];
      if (table === undefined) throw new RangeError("each bucket has a table for each caution");
      return table;
    });
    return levelWith(problem, loadQps, chosen);
  };
  const found = bestChoice(kinds.length, cautions.length, (choice) =>
    scoreOf(problem, simulatedPromise(problem, levelOf(choice), LOOK)),
  );
  const level = levelOf(found.choice);
  const iterations = solved.flat().reduce((sum, one) => sum + one.tries, found.tries);
  return judged(problem, { ...level, solve: { ...level.solve, iterations } });
}

/**
 * The best caution for each bucket: first the same for all, then for one bucket after another, as
 * long as that is better.
 */
function bestChoice(
  bucketCount: number,
  cautionCount: number,
  scoreOfChoice: (choice: readonly number[]) => number,
): { readonly choice: readonly number[]; readonly tries: number } {
  const scores = new Map<string, number>();
  const judge = (choice: readonly number[]): number => {
    const score = scores.get(choice.join()) ?? scoreOfChoice(choice);
    scores.set(choice.join(), score);
    return score;
  };
  const uniform = Array.from({ length: cautionCount }, (_, caution) =>
    Array.from({ length: bucketCount }, () => caution),
  );
  let best = uniform.reduce((one, other) => (judge(other) > judge(one) ? other : one));
  for (let bucket = 0; bucket < bucketCount; bucket++) {
    for (let caution = 0; caution < cautionCount; caution++) {
      const other = best.with(bucket, caution);
      if (judge(other) > judge(best)) best = other;
    }
  }
  return { choice: best, tries: scores.size };
}

/**
 * Slowdown of each bucket by the worker time of the others.
 * @param use workers that each bucket keeps busy.
 */
function slowdowns(
  { workers }: LevelProblem,
  use: readonly number[],
  caution: number,
): readonly number[] {
  const total = use.reduce((sum, busy) => sum + busy, 0);
  return use.map((own) => {
    const left = workers - caution * (total - own);
    return workers / Math.max(left, LEAST_PART * workers);
  });
}

function levelWith(
  problem: LevelProblem,
  loadQps: number,
  solved: readonly ReturnType<typeof ramsis.slowedTable>[],
): LevelTables {
  const bucketTables = solved.map((one) => one.actionByState);
  const actionByState = bucketTables.at(-1);
  if (actionByState === undefined) throw new RangeError("no buckets");
  return {
    loadQps,
    capacityQps: classCapacityQps(problem),
    solve: {
      method: [...new Set(solved.map(({ method }) => method))].join(", "),
      iterations: solved.reduce((sum, { tries }) => sum + tries, 0),
      residual: 0,
      states: bucketTables.reduce((sum, { data }) => sum + data.length, 0),
    },
    actionByState,
    bucketTables,
    mixture: null,
  };
}
