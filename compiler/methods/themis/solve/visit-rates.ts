/** Mean requests that visit each task: enumerates every outcome of the chances. */
import { REQUESTS, type TaskGraph } from "stratagem-runtime/internal/core/graph/task-graph";
import { visitPlanOf } from "../../../graph/visit-plan.ts";
import { mostOutcomes, type Outcome, rowRates } from "./row-rates.ts";

/** Maximum number of enumerated outcomes. */
export const MAX_OUTCOMES = 2 ** 14;

/** Outcomes of all chances together; if rows multiply, of those that are enumerated at once. */
export function outcomeCount(graph: TaskGraph): number {
  return mostOutcomes(graph, (sources) => chancesOf(graph, sources));
}

/**
 * Mean queries of each task per request.
 * @throws RangeError beyond MAX_OUTCOMES.
 */
export function visitRates(graph: TaskGraph): number[] {
  const count = outcomeCount(graph);
  if (count > MAX_OUTCOMES) throw new RangeError("too many outcomes to enumerate");
  if (graph.scopes.length > 1) return rowRates(graph, (sources) => chancesOf(graph, sources));
  const chances = chancesOf(graph, [REQUESTS, ...graph.scopeByTask.keys()]);
  const weight = new Float64Array(count).fill(1);
  const takenByEdge = Array.from({ length: graph.edgeCount }, () => new Uint8Array(count).fill(1));
  for (let outcome = 0; outcome < count; outcome++) {
    let rest = outcome;
    for (const chance of chances) {
      const { probability, taken, not } = chance[rest % chance.length] as Outcome;
      rest = Math.floor(rest / chance.length);
      weight[outcome] = (weight[outcome] as number) * probability;
      for (const edge of not) (takenByEdge[edge] as Uint8Array)[outcome] = 0;
      for (const edge of taken) (takenByEdge[edge] as Uint8Array)[outcome] = 1;
    }
  }
  const { stages } = visitPlanOf(graph, { arrivalMs: new Float64Array(count), takenByEdge });
  return stages.map(({ isVisited }) => {
    if (isVisited === null) return 1;
    const rate = isVisited.reduce((sum, bit, outcome) => sum + bit * (weight[outcome] ?? 0), 0);
    return Math.min(1, rate);
  });
}

/** Each chance of the edges away from tasks with its outcomes; certain ones are left out. */
function chancesOf(graph: TaskGraph, sources: readonly number[]): Outcome[][] {
  const chances: Outcome[][] = [];
  for (const source of sources) {
    const edges = [
      ...graph.outEdge.subarray(graph.outStart[source + 1], graph.outStart[source + 2]),
    ];
    const shareOf = (edge: number): number => graph.shareByEdge[edge] ?? 0;
    if (graph.isExclusive[source + 1] === 1) {
      const total = edges.reduce((sum, edge) => sum + shareOf(edge), 0);
      chances.push([
        ...edges.map((edge) => ({ probability: shareOf(edge), taken: [edge], not: edges })),
        { probability: Math.max(0, 1 - total), taken: [], not: edges },
      ]);
      continue;
    }
    for (const edge of edges) {
      const share = shareOf(edge);
      if (share >= 1) continue;
      chances.push([
        { probability: share, taken: [edge], not: [] },
        { probability: 1 - share, taken: [], not: [edge] },
      ]);
    }
  }
  return chances;
}
