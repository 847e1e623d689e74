/** Reads YAML or JSON and remembers where each value stands. */
import {
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
  type YAMLError,
} from "yaml";
import { InputError } from "./input-error.ts";
import { decodeUtf8, digest, MEBIBYTE, readBytes } from "./source.ts";

/** Keys and indices that lead from the root of a document to a value. */
export type KeyPath = readonly (string | number)[];

/** A YAML or JSON file that was read, and where its values stand. */
export interface SourceDocument {
  /** As messages name it. */
  readonly file: string;
  readonly value: unknown;
  readonly sha256: string;
  /** Place of the deepest value on `path` that exists. */
  readonly locate: (path: KeyPath) => Place;
}

interface Place {
  /** From 1. */
  readonly line: number;
  /** Characters from the start of the file to the key or list item. */
  readonly start: number;
  /** Characters from the start of the file to the end of the value. */
  readonly end: number;
}

const MAX_DOCUMENT_BYTES = 16 * MEBIBYTE;
const MAX_NESTING = 200;
/**
 * Aliases may not expand to more than this many nodes, which stops documents that grow
 * exponentially.
 */
const MAX_ALIAS_COUNT = 100;

/**
 * Reads a YAML 1.2 document; JSON is one.
 * @throws InputError when the file cannot be read or is not well-formed.
 */
export function readDocument(path: string, file: string = path): SourceDocument {
  const read = readBytes(path, MAX_DOCUMENT_BYTES);
  if (!read.ok) {
    throw new InputError(
      "INPUT_UNREADABLE",
      `${file}: expected a readable file, but ${read.reason}`,
    );
  }
  return parseSource(decodeUtf8(read.bytes, file), file, digest(read.bytes));
}

function parseSource(text: string, file: string, sha256: string): SourceDocument {
  if (isNestedTooDeeply(text)) {
    throw new InputError(
      "INPUT_SYNTAX",
      `${file}: expected at most ${MAX_NESTING} levels of nesting`,
    );
  }
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    logLevel: "error",
  });
  const fault = document.errors[0] ?? document.warnings[0];
  if (fault !== undefined) throw syntaxError(fault, file, lines);
  if (document.contents === null) {
    throw new InputError("INPUT_SYNTAX", `${file}: expected YAML or JSON, got an empty file`);
  }
  return {
    file,
    value: toValue(document, file, lines),
    sha256,
    locate: (path) => locate(document, path, lines),
  };
}

/**
 * The parser recurses, and text nested deep enough takes down the process instead of throwing. This
 * counts brackets and runs of list markers before it, also those in strings; nothing sensible comes
 * near the limit.
 */
function isNestedTooDeeply(text: string): boolean {
  let depth = 0;
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    depth += bracket === "[" || bracket === "{" ? 1 : -1;
    if (depth > MAX_NESTING) return true;
  }
  return new RegExp(`(?:[-?:][ \\t]+){${MAX_NESTING}}`).test(text);
}

/** Where the parser's own words would not help. */
const SYNTAX_MESSAGES: Partial<Record<ErrorCode, string>> = {
  DUPLICATE_KEY: "expected different keys in one mapping, got this one twice",
  MULTIPLE_DOCS: "expected one document, got a second",
};

function syntaxError(fault: YAMLError, file: string, lines: LineCounter): InputError {
  const { line, col } = lines.linePos(fault.pos[0]);
  const message = SYNTAX_MESSAGES[fault.code] ?? fault.message.replace(/\s+/g, " ");
  return new InputError("INPUT_SYNTAX", `${file}:${line}:${col}: ${message}`);
}

function toValue(document: Document.Parsed, file: string, lines: LineCounter): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIAS_COUNT });
  } catch (error) {
    // Aliases that are unknown or expand too far come to light only here.
    if (!(error instanceof ReferenceError)) throw error;
    const start = firstUnknownAlias(document);
    if (start === null) {
      const limit = `aliases that expand to at most ${MAX_ALIAS_COUNT} values`;
      throw new InputError("INPUT_SYNTAX", `${file}: expected ${limit}, got more`);
    }
    const { line, col } = lines.linePos(start);
    const message = "expected the name of an anchor above, got an unknown one";
    throw new InputError("INPUT_SYNTAX", `${file}:${line}:${col}: ${message}`);
  }
}

function firstUnknownAlias(document: Document.Parsed): number | null {
  let start: number | null = null;
  visit(document, {
    Alias: (_, alias) => {
      if (alias.resolve(document) !== undefined) return undefined;
      start = alias.range?.[0] ?? 0;
      return visit.BREAK;
    },
  });
  return start;
}

function locate(document: Document.Parsed, path: KeyPath, lines: LineCounter): Place {
  let node: Node | null = document.contents;
  let start = document.contents?.range[0] ?? 0;
  for (const key of path) {
    const container: Node | null | undefined = isAlias(node) ? node.resolve(document) : node;
    const step = enter(container, key);
    if (step === null) break;
    node = step.value;
    start = step.start;
  }
  return { line: lines.linePos(start).line, start, end: node?.range?.[1] ?? start };
}

function enter(
  node: Node | null | undefined,
  key: string | number,
): { start: number; value: Node | null } | null {
  if (isMap(node)) {
    for (const pair of node.items) {
      if (!isScalar(pair.key) || String(pair.key.value) !== String(key)) continue;
      return { start: pair.key.range?.[0] ?? 0, value: isNode(pair.value) ? pair.value : null };
    }
  }
  if (isSeq(node)) {
    const item = node.items[Number(key)];
    if (isNode(item)) return { start: item.range?.[0] ?? 0, value: item };
  }
  return null;
}
