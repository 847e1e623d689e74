/** Specs, profiles and traces that are wrong or too much, the same for the same seed. */
import { readFileSync } from "node:fs";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { parse } from "yaml";

/** What one case writes: the text of the spec, and of files beside it by name. */
export interface HostileSpec {
  readonly name: string;
  readonly app: string;
  readonly beside: Readonly<Record<string, string>>;
}

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const POLICIES = ["letters", "classes", "cascade", "scenes", "scaling", "malleable"] as const;

interface Sample {
  readonly app: Json;
  readonly profile: Json;
}

/** The committed applications, each with its profile beside it and without models. */
export function samples(): Sample[] {
  return POLICIES.map((name) => {
    const text = readFileSync(`policies/${name}/app.yaml`, "utf8");
    const profile = /profiles\/[\w-]+\/[\w-]+\.json/.exec(text)?.[0] ?? "";
    const app = parse(text.replaceAll(`../..`, "profile.json"), {
      reviver: (key, value) => (key === "model" ? undefined : value),
    });
    return { app, profile: JSON.parse(readFileSync(profile, "utf8")) };
  });
}

const ODD_VALUES: readonly Json[] = [
  ...[null, true, false, 0, -0, -1, 1, 2, 0.5, 1e-320, 1e-9, 1e-3, 1e3, 1e6, 1e9, 1e12, 1e300],
  ...[1.5, 4096, 65_535, 65_536, 2 ** 31, 2 ** 53, -1e300, "", " ", "x", "1e9 s", "1 h", "0 ms"],
  ...["1e300 s", "-1 ms", "1e-300 ms", "1e9!", "2^1e9 ms", "sqrt(-1) ms", "1/0 ms", "100%", "-5%"],
  ...[
    "1000%",
    "1e12 / s",
    "never",
    "auto",
    "__proto__",
    "constructor",
    "/dev/zero",
    "/dev/stdin#m",
  ],
  ...["profile.json#", "#", "profile.json#nobody", "../../..#x", "a\0b#c", "/proc/kmsg#x", "/#x"],
  ...[[], {}, [[]], [{}], { a: 1 }, "x".repeat(2000), "(".repeat(250), "1+".repeat(200)],
  ...["max(1,2) ms", "[1,2,3]", "import('fs')", "1 lightyear", "💥", "NaN", ".inf", "Infinity"],
];

/** A case of a number: mutations of a committed one, and each hundredth one that is large. */
export function hostileSpec(number: number, seed: number, from: readonly Sample[]): HostileSpec {
  const rng = new Rng(seed, number);
  if (number % 100 === 99) return largeSpec(Math.floor(number / 100), from);
  const { app, profile } = pick(from, rng);
  const inProfile = rng.nextFloat() < 0.3;
  const times = 1 + Math.floor(3 * rng.nextFloat());
  const mutate = (value: Json) => {
    let mutated = value;
    for (let time = 0; time < times; time++) mutated = withMutation(mutated, rng);
    return mutated;
  };
  const text = (value: Json, isHit: boolean) =>
    isHit ? damaged(JSON.stringify(mutate(value), null, 1), rng) : JSON.stringify(value);
  return {
    name: `case ${number}`,
    app: text(app, !inProfile),
    beside: { "profile.json": text(profile, inProfile) },
  };
}

/** One value of the tree is another, gone, twice there, or many times. */
function withMutation(value: Json, rng: Rng): Json {
  const paths: (string | number)[][] = [];
  collect(value, [], paths);
  const path = pick(paths, rng);
  const kind = rng.nextFloat();
  return changed(value, path, (old) => {
    if (kind < 0.6) return pick(ODD_VALUES, rng);
    if (kind < 0.7) return typeof old === "number" ? old * 10 ** (40 * rng.nextFloat() - 20) : old;
    if (kind < 0.8) return Array.isArray(old) ? Array(3000).fill(old[0] ?? 1) : undefined;
    if (kind < 0.9)
      return isMapping(old) ? { ...old, [`k${Math.floor(9 * rng.nextFloat())}`]: 1 } : [old];
    return undefined;
  });
}

function collect(value: Json, path: (string | number)[], paths: (string | number)[][]): void {
  if (path.length > 0) paths.push(path);
  if (Array.isArray(value))
    for (const [i, one] of value.entries()) collect(one, [...path, i], paths);
  else if (isMapping(value)) {
    for (const [key, one] of Object.entries(value)) collect(one, [...path, key], paths);
  }
}

function changed(
  value: Json,
  path: readonly (string | number)[],
  change: (old: Json) => Json | undefined,
): Json {
  const [key, ...rest] = path;
  if (key === undefined) return change(value) ?? null;
  if (Array.isArray(value)) {
    return value.flatMap((one, index) => {
      if (index !== key) return [one];
      if (rest.length > 0) return [changed(one, rest, change)];
      const next = change(one);
      return next === undefined ? [] : [next];
    });
  }
  if (!isMapping(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) => {
      if (name !== key) return [[name, one]];
      if (rest.length > 0) return [[name, changed(one, rest, change)]];
      const next = change(one);
      return next === undefined ? [] : [[name, next]];
    }),
  );
}

