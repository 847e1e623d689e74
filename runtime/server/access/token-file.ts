/** Parser of the token file: clients by name, with their scopes. */
import { type Document, isMap, isSeq, LineCounter, type Node, parseDocument } from "yaml";
import { RuntimeError } from "../../base/errors.ts";
import { INSTANT_EXPECTED, instantMs } from "../../base/instant.ts";
import { suggestion } from "../../base/nearest.ts";
import { readRegularFile } from "../../base/regular-file.ts";
import { SCOPES, type Scope } from "./scopes.ts";
import { HASH_EXPECTED, parsedHash, type TokenHash } from "./token-hash.ts";

export interface Token {
  /** Unique in the file. */
  readonly name: string;
  readonly hash: TokenHash;
  readonly scopes: ReadonlySet<Scope>;
  /** Expiry, milliseconds since 1970; infinite without one. */
  readonly expiresMs: number;
}

/** Far more than 10,000 tokens need. */
const MAX_BYTES = 4 * 2 ** 20;
const MAX_TOKENS = 10_000;
const KEYS = ["name", "hash", "scopes", "expires"];
const NAME = /^[\w.@+-]{1,64}$/;

/**
 * Reads a list of `{name, hash, scopes, expires}` in YAML or JSON; `[]` admits no client.
 * @throws RuntimeError RUNTIME_UNREADABLE, or RUNTIME_ACCESS for an invalid file.
 */
export async function readTokenFile(path: string): Promise<Token[]> {
  const { bytes, isTooLarge } = await readRegularFile(path, MAX_BYTES).catch((error) => {
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    throw new RuntimeError("RUNTIME_UNREADABLE", `${path}: expected a file, got ${reason}`);
  });
  if (isTooLarge) throw refusal(path, `expected at most ${MAX_BYTES} bytes`);
  return tokensOf(bytes.toString(), path);
}

/** @throws RuntimeError RUNTIME_ACCESS with the place, the value found and the values allowed. */
export function tokensOf(text: string, path: string): Token[] {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    logLevel: "error",
  });
  const placeAt = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return `${path}:${line}:${col}`;
  };
  const fault = document.errors[0] ?? document.warnings[0];
  if (fault !== undefined) throw refusal(placeAt(fault.pos[0]), fault.message);
  const items = itemsOf(document, path);
  if (items.length > MAX_TOKENS) {
    throw refusal(path, `expected at most ${MAX_TOKENS} tokens, got ${items.length}`);
  }
  const found = new Map<string, Token>();
  for (const item of items) {
    const place = placeAt(item.range?.[0] ?? 0);
    const token = tokenOf(item, document, place);
    if (found.has(token.name)) {
      throw refusal(place, `name: expected a unique name, got "${token.name}" again`);
    }
    found.set(token.name, token);
  }
  return [...found.values()];
}

function itemsOf({ contents }: Document, path: string): Node[] {
  if (isSeq(contents)) return contents.items as Node[];
  // A file truncated while it was written must not lock out all clients.
  const found = contents === null ? "nothing" : "something else";
  throw refusal(path, `expected a list of tokens, or [] for none, got ${found}`);
}

function tokenOf(item: Node, document: Document, place: string): Token {
  if (!isMap(item)) throw refusal(place, "expected {name, hash, scopes}");
  const fields = fieldsOf(item, document, place);
  for (const key of Object.keys(fields)) {
    if (KEYS.includes(key)) continue;
    const found = `"${key.slice(0, 100)}"${suggestion(key, KEYS)}`;
    throw refusal(place, `expected one of ${KEYS.join(", ")}, got ${found}`);
  }
  const { name, hash, scopes, expires } = fields;
  if (typeof name !== "string" || !NAME.test(name)) {
    const expected = "expected 1 to 64 letters, digits and . _ @ + -";
    throw refusal(place, `name: ${expected}, got ${quoted(name)}`);
  }
  // The value may be the token itself, so the message does not quote it.
  const parsed = typeof hash === "string" ? parsedHash(hash) : undefined;
  if (parsed === undefined) throw refusal(place, `hash of ${name}: expected ${HASH_EXPECTED}`);
  return {
    name,
    hash: parsed,
    scopes: scopesOf(scopes, name, place),
    expiresMs: expiryOf(expires, name, place),
  };
}

function fieldsOf(
  item: Node,
  document: Document,
  place: string,
): Readonly<Record<string, unknown>> {
  try {
    return item.toJS(document, { maxAliasCount: 0 }) as Readonly<Record<string, unknown>>;
  } catch (error) {
    throw refusal(place, `expected no aliases: ${(error as Error).message}`);
  }
}

function scopesOf(value: unknown, name: string, place: string): ReadonlySet<Scope> {
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  const scopes = new Set(SCOPES.filter((scope) => list.includes(scope)));
  if (scopes.size > 0 && scopes.size === list.length) return scopes;
  const expected = `expected a list of ${SCOPES.join(", ")}`;
  throw refusal(place, `scopes of ${name}: ${expected}, got ${quoted(value)}`);
}

function expiryOf(value: unknown, name: string, place: string): number {
  if (value === undefined || value === null) return Number.POSITIVE_INFINITY;
  // A date without a time ends the token at the start of that day.
  const ms = instantMs(value);
  if (ms !== undefined) return ms;
  const expected = `expected ${INSTANT_EXPECTED}`;
  throw refusal(place, `expires of ${name}: ${expected}, got ${quoted(value)}`);
}

function refusal(place: string, message: string): RuntimeError {
  return new RuntimeError("RUNTIME_ACCESS", `${place}: ${message}`);
}

function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
