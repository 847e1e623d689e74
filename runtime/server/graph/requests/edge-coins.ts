/** Draws the edges that a row takes where no model decides. */
import { chosenEdge, SHARE_TOLERANCE } from "../../../core/graph/exclusive-edges.ts";
import type { TaskGraph } from "../../../core/graph/task-graph.ts";
import { Rng } from "../../../core/rng.ts";

/** Fixed seed, so that the same rows take the same edges. */
const COIN_SEED = 1;
/** Each edge has its own random stream, so that draws on one never shift those on another. */
const FIRST_STREAM = 0x65646765;

/** Draws the edges out of a task, or from the requests, that a row takes where no model decides. */
export class EdgeCoins {
  readonly #graph: TaskGraph;
  readonly #coins: readonly Rng[];

  constructor(graph: TaskGraph) {
    this.#graph = graph;
    const { edgeCount } = graph;
    this.#coins = Array.from(
      { length: edgeCount },
      (_, edge) => new Rng(COIN_SEED, FIRST_STREAM + edge),
    );
  }

  /**
   * Returns the number of queries that a row sends along each edge: 1 or 0, or a count.
   * Exclusive edges share one draw. Edges that a model decides come first: if it takes none of
   * them, the draw chooses among the others, which thus get all other rows if their shares add up
   * to 1.
   * @param edges out of one task or from the requests, ascending.
   * @param counted the model's count for each edge; null without one.
   */
  toss(
    edges: readonly number[],
    isExclusive: boolean,
    counted: readonly (number | null)[],
  ): number[] {
    if (isExclusive) return this.#tossOne(edges, counted);
    return edges.map((edge, index) => counted[index] ?? Number(this.#falls(edge)));
  }

  #falls(edge: number): boolean {
    const share = this.#shareOf(edge);
    // No draw where there is nothing to choose.
    return share >= 1 || (this.#coins[edge]?.nextFloat() ?? 1) < share;
  }

  #tossOne(edges: readonly number[], counted: readonly (number | null)[]): number[] {
    const sent = edges.map((_, index) => counted[index] ?? 0);
    const isDecided = sent.some((count) => count > 0);
    const open = edges.filter((edge, index) => {
      return counted[index] == null && this.#shareOf(edge) > 0;
    });
    const [first] = open;
    if (isDecided || first === undefined) return sent;
    const openShare = this.#sumOf(open);
    const restShare = 1 - this.#sumOf(edges.filter((_, index) => counted[index] != null));
    const isOneTaken = openShare > restShare - SHARE_TOLERANCE;
    const coin = (isOneTaken ? openShare : restShare) * (this.#coins[first]?.nextFloat() ?? 1);
    const chosen = open[chosenEdge(open, this.#graph.shareByEdge, coin, isOneTaken)];
    if (chosen !== undefined) sent[edges.indexOf(chosen)] = 1;
    return sent;
  }

  #sumOf(edges: readonly number[]): number {
    return edges.reduce((sum, edge) => sum + this.#shareOf(edge), 0);
  }

  #shareOf(edge: number): number {
    return this.#graph.shareByEdge[edge] ?? 0;
  }
}
