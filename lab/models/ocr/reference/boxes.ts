/**
 * Boxes of lines of text on the map of a detector (differentiable binarization), as PaddleOCR's
 * DBPostProcess finds them with boxes of four corners. It needs no library: a box is a rectangle,
 * and what a rectangle becomes when it is moved out by a distance and put into the smallest
 * rectangle again is the same rectangle, longer and wider by twice that distance.
 */
import type { Point } from "./image.ts";

/** How sure of text a detector is at each pixel, 0 to 1, rows from the top. */
export interface TextMap {
  readonly width: number;
  readonly height: number;
  readonly shares: Float32Array;
}

/** Corners clockwise: top left, top right, bottom right, bottom left of the text. */
export type Corners = readonly [Point, Point, Point, Point];

interface Rectangle {
  readonly centre: Point;
  /** Unit vector along the first side. */
  readonly direction: Point;
  readonly length: number;
  readonly breadth: number;
}

/** PaddleOCR's own values. */
const TEXT_SHARE = 0.3;
const BOX_SCORE = 0.6;
const UNCLIP_RATIO = 1.5;
const MIN_SIDE = 3;
const MAX_BOXES = 1000;

/** @returns in the order of PaddleOCR: from the top, and on one line from the left. */
export function textBoxes(map: TextMap): Corners[] {
  const boxes: Corners[] = [];
  for (const region of regionsOf(map).slice(0, MAX_BOXES)) {
    const rectangle = smallestRectangle(hullOf(region));
    if (Math.min(rectangle.length, rectangle.breadth) < MIN_SIDE) continue;
    if (meanShare(map, cornersOf(rectangle)) < BOX_SCORE) continue;
    const { length, breadth } = rectangle;
    const distance = (length * breadth * UNCLIP_RATIO) / (2 * (length + breadth));
    const grown = {
      ...rectangle,
      length: length + 2 * distance,
      breadth: breadth + 2 * distance,
    };
    if (Math.min(grown.length, grown.breadth) < MIN_SIDE + 2) continue;
    boxes.push(cornersOf(grown));
  }
  return inReadingOrder(boxes);
}

/** Pixels of text that touch, corners included. @returns the ends of their rows as points. */
function regionsOf({ width, height, shares }: TextMap): Point[][] {
  const isOpen = Uint8Array.from(shares, (share) => (share > TEXT_SHARE ? 1 : 0));
  const regions: Point[][] = [];
  for (let start = 0; start < isOpen.length; start++) {
    if (isOpen[start] !== 1) continue;
    isOpen[start] = 0;
    const stack = [start];
    const region: Point[] = [];
    for (let pixel = stack.pop(); pixel !== undefined; pixel = stack.pop()) {
      const [x, y] = [pixel % width, Math.floor(pixel / width)];
      region.push([x, y]);
      for (let row = Math.max(0, y - 1); row <= Math.min(height - 1, y + 1); row++) {
        for (let column = Math.max(0, x - 1); column <= Math.min(width - 1, x + 1); column++) {
          const neighbour = row * width + column;
          if (isOpen[neighbour] !== 1) continue;
          isOpen[neighbour] = 0;
          stack.push(neighbour);
        }
      }
    }
    regions.push(region);
  }
  return regions;
}

/** Convex hull, by Andrew's monotone chain. */
function hullOf(points: readonly Point[]): Point[] {
  const sorted = points.toSorted(([ax, ay], [bx, by]) => ax - bx || ay - by);
  if (sorted.length < 3) return sorted;
  const half = (ordered: readonly Point[]): Point[] => {
    const chain: Point[] = [];
    for (const point of ordered) {
      for (let [a, b] = chain.slice(-2); b !== undefined; [a, b] = chain.slice(-2)) {
        if (a === undefined || turn(a, b, point) > 0) break;
        chain.pop();
      }
      chain.push(point);
    }
    return chain.slice(0, -1);
  };
  return [...half(sorted), ...half(sorted.toReversed())];
}

function turn([ax, ay]: Point, [bx, by]: Point, [cx, cy]: Point): number {
  return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
}