function isMapping(value: Json): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Now and then the text is no longer what it was. */
function damaged(text: string, rng: Rng): string {
  if (rng.nextFloat() > 0.1) return text;
  const at = Math.floor(text.length * rng.nextFloat());
  const noise = pick(
    ["", "{", "[", "&a ", "*a", "!x ", '"', "\u0000", "\t", "- ", ": ", "|\n"],
    rng,
  );
  return text.slice(0, at) + noise + text.slice(at + Math.floor(3 * rng.nextFloat()));
}

function pick<T>(items: readonly T[], rng: Rng): T {
  const item = items[Math.floor(items.length * rng.nextFloat())];
  if (item === undefined) throw new RangeError("there is something to pick");
  return item;
}

type Large = (app: { readonly [key: string]: Json }) => string;

const many = (count: number, line: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => line(index)).join("\n");

/** What is too much by its size. */
const LARGE: readonly (readonly [string, Large])[] = [
  ["25,000 keys", (app) => withKeys(app, 25_000)],
  ["a million loads", () => `[${"1,".repeat(1_000_000)}]`],
  [
    "20,000 loads",
    (app) =>
      withLoads(
        app,
        Array.from({ length: 20_000 }, (_, i) => i + 1),
      ),
  ],
  ["loads without end", (app) => withLoads(app, { from: 1e-6, to: 1e9, step: 1e-6 })],
  ["maxQueue 4096", (app) => withPolicy(app, { maxQueue: 4096, extrapolate: true })],
  ["10,000 steps", (app) => withPolicy(app, { discretization: { kind: "fixed", steps: 10_000 } })],
  ["an SLO of an hour", (app) => JSON.stringify({ ...app, slo: { latency: "3600 s" } })],
  ["an SLO of 1e300 s", (app) => JSON.stringify({ ...app, slo: { latency: "1e300 s" } })],
  ["a load of 1e9", (app) => withLoads(app, [1e9])],
  ["aliases of aliases", () => bomb(9)],
  [
    "10,000 anchors",
    () => `${many(1e4, (i) => `a${i}: &a${i} 1`)}\n${many(1e4, (i) => `b${i}: *a${i}`)}`,
  ],
  ["brackets", () => "[".repeat(100_000)],
  ["indentation", () => many(2000, (i) => `${" ".repeat(i)}a:`)],
  ["a megabyte of text", () => `a: "${"x".repeat(1 << 20)}"`],
  ["20 megabytes", () => "# x\n".repeat(5 << 20)],
  [
    "expressions",
    (app) =>
      withLoads(
        app,
        Array.from({ length: 2000 }, (_, i) => `${"1*".repeat(200)}${i}`),
      ),
  ],
  ["1000 variants", (app) => withVariants(app, 1000)],
  ["200 tasks", (app) => withTasks(app, 200)],
];

function largeSpec(number: number, from: readonly Sample[]): HostileSpec {
  const [name, make] = LARGE[number % LARGE.length] ?? ["nothing", () => ""];
  const { app, profile } = from[Math.floor(number / LARGE.length) % from.length] ?? from[0] ?? {};
  const mapping = app !== undefined && isMapping(app) ? app : {};
  return { name, app: make(mapping), beside: { "profile.json": JSON.stringify(profile) } };
}

type Mapping = { readonly [key: string]: Json };

function withKeys(app: Mapping, count: number): string {
  const keys = Array.from({ length: count }, (_, index) => [`key${index}`, 1] as const);
  return JSON.stringify({ ...app, ...Object.fromEntries(keys) });
}

function withLoads(app: Mapping, loads: Json): string {
  return JSON.stringify({ ...app, workload: { arrivals: { process: "poisson" }, loads } });
}

function withPolicy(app: Mapping, more: Mapping): string {
  return JSON.stringify({ ...app, policy: { method: "ramsis", ...more } });
}

function withVariants(app: Mapping, count: number): string {
  const [task] = Array.isArray(app["tasks"]) ? app["tasks"] : [];
  const [variant] = isMapping(task ?? null) && Array.isArray(task.variants) ? task.variants : [];
  const variants = Array.from({ length: count }, (_, index) => ({ ...variant, name: `v${index}` }));
  return JSON.stringify({ ...app, tasks: [{ name: "t", variants }] });
}

function withTasks(app: Mapping, count: number): string {
  const tasks = Array.from({ length: count }, (_, index) => ({
    name: `t${index}`,
    passThrough: true,
    to: [{ task: `t${index + 1}` }],
  }));
  return JSON.stringify({ ...app, tasks });
}

function bomb(levels: number): string {
  const level = (index: number) => `k${index}: &k${index} [${`*k${index - 1},`.repeat(9)}]`;
  return `k0: &k0 [x]\n${many(levels, (index) => level(index + 1))}`;
}
