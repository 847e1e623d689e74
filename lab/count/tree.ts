/** The source tree as folders and imports: sizes, circles, slivers and names. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, normalize } from "node:path";

/** Rooms of the product, whose lines count. */
const PRODUCT = /^(?:runtime|compiler)\//;
const GENERATED = /-pb\.ts$|\.d\.ts$/;
const SPECIFIER = /(?:from|import)\s*\(?\s*"([^"]+)"/g;
const INTERNAL = "stratagem-runtime/internal/";
const SLIVER_LINES = 25;

export interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly lines: number;
  /** Paths of this repository that it imports. */
  readonly imports: readonly string[];
}

/** Sources in git below some folders, without generated files. */
export function sourcesIn(...rooms: readonly string[]): SourceFile[] {
  return trackedFiles(...rooms)
    .filter((path) => path.endsWith(".ts") && !GENERATED.test(path))
    .map((path) => {
      const text = readFileSync(path, "utf8");
      return { path, text, lines: text.split("\n").length - 1, imports: importsOf(path, text) };
    });
}

/** Paths in git below some folders that are in the work tree. */
export function trackedFiles(...rooms: readonly string[]): string[] {
  const listed = (...flags: string[]) =>
    execFileSync("git", ["ls-files", ...flags, ...rooms], { encoding: "utf8", maxBuffer: 2 ** 26 })
      .split("\n")
      .filter((path) => path !== "");
  const gone = new Set(listed("--deleted"));
  return listed().filter((path) => !gone.has(path));
}

function importsOf(path: string, text: string): string[] {
  return [...text.matchAll(SPECIFIER)].flatMap(([, to = ""]) => {
    if (to.startsWith(".")) return normalize(`${dirname(path)}/${to}`);
    return to.startsWith(INTERNAL) ? `runtime/${to.slice(INTERNAL.length)}.ts` : [];
  });
}

/** Lines of all sources together. */
export function lineCount(sources: readonly SourceFile[]): number {
  return sources.reduce((sum, { lines }) => sum + lines, 0);
}

/** Sources by the folder that holds them. */
export function byFolder(sources: readonly SourceFile[]): Map<string, SourceFile[]> {
  const folders = new Map<string, SourceFile[]>();
  for (const source of sources) {
    const folder = dirname(source.path);
    folders.set(folder, [...(folders.get(folder) ?? []), source]);
  }
  return folders;
}

/**
 * Rooms that import each other, directly or by way of others. A room is a folder directly in a
 * package; the files beside them are the room of the package itself.
 */
export function circles(sources: readonly SourceFile[]): string[][] {
  const targets = new Map<string, Set<string>>();
  for (const { path, imports } of sources) {
    for (const to of imports) {
      const [a, b] = [roomOf(path), roomOf(to)];
      if (a !== b) targets.set(a, (targets.get(a) ?? new Set()).add(b));
    }
  }
  const reachable = (from: string) => {
    const seen = new Set<string>();
    const open = [from];
    for (let room = open.pop(); room !== undefined; room = open.pop()) {
      for (const next of targets.get(room) ?? []) {
        if (seen.has(next)) continue;
        seen.add(next);
        open.push(next);
      }
    }
    return seen;
  };
  const reach = new Map([...targets.keys()].map((room) => [room, reachable(room)]));
  const onOne = [...reach].filter(([room, seen]) => seen.has(room)).map(([room]) => room);
  const groups = new Map<string, string[]>();
  for (const room of onOne.sort()) {
    const first = onOne.find((one) => reach.get(room)?.has(one) && reach.get(one)?.has(room));
    const group = first ?? room;
    groups.set(group, [...(groups.get(group) ?? []), room]);
  }
  return [...groups.values()];
}

/**
 * Features of the server: their name in other files, and where they may be named. The compiler
 * reads what they write, and the table of removed options answers for old ones.
 */
export const FEATURES: readonly (readonly [name: string, pattern: RegExp, own: RegExp])[] = [
  ["canary", /canar/i, /features\/(canary\/|features\.ts)|settings\/removed\.ts/],
  [
    "decision log",
    /decision-?log/i,
    /features\/(decision-log\/|features\.ts)|settings\/removed\.ts/,
  ],
  ["drift", /\bdrift/i, /features\/(drift\/|features\.ts)|settings\/removed\.ts/],
  ["feedback", /feedback/i, /features\/(feedback\/|features\.ts)|settings\/removed\.ts/],
  ["live page", /live-?page/i, /features\/(live-page\/|features\.ts)|settings\/removed\.ts/],
  ["telemetry", /\btelemetry/i, /features\/(telemetry\/|features\.ts)|settings\/removed\.ts/],
];

function roomOf(path: string): string {
  return dirname(path).split("/").slice(0, 2).join("/");
}

/** Files of at most 25 lines that exactly one other file imports. */
export function slivers(sources: readonly SourceFile[]): string[] {
  const importers = new Map<string, number>();
  for (const { imports } of sources) {
    for (const to of new Set(imports)) importers.set(to, (importers.get(to) ?? 0) + 1);
  }
  return sources
    .filter(({ path, lines }) => lines <= SLIVER_LINES && importers.get(path) === 1)
    .map(({ path }) => path);
}

/** Lines that compare with `undefined`. */
export function undefinedLines(sources: readonly SourceFile[]): number {
  const lines = sources.flatMap(({ text }) => text.split("\n"));
  return lines.filter((line) => /[!=]== undefined/.test(line)).length;
}

/** Files outside a feature's folder, but for the list of features, that name it. */
export function outside(sources: readonly SourceFile[], feature: RegExp, own: RegExp): string[] {
  return sources
    .filter(({ path, text }) => PRODUCT.test(path) && !own.test(path) && feature.test(text))
    .map(({ path }) => path);
}
