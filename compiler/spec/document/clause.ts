/**
 * Common syntax of requirements and tolerances: clauses separated by semicolons, with their queries
 * and levels.
 */
import { suggestion } from "stratagem-runtime/internal/base/nearest";
import { show } from "./mistakes.ts";
import { readQuantity } from "./quantity.ts";

/** Reason why a clause cannot be read; `expected` completes a sentence after "expected". */
export class Unreadable {
  readonly expected: string;
  readonly found: string;

  constructor(expected: string, found: string) {
    this.expected = expected;
    this.found = found;
  }
}

/** Queries that a figure is about. */
export type Whose =
  | { readonly kind: "all" }
  /** One class or bucket; null for each of them. */
  | { readonly kind: "class" | "bucket"; readonly name: string | null };

/** Levels of a clause. Loads are those that a level decides for, in queries/s. */
export type Scope =
  | { readonly kind: "all" }
  | { readonly kind: "feasible" }
  | { readonly kind: "load"; readonly qps: number }
  /** Null if the range is open at that end. */
  | { readonly kind: "range"; readonly fromQps: number | null; readonly toQps: number | null };

interface Clause {
  /** Text with single spaces. */
  readonly text: string;
  /** Part before the @. */
  readonly body: string;
  readonly scope: Scope;
}

const MAX_LENGTH = 10_000;
const MAX_CLAUSES = 1000;
const SCOPE_FORM =
  "all, feasible, a load such as 1000, or loads such as 100..1000, 100.. or ..1000 after @";

/** Splits a text into clauses, at least one. @param form description of a valid clause. */
export function readClauses(text: string, form: string): readonly Clause[] | Unreadable {
  if (text.length > MAX_LENGTH) {
    return new Unreadable(`at most ${MAX_LENGTH} characters`, String(text.length));
  }
  const parts = text
    .split(";")
    .map((part) => part.split(/\s+/).filter(Boolean).join(" "))
    .filter((part) => part !== "");
  if (parts.length === 0) return new Unreadable(form, show(text));
  if (parts.length > MAX_CLAUSES) {
    return new Unreadable(`at most ${MAX_CLAUSES} clauses`, String(parts.length));
  }
  const clauses: Clause[] = [];
  for (const part of parts) {
    const [body = "", scopeText, ...more] = part.split("@").map((piece) => piece.trim());
    if (body === "" || more.length > 0) return new Unreadable(form, show(part));
    const scope = scopeText === undefined ? { kind: "all" as const } : readScope(scopeText);
    if (scope instanceof Unreadable) return scope;
    clauses.push({ text: part, body, scope });
  }
  return clauses;
}

function readScope(text: string): Scope | Unreadable {
  if (text === "all" || text === "feasible") return { kind: text };
  const refused = new Unreadable(SCOPE_FORM, show(text));
  const ends = text.split("..");
  if (ends.length === 1) {
    const qps = readLoad(text);
    return qps === null ? refused : { kind: "load", qps };
  }
  const [from = "", to = "", ...more] = ends;
  if (more.length > 0 || (from === "" && to === "")) return refused;
  const fromQps = from === "" ? null : readLoad(from);
  const toQps = to === "" ? null : readLoad(to);
  if ((from !== "" && fromQps === null) || (to !== "" && toQps === null)) return refused;
  if (fromQps !== null && toQps !== null && fromQps > toQps) return refused;
  return { kind: "range", fromQps, toQps };
}

function readLoad(text: string): number | null {
  const reading = readQuantity(text, "rate", true);
  return reading.ok && reading.value > 0 ? reading.value : null;
}

const WHOSE_FORM = "of class NAME, of bucket NAME, of each class or of each bucket";

/**
 * Parses a figure and its queries: `accuracy of class fast`, or `p99`.
 * @param known valid figures.
 */
export function readSubject(
  text: string,
  known: readonly string[],
): { readonly name: string; readonly whose: Whose } | Unreadable {
  const [name = "", ...rest] = text.split(" ").filter((word) => word !== "");
  if (!known.includes(name)) {
    const near = suggestion(name, known);
    return new Unreadable("a figure of promises", `${show(name)}${near}`);
  }
  if (rest.length === 0) return { name, whose: { kind: "all" } };
  const [of, first = "", second = "", ...more] = rest;
  const isEach = first === "each";
  const kind = isEach ? second : first;
  const isKnown = kind === "class" || kind === "bucket";
  if (of !== "of" || !isKnown || second === "" || more.length > 0) {
    return new Unreadable(WHOSE_FORM, show(rest.join(" ")));
  }
  return { name, whose: { kind, name: isEach ? null : second } };
}
