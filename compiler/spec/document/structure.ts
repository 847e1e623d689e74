/** Parses a document by its schema. */
import assert from "node:assert/strict";
import { nearest, suggestion } from "stratagem-runtime/internal/base/nearest";
import type * as z from "zod";
import type { KeyPath, SourceDocument } from "./document.ts";
import { withExpressionBudget } from "./expression.ts";
import { invalid, type Mistake, missing, refuse, show } from "./mistakes.ts";

/** Returns the document's value parsed by its schema. @throws InputError for the first mistake. */
export function parseStructure<S extends z.ZodType>(
  document: SourceDocument,
  schema: S,
): z.output<S> {
  const result = withExpressionBudget(() => schema.safeParse(document.value));
  if (result.success) return result.data;
  refuse(document, issueMistakes(result.error.issues, document.value, []));
  assert.fail("expected a mistake for the issue");
}

function* issueMistakes(
  issues: readonly z.core.$ZodIssue[],
  root: unknown,
  base: KeyPath,
): Generator<Mistake> {
  for (const issue of issues) yield* mistakesOf(issue, root, base);
}

/**
 * Converts an issue to mistakes. Fields of a schema put their expectation in the issue's message
 * (see fields.ts); an object with unknown keys puts its known keys there, one per line.
 */
function* mistakesOf(issue: z.core.$ZodIssue, root: unknown, base: KeyPath): Generator<Mistake> {
  const path = [...base, ...issue.path.map((key) => (typeof key === "number" ? key : String(key)))];
  if (issue.code === "unrecognized_keys") {
    const known = issue.message.split("\n");
    for (const key of issue.keys) {
      const message = `unknown key ${show(key)}${suggestion(key, known)}`;
      yield { code: "INPUT_UNKNOWN_KEY", path: [...path, key], message };
    }
    return;
  }
  if (issue.code === "invalid_key") {
    const expected = issue.issues[0]?.message ?? issue.message;
    yield invalid(path, `${expected} as key`, show(path.at(-1)));
    return;
  }
  if (issue.code === "invalid_union") {
    const branch = issue.errors.find(isAboutContent);
    if (branch !== undefined) {
      yield* issueMistakes(branch, root, path);
      return;
    }
  }
  const found = valueAt(root, path);
  if (found === undefined) yield missing(path, issue.message);
  else yield invalid(path, issue.message + limitOf(issue), show(found) + remark(issue, found));
}

/**
 * Returns whether all issues of a union's branch are about the inside of the value, which means
 * that this branch was intended.
 */
function isAboutContent(issues: readonly z.core.$ZodIssue[]): boolean {
  return (
    issues.length > 0 &&
    issues.every(
      ({ path, code }) => path.length > 0 || code === "unrecognized_keys" || code === "too_big",
    )
  );
}

/** Returns a limit beyond the field's phrase, from any branch of a union. */
function limitOf(issue: z.core.$ZodIssue): string {
  const inner = issue.code === "invalid_union" ? issue.errors.flat() : [issue];
  const limits = inner.map((one) => {
    const { limit } = one.code === "custom" ? (one.params ?? {}) : {};
    return limit;
  });
  const limit = limits.find((one) => typeof one === "string");
  return limit === undefined ? "" : `, ${limit}`;
}

function remark(issue: z.core.$ZodIssue, found: unknown): string {
  if (issue.code === "too_big" && Array.isArray(found)) return ` of ${found.length}`;
  if (issue.code === "custom") {
    const { reason } = issue.params ?? {};
    return typeof reason === "string" ? ` (${reason})` : "";
  }
  const near = typeof found === "string" ? nearest(found, choicesOf(issue)) : null;
  return near === null ? "" : `; did you mean ${show(near)}?`;
}

function choicesOf(issue: z.core.$ZodIssue): string[] {
  if (issue.code === "invalid_value") return issue.values.map(String);
  return issue.code === "invalid_union" && "options" in issue
    ? (issue.options ?? []).map(String)
    : [];
}

function valueAt(root: unknown, path: KeyPath): unknown {
  let value = root;
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Readonly<Record<string | number, unknown>>)[key];
  }
  return value;
}
