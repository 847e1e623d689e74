/** Bundles that are almost right: changed by what the format says, and re-signed. */
import type { Rng } from "stratagem-runtime/internal/core/rng";
import { type Container, packed, payloadOf, signed } from "./signed-file.ts";
import { placeAt, type Site, sitesOf, type TablePayload } from "./sites.ts";

/** Of the mutants, those whose bytes are changed after packing. */
const RAW_SHARE = 0.05;
/** Of the others, those with a second change, and of these with a third. */
const MORE_SHARE = 0.35;

const NUMBERS = [
  0,
  -0,
  1,
  -1,
  2,
  0.5,
  1e-9,
  5e-324,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  1e12,
  1e300,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
];
const TEXTS = [
  "",
  "__proto__",
  "constructor",
  "x".repeat(1025),
  "a\u0000b",
  "../x",
  "é\u202e",
  "0",
];
const KEYS = ["__proto__x", "constructor", "toString", "extra", "then", "__proto__"];
const OTHERS = [null, true, false, 0, "x", [], {}, 2n ** 60n, Buffer.alloc(8)];
/** Not-a-numbers with a payload, a subnormal, and numbers at the ends. */
const CELLS = ["7ff0000000000001", "fff8dead00000000", "0000000000000001", "8000000000000000"];
/** Heads of msgpack that promise more than there is. */
const HEADS = ["ddffffffff", "dfffffffff", "dbffffffff", "c6ffffffff", "dd00100000", "9f9f9f9f9f"];

/** One bundle file and everything that can be changed in it. */
export class Mutants {
  readonly #file: Uint8Array;
  readonly #sites: readonly Site[];
  readonly #numbers: readonly Site[];
  readonly #tables: readonly Site[];
  readonly #rng: Rng;

  constructor(file: Uint8Array, rng: Rng) {
    this.#file = file;
    this.#sites = sitesOf(payloadOf(file));
    this.#numbers = this.#sites.filter(({ kind }) => kind === "number");
    this.#tables = this.#sites.filter(({ kind }) => kind === "table");
    this.#rng = rng;
  }

