/**
 * Mean queries of each task per request if rows multiply and are gathered: scope by scope, through
 * every outcome of the chances of each.
 */
import { GATHER, REQUESTS, type TaskGraph } from "stratagem-runtime/internal/core/graph/task-graph";

/** One of the outcomes of a chance. */
export interface Outcome {
  readonly probability: number;
  readonly taken: readonly number[];
  readonly not: readonly number[];
}

/** Probabilities of a row of a scope. */
interface RowChances {
  /** Indexed by task of the scope: probability that the row visits it. */
  readonly visited: Float64Array;
  /** Indexed by edge away from such a task: probability that the row takes it. */
  readonly taken: Float64Array;
}

/**
 * Returns the mean queries of each task per request. Fan-outs are the mean rounded up or down.
 * Assumes that gathers over one row's children are non-empty independently: exact unless several
 * gathers of the same rows meet again.
 * @param chancesOf each chance of the edges away from tasks with its outcomes; certain ones are
 * left out.
 */
export function rowRates(
  graph: TaskGraph,
  chancesOf: (sources: readonly number[]) => readonly (readonly Outcome[])[],
): number[] {
  const { scopes, scopeByTask, taskCount } = graph;
  const tasks = Array.from({ length: taskCount }, (_, task) => task);
  const chances: RowChances[] = [];
  const somethingOf = new Float64Array(graph.edgeCount);
  for (let scope = scopes.length - 1; scope >= 0; scope--) {
    const own = tasks.filter((task) => scopeByTask[task] === scope);
    const sources = scope === 0 ? [REQUESTS, ...own] : own;
    const gathers = own.flatMap((task) => gathersInto(graph, task));
    for (const edge of gathers) somethingOf[edge] = chanceOfSome(graph, chances, edge);
    const virtual = gathers.map((edge): Outcome[] => [
      { probability: somethingOf[edge] ?? 0, taken: [edge], not: [] },
      { probability: 1 - (somethingOf[edge] ?? 0), taken: [], not: [edge] },
    ]);
    // Rows of this scope take a gather away from here; rows below take one into it.
    chances[scope] = through(graph, scope, [...chancesOf(sources), ...virtual], gathers);
  }
  const rows: number[] = [];
  for (const [scope, { parent }] of scopes.entries()) {
    const made = meanOf(numbersOf(graph, chances, scope));
    rows.push(parent < 0 ? 1 : (rows[parent] ?? 0) * chanceOfMaking(graph, chances, scope) * made);
  }
  return tasks.map((task) => {
    const scope = scopeByTask[task] ?? 0;
    return (rows[scope] ?? 0) * (chances[scope]?.visited[task] ?? 0);
  });
}

/** Most outcomes of one scope. */
export function mostOutcomes(
  graph: TaskGraph,
  chancesOf: (sources: readonly number[]) => readonly (readonly Outcome[])[],
): number {
  const { scopes, scopeByTask, taskCount } = graph;
  const counts = scopes.map((_, scope) => {
    const own = Array.from({ length: taskCount }, (__, task) => task).filter(
      (task) => scopeByTask[task] === scope,
    );
    const gathers = own.flatMap((task) => gathersInto(graph, task)).length;
    const chances = chancesOf(scope === 0 ? [REQUESTS, ...own] : own);
    return chances.reduce((product, { length }) => product * length, 2 ** gathers);
  });
  return Math.max(...counts);
}

/** Edges into a task that gather all rows. */
function gathersInto(
  { inStart, kindByEdge }: Pick<TaskGraph, "inStart" | "kindByEdge">,
  task: number,
): number[] {
  const edges: number[] = [];
  for (let edge = inStart[task] ?? 0; edge < (inStart[task + 1] ?? 0); edge++) {
    if (kindByEdge[edge] === GATHER) edges.push(edge);
  }
  return edges;
}

