/** Looks up the decision for a level, a queue and a slack. */
import { GIVE_UP, NO_ACTION, type RamsisBundle } from "../bundle/schema.ts";
import { assert } from "./assert.ts";
import { rowByQueued } from "./table-lookup.ts";

/**
 * Instead of an action: wait, because a later decision will be better. Only for a queue that all
 * workers share.
 */
export const WAIT = NO_ACTION;
export { GIVE_UP };

const tables = new WeakMap<RamsisBundle, PolicyTable>();

/**
 * The decisions of a bundle as flat arrays: what to run for a load level, a number of queued
 * queries and a slack.
 *
 * A state's row is the last one whose number of queries is not above those that wait; its column is
 * the last entry of the slack grid that is not above the slack, the first one for a query that is
 * late.
 */
export class PolicyTable {
  /** Queries a queue holds at most: `maxQueue + 1`. */
  readonly queueCapacity: number;
  /** Loads of the levels and then of the pace levels: [levelCount]. */
  readonly levelLoadQps: Float64Array;
  /** Queries that each row answers for at least, ascending from 1: [rowCount]. */
  readonly rowQueries: Float64Array;
  readonly #rowCount: number;
  /**
   * The row that answers for each number of queries that wait, or null where every number has one.
   */
  readonly #rowByQueued: Uint16Array | null;
  readonly #slackMs: Float64Array;
  readonly #columnsPerMs: number;
  /**
   * [levelCount, 2, rowCount, slackCount]: of each level its table and the other one of its
   * mixture.
   */
  readonly #actionByState: Uint16Array;
  readonly #shareByLevel: Float64Array;
  /** Margin of each level less that of the bundle, ms. */
  readonly #marginMsByLevel: Float64Array;
  readonly #variantByAction: Uint16Array;
  readonly #batchByAction: Uint16Array;

  private constructor(bundle: RamsisBundle) {
    const { maxQueue, queued, slackMs, actions } = bundle.decisionSpace;
    this.queueCapacity = maxQueue + 1;
    this.rowQueries =
      queued === undefined
        ? Float64Array.from({ length: this.queueCapacity }, (_, row) => row + 1)
        : Float64Array.from(queued.data);
    this.#rowCount = this.rowQueries.length;
    this.#rowByQueued = queued === undefined ? null : rowByQueued(queued.data);
    const levels = [...bundle.levels, ...(bundle.paceLevels ?? [])];
    this.levelLoadQps = Float64Array.from(levels, (level) => level.loadQps);
    this.#slackMs = Float64Array.from(slackMs.data);
    const last = this.#slackMs.length - 1;
    this.#columnsPerMs = last > 0 ? last / this.#slackMs[last]! : 0;
    this.#variantByAction = Uint16Array.from(actions.data.filter(isEven));
    this.#batchByAction = Uint16Array.from(actions.data.filter(isOdd));
    const stateCount = this.#rowCount * this.#slackMs.length;
    this.#actionByState = new Uint16Array(levels.length * 2 * stateCount);
    this.#shareByLevel = Float64Array.from(levels, ({ mixture }) => mixture?.share ?? 0);
    const baseMs = bundle.cluster.serving?.marginMs ?? 0;
    this.#marginMsByLevel = Float64Array.from(levels, ({ marginMs = baseMs }) => marginMs - baseMs);
    for (const [index, { actionByState, mixture }] of levels.entries()) {
      this.#actionByState.set(actionByState.data, index * 2 * stateCount);
      const other = mixture?.actionByState ?? actionByState;
      this.#actionByState.set(other.data, (index * 2 + 1) * stateCount);
    }
  }

  /**
   * Table of a validated bundle, shared by all callers. @throws Error if the bundle contradicts
   * itself.
   */
  static fromBundle(bundle: RamsisBundle): PolicyTable {
    const known = tables.get(bundle);
    if (known !== undefined) return known;
    assertComplete(bundle);
    const table = new PolicyTable(bundle);
    tables.set(bundle, table);
    return table;
  }

  /**
   * The action for a state.
   * @param level index of a load level.
   * @param queued queries in the queue, at least one.
   * @param slackMs time left until the earliest deadline, negative when it has passed.
   * @param side 1 for the other table of a mixture.
   * @returns index of an action, WAIT or GIVE_UP.
   */
  lookup(level: number, queued: number, slackMs: number, side: 0 | 1 = 0): number {
    return this.#actionByState[this.#row(level, queued, side) + this.#columnAt(level, slackMs)]!;
  }

  /**
   * Share of the decisions that the other table of a level's mixture takes; 0 for a level without.
   */
  mixtureShare(level: number): number {
    return this.#shareByLevel[level]!;
  }