  /** The next file; what was changed stands in `told`. */
  next(): { readonly file: Uint8Array; readonly told: string } {
    const payload = payloadOf(this.#file);
    const told: string[] = [];
    if (this.#chance(RAW_SHARE)) {
      const bytes = this.#rawChange(packed(payload));
      return { file: signed(this.#file, bytes), told: "bytes" };
    }
    do told.push(this.#change(payload));
    while (told.length < 3 && this.#chance(MORE_SHARE));
    return { file: signed(this.#file, packed(payload)), told: told.join("; ") };
  }

  #change(payload: Container): string {
    // A change before may have taken the place away.
    const site = this.#chance(0.5) ? this.#pick(this.#numbers) : this.#pick(this.#sites);
    try {
      return `${site.path.join(".")} ${this.#changeAt(payload, site)}`;
    } catch (error) {
      if (error instanceof TypeError) return "gone";
      throw error;
    }
  }

  #changeAt(payload: Container, site: Site): string {
    const [parent, key] = placeAt(payload, site.path);
    if (site.path.length === 0) return this.#changeMap(payload);
    if (this.#chance(0.03)) return set(parent, key, this.#pick(OTHERS));
    switch (site.kind) {
      case "number":
        return set(parent, key, this.#number(payload, site, Number(parent[key])));
      case "text":
        return set(parent, key, this.#text(payload, String(parent[key])));
      case "list":
        return this.#changeList(parent[key] as unknown[]);
      case "map":
        return this.#changeMap(parent[key] as Container);
      case "table":
        return this.#changeTable(payload, parent[key] as TablePayload);
      default:
        return set(parent, key, this.#other(site, parent[key]));
    }
  }

  #number(payload: Container, { range }: Site, found: number): number {
    const [min, max] = range ?? [0, 1];
    const isWhole = Number.isInteger(found);
    switch (this.#below(9)) {
      case 0:
        return min;
      case 1:
        return max;
      case 2:
        return isWhole ? min - 1 : min * (1 - 1e-6);
      case 3:
        return isWhole ? max + 1 : max * (1 + 1e-6);
      case 4:
        return found + this.#pick(isWhole ? [-1, 1, 2] : [1e-9, -1e-9, 1e-3]);
      case 5:
        return found * this.#pick([2, 0.5, 10, 0.999999, 1.5]);
      case 6: {
        const [parent, key] = placeAt(payload, this.#pick(this.#numbers).path);
        return Number(parent[key]);
      }
      case 7: {
        const between = min + this.#rng.nextFloat() * (max - min);
        return isWhole ? Math.floor(between) : between;
      }
      default:
        return this.#pick(NUMBERS);
    }
  }

  #text(payload: Container, found: string): string {
    if (this.#chance(0.3)) return this.#pick(TEXTS);
    if (this.#chance(0.3)) return `${found}2`;
    const texts = this.#sites.filter(({ kind }) => kind === "text");
    const [parent, key] = placeAt(payload, this.#pick(texts).path);
    return String(parent[key]);
  }

  /** Nil where a value may be, a value where nil is, and the other truth. */
  #other({ range }: Site, found: unknown): unknown {
    if (typeof found === "boolean") return !found;
    return range === undefined ? this.#pick(OTHERS) : this.#pick(range);
  }

  #changeList(items: unknown[]): string {
    const at = this.#below(items.length || 1);
    const other = this.#below(items.length || 1);
    switch (this.#below(5)) {
      case 0:
        items.splice(at, 1);
        return `less ${at}`;
      case 1:
        items.push(structuredClone(items[at]));
        return `and ${at} again`;
      case 2:
        [items[at], items[other]] = [items[other], items[at]];
        return `${at} and ${other} swapped`;
      case 3:
        items[at] = structuredClone(items[other]);
        return `${other} at ${at}`;
      default:
        items.length = 0;
        return "emptied";
    }
  }

  #changeMap(map: Container): string {
    const keys = Object.keys(map);
    const key = this.#pick(keys.length === 0 ? [""] : keys);
    const kind = this.#below(3);
    if (kind === 0) {
      delete map[key];
      return `less ${key}`;
    }
    if (kind === 1) {
      const other = this.#pick(keys);
      [map[key], map[other]] = [map[other], map[key]];
      return `${key} and ${other} swapped`;
    }
    const added = this.#pick(KEYS);
    const entries = [...Object.entries(map), [added, this.#pick(OTHERS)] as const];
    entries.sort(([a], [b]) => (a < b ? -1 : 1));
    for (const name of keys) delete map[name];
    for (const [name, value] of entries) {
      Object.defineProperty(map, name, {
        value,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return `and ${added}`;
  }

  #changeTable(payload: Container, table: TablePayload): string {
    const { data, shape } = table;
    const width = table.dtype === "uint16" ? 2 : 8;
    switch (this.#below(8)) {
      case 0: {
        const axis = this.#below(shape.length);
        shape[axis] = (shape[axis] ?? 0) + this.#pick([-1, 1]);
        return `shape ${shape}`;
      }
      case 1: {
        const axis = this.#below(shape.length);
        const by = this.#pick([-1, 1]);
        const rest = shape.reduce(
          (product, size, at) => (at === axis ? product : product * size),
          1,
        );
        shape[axis] = (shape[axis] ?? 0) + by;
        const resized = Buffer.alloc(Math.max(0, data.length + by * rest * width));
        resized.set(data.subarray(0, resized.length));
        if (by > 0) resized.copyWithin(data.length, Math.max(0, data.length - rest * width));
        table.data = resized;
        return `shape and data ${shape}`;
      }
      case 2:
        shape.reverse();
        return `shape reversed ${shape}`;
      case 3:
        table.dtype = table.dtype === "uint16" ? "float64" : "uint16";
        return table.dtype;
      case 4: {
        const [parent, key] = placeAt(payload, this.#pick(this.#tables).path);
        const other = parent[key] as TablePayload;
        [table.data, other.data] = [other.data, table.data];
        [table.shape, other.shape] = [other.shape, table.shape];
        return `swapped with ${String(key)}`;
      }
      default:
        return this.#changeCell(data, width);
    }
  }

  #changeCell(data: Uint8Array, width: number): string {
    if (data.length < width) return "no cell";
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    const at = width * this.#below(data.length / width);
    if (width === 2) {
      const found = view.getUint16(at, true);
      const value = this.#pick([0, 1, found + 1, found - 1, 65_533, 65_534, 65_535, 2 * found]);
      view.setUint16(at, value, true);
      return `cell ${at / width} ${value}`;
    }
    const found = view.getFloat64(at, true);
    if (this.#chance(0.2)) view.setBigUint64(at, BigInt(`0x${this.#pick(CELLS)}`), true);
    else {
      const near = [found * 1.000001, found * 2, found / 2, found + 1, found - 1, 1e-3, 3.6e6];
      view.setFloat64(at, this.#pick(this.#chance(0.7) ? near : NUMBERS), true);
    }
    return `cell ${at / width} ${view.getFloat64(at, true)}`;
  }

  #rawChange(payload: Uint8Array): Uint8Array {
    const at = this.#below(payload.length);
    const [head, tail] = [payload.subarray(0, at), payload.subarray(at)];
    switch (this.#below(5)) {
      case 0:
        return Buffer.concat([head, Buffer.from(this.#pick(HEADS), "hex"), tail]);
      case 1:
        return Buffer.concat([head, Buffer.from(this.#pick(HEADS), "hex"), tail.subarray(5)]);
      case 2:
        return Buffer.from(head);
      case 3:
        return Buffer.concat([head, Buffer.of(this.#below(256)), tail.subarray(1)]);
      default:
        return Buffer.concat([Buffer.alloc(this.#below(40), 0x91), tail]);
    }
  }

  #below(count: number): number {
    return Math.floor(this.#rng.nextFloat() * count);
  }

  #chance(share: number): boolean {
    return this.#rng.nextFloat() < share;
  }

  #pick<Item>(items: readonly Item[]): Item {
    const item = items[this.#below(items.length)];
    if (item === undefined && items.length === 0) throw new TypeError("there is nothing to pick");
    return item as Item;
  }
}

function set(parent: Container, key: string | number, value: unknown): string {
  parent[key] = value;
  if (typeof value === "bigint") return `${value}`;
  return (JSON.stringify(value) ?? String(value)).slice(0, 60);
}
