/** Rectangles in any direction, and the smallest around points. */

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Middle, direction of its width as a unit vector, and half of its sides. */
export interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly across: Point;
  readonly halfWidth: number;
  readonly halfHeight: number;
}

/**
 * The hull of points that come line by line, and in a line from the left; collinear ones are left
 * out. Source: Andrew, Another efficient algorithm for convex hulls in two dimensions (1979).
 */
export function convexHull(points: readonly Point[]): Point[] {
  const upper = halfHull(points);
  const lower = halfHull([...points].reverse());
  return upper.length === 1 ? upper : [...upper.slice(0, -1), ...lower.slice(0, -1)];
}

function halfHull(points: readonly Point[]): Point[] {
  const hull: Point[] = [];
  for (const point of points) {
    for (;;) {
      const [before, last] = hull.slice(-2);
      if (before === undefined || last === undefined || turn(before, last, point) > 0) break;
      hull.pop();
    }
    const last = hull.at(-1);
    if (last === undefined || last.x !== point.x || last.y !== point.y) hull.push(point);
  }
  return hull;
}

function turn(a: Point, b: Point, c: Point): number {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/**
 * The rectangle of least area around a hull; of equal ones that of the first side. It lies along a
 * side of the hull. Source: Freeman and Shapira, Determining the minimum-area encasing rectangle
 * for an arbitrary closed curve (1975).
 * @param hull at least one point.
 */
export function smallestRectangle(hull: readonly Point[]): Rectangle {
  const [first = { x: 0, y: 0 }] = hull;
  let best: Rectangle = { ...first, across: { x: 1, y: 0 }, halfWidth: 0, halfHeight: 0 };
  let leastArea = Number.POSITIVE_INFINITY;
  for (const [index, from] of hull.entries()) {
    const to = hull[(index + 1) % hull.length] ?? from;
    const length = Math.hypot(to.x - from.x, to.y - from.y);
    if (length === 0) continue;
    const across = { x: (to.x - from.x) / length, y: (to.y - from.y) / length };
    const rectangle = rectangleAlong(hull, across);
    const area = rectangle.halfWidth * rectangle.halfHeight;
    if (area >= leastArea) continue;
    leastArea = area;
    best = rectangle;
  }
  return best;
}

function rectangleAlong(points: readonly Point[], across: Point): Rectangle {
  let [left, right] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let [top, bottom] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { x, y } of points) {
    const along = x * across.x + y * across.y;
    const beside = y * across.x - x * across.y;
    left = Math.min(left, along);
    right = Math.max(right, along);
    top = Math.min(top, beside);
    bottom = Math.max(bottom, beside);
  }
  const [along, beside] = [(left + right) / 2, (top + bottom) / 2];
  return {
    x: along * across.x - beside * across.y,
    y: along * across.y + beside * across.x,
    across,
    halfWidth: (right - left) / 2,
    halfHeight: (bottom - top) / 2,
  };
}

/**
 * A rectangle whose sides lie farther out by `distance`: it is the smallest around what an offset
 * with round corners makes of the first one.
 */
export function grown(rectangle: Rectangle, distance: number): Rectangle {
  return {
    ...rectangle,
    halfWidth: rectangle.halfWidth + distance,
    halfHeight: rectangle.halfHeight + distance,
  };
}

export function shorterSide({ halfWidth, halfHeight }: Rectangle): number {
  return 2 * Math.min(halfWidth, halfHeight);
}

/** Its corners clockwise: the upper of the two on the left, of those on the right, and below. */
export function cornersOf({ x, y, across, halfWidth, halfHeight }: Rectangle): Point[] {
  const corners = [
    [-halfWidth, -halfHeight],
    [halfWidth, -halfHeight],
    [halfWidth, halfHeight],
    [-halfWidth, halfHeight],
  ].map(([along = 0, beside = 0]) => ({
    x: x + along * across.x - beside * across.y,
    y: y + along * across.y + beside * across.x,
  }));
  const byColumn = corners.toSorted((a, b) => a.x - b.x);
  const [left, right] = [byColumn.slice(0, 2), byColumn.slice(2)];
  const [upperLeft, lowerLeft] = left.toSorted((a, b) => a.y - b.y);
  const [upperRight, lowerRight] = right.toSorted((a, b) => a.y - b.y);
  return [upperLeft, upperRight, lowerRight, lowerLeft].flatMap((point) => point ?? []);
}