  /**
   * Returns the slack down to which the queue waits, in a state that waits.
   * @returns a slack above 0.
   */
  waitUntilSlackMs(level: number, queued: number, slackMs: number, side: 0 | 1): number {
    const row = this.#row(level, queued, side);
    let column = this.#columnAt(level, slackMs);
    while (column > 0 && this.#actionByState[row + column - 1]! === WAIT) column--;
    return Math.min(this.#slackMs[column]! + this.#marginMsByLevel[level]!, this.#topMs());
  }

  /** Returns the number of queries of the row that decides for a queue: the same or fewer. */
  rowQueued(queued: number): number {
    const waiting = queued < this.queueCapacity ? queued : this.queueCapacity;
    return this.#rowByQueued === null ? waiting : this.rowQueries[this.#rowByQueued[waiting]!]!;
  }

  /** Variant that an action runs. */
  variant(action: number): number {
    return this.#variantByAction[action]!;
  }

  /** Largest number of queries that an action takes from the queue. */
  batch(action: number): number {
    return this.#batchByAction[action]!;
  }

  /** Returns where the cells of a queue length begin. */
  #row(level: number, queued: number, side: 0 | 1): number {
    const waiting = queued < this.queueCapacity ? queued : this.queueCapacity;
    const row = this.#rowByQueued === null ? waiting - 1 : this.#rowByQueued[waiting]!;
    return ((level * 2 + side) * this.#rowCount + row) * this.#slackMs.length;
  }

  /**
   * Returns the column of a slack at a level. A level with a margin of its own sees less slack, and
   * its last column is for a query that has just arrived.
   */
  #columnAt(level: number, slackMs: number): number {
    if (slackMs >= this.#topMs()) return this.#slackMs.length - 1;
    return this.#column(slackMs - this.#marginMsByLevel[level]!);
  }

  #topMs(): number {
    return this.#slackMs[this.#slackMs.length - 1]!;
  }

  /**
   * Returns the index of the last grid entry that is not above a slack, 0 for a negative one.
   *
   * The position on a uniform grid is a guess that is checked against the grid; where it is wrong
   * (a slack within rounding of an entry, a grid that is not uniform) a binary search answers.
   */
  #column(slackMs: number): number {
    const grid = this.#slackMs;
    const last = grid.length - 1;
    if (slackMs >= grid[last]!) return last;
    if (!(slackMs > 0)) return 0;
    const guess = Math.floor(slackMs * this.#columnsPerMs);
    if (guess < last && grid[guess]! <= slackMs && slackMs < grid[guess + 1]!) return guess;
    let low = 0;
    let high = last;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (grid[middle]! <= slackMs) low = middle;
      else high = middle;
    }
    return low;
  }
}

/**
 * Repeats the checks of validation where they matter most: no lookup may leave a table, and waiting
 * must end.
 */
function assertComplete(bundle: RamsisBundle): void {
  const { maxQueue, queued, slackMs, actions } = bundle.decisionSpace;
  const grid = slackMs.data;
  const rows = queued?.data ?? [];
  assert(rows.length === 0 || rows[0] === 1, "the first row is one query");
  assert(rows.length === 0 || rows.at(-1) === maxQueue + 1, "the last row is a full queue");
  for (let row = 1; row < rows.length; row++) {
    assert(rows[row]! > rows[row - 1]!, "the rows ascend");
  }
  const rowCount = queued === undefined ? maxQueue + 1 : rows.length;
  assert(grid.length > 0 && grid[0] === 0, "the slack grid begins at 0");
  for (let column = 1; column < grid.length; column++) {
    assert(grid[column]! > grid[column - 1]!, "the slack grid ascends");
  }
  const actionCount = actions.data.length / 2;
  for (let action = 0; action < actionCount; action++) {
    assert(
      actions.data[2 * action + 1]! > 0,
      "an action is a variant and a batch size, at least one",
    );
  }
  assert(bundle.levels.length > 0, "a bundle has at least one level");
  const mayWait = bundle.policy.balancer === "pooled";
  const levels = [...bundle.levels, ...(bundle.paceLevels ?? [])];
  const tables = levels.flatMap(({ actionByState, mixture }) =>
    mixture === null ? [actionByState] : [actionByState, mixture.actionByState],
  );
  for (const { data } of tables) {
    assert(data.length === rowCount * grid.length, "every state has a cell");
    for (let cell = 0; cell < data.length; cell++) {
      const action = data[cell]!;
      const waits = action === WAIT && cell % grid.length > 0;
      const isOther = mayWait && (waits || action === GIVE_UP);
      assert(isOther || action < actionCount, "every state has a decision");
    }
  }
}

function isEven(_: number, index: number): boolean {
  return index % 2 === 0;
}

function isOdd(_: number, index: number): boolean {
  return index % 2 === 1;
}
