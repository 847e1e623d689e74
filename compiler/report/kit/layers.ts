/**
 * Lays out the tasks of a pipeline in rows, each below its predecessors, with a free place where an
 * edge passes a row.
 */
import type { StageTask } from "stratagem-runtime/internal/bundle/schema";

/** Row of the requests. */
export const SOURCE = -1;

interface Layers {
  readonly rowCount: number;
  /** Places of the fullest row. */
  readonly mostPlaces: number;
  /** Places of every task, and of SOURCE. */
  readonly placeByTask: ReadonlyMap<number, Place>;
  readonly routes: readonly Route[];
}

export interface Place {
  readonly row: number;
  /** From the left edge of the row, 0..1. */
  readonly across: number;
}

/** Edge with its places from source to target, both included. */
export interface Route {
  readonly source: number;
  readonly target: number;
  readonly share: number;
  readonly places: readonly Place[];
}

/** Occupant of a place: a task, or a passing edge. */
interface Item {
  /** Null for a passing edge. */
  readonly task: number | null;
  /** Predecessors in the row above. */
  readonly before: readonly Item[];
}

export function layersOf(tasks: readonly Pick<StageTask, "edges">[]): Layers {
  const rowByTask = new Map<number, number>([[SOURCE, 0]]);
  const rows: Item[][] = [[{ task: SOURCE, before: [] }]];
  const itemByTask = new Map<number, Item>([
    [SOURCE, rows[0]?.[0] ?? { task: SOURCE, before: [] }],
  ]);
  const chains: { source: number; target: number; share: number; items: readonly Item[] }[] = [];
  for (const [task, { edges }] of tasks.entries()) {
    const sources = edges.map(({ parent }) => parent ?? SOURCE);
    const row = 1 + Math.max(...sources.map((source) => rowByTask.get(source) ?? 0));
    const ends = edges.map(({ share }, index) => {
      const source = sources[index] ?? SOURCE;
      const items: Item[] = [itemByTask.get(source) ?? { task: source, before: [] }];
      for (let between = (rowByTask.get(source) ?? 0) + 1; between < row; between++) {
        const passing = { task: null, before: items.slice(-1) };
        items.push(passing);
        rowAt(rows, between).push(passing);
      }
      return { source, target: task, share, items };
    });
    const item = { task, before: ends.flatMap(({ items }) => items.slice(-1)) };
    rowByTask.set(task, row);
    itemByTask.set(task, item);
    rowAt(rows, row).push(item);
    chains.push(...ends.map((end) => ({ ...end, items: [...end.items, item] })));
  }
  const places = placesOf(rows);
  const placeOf = (item: Item): Place => places.get(item) ?? { row: 0, across: 0.5 };
  return {
    rowCount: rows.length,
    mostPlaces: Math.max(...rows.map(({ length }) => length)),
    placeByTask: new Map([...itemByTask].map(([task, item]) => [task, placeOf(item)])),
    routes: chains.map(({ items, ...route }) => ({ ...route, places: items.map(placeOf) })),
  };
}

function rowAt(rows: Item[][], row: number): Item[] {
  while (rows.length <= row) rows.push([]);
  return rows[row] ?? [];
}

/** Puts every item near the middle of its predecessors, as far as there is space. */
function placesOf(rows: readonly (readonly Item[])[]): Map<Item, Place> {
  const places = new Map<Item, Place>();
  for (const [row, items] of rows.entries()) {
    const wanted = items.map((item, index) => {
      const before = item.before.map((one) => places.get(one)?.across ?? 0.5);
      const sum = before.reduce((total, across) => total + across, 0);
      return { item, index, across: before.length === 0 ? 0.5 : sum / before.length };
    });
    wanted.sort((a, b) => a.across - b.across || a.index - b.index);
    for (const [position, { item }] of wanted.entries()) {
      places.set(item, { row, across: (position + 0.5) / items.length });
    }
  }
  return places;
}
