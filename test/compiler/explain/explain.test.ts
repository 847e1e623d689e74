/** `explain` of what a server has logged: its scheduler is real, its clock and its workers held. */
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, expect, test } from "vitest";
import { explainCommand } from "../../../compiler/explain/explain-log.ts";
import type { LoggedRequest } from "../../../compiler/explain/logged-request.ts";
import { StillnessFinder } from "../../../compiler/explain/stillness.ts";
import { encodeBundle } from "../../../runtime/bundles/checked-bundle.ts";
import { telemetryOf } from "../../../runtime/features/telemetry/telemetry.ts";
import {
  call,
  closeAll,
  type FakeExecutor,
  INFER,
  inferJson,
  serve,
  servedBundle,
} from "../../runtime/server/harness.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-explain-"));
const policy = join(folder, "bundle.msgpack");
const EPOCH_MS = Date.UTC(2026, 10, 23, 14, 5);
const bundle = servedBundle({ quantileRatios: { p50: 0.5, p95: 1, p99: 1.2, mean: 0.6 } });
const file = encodeBundle(bundle);
writeFileSync(policy, file);
const bundleSha256 = createHash("sha256").update(file).digest("hex");

afterEach(closeAll);
afterAll(() => rmSync(folder, { recursive: true }));

/** A server that logs; its clock begins at `EPOCH_MS`. */
async function logged() {
  const lines: string[] = [];
  const clock = { nowMs: 0 };
  const nowMs = () => clock.nowMs;
  const accessLog = { write: (line: string) => void lines.push(line) };
  const features = [telemetryOf({ accessLog, epochOffsetMs: () => EPOCH_MS })];
  const harness = await serve({ bundle, bundleSha256, features, nowMs });
  const { executor } = harness;
  executor.isHolding = true;
  const ask = (id: string, rows = [[1, 2]]) =>
    call(harness, INFER, { body: inferJson(rows), headers: { "x-request-id": id } });
  /** Once so many rows wait or run. */
  const pending = async (rows: number) => {
    const expected = `stratagem_pending_queries{model="tiny"} ${rows}\n`;
    while (!String((await call(harness, "/metrics")).body).includes(expected));
  };
  const settled = async (count: number) => {
    const asked = () => lines.filter((line) => line.includes('"model"'));
    while (asked().length < count) await new Promise(setImmediate);
    return asked();
  };
  return { executor, clock, ask, pending, settled };
}

/** The oldest batch is done, and its worker says that it computed so long. */
function finish(executor: FakeExecutor, wallMs: number): void {
  const { batch, resolve } = executor.take();
  const bytes = new Uint8Array(Buffer.concat(batch.inputs[0] ?? []));
  resolve({ outputs: [{ shape: [batch.rows, 2], bytes }], wallMs, cpuMs: wallMs, cores: 1 });
}

/** One waits 50 ms for a batch that takes 2.1 times its profiled median, and is late. */
async function slowBatchBefore(): Promise<string[]> {
  const { executor, clock, ask, pending, settled } = await logged();
  const first = ask("first");
  await executor.ran(1);
  clock.nowMs = 10;
  const second = ask("second");
  await pending(2);
  clock.nowMs = 60;
  finish(executor, 42);
  await first;
  await executor.ran(2);
  clock.nowMs = 115;
  finish(executor, 55);
  await second;
  return settled(2);
}

const REQUEST: LoggedRequest = {
  ...{ timeMs: 0, id: "r", model: "m", status: 200, isGrpc: false, totalMs: 0, lagMs: 0 },
  ...{ sloMs: 100, kind: null, bundle: null, rows: 1, readMs: 0, failedMs: null, queueMs: null },
  ...{ computeMs: null, responseBytes: 0 },
  ...{ variant: null, runs: [], reason: null, error: null },
};
const NEVER = new AbortController().signal;

async function explained(lines: readonly string[], request: string) {
  const log = join(folder, "access.log");
  writeFileSync(log, `${lines.join("\n")}\n`);
  const { text, json } = await explainCommand({ logs: [log], policy, request }, NEVER);
  // Paragraphs are broken into lines; what they say is compared.
  return { text: text.replace(/\n {2}/g, " "), json: json as ReturnType<typeof JSON.parse> };
}

test("says where the time went, what ran before, and what the table decided", async () => {
  const { json, text } = await explained(await slowBatchBefore(), "second");
  expect(json).toMatchObject({
    verdict: "late",
    latencyMs: 105,
    sloMs: 100,
    steps: { queue: 50, compute: 55, "to the worker and back": 0, answering: 0, unattributed: 0 },
    runs: [
      {
        ...{ variant: "large", batch: 1, level: 0, queued: 1, slackMs: 50, worker: 0 },
        profiled: { p50Ms: 20, decisionMs: 40 },
        timesProfiled: 2.75,
        rule: "the table of level 1000 qps says so",
      },
    ],
    decision: { asked: "queued=1,slack=50ms", decision: { variant: "large", batch: 1 } },
    context: { ahead: { requests: 0 }, batchesBefore: [{ variant: "large", worker: 0, ms: 60 }] },
  });
  expect(json.reasons.map(({ step }: { step: string }) => step)).toEqual(["compute", "queue"]);
  expect(text).toContain("late: 105 ms with an SLO of 100 ms; 52.381% of it computing");
  expect(text).toContain("55 ms computing: 55 ms, 2.8x its profiled p50 of 20 ms");
  expect(text).toContain("large on 1 query for 60 ms, 2.1x its profiled median");
  expect(text).toContain("what could run now, and why it does not:");
});