/** The rectangle of the least area around a hull: one of its sides lies on one of the hull's. */
function smallestRectangle(hull: readonly Point[]): Rectangle {
  let best: Rectangle | undefined;
  for (const [index, from] of hull.entries()) {
    const to = hull[(index + 1) % hull.length] ?? from;
    const size = Math.hypot(to[0] - from[0], to[1] - from[1]);
    const direction: Point =
      size === 0 ? [1, 0] : [(to[0] - from[0]) / size, (to[1] - from[1]) / size];
    const rectangle = rectangleAlong(hull, direction);
    if (best === undefined || rectangle.length * rectangle.breadth < best.length * best.breadth) {
      best = rectangle;
    }
  }
  return best ?? { centre: [0, 0], direction: [1, 0], length: 0, breadth: 0 };
}

function rectangleAlong(hull: readonly Point[], direction: Point): Rectangle {
  const [dx, dy] = direction;
  const along = hull.map(([x, y]) => x * dx + y * dy);
  const across = hull.map(([x, y]) => y * dx - x * dy);
  const [a, b] = [Math.min(...along), Math.max(...along)];
  const [c, d] = [Math.min(...across), Math.max(...across)];
  const [u, v] = [(a + b) / 2, (c + d) / 2];
  return { centre: [u * dx - v * dy, u * dy + v * dx], direction, length: b - a, breadth: d - c };
}

/** Of its four corners the two at the left, then the two at the right, the upper first in both. */
function cornersOf({ centre: [x, y], direction: [dx, dy], length, breadth }: Rectangle): Corners {
  const corner = (along: number, across: number): Point => [
    x + (along * length * dx - across * breadth * dy) / 2,
    y + (along * length * dy + across * breadth * dx) / 2,
  ];
  const byX = [corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1)];
  byX.sort((a, b) => a[0] - b[0]);
  const [left, right] = [byX.slice(0, 2), byX.slice(2)];
  for (const side of [left, right]) side.sort((a, b) => a[1] - b[1]);
  const [[topLeft, bottomLeft], [topRight, bottomRight]] = [left, right] as [Point[], Point[]];
  return [topLeft, topRight, bottomRight, bottomLeft] as unknown as Corners;
}

/** Mean over the pixels whose middle is inside a box. */
function meanShare({ width, height, shares }: TextMap, corners: Corners): number {
  const xs = corners.map(([x]) => x);
  const ys = corners.map(([, y]) => y);
  let sum = 0;
  let count = 0;
  const lastY = Math.min(height - 1, Math.ceil(Math.max(...ys)));
  const lastX = Math.min(width - 1, Math.ceil(Math.max(...xs)));
  for (let y = Math.max(0, Math.floor(Math.min(...ys))); y <= lastY; y++) {
    for (let x = Math.max(0, Math.floor(Math.min(...xs))); x <= lastX; x++) {
      const isInside = corners.every((from, index) => {
        const to = corners[(index + 1) % corners.length] ?? from;
        return turn(from, to, [x, y]) >= -1e-6;
      });
      if (!isInside) continue;
      sum += shares[y * width + x] ?? 0;
      count++;
    }
  }
  return count === 0 ? 0 : sum / count;
}

/** How far the tops of boxes of one line may be apart, in pixels of the page. */
const SAME_LINE = 10;

/** Also for boxes that were brought to the size of the page. */
export function inReadingOrder(boxes: readonly Corners[]): Corners[] {
  const sorted = boxes.toSorted(([[ax, ay]], [[bx, by]]) => ay - by || ax - bx);
  for (let end = 1; end < sorted.length; end++) {
    for (let place = end; place > 0; place--) {
      const [before, here] = [sorted[place - 1], sorted[place]];
      if (before === undefined || here === undefined) break;
      if (Math.abs(here[0][1] - before[0][1]) >= SAME_LINE || here[0][0] >= before[0][0]) break;
      sorted[place - 1] = here;
      sorted[place] = before;
    }
  }
  return sorted;
}
