/** `profile --from`: a profile that was too fast is put right by what a server measured. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ramsis } from "../../../compiler/methods/ramsis/solve/ramsis.ts";
import { stretchAt } from "../../../compiler/recalibrate/observed-times.ts";
import {
  type RecalibrateCommand,
  recalibrateCommand,
} from "../../../compiler/recalibrate/recalibrate.ts";
import { loadApplication } from "../../../compiler/spec/load-application.ts";
import { ofMethod } from "../../support/of-method.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-recalibrate-"));
afterAll(() => rmSync(folder, { recursive: true }));

const NOW_MS = Date.UTC(2026, 10, 23, 15);
const NEVER = new AbortController().signal;
const TRUE_MS = { small: { 1: 4, 2: 6, 4: 10 }, large: { 1: 12, 2: 20, 4: 36 } } as const;
type Name = keyof typeof TRUE_MS;

function rowOf(ms: number) {
  return { p50: ms * 0.8, p95: ms, p99: ms * 1.25, mean: ms * 0.85, samples: 30 };
}

/** @param factor of all times. */
function profileOf(factor: number, more: object = {}) {
  const variantOf = (name: Name, accuracy: number) => ({
    accuracy,
    latencyMs: Object.fromEntries(
      Object.entries(TRUE_MS[name]).map(([batch, ms]) => [batch, rowOf(factor * ms)]),
    ),
  });
  return {
    format: "latency-profile/1",
    task: "classify",
    hardware: "box",
    source: "measured by hand",
    variants: { small: variantOf("small", 0.7), large: variantOf("large", 0.9) },
    ...more,
  };
}

function written(name: string, content: object | string): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

interface Seen {
  readonly variant: string;
  readonly batch: number;
  readonly ms: number;
  readonly count?: number;
}

/** Document of GET /v2/stratagem/times. @param labels of all cells. */
function timesOf(
  cells: readonly Seen[],
  labels: Readonly<Record<string, string>> = {},
  application = "app",
) {
  const own = cells.map(({ variant, batch, ms, count = 1000 }) => {
    const { samples: _, ...quantiles } = rowOf(ms);
    return { ...labels, variant, batch, batches: count, ms: quantiles };
  });
  return documentOf([{ application, busyWorkers: 0.15, cells: own }]);
}

function documentOf(applications: readonly object[]) {
  return { format: "stratagem-times/1", atMs: NOW_MS, applications };
}

/** Several documents as one of a server. */
function joined(...documents: readonly ReturnType<typeof documentOf>[]) {
  return documentOf(documents.flatMap(({ applications }) => applications));
}

const SEEN = [
  { variant: "small", batch: 1, ms: TRUE_MS.small[1] },
  { variant: "small", batch: 2, ms: TRUE_MS.small[2] },
  { variant: "large", batch: 1, ms: TRUE_MS.large[1] },
  { variant: "large", batch: 4, ms: TRUE_MS.large[4], count: 20 },
];

async function recalibrate(more: Partial<RecalibrateCommand>) {
  const out = join(folder, "new.json");
  const command = { app: "", from: [], policy: null, out, ...more };
  const { text, json } = await recalibrateCommand(command, NEVER);
  return { out, text, json, profile: JSON.parse(readFileSync(out, "utf8")) };
}

const times = written("seen.json", timesOf(SEEN));

test("replaces times with enough samples; scales the other times of the variant", async () => {
  const before = profileOf(1 / 1.5);
  const found = await recalibrate({ from: [times], app: written("fast.json", before) });
  const { small, large } = found.profile.variants;
  for (const [batch, ms] of [
    ["1", 4],
    ["2", 6],
  ] as const) {
    for (const [name, value] of Object.entries({ ...rowOf(ms), samples: 1000 })) {
      expect(small.latencyMs[batch][name]).toBeCloseTo(value, 5);
    }
  }
  // Not seen, and seen too seldom: 1.5 times what was profiled, as the others of the variant.
  expect(small.latencyMs["4"].p95).toBeCloseTo(10, 5);
  expect(large.latencyMs["4"].p50).toBeCloseTo(36 * 0.8, 5);
  expect(large.latencyMs["4"].samples).toBe(0);
  const { source, ...others } = found.profile;
  expect(others).toMatchObject({ task: "classify", hardware: "box", variants: { large: {} } });
  expect(large.accuracy).toBe(0.9);
  expect(source).toMatch(
    /^stratagem profile: 6 cells from .*seen.json at 2026-11-23T15:00:00.000Z; before: measu/,
  );
  expect(found.text).toContain("3 cells observed, 3 scaled like the observed cells");
  expect(found.text).toMatch(/large +4 +19.2 +28.8 +24 +36 +1.50x +20 +scaled/);
  expect(found.text).toContain("the profile has no contention curve");
});