/** Enumerates the outcomes of a row of a scope. */
function through(
  graph: TaskGraph,
  scope: number,
  chances: readonly (readonly Outcome[])[],
  gathers: readonly number[],
): RowChances {
  const { taskCount, edgeCount, scopeByTask, parentByEdge, inStart, outStart, outEdge } = graph;
  const visited = new Float64Array(taskCount);
  const taken = new Float64Array(edgeCount);
  const count = chances.reduce((product, { length }) => product * length, 1);
  for (let outcome = 0; outcome < count; outcome++) {
    const takes = new Uint8Array(edgeCount).fill(1);
    let weight = 1;
    let rest = outcome;
    for (const chance of chances) {
      const one = chance[rest % chance.length] as Outcome;
      rest = Math.floor(rest / chance.length);
      weight *= one.probability;
      for (const edge of one.not) takes[edge] = 0;
      for (const edge of one.taken) takes[edge] = 1;
    }
    if (weight === 0) continue;
    const isHere = new Uint8Array(taskCount);
    for (let task = 0; task < taskCount; task++) {
      if (scopeByTask[task] !== scope) continue;
      let comes = graph.scopes[scope]?.entry === task;
      for (let edge = inStart[task] ?? 0; edge < (inStart[task + 1] ?? 0); edge++) {
        const parent = parentByEdge[edge] ?? REQUESTS;
        const isReached = gathers.includes(edge)
          ? isMade(graph, scopeByTask[parent] ?? 0, isHere, takes)
          : parent === REQUESTS || isHere[parent] === 1;
        if (isReached && takes[edge] === 1) comes = true;
      }
      if (!comes) continue;
      isHere[task] = 1;
      visited[task] = (visited[task] ?? 0) + weight;
      for (let out = outStart[task + 1] ?? 0; out < (outStart[task + 2] ?? 0); out++) {
        const edge = outEdge[out] ?? 0;
        if (takes[edge] === 1) taken[edge] = (taken[edge] ?? 0) + weight;
      }
    }
  }
  return { visited: visited.map((sum) => Math.min(1, sum)), taken };
}

/**
 * Returns whether a row takes the edge that makes the rows of a scope; for windows, the edge of the
 * windowed rows.
 */
function isMade(graph: TaskGraph, scope: number, isHere: Uint8Array, takes: Uint8Array): boolean {
  const { gathered, maker, edge } = graph.scopes[scope] ?? { gathered: null, maker: 0, edge: 0 };
  if (gathered !== null) return isMade(graph, gathered.scope, isHere, takes);
  return isHere[maker] === 1 && takes[edge] === 1;
}

function chanceOfMaking(graph: TaskGraph, chances: readonly RowChances[], scope: number): number {
  const { gathered, edge, parent } = graph.scopes[scope] ?? { gathered: null, edge: 0, parent: 0 };
  if (gathered !== null) return chanceOfMaking(graph, chances, gathered.scope);
  return chances[parent]?.taken[edge] ?? 0;
}

/** Probability that a gather gets some row, if any might have been made. */
function chanceOfSome(graph: TaskGraph, chances: readonly RowChances[], edge: number): number {
  const scope = graph.scopeByTask[graph.parentByEdge[edge] ?? 0] ?? 0;
  const isTaken = chances[scope]?.taken[edge] ?? 0;
  let none = 0;
  let noneOf = 1;
  for (const probability of numbersOf(graph, chances, scope)) {
    none += probability * noneOf;
    noneOf *= 1 - isTaken;
  }
  return 1 - none;
}

/** Probability of each number of made rows, from 0 on. */
function numbersOf(
  graph: TaskGraph,
  chances: readonly RowChances[],
  scope: number,
): readonly number[] {
  const { gathered, fanout, edge, parent } = graph.scopes[scope] ?? { gathered: null, parent: -1 };
  if (parent < 0) return [0, 1];
  if (gathered === null) {
    const mean = fanout ?? 1;
    const whole = Math.floor(mean);
    const numbers = new Array<number>(whole + 1).fill(0);
    numbers[whole] = 1 - (mean - whole);
    return mean > whole ? [...numbers, mean - whole] : numbers;
  }
  const isTaken = chances[gathered.scope]?.taken[edge ?? 0] ?? 0;
  const windows: number[] = [];
  let taken = [1];
  for (const probability of numbersOf(graph, chances, gathered.scope)) {
    for (const [count, chance] of taken.entries()) {
      const full = Math.floor(count / gathered.window);
      windows[full] = (windows[full] ?? 0) + probability * chance;
    }
    taken = [...taken, 0].map(
      (chance, count) => chance * (1 - isTaken) + (taken[count - 1] ?? 0) * isTaken,
    );
  }
  return windows;
}

function meanOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, probability, number) => sum + number * probability, 0);
}
