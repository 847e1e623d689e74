/** No regular expression takes more than linear time, whatever text it is given. */
import { readdirSync, readFileSync } from "node:fs";
import { parseSync } from "@swc/core";
import type { check as Check } from "recheck";
import { describe, expect, test } from "vitest";
import { TRIES_ALL } from "./support/cases.ts";

// Decided in this process: what it finds is then the same on every machine.
process.env["RECHECK_BACKEND"] = "pure";
const { check }: { check: typeof Check } = await import("recheck");

/** For those whose every search has to be tried out. */
const SEARCH_MS = 60_000;

interface Expression {
  /** `file:line`. */
  readonly at: string;
  /** Null where it is put together as the program runs, so that nobody can say. */
  readonly source: string | null;
  readonly flags: string;
}

/** Each takes up to seconds to prove, so those proven before are told by their text. */
const PROVEN = "support/linear-expressions.txt";
const ROOMS = ["runtime", "compiler", "kit"];

const EXPRESSIONS = ROOMS.flatMap((room) =>
  sourcesOf(room).flatMap((file) => expressionsIn(file, readFileSync(file, "utf8"))),
);
/** Each text once. */
const BY_TEXT = new Map(EXPRESSIONS.map((one) => [`/${one.source}/${one.flags}`, one] as const));

/** Files that make one of a constant of theirs as the program runs, with another flag. */
const OF_CONSTANTS = ["runtime/bundle/refuse.ts"];

/** What takes minutes is for `npm run test:system`. */
const ifAll: (name: string, run: () => Promise<void>, timeoutMs?: number) => void = TRIES_ALL
  ? test
  : () => {};

describe("regular expressions of the product", () => {
  test("are found, and none is made as the program runs", () => {
    expect(EXPRESSIONS.length).toBeGreaterThan(20);
    const made = EXPRESSIONS.filter(({ source }) => source === null).map(({ at }) => at);
    expect(made.map((at) => at.replace(/:\d+$/, ""))).toEqual(OF_CONSTANTS);
  });

  test("take time that is linear in the text", async () => {
    const proven = new Set(readFileSync(new URL(PROVEN, import.meta.url), "utf8").split("\n"));
    const slow: string[] = [];
    for (const [text, { at, source, flags }] of BY_TEXT) {
      if (source === null || proven.has(text)) continue;
      const found = await problemOf(source, flags);
      if (found !== undefined) slow.push(`${at}: ${found}`);
    }
    expect(slow).toEqual([]);
  }, 300_000);

  test("are those of the list, which STRATAGEM_CASES=all and vitest -u write anew", () => {
    const listed = readFileSync(new URL(PROVEN, import.meta.url), "utf8")
      .trimEnd()
      .split("\n");
    const found = [...BY_TEXT].filter(([, { source }]) => source !== null).map(([text]) => text);
    expect(listed).toEqual(found.sort());
  });

  ifAll(
    "are all proven again, and are those of the list",
    async () => {
      const linear: string[] = [];
      for (const [text, { source, flags }] of BY_TEXT) {
        if (source === null) continue;
        if ((await problemOf(source, flags)) === undefined) linear.push(text);
      }
      await expect(`${linear.sort().join("\n")}\n`).toMatchFileSnapshot(PROVEN);
    },
    300_000,
  );
});

test("a slow one is found, and told with its place", async () => {
  const [found, second] = expressionsIn("a.ts", "const b = 1;\nconst c =\n  /\\s+$/g;\n/a/;");
  expect(found).toEqual({ at: "a.ts:3", source: "\\s+$", flags: "g" });
  expect(await problemOf("\\s+$", "g")).toMatch(/2nd degree polynomial/);
  expect(await problemOf(second?.source ?? "", "")).toBe(undefined);
  expect(expressionsIn("a.ts", "\n\nconst b = new RegExp(a + b);")).toEqual([
    { at: "a.ts:3", source: null, flags: "" },
  ]);
});

ifAll("the one that let a body of quotes block the server is found", async () => {
  const source = '"[^"\\\\]*(?:\\\\.[^"\\\\]*)*"|[1-9]\\d{15,}';
  expect(await problemOf(source, "g")).toMatch(/2nd degree polynomial/);
});

/** @returns undefined for one that takes linear time. */
async function problemOf(source: string, flags: string): Promise<string | undefined> {
  // What is tried is counted, not timed: a busy machine finds the same.
  const untimed = { incubationTimeout: SEARCH_MS, attackTimeout: SEARCH_MS };
  const found = await check(source, flags, { timeout: SEARCH_MS, ...untimed });
  if (found.status === "safe") return undefined;
  const summary = found.status === "vulnerable" ? found.complexity.summary : "not decided";
  return `/${source}/${flags} is ${summary}`;
}

/** Paths of a package's sources; what was built of them is left out. */
function sourcesOf(room: string): string[] {
  return readdirSync(room, { recursive: true, encoding: "utf8" })
    .map((name) => `${room}/${name.replaceAll("\\", "/")}`)
    .filter((file) => file.endsWith(".ts") && !file.startsWith(`${room}/dist/`));
}

type Node = Readonly<Record<string, unknown>>;

/** Every literal, and every call of RegExp. */
function expressionsIn(file: string, text: string): Expression[] {
  const bytes = Buffer.from(text);
  const found: Expression[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const node = value as Node;
    const expression = expressionOf(node);
    if (expression !== undefined) {
      const { start } = node["span"] as { readonly start: number };
      // The first byte of a text is its byte 1.
      const line = bytes
        .subarray(0, start - 1)
        .toString()
        .split("\n").length;
      found.push({ at: `${file}:${line}`, ...expression });
    }
    for (const child of Object.values(node)) visit(child);
  };
  visit(parseSync(text, { syntax: "typescript", target: "es2022" }).body);
  return found;
}

function expressionOf(node: Node): Omit<Expression, "at"> | undefined {
  const { type } = node;
  if (type === "RegExpLiteral") {
    return { source: String(node["pattern"]), flags: String(node["flags"]) };
  }
  if (type !== "NewExpression" && type !== "CallExpression") return undefined;
  const { type: kind, value: name } = node["callee"] as Node;
  if (kind !== "Identifier" || name !== "RegExp") return undefined;
  const [source = null, flags = null] = ((node["arguments"] ?? []) as Node[]).map(textOf);
  return { source, flags: flags ?? "" };
}

/** Of an argument that is a text as it stands. */
function textOf({ expression }: Node): string | null {
  const { type, value } = expression as Node;
  return type === "StringLiteral" ? String(value) : null;
}