test("separates the worker's time from the time between server and worker", async () => {
  const { json } = await explained(await slowBatchBefore(), "first");
  expect(json).toMatchObject({
    verdict: "in time",
    steps: { queue: 0, compute: 42, "to the worker and back": 18 },
    context: { batchesBefore: [] },
  });
});

test("reports the lost worker of a request and its second wait", async () => {
  const { executor, clock, ask, settled } = await logged();
  const asked = ask("tried-twice");
  await executor.ran(1);
  clock.nowMs = 30;
  executor.replace();
  await executor.ran(2);
  clock.nowMs = 70;
  finish(executor, 40);
  await asked;
  const { json, text } = await explained(await settled(1), "tried-twice");
  expect(json).toMatchObject({
    verdict: "in time",
    steps: { queue: 0, compute: 70 },
    runs: [
      { isLost: true, doneMs: 30, workerMs: null },
      { isLost: false, decidedMs: 30, doneMs: 70 },
    ],
  });
  expect(text).toContain("1 worker was lost while running it; it ran again");
});

test("counts unreadable lines and reads gzipped files and patterns", async () => {
  const lines = await slowBatchBefore();
  const [first = "", second = ""] = lines;
  writeFileSync(join(folder, "rotated.log.1.gz"), gzipSync(`${first}\nno JSON\n{"a": 1}\n`));
  writeFileSync(join(folder, "rotated.log"), `${second}\n${second.slice(0, 40)}`);
  const logs = [join(folder, "rotated.log*")];
  const { text, json } = await explainCommand({ logs, policy, request: "second" }, NEVER);
  expect(json).toMatchObject({
    steps: { queue: 50 },
    context: { batchesBefore: [{ ms: 60 }] },
    source: { lines: 2, unreadable: 3, from: "2026-11-23T14:05:00.000Z" },
  });
  expect(text).toContain("3 lines of the log could not be read as a request");
});

test("refuses an unknown id, another bundle and a missing log in one line", async () => {
  const lines = await slowBatchBefore();
  await expect(explained(lines, "third")).rejects.toThrow(
    '--request: expected the id of an inference request in the log, got "third"; the log ' +
      "covers 2026-11-23T14:05:00.000Z to 2026-11-23T14:05:00.010Z",
  );
  const other = lines.map((line) => line.replace(bundleSha256.slice(0, 12), "0123456789ab"));
  await expect(explained(other, "second")).rejects.toThrow(
    'expected the bundle that decided request "second", with digest 0123456789ab…',
  );
  const ask = (log: string) => explainCommand({ logs: [log], policy, request: "second" }, NEVER);
  await expect(ask(join(folder, "none.log"))).rejects.toThrow("got: no such file");
  await expect(ask(join(folder, "none*"))).rejects.toThrow("got: no file matches the pattern");
  await expect(ask(folder)).rejects.toThrow("got: not a file");
});

test("summarizes a minute by steps, worst second, stillness and slowest requests", async () => {
  const lines = await slowBatchBefore();
  const log = join(folder, "minute.log");
  writeFileSync(log, `${lines.join("\n")}\n`);
  const asked = (more: object) => explainCommand({ logs: [log], policy, ...more }, NEVER);
  const { text, json } = await asked({ time: "2026-11-23T14:05" });
  expect(json).toMatchObject({
    from: "2026-11-23T14:05:00.000Z",
    to: "2026-11-23T14:06:00.000Z",
    requests: 2,
    verdicts: { "in time": 1, late: 1, dropped: 0 },
    latency: { max: 105, p50: 60 },
    steps: { queue: { max: 50 }, compute: { max: 55, p50: 42 } },
    batches: { count: 2, slow: 2, lost: 0 },
    worst: { requests: 2, late: 1, batches: 2, slow: 2, levelQps: 1000 },
    stillness: [],
    slowest: [{ id: "second", latencyMs: 105 }, { id: "first" }],
  });
  expect(text).toContain("2 requests, 0.03333 per second; 1 late (50.000%)");
  expect(text).toContain(
    "- second, 14:05:00.010: late by large, 105 ms; longest step compute, 55 ms",
  );
  const same = await asked({ time: "2026-11-23T14:05:00/2026-11-23 14:06:00Z" });
  expect(same.text).toBe(text);
  await expect(asked({ time: "2026-11-23T15:00" })).rejects.toThrow("; the log covers 2026");
  await expect(asked({ time: "noon" })).rejects.toThrow(
    '--time: expected a minute such as 2026-11-23T14:05, or BEGIN/END, got "noon"',
  );
  await expect(asked({ time: "2026-11-23T14:05/2026-11-23T14:05" })).rejects.toThrow(
    "--time: expected BEGIN/END, a day apart at most, got",
  );
  await expect(asked({})).rejects.toThrow("expected either --request or --time");
});

test("reports a server without activity and the number of waiting requests", () => {
  const fromMs = EPOCH_MS;
  const finder = new StillnessFinder({ fromMs, toMs: fromMs + 1000 });
  const none = { readMs: 0, failedMs: null, runs: [] };
  for (const [at, totalMs] of [
    [100, 400],
    [110, 5],
    [480, 100],
  ] as const) {
    finder.take({ ...REQUEST, ...none, timeMs: fromMs + at, totalMs });
  }
  // Between 115 and 480 ms only the first was there; from 500 to 580 only the last.
  expect(finder.found()).toEqual([
    { fromMs: fromMs + 120, ms: 360, requests: 1 },
    { fromMs: fromMs + 510, ms: 70, requests: 1 },
  ]);
});
