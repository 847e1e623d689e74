/** Parses a document by its schema. */
import assert from "node:assert/strict";
import type * as z from "zod";
import type { KeyPath, SourceDocument } from "./document.ts";
import { invalid, type Mistake, missing, refuse, show } from "./mistakes.ts";
import { nearest, suggestion } from "./nearest.ts";

/** The value of a document as its schema makes it. @throws InputError for the first mistake. */
export function parseStructure<S extends z.ZodType>(
  document: SourceDocument,
  schema: S,
): z.output<S> {
  const result = schema.safeParse(document.value);
  if (result.success) return result.data;
  const mistakes = result.error.issues.flatMap((issue) => mistakesOf(issue, document.value, []));
  refuse(document, mistakes);
  assert.fail("an issue of a schema is a mistake");
}

/**
 * Mistakes behind an issue. The fields of a schema put what they expect in the issue's message (see
 * fields.ts); an object puts its known keys there, one per line, when it reports unknown ones.
 */
function mistakesOf(issue: z.core.$ZodIssue, root: unknown, base: KeyPath): Mistake[] {
  const path = [...base, ...issue.path.map((key) => (typeof key === "number" ? key : String(key)))];
  if (issue.code === "unrecognized_keys") {
    const known = issue.message.split("\n");
    return issue.keys.map((key) => ({
      code: "INPUT_UNKNOWN_KEY",
      path: [...path, key],
      message: `unknown key ${show(key)}${suggestion(key, known)}`,
    }));
  }
  if (issue.code === "invalid_key") {
    const expected = issue.issues[0]?.message ?? issue.message;
    return [invalid(path, `${expected} as key`, show(path.at(-1)))];
  }
  if (issue.code === "invalid_union") {
    const branch = issue.errors.find(isAboutContent);
    if (branch !== undefined) return branch.flatMap((inner) => mistakesOf(inner, root, path));
  }
  const found = valueAt(root, path);
  if (found === undefined) return [missing(path, issue.message)];
  return [invalid(path, issue.message, show(found) + remark(issue, found))];
}

/**
 * Whether the issues of a union's branch are about what is inside the value, so that this branch is
 * the one that was meant.
 */
function isAboutContent(issues: readonly z.core.$ZodIssue[]): boolean {
  return (
    issues.length > 0 &&
    issues.every((issue) => issue.path.length > 0 || issue.code === "unrecognized_keys")
  );
}

function remark(issue: z.core.$ZodIssue, found: unknown): string {
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
