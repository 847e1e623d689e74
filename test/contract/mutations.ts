/** Changes to the files of bundles, at random: of their bytes, and of the values in them. */
import { Rng } from "../../runtime/core/rng.ts";
import { plainPayload } from "../support/bundle-fixtures.ts";

const SEED = 20_241_121;

/** Throws of a seed, the same each time. */
export class Dice {
  readonly #rng: Rng;

  constructor(stream: number) {
    this.#rng = new Rng(SEED, stream);
  }

  below(count: number): number {
    return Math.floor(this.#rng.nextFloat() * count);
  }

  pick<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[this.below(items.length)] ?? items[0];
  }
}

/** One to four flips, sets, truncations, insertions and splices. */
export function mutateBytes(bytes: Uint8Array, dice: Dice): Uint8Array {
  let mutated = Buffer.from(bytes);
  for (let left = 1 + dice.below(4); left > 0; left--) {
    const at = dice.below(mutated.length);
    const [head, tail] = [mutated.subarray(0, at), mutated.subarray(at)];
    const kind = dice.below(8);
    if (kind < 3) mutated[at] = (mutated[at] ?? 0) ^ (1 << dice.below(8));
    else if (kind < 5) mutated[at] = dice.below(256);
    else if (kind === 5) mutated = Buffer.from(head);
    else if (kind === 6) mutated = Buffer.concat([head, Buffer.of(dice.below(256)), tail]);
    else {
      const from = dice.below(mutated.length);
      const chunk = mutated.subarray(from, from + dice.below(40));
      mutated = Buffer.concat([head, chunk, tail.subarray(dice.below(40))]);
    }
  }
  return mutated;
}

type Container = Record<string | number, unknown>;

const HOSTILE: readonly [unknown, ...unknown[]] = [
  null,
  true,
  -1,
  0,
  -0,
  1,
  0.5,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  1e300,
  5e-324,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  2n ** 60n,
  "",
  "small",
  "../x",
  "a\u0000b",
  "\ud800",
  "__proto__",
  [],
  {},
  Buffer.alloc(3),
  Buffer.alloc(80, 0xff),
  new Date(0),
  new Map([[1, 2]]),
];

/**
 * One or two changes to a place in the decoded payload: another value, a near value, a table cell,
 * a missing, extra or doubled item.
 */
export function mutateValue(file: Uint8Array, dice: Dice): unknown {
  const payload = plainPayload(file);
  for (let left = 1 + dice.below(3) * dice.below(2); left > 0; left--) {
    let parent: Container = payload;
    let key = someKey(parent, dice);
    for (let child = parent[key]; isContainer(child); child = parent[key]) {
      if (Object.keys(child).length === 0 || dice.below(20) === 0) break;
      parent = child;
      key = someKey(parent, dice);
    }
    mutatePlace(parent, key, dice);
  }
  return payload;
}

/**
 * A key at random; the first of three draws that leads on, since most of what there is to break
 * lies deep.
 */
function someKey(parent: Container, dice: Dice): string {
  const keys = Object.keys(parent);
  const draws = [0, 1, 2].map(() => keys[dice.below(keys.length)] ?? "");
  return draws.find((key) => typeof parent[key] === "object") ?? draws[0] ?? "";
}

function isContainer(value: unknown): value is Container {
  return typeof value === "object" && value !== null && !ArrayBuffer.isView(value);
}

function mutatePlace(parent: Container, key: string, dice: Dice): void {
  const found = parent[key];
  const kind = dice.below(12);
  if (kind === 0) Array.isArray(parent) ? parent.splice(Number(key), 1) : delete parent[key];
  else if (kind === 1) Array.isArray(parent) ? parent.push(found) : setKey(parent, dice);
  else if (ArrayBuffer.isView(found) && kind < 11) mutateCell(found as Uint8Array, dice);
  else if (typeof found === "number" && kind < 9)
    parent[key] = found + dice.pick([-1, 1, 0.5, 1e9]);
  else parent[key] = dice.pick(HOSTILE);
}

function setKey(parent: Container, dice: Dice): void {
  parent[dice.pick(["extra", "__proto__x", "constructor", "toString", "then"])] =
    dice.pick(HOSTILE);
}

function mutateCell(bytes: Uint8Array, dice: Dice): void {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (data.length === 0) return;
  if (data.length % 8 === 0 && dice.below(2) === 0) {
    const value = dice.pick([Number.NaN, -0, 0, -1, Number.POSITIVE_INFINITY, 1e12, 50]);
    data.writeDoubleLE(value, 8 * dice.below(data.length / 8));
  } else if (data.length % 2 === 0) {
    const value = dice.pick([0, 1, 5, 9, 10, 0xffff, dice.below(65_536)]);
    data.writeUInt16LE(value, 2 * dice.below(data.length / 2));
  } else data[dice.below(data.length)] = dice.below(256);
}