test("a plan of the recalibrated profile promises what one of the true profile does", async () => {
  const fast = written("times.json", profileOf(1 / 1.5));
  const { out } = await recalibrate({ from: [times], app: fast });
  const promiseOf = (profile: string) => {
    const variants = ["small", "large"].map((name) => ({ name, profile: `${profile}#${name}` }));
    const app = written("app.json", {
      ...{ version: 1, application: "app", slo: { latency: "60 ms" } },
      workload: { arrivals: { process: "poisson" }, loads: [60] },
      cluster: { workers: 1 },
      tasks: [{ name: "classify", variants }],
      policy: { method: "ramsis", maxQueue: 4, balancer: "round-robin" },
    });
    const frame = ramsis.frame(ofMethod("ramsis", loadApplication(app).application), new Map());
    const { capacityQps, expected } = ramsis.solveLevel(frame, 60);
    return { capacityQps, accuracy: expected.accuracyPerQuery };
  };
  const tooFast = promiseOf(fast);
  const recalibrated = promiseOf(out);
  const truth = promiseOf(written("truth.json", profileOf(1)));
  expect(recalibrated.capacityQps).toBeCloseTo(truth.capacityQps, 3);
  expect(recalibrated.accuracy).toBeCloseTo(truth.accuracy, 6);
  expect(tooFast.capacityQps).toBeGreaterThan(1.4 * truth.capacityQps);
  expect(tooFast.accuracy).toBeGreaterThan(truth.accuracy);
});

test("interpolates the contention of the other workers", () => {
  // Of three workers the two others compute 0.5 of the time: half way to two at once.
  expect(stretchAt([1, 1.4, 2], 0.75, 3)).toBeCloseTo(1.2, 9);
  expect(stretchAt([1, 1.4, 2], 30, 3)).toBe(2);
  expect(stretchAt([1, 1.4], 1, 1)).toBe(1);
});

test("a server is asked, and says itself how busy its workers were", async () => {
  const paths: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url);
    response.end(JSON.stringify(timesOf(SEEN)));
  }).listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  const { port } = server.address() as AddressInfo;
  const contention = [1, 1.5];
  const profile = written("asked.json", profileOf(1, { serving: { processors: 2, contention } }));
  const from = [`http://127.0.0.1:${port}`];
  const { json, profile: found, text } = await recalibrate({ from, app: profile });
  server.close();
  expect(paths).toEqual(["/v2/stratagem/times"]);
  const factor = 1 + (0.5 * 0.15) / 2;
  expect(json).toMatchObject({ stretch: { isCurveKnown: true, busyWorkers: 0.15, factor } });
  expect(found.variants.small.latencyMs["1"].p95).toBeCloseTo(4 / factor, 6);
  expect(found.serving.contention).toEqual(contention);
  expect(text).toContain("divided by 1.038, the profile's contention with 0.15 workers busy");
});

test("cores and sizes have times of their own, and those for all are one of theirs", async () => {
  const rows = (ms: number) => ({ "1": rowOf(ms), "2": rowOf(1.6 * ms) });
  const variants = {
    small: { accuracy: 0.7, latencyMs: rows(10), byCores: { "1": rows(10), "2": rows(6) } },
    large: { accuracy: 0.9, byBucket: { "80": rows(8), "160": rows(15) } },
  };
  const profile = written("kinds.json", profileOf(1, { variants }));
  const seen = joined(
    timesOf([{ variant: "small", batch: 1, ms: 12 }], { cores: "1" }),
    timesOf([{ variant: "small", batch: 2, ms: 11 }], { cores: "2" }),
    timesOf([{ variant: "large", batch: 1, ms: 20 }], { bucket: "160" }),
  );
  const found = await recalibrate({ from: [written("kinds-times.json", seen)], app: profile });
  const { small, large } = found.profile.variants;
  expect(small.byCores["1"]["1"].p95).toBeCloseTo(12, 9);
  expect(small.latencyMs).toEqual(small.byCores["1"]);
  expect(small.byCores["2"]["2"].p95).toBeCloseTo(11, 9);
  expect(large.byBucket["160"]["1"].p95).toBeCloseTo(20, 9);
  expect(large.byBucket["80"]["1"].p95).toBeCloseTo((8 * 20) / 15, 5);
});

