import { describe, expect, test } from "vitest";
import { textOf } from "../../../../support/metrics-text.ts";
import {
  type CascadeRow,
  expectedOutputs,
  floats,
  GATE,
  LAST,
  SLOW,
  servedStages,
  verdicts,
} from "../../../server/graph/served-tasks.ts";
import {
  answerOf,
  finishAll,
  finishOf,
  running,
  scheduledStages,
  settled,
  WORKERS,
} from "./scheduled.ts";

const ESCALATED: CascadeRow = { escalate: 1, keep: 0, value: 3 };
const KEPT: CascadeRow = { escalate: 0, keep: 1, value: 5 };
const BOTH: CascadeRow = { escalate: 1, keep: 1, value: 7 };
const NEITHER: CascadeRow = { escalate: 0, keep: 0, value: 9 };

/** The shares of the gate's edges sum to 1, so a row takes one of them. */
const EXCLUSIVE = {
  tasks: [
    { name: "gate", latencyMs: { 1: 5, 4: 8 }, accuracy: 0.7, branch: "exclusive" as const },
    { name: "slow", from: { gate: 0.4 }, latencyMs: { 1: 20, 4: 50 }, accuracy: 0.9 },
    { name: "last", from: { gate: 0.6, slow: 1 }, latencyMs: { 1: 2, 4: 4 }, accuracy: 0.8 },
  ],
};

describe("a row", () => {
  test("goes where its verdicts send it, and the answer tells which rows were where", async () => {
    const setup = scheduledStages();
    setup.start();
    const rows = [ESCALATED, KEPT, BOTH, NEITHER];
    const submission = setup.submit(rows);
    await finishAll(setup);
    const answer = await answerOf(submission);
    expect(setup.valuesOf(answer)).toEqual(expectedOutputs(rows));
    expect(answer.outputs.map(({ shape }) => shape)).toEqual([
      [4],
      [4],
      [4, 3],
      [4, 1],
      [2, 1],
      [2],
      [3, 1],
      [3],
    ]);
    // Rows end at gate; at gate, slow and last; or at gate and last.
    expect(answer.answerer.variant).toBe("gate:1,last:3");
    expect(answer.answerer.accuracy).toBeCloseTo((0.7 + 0.7 * 0.8 + 2 * 0.7 * 0.9 * 0.8) / 4, 12);
  });

  test("comes to a join once all tasks before it have given their verdict", async () => {
    const setup = scheduledStages();
    setup.start();
    const submission = setup.submit([BOTH, KEPT]);
    await finishOf(setup, GATE);
    // The kept row does not wait for the other one, which the slow model may yet send.
    expect(running(setup)).toEqual([
      [SLOW, 1],
      [LAST, 1],
    ]);
    await finishOf(setup, SLOW);
    expect(running(setup)).toEqual([[LAST, 1]]);
    await finishAll(setup);
    expect(setup.valuesOf(await answerOf(submission))).toEqual(expectedOutputs([BOTH, KEPT]));
    expect(setup.executor.batches.map(({ variant }) => variant)).toEqual([GATE, SLOW, LAST, LAST]);
  });

  test("that no entry is for is answered at once", async () => {
    const tasks = [{ name: "gate", latencyMs: { 1: 5 }, from: { requests: 0 } }];
    const levels = [{ loadQps: 20, stages: [[1, 1] as const] }];
    const setup = scheduledStages(servedStages({ tasks, levels }));
    setup.start();
    const answer = await answerOf(setup.submit([KEPT]));
    expect(answer.answerer).toEqual({ variant: "", accuracy: 0 });
    expect(answer.outputs.map(({ shape }) => shape)).toEqual([[0], [0], [0, 3], [0, 1], [0]]);
  });

  test("takes one of exclusive edges, and the default if no model says another", async () => {
    const keepless = { inputs: [{ input: "value", output: "quick" }], count: null };
    const setup = scheduledStages(servedStages(EXCLUSIVE, { "0 2": keepless }));
    setup.start();
    const rows = [ESCALATED, { ...KEPT, keep: 0 }, NEITHER];
    const submission = setup.submit(rows);
    await finishAll(setup);
    const values = setup.valuesOf(await answerOf(submission));
    expect(values["slow.request_row"]).toEqual([0]);
    expect(values["last.total"]).toEqual([60, 50, 90]);
    expect(values["last.request_row"]).toEqual([0, 1, 2]);
  });

  test("may be sent on alone or with the rows that stay behind", async () => {
    const setup = scheduledStages();
    setup.start();
    const rows = [NEITHER, ESCALATED, NEITHER, ESCALATED];
    const submission = setup.submit(rows);
    const { batch, resolve } = setup.executor.take();
    expect(batch.rows).toBe(4);
    // Images of the two escalated rows only.
    const images = [1, 0, 11, 1, 0, 12];
    resolve({
      outputs: [
        verdicts([0, 1, 0, 1]),
        verdicts([0, 0, 0, 0]),
        floats(3, Float32Array.from(images)),
        floats(1, Float32Array.from([9, 3, 9, 3])),
      ],
      wallMs: 1,
      cpuMs: 1,
      cores: 1,
    });
    await finishAll(setup);
    const values = setup.valuesOf(await answerOf(submission));
    expect(values["gate.image"]).toEqual(images);
    expect(values["slow.score"]).toEqual([22, 24]);
    expect(values["last.request_row"]).toEqual([1, 3]);
  });
});

