/** Combines mistakes in a spec into one error. */
import type { KeyPath, SourceDocument } from "./document.ts";
import { InputError, type InputErrorCode, type LocatedMistake } from "./input-error.ts";

/** Mistake in the value at `path`; the message says what was found and what is allowed. */
export interface Mistake {
  readonly code: InputErrorCode;
  readonly path: KeyPath;
  readonly message: string;
}

export function invalid(path: KeyPath, expected: string, found: string): Mistake {
  return { code: "INPUT_INVALID_VALUE", path, message: `expected ${expected}, got ${found}` };
}

export function conflict(path: KeyPath, message: string): Mistake {
  return { code: "INPUT_CONFLICT", path, message };
}

export function missing(path: KeyPath, expected: string): Mistake {
  return { code: "INPUT_MISSING_KEY", path, message: `missing; expected ${expected}` };
}

/** Most mistakes of a file that are reported. */
const MAX_MISTAKES = 1000;

/**
 * @throws InputError for the first mistake in document order, with the others; only the first
 * `MAX_MISTAKES` found are considered. Does nothing without mistakes.
 */
export function refuse(document: SourceDocument, mistakes: Iterable<Mistake>): void {
  const found = firstOf(mistakes, MAX_MISTAKES + 1);
  const placed = found
    .slice(0, MAX_MISTAKES)
    .map((mistake) => ({ mistake, ...document.locate(mistake.path) }));
  // A missing key ranks at the end of the mapping that lacks it, so a misspelt key there is
  // reported first: it is likely the cause.
  const rank = (p: (typeof placed)[number]) =>
    p.mistake.code === "INPUT_MISSING_KEY" ? p.end : p.start;
  placed.sort((a, b) => rank(a) - rank(b));
  const [first, ...others] = placed.map(({ mistake }) => located(document, mistake));
  if (found.length > MAX_MISTAKES && first !== undefined) {
    const message = `${document.file}: and more mistakes; at most ${MAX_MISTAKES} are reported`;
    others.push({ code: first.code, message });
  }
  if (first !== undefined) throw new InputError(first.code, first.message, others);
}

function firstOf<T>(items: Iterable<T>, count: number): T[] {
  const first: T[] = [];
  for (const item of items) {
    first.push(item);
    if (first.length === count) break;
  }
  return first;
}

/** @throws InputError for the mistake, always. */
export function fail(document: SourceDocument, mistake: Mistake): never {
  const { code, message } = located(document, mistake);
  throw new InputError(code, message);
}

/** Adds the place to a mistake. */
function located(document: SourceDocument, { code, path, message }: Mistake): LocatedMistake {
  const line = `${document.file}:${document.locate(path).line}`;
  const where = path.length === 0 ? line : `${line} ${pathText(path)}`;
  return { code, message: `${where}: ${message}` };
}

/** Formats a path: `tasks[0].variants[1].accuracy`; keys that are not identifiers are quoted. */
function pathText(path: KeyPath): string {
  const text = path
    .map((key) => {
      if (typeof key === "number") return `[${key}]`;
      return /^[A-Za-z_][\w-]*$/.test(key) ? `.${shorten(key)}` : `[${show(key)}]`;
    })
    .join("");
  return text.replace(/^\./, "");
}

/** Formats a value from a file, short and on one line. */
export function show(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "object")
    return Object.keys(value).length === 0 ? "an empty mapping" : "a mapping";
  if (typeof value !== "string") return String(value);
  return JSON.stringify(shorten(value));
}

function shorten(text: string): string {
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text;
}

const MAX_SHOWN_LENGTH = 60;