test("an accuracy changes only where feedback excludes what was profiled", async () => {
  const profile = written("accuracy.json", profileOf(1));
  const seen = (estimate: number, lower: number, upper: number) => ({
    ...{ profiled: 0.7, labels: { correct: 90, wrong: 10 }, estimate, lower, upper },
  });
  const document = {
    ...{ model: "app", since: "2026-11-23T14:00:00Z" },
    variants: { small: seen(0.6, 0.55, 0.65), large: seen(0.88, 0.84, 0.92) },
  };
  const accuracy = written("feedback.json", document);
  const found = await recalibrate({ from: [times, accuracy], app: profile });
  expect(found.profile.variants.small.accuracy).toBe(0.6);
  expect(found.profile.variants.large.accuracy).toBe(0.9);
  expect(found.text).toMatch(/small +70.000% +60.000% +55.000% to 65.000% +100 +changed/);
  const asked = recalibrate({ from: [times, written("no.json", "{}")], app: profile });
  await expect(asked).rejects.toThrow("expected the document of GET /v2/models/M/feedback");
});

test.each([
  ["nothing was observed", timesOf([]), "expected times of batches, got none"],
  ["metrics are given", "x 1\n", "expected the document of GET /v2/stratagem/times, got text"],
  ["another version is served", { format: "stratagem-times/2" }, "/times; format: "],
  [
    "too little was",
    timesOf([{ variant: "small", batch: 1, ms: 4, count: 7 }]),
    "expected at least 100 samples",
  ],
  [
    "variants are others",
    timesOf([{ variant: "other", batch: 1, ms: 3 }]),
    "on box (small, large), got those of other",
  ],
  ["the task is another", timesOf(SEEN, { task: "detect" }), "expected times of"],
  [
    "applications are several",
    joined(timesOf(SEEN), timesOf(SEEN, {}, "b")),
    "expected the bundle with --policy, since the times are of app, b",
  ],
  [
    "pools are several",
    joined(timesOf(SEEN, { pool: "a" }), timesOf(SEEN, { pool: "b" })),
    "expected the bundle with --policy, since the times are of the pools a, b",
  ],
] as const)("where %s nothing is written, and one line says why", async (_, given, message) => {
  const profile = written("refused.json", profileOf(1));
  const out = join(folder, "not-written.json");
  const asked = recalibrate({ from: [written("refused.txt", given)], app: profile, out });
  await expect(asked).rejects.toThrow(message);
  expect(() => readFileSync(out)).toThrow("ENOENT");
});

test("reports an unreachable server, and a file that is not a profile", async () => {
  const profile = written("here.json", profileOf(1));
  await expect(recalibrate({ from: [join(folder, "gone.txt")], app: profile })).rejects.toThrow(
    "gone.txt: expected a file, or a server that answers, got:",
  );
  await expect(recalibrate({ from: [times], app: written("bad.json", "{}") })).rejects.toThrow(
    "bad.json",
  );
});

test("a spec stands for the only profile that it names", async () => {
  written("named.json", profileOf(1 / 1.5));
  const specOf = (...profiles: string[]) => ({
    ...{ version: 1, application: "app", slo: { latency: "60 ms" } },
    workload: { arrivals: { process: "poisson" }, loads: [60] },
    cluster: { workers: 1 },
    tasks: [
      { name: "classify", variants: profiles.map((profile) => ({ name: profile, profile })) },
    ],
    policy: { method: "ramsis" },
  });
  const one = written("one.json", specOf("named.json#small", "named.json#large"));
  const found = await recalibrate({ from: [times], app: one });
  expect(found.profile.variants.small.latencyMs["1"].p95).toBeCloseTo(4, 5);
  const two = written("two.json", specOf("named.json#small", "other.json#large"));
  await expect(recalibrate({ from: [times], app: two })).rejects.toThrow(
    "two.json, which names named.json, other.json",
  );
});