describe("a request fails, alone, and says why", () => {
  test("if a model sends a row on twice", async () => {
    const setup = scheduledStages();
    setup.start();
    const before = setup.submit([ESCALATED]);
    // The next three rows share a batch.
    const good = [ESCALATED, BOTH];
    const bad = setup.submit([{ ...NEITHER, escalate: 2 }]);
    const besides = setup.submit(good);
    await finishAll(setup);
    expect(setup.executor.batches.slice(0, 2).map(({ rows }) => rows)).toEqual([1, 3]);
    expect(await bad.outcome).toEqual({
      kind: "failed",
      reason: "inference",
      message: 'gate/gate: output "escalate" counts 2 for a row, expected 0 or 1',
    });
    expect(setup.valuesOf(await answerOf(before))).toEqual(expectedOutputs([ESCALATED]));
    expect(setup.valuesOf(await answerOf(besides))).toEqual(expectedOutputs(good));
    expect(setup.scheduler.pendingCount).toBe(0);
    // What cannot be is not taken for a share either.
    expect(textOf(setup.metrics, GAUGES)).toContain(
      'stratagem_fanout{task="gate",variant="gate",child="slow"} 1\n',
    );
  });

  test("with all of its batch, if it cannot be told which rows were sent on", async () => {
    const setup = scheduledStages();
    setup.start();
    const submission = setup.submit([KEPT, { ...NEITHER, escalate: 2 }]);
    await finishAll(setup);
    expect(await submission.outcome).toMatchObject({
      message: 'gate/gate: output "escalate" counts 2 for a row, expected 0 or 1',
    });
    expect(setup.scheduler.pendingCount).toBe(0);
  });

  test("if nothing that sent the row gives an input", async () => {
    const silent = { inputs: [], count: null };
    const setup = scheduledStages(servedStages({}, { "1 2": silent }));
    setup.start();
    const lacking = setup.submit([KEPT, ESCALATED]);
    const both = setup.submit([BOTH]);
    await finishAll(setup);
    expect(await lacking.outcome).toMatchObject({
      kind: "failed",
      reason: "inference",
      message: `last: its input "value" is not given by slow, from where the row came`,
    });
    expect(setup.valuesOf(await answerOf(both))["last.total"]).toEqual([70]);
    expect(setup.scheduler.pendingCount).toBe(0);
  });

  test("if two exclusive edges are both to be taken", async () => {
    const setup = scheduledStages(servedStages(EXCLUSIVE));
    setup.start();
    const submission = setup.submit([BOTH]);
    await finishAll(setup);
    expect(await submission.outcome).toMatchObject({
      reason: "inference",
      message:
        `gate/gate: outputs "escalate" and "keep" both send a row on, ` +
        "expected at most one of them",
    });
  });

  test("if its worker is lost twice, and the next one is served by another", async () => {
    const setup = scheduledStages();
    setup.start();
    const submission = setup.submit([ESCALATED, KEPT]);
    await finishOf(setup, GATE);
    const loseSlow = () => {
      const slow = setup.executor.held.find(({ batch }) => batch.variant === SLOW);
      setup.executor.lose(slow?.worker ?? -1);
    };
    loseSlow();
    while (setup.executor.held.every(({ batch }) => batch.variant !== SLOW)) {
      setup.executor.load();
      await settled(setup);
    }
    loseSlow();
    expect(await submission.outcome).toEqual({
      kind: "failed",
      reason: "worker-lost",
      message: expect.stringMatching(/^worker \d ended during the batch: killed$/),
    });
    await finishAll(setup);
    expect(setup.scheduler.pendingCount).toBe(0);
    const next = setup.submit([ESCALATED]);
    await finishAll(setup);
    expect(setup.valuesOf(await answerOf(next))).toEqual(expectedOutputs([ESCALATED]));
  });

  test.each(
    [GATE, SLOW, LAST].flatMap((stage) =>
      (["refused", "lost when late", "without outputs", "of no rows"] as const).map((fault) => ({
        stage,
        fault,
      })),
    ),
  )("if its batch at stage $stage is $fault, and the next one is served", async (one) => {
    const setup = scheduledStages();
    setup.start();
    const { executor } = setup;
    const submission = setup.submit([ESCALATED, BOTH]);
    const place = () => executor.held.findIndex(({ batch }) => batch.variant === one.stage);
    for (await settled(setup); place() < 0; await settled(setup)) executor.finish();
    const none = { shape: [0, 1], bytes: new Uint8Array() };
    const outputs = one.fault === "of no rows" ? [none, none, none, none] : [];
    if (one.fault === "refused") executor.refuse(place());
    else if (one.fault === "lost when late") {
      setup.clock.nowMs += 1e6;
      executor.lose(executor.held[place()]?.worker ?? -1);
    } else executor.take(place()).resolve({ outputs, wallMs: 1, cpuMs: 1, cores: 1 });
    expect(await submission.outcome).toMatchObject({
      kind: "failed",
      reason: one.fault === "lost when late" ? "worker-lost" : "inference",
    });
    const next = setup.submit([ESCALATED]);
    await finishAll(setup);
    expect(setup.valuesOf(await answerOf(next))).toEqual(expectedOutputs([ESCALATED]));
    expect(setup.scheduler.pendingCount).toBe(0);
  });

  test("if more rows come than may be open; those of settled requests make room", async () => {
    const setup = scheduledStages(servedStages(), 3);
    setup.start();
    for (let round = 0; round < 5; round++) {
      const cancelled = setup.submit([BOTH, ESCALATED]);
      const refused = setup.submit([KEPT, KEPT]);
      expect(await refused.outcome).toMatchObject({ kind: "failed", reason: "queue-full" });
      await finishOf(setup, GATE);
      cancelled.cancel();
      expect(await cancelled.outcome).toMatchObject({ reason: "cancelled" });
      const rows = [BOTH, ESCALATED, KEPT];
      const answered = setup.submit(rows);
      await finishAll(setup);
      expect(setup.valuesOf(await answerOf(answered))).toEqual(expectedOutputs(rows));
    }
    expect(setup.scheduler.pendingCount).toBe(0);
  });
});

test("what is late is answered all the same, and counted as late", async () => {
  const setup = scheduledStages();
  setup.start();
  const submission = setup.submit([ESCALATED], 100);
  await finishOf(setup, GATE);
  setup.clock.nowMs = 101;
  await finishAll(setup);
  expect(setup.valuesOf(await answerOf(submission))).toEqual(expectedOutputs([ESCALATED]));
  const text = textOf(setup.metrics, GAUGES);
  expect(text).toContain('stratagem_queries_total{outcome="late"} 1\n');
  expect(text).toContain('stratagem_fanout{task="gate",variant="gate",child="slow"} 1\n');
  expect(text).toContain('stratagem_fanout{task="gate",variant="gate",child="last"} 0\n');
});

const GAUGES = {
  loadQps: 0,
  pendingQueries: 0,
  readyWorkers: 0,
  workers: WORKERS,
  servers: 0,
  workersByVariant: [],
  level: 0,
  topLevelQps: 0,
  bundleSha256: "",
  promise: { violationRate: 0.01 },
};
