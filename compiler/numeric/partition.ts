/**
 * Cuts a chain of layers into contiguous stages, one per worker, so that the heaviest stage is as
 * light as possible: "chains-on-chains". Source: Pinar, Aykanat, "Fast optimal load balancing
 * algorithms for 1D partitioning", JPDC 64, 2004.
 */

/** Workers that are alike. */
export interface PlaceClass {
  /** Time of each layer on such a worker, at least 0; the same length for every class. */
  readonly layerMs: readonly number[];
  /** Time of a stage beyond its layers, at least 0. */
  readonly overheadMs: number;
}

interface StagePartition {
  /** Layers of each stage, each at least 1. */
  readonly cut: readonly number[];
  /** Class of the worker of each stage. */
  readonly classes: readonly number[];
  /** Time of the heaviest stage, overhead included: no other partition has a lower one. */
  readonly bottleneckMs: number;
}

/**
 * Layers of each stage of the best partition on identical workers, for 1, 2, … stages: row d has d
 * + 1 of them, and there are as many rows as there are layers, or `maxDepth`.
 * @param layerMs of each layer, at least 0 and finite.
 */
export function layerPartitions(layerMs: readonly number[], maxDepth: number): number[][] {
  const depth = Math.min(maxDepth, layerMs.length);
  const shapes = Array.from({ length: depth }, (_, index) => [index + 1]);
  const partitions = mixedPartitions([{ layerMs, overheadMs: 0 }], shapes);
  return partitions.map((partition) => [...partition!.cut]);
}

/**
 * Best partition for every shape at once. Of equal ones the one whose last stage is on the lowest
 * class and has the fewest layers, and so on for the stages before. O(shapes × classes × layers).
 * @param shapes number of workers of each class; sums ascend, and with a shape the list has all
 * shapes of one worker less.
 * @returns in the order of the shapes; null if a shape has more workers than layers.
 */
export function mixedPartitions(
  classes: readonly PlaceClass[],
  shapes: readonly (readonly number[])[],
): (StagePartition | null)[] {
  const layerCount = classes[0]!.layerMs.length;
  const width = layerCount + 1;
  const prefixMs = classes.map(({ layerMs }) => prefixSums(layerMs));
  const before = predecessors(shapes, classes.length);
  // Row 0 is the shape without workers, which holds no layers.
  const bestMs = new Float64Array((shapes.length + 1) * width).fill(Number.POSITIVE_INFINITY);
  const startLayer = new Uint32Array(bestMs.length);
  const lastClass = new Uint16Array(bestMs.length);
  const candidates = new Uint32Array(width);
  bestMs[0] = 0;
  for (let row = 1; row <= shapes.length; row++) {
    for (let index = 0; index < classes.length; index++) {
      const from = before[(row - 1) * classes.length + index]!;
      if (from < 0) continue;
      const overheadMs = classes[index]!.overheadMs;
      const to = row * width;
      const prefix = prefixMs[index]!;
      // biome-ignore format: one call
      appendStage(
        layerCount, overheadMs, prefix, index, from * width, to,
        candidates, bestMs, startLayer, lastClass,
      );
    }
  }
  return shapes.map((_, index) => {
    const row = index + 1;
    const bottleneckMs = bestMs[row * width + layerCount]!;
    if (bottleneckMs === Number.POSITIVE_INFINITY) return null;
    return {
      ...traceBack(layerCount, row, before, classes.length, startLayer, lastClass),
      bottleneckMs,
    };
  });
}

/**
 * Lowers, for every number of layers, the heaviest stage of a shape by those partitions whose last
 * stage is on a class: best[i] = min over j < i of max(before[j], overhead + prefix[i] −
 * prefix[j]).
 *
 * A later start makes the last stage lighter, so only starts whose `before` is below that of every
 * later one are candidates: an ascending queue. The longer the chain, the later the candidate at
 * which `before` outweighs the last stage, so the candidates in front of it can be dropped, and the
 * whole is linear in the layers.
 * @param from start of the row of the shape without that worker.
 * @param to start of the row of the shape.
 * @param bestMs, startLayer, lastClass in and out.
 */
function appendStage(
  layerCount: number,
  overheadMs: number,
  prefixMs: Float64Array,
  index: number,
  from: number,
  to: number,
  candidates: Uint32Array,
  bestMs: Float64Array,
  startLayer: Uint32Array,
  lastClass: Uint16Array,
): void {
  let head = 0;
  let tail = 0;
  for (let end = 1; end <= layerCount; end++) {
    const newest = bestMs[from + end - 1]!;
    if (newest !== Number.POSITIVE_INFINITY) {
      while (tail > head && bestMs[from + candidates[tail - 1]!]! >= newest) tail--;
      candidates[tail++] = end - 1;
    }
    if (tail === head) continue;
    const totalMs = prefixMs[end]!;
    while (head + 1 < tail) {
      const next = candidates[head + 1]!;
      if (bestMs[from + next]! > overheadMs + (totalMs - prefixMs[next]!)) break;
      head++;
    }
    let start = candidates[head]!;
    let ms = Math.max(bestMs[from + start]!, overheadMs + (totalMs - prefixMs[start]!));
    // At the second candidate the stages before outweigh the last; of equals it has the shorter
    // last stage.
    if (head + 1 < tail && bestMs[from + candidates[head + 1]!]! <= ms) {
      start = candidates[head + 1]!;
      ms = bestMs[from + start]!;
    }
    if (!(ms < bestMs[to + end]!)) continue;
    bestMs[to + end] = ms;
    startLayer[to + end] = start;
    lastClass[to + end] = index;
  }
}

/**
 * @returns shape (shapeCount, classCount): row, counted from 1, of the shape with one worker of the
 * class less, 0 for that without workers, −1 for none.
 */
function predecessors(shapes: readonly (readonly number[])[], classCount: number): Int32Array {
  const rowOf = new Map([[new Array<number>(classCount).fill(0).join(), 0]]);
  const before = new Int32Array(shapes.length * classCount).fill(-1);
  for (const [index, shape] of shapes.entries()) {
    for (let place = 0; place < classCount; place++) {
      if (shape[place] === 0) continue;
      const less = shape.map((count, other) => (other === place ? count - 1 : count));
      before[index * classCount + place] = rowOf.get(less.join()) ?? -1;
    }
    rowOf.set(shape.join(), index + 1);
  }
  return before;
}

function traceBack(
  layerCount: number,
  lastRow: number,
  before: Int32Array,
  classCount: number,
  startLayer: Uint32Array,
  lastClass: Uint16Array,
): Pick<StagePartition, "cut" | "classes"> {
  const cut: number[] = [];
  const classes: number[] = [];
  let end = layerCount;
  for (let row = lastRow; row > 0; ) {
    const cell = row * (layerCount + 1) + end;
    cut.push(end - startLayer[cell]!);
    classes.push(lastClass[cell]!);
    end = startLayer[cell]!;
    row = before[(row - 1) * classCount + lastClass[cell]!]!;
  }
  return { cut: cut.reverse(), classes: classes.reverse() };
}

/** @returns shape (count + 1,): the sum of the first 0, 1, … */
function prefixSums(values: readonly number[]): Float64Array {
  const sums = new Float64Array(values.length + 1);
  for (let index = 0; index < values.length; index++) {
    sums[index + 1] = sums[index]! + values[index]!;
  }
  return sums;
}
