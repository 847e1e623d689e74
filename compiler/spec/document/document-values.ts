/** Converts a parsed document to plain values, resolving aliases, and locates them. */
import {
  type Alias,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type LineCounter,
  type Node,
  type Pair,
  type YAMLMap,
} from "yaml";
import { type ParsedDocument, placedError } from "./document-parser.ts";
import type { InputError } from "./input-error.ts";

/** Keys and indices from the root of a document to a value. */
export type KeyPath = readonly (string | number)[];

export interface Place {
  /** Counted from 1. */
  readonly line: number;
  /** Characters from the start of the file to the key or list item. */
  readonly start: number;
  /** Characters from the start of the file to the end of the value. */
  readonly end: number;
}

/** Most values of a document, with aliases expanded, to limit expansion. */
const MAX_VALUES = 200_000;

type Target = Node | null;

/** Values and places of a document's nodes. */
export class DocumentValues {
  readonly value: unknown;
  readonly #contents: Target;
  readonly #lines: LineCounter;
  readonly #file: string;
  /** Anchors read so far, by name. */
  readonly #anchors = new Map<string, Node>();
  readonly #targets = new Map<Alias, Node>();
  readonly #pairs = new Map<YAMLMap, ReadonlyMap<string, Pair>>();
  /** Values of anchored nodes and their counts; null while a node is being read. */
  readonly #known = new Map<Node, { readonly value: unknown; readonly count: number } | null>();
  #count = 0;

  /** @throws InputError naming `file` for duplicate keys, and for unknown or too large aliases. */
  constructor({ document, lines }: ParsedDocument, file: string) {
    this.#contents = document.contents;
    this.#lines = lines;
    this.#file = file;
    this.value = this.#valueOf(document.contents);
  }

  /** Returns the place of the deepest existing value on `path`. */
  locate(path: KeyPath): Place {
    let node: Target | undefined = this.#contents;
    let start = node?.range?.[0] ?? 0;
    for (const key of path) {
      const container: Target | undefined = isAlias(node) ? this.#targets.get(node) : node;
      const step = this.#enter(container, key);
      if (step === null) break;
      node = step.value;
      start = step.start;
    }
    return { line: this.#lines.linePos(start).line, start, end: node?.range?.[1] ?? start };
  }

  #valueOf(node: unknown): unknown {
    this.#add(1, node);
    if (isAlias(node)) return this.#aliased(node);
    if (!isNode(node)) return null;
    const anchor = "anchor" in node ? node.anchor : undefined;
    if (anchor === undefined) return this.#ownValue(node);
    this.#anchors.set(anchor, node);
    this.#known.set(node, null);
    const before = this.#count;
    const value = this.#ownValue(node);
    this.#known.set(node, { value, count: this.#count - before });
    return value;
  }

  #ownValue(node: Node): unknown {
    if (isMap(node)) return this.#mapping(node);
    if (isSeq(node)) return node.items.map((item) => this.#valueOf(item));
    return isScalar(node) ? node.value : null;
  }

  #mapping(node: YAMLMap): Record<string, unknown> {
    const pairs = new Map<string, Pair>();
    const entries: [string, unknown][] = [];
    for (const pair of node.items) {
      const key = isScalar(pair.key) ? String(pair.key.value) : "";
      this.#valueOf(pair.key);
      if (pairs.has(key)) {
        throw this.#error(pair.key, "expected different keys in one mapping, got this one twice");
      }
      pairs.set(key, pair);
      entries.push([key, this.#valueOf(pair.value)]);
    }
    this.#pairs.set(node, pairs);
    // Treats keys such as __proto__ like any other.
    return Object.fromEntries(entries);
  }

  #aliased(alias: Alias): unknown {
    const target = this.#anchors.get(alias.source);
    if (target === undefined) {
      throw this.#error(alias, "expected the name of an anchor above, got an unknown one");
    }
    this.#targets.set(alias, target);
    const known = this.#known.get(target);
    if (known === undefined || known === null) {
      throw this.#error(alias, "expected an anchor that ends above, got one around its alias");
    }
    this.#add(known.count, alias);
    return known.value;
  }

  #add(count: number, node: unknown): void {
    this.#count += count;
    if (this.#count <= MAX_VALUES) return;
    throw this.#error(node, `expected at most ${MAX_VALUES} values, aliases followed, got more`);
  }

  #error(node: unknown, message: string): InputError {
    const offset = isNode(node) ? (node.range?.[0] ?? 0) : 0;
    return placedError(this.#file, this.#lines, offset, message);
  }

  #enter(
    node: Target | undefined,
    key: string | number,
  ): { readonly start: number; readonly value: Target } | null {
    if (isMap(node)) {
      const pair = this.#pairs.get(node)?.get(String(key));
      if (pair === undefined) return null;
      const start = isNode(pair.key) ? (pair.key.range?.[0] ?? 0) : 0;
      return { start, value: isNode(pair.value) ? pair.value : null };
    }
    const item = isSeq(node) ? node.items[Number(key)] : undefined;
    return isNode(item) ? { start: item.range?.[0] ?? 0, value: item } : null;
  }
}
