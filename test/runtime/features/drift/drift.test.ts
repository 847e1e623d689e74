/** Promises of a server: what breaks each, the notices, and recovery. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { exposition } from "../../../../runtime/base/exposition.ts";
import { Drift } from "../../../../runtime/features/drift/drift.ts";
import { ArrivalCounts, dispersionOf } from "../../../../runtime/server/measures/arrival-counts.ts";
import { type LabelledAnswers, percentText } from "../../../../runtime/server/measures/facts.ts";
import { ServiceTimes } from "../../../../runtime/server/measures/service-times.ts";
import type { Reading } from "../../../../runtime/server/measures/watched.ts";
import { poissonCounts, readingOf } from "../../../support/drift-streams.ts";

/** 12:00 UTC of a day. */
const EPOCH_MS = 1_700_049_600_000;

/** A server whose clock and rows are the test's. */
class Scene {
  nowMs = 0;
  reading: Reading;
  counts: LabelledAnswers[] = [];
  readonly notices: string[] = [];
  readonly times = new ServiceTimes(
    {
      sloMs: 100,
      variants: [{ variant: "one" }, { variant: "two" }],
      kindLabels: () => ({}),
      profiled: () => ({ p50Ms: 10, decisionMs: 12 }),
    },
    () => this.nowMs,
  );
  readonly arrivals = new ArrivalCounts(100, () => this.nowMs);
  readonly drift: Drift;

  constructor(changes: Partial<Reading> = {}) {
    this.reading = readingOf(changes);
    this.drift = new Drift({
      watched: { times: this.times, arrivals: this.arrivals, reading: () => this.reading },
      stated: [{ variant: "one", accuracy: 0.9 }],
      labelled: () => this.counts,
      hoursPerFalseAlarm: 1000,
      nowMs: () => this.nowMs,
      epochOffsetMs: () => EPOCH_MS,
      onNotice: (message) => this.notices.push(message),
    });
  }

  get holds(): boolean {
    return this.drift.states().every(({ holds }) => holds);
  }

  /** A second, of so many rows that come evenly unless told otherwise. */
  second(rows: { satisfied: number; late: number }, comeIn: () => number = () => 5): void {
    for (let window = 0; window < 10; window++) {
      this.arrivals.onRows(comeIn());
      this.nowMs += 100;
    }
    const { satisfied, late, dropped } = this.reading.rows;
    const done = { satisfied: satisfied + rows.satisfied, late: late + rows.late, dropped };
    this.reading = {
      ...this.reading,
      rows: done,
      accuracySum: this.reading.accuracySum + 0.9 * rows.satisfied,
    };
    this.drift.look();
  }

  seconds(count: number, rows: { satisfied: number; late: number }, comeIn?: () => number): void {
    for (let second = 0; second < count; second++) this.second(rows, comeIn);
  }
}

const WELL = { satisfied: 50, late: 0 };

test("a promise that is kept is exported as such and causes no notice", () => {
  const scene = new Scene();
  scene.seconds(3600, { satisfied: 99, late: 1 });
  expect(scene.notices).toEqual([]);
  expect(scene.holds).toBe(true);
  const text = exposition(scene.drift.lines());
  expect(text).toContain('stratagem_promise_holds{promise="violations"} 1');
  expect(text).not.toContain('promise="cost"');
});

test("late rows break the promise with a notice, and it holds again afterwards", () => {
  const scene = new Scene();
  scene.seconds(600, WELL);
  scene.seconds(120, { satisfied: 48, late: 2 });
  expect(scene.notices).toHaveLength(1);
  const [told = ""] = scene.notices;
  expect(told).toMatch(/^promise broken: violations: [34]\.\d % of the rows are late or dropped/);
  expect(told).toMatch(/ since 12:\d\d:\d\d UTC; the bundle promises at most 1\.0 %; at most one/);
  expect(told).toMatch(/ one false alarm in 1000 h$/);
  const [state] = scene.drift.states().filter(({ promise }) => promise === "violations");
  expect(state).toMatchObject({ holds: false, evidence: 1 });
  scene.seconds(600, WELL);
  expect(scene.notices.slice(1)).toEqual(["promise holds again: violations"]);
  expect(scene.holds).toBe(true);
});

test("whatever is promised and measured, no notice has a negative number", () => {
  const share = fc.oneof(
    fc.constantFrom(0, 1, 0.001, 0.995, 0.999),
    fc.double({ min: 0, max: 1, noNaN: true }),
  );
  const part = fc.record({ seconds: fc.integer({ min: 1, max: 300 }), late: fc.nat(100) });
  fc.assert(
    fc.property(share, share, fc.array(part, { maxLength: 5 }), (rate, accuracy, parts) => {
      const promised = { feasible: true, violationRate: rate, accuracyPerSatisfied: accuracy };
      const scene = new Scene({ promised });
      for (const { seconds, late } of [...parts, { seconds: 120, late: 100 }]) {
        scene.seconds(seconds, { satisfied: 100 - late, late });
      }
      const told = [...scene.notices, ...scene.drift.states().map(({ because }) => because)];
      for (const text of told) expect(text).not.toMatch(/-\d|NaN/);
      for (const text of told.filter((one) => one.includes("promises at most"))) {
        expect(text).toContain(`promises at most ${percentText(rate)}`);
      }
    }),
    {
      numRuns: 50,
      examples: [
        [0, 0.9, []],
        [0.001, 1, []],
      ],
    },
  );
});

test("no promise applies above the highest level or at an infeasible level", () => {
  for (const changes of [
    { loadQps: 101 },
    { promised: { violationRate: 0.01, feasible: false } },
    { promised: undefined },
  ]) {
    const scene = new Scene(changes);
    scene.seconds(600, { satisfied: 25, late: 25 });
    expect(scene.notices).toEqual([]);
  }
});

test("another bundle starts with unbroken promises", () => {
  const scene = new Scene();
  scene.seconds(120, { satisfied: 40, late: 10 });
  expect(scene.holds).toBe(false);
  scene.reading = { ...scene.reading, bundleSha256: "b" };
  scene.second(WELL);
  expect(scene.holds).toBe(true);
});

test("a load above the highest level breaks the promise of arrivals", () => {
  const scene = new Scene();
  scene.seconds(120, WELL, () => 15);
  expect(scene.notices[0]).toContain(
    "arrivals: 150 rows per second arrive since 12:00:00 UTC; the highest level is solved for 100",
  );
});

test("five hours of Poisson arrivals keep the promise, and arrivals in tens break it", () => {
  const scene = new Scene();
  scene.seconds(5 * 3600, WELL, poissonCounts(1, 5));
  expect(scene.notices).toEqual([]);
  const ofTens = poissonCounts(2, 0.5);
  scene.seconds(120, WELL, () => 10 * ofTens());
  expect(scene.notices[0]).toMatch(
    /: rows within 100 ms vary \d+\.\dx as much as Poisson arrivals since [\d:]+ UTC; the bundle/,
  );
  const compiled = new Scene({ compiled: { process: "gamma", cv2: 10 } });
  compiled.seconds(3600, WELL, () => 10 * ofTens());
  expect(compiled.notices).toEqual([]);
});

test("the dispersion is the variance of counts over their mean, also at a changing rate", () => {
  expect(dispersionOf([5, 5, 5, 5])).toBe(0);
  expect(dispersionOf([0, 2, 0, 2])).toBe(2);
  expect(dispersionOf(Array.from({ length: 1000 }, (_, at) => at))).toBeLessThan(0.01);
  expect(dispersionOf([0, 0])).toBeNaN();
});

test("feedback reveals a variant that is wrong more often than stated", () => {
  const scene = new Scene();
  const feedBack = (asked: number, correct: number) => {
    const [before = { variant: "one", asked: 0, correct: 0 }] = scene.counts;
    const own = { asked: before.asked + asked, correct: before.correct + correct };
    scene.counts = [{ variant: "one", ...own }];
  };
  for (let second = 0; second < 1000; second++) {
    feedBack(10, 9);
    scene.second(WELL);
  }
  expect(scene.notices).toEqual([]);
  for (let second = 0; second < 100; second++) {
    feedBack(10, 7);
    scene.second(WELL);
  }
  const [told = ""] = scene.notices;
  expect(told).toMatch(/^promise broken: accuracy: one is right in 7\d\.\d % of \d+ answers with /);
  expect(told).toMatch(/ feedback since 12:16:\d\d UTC; the bundle states 90\.0 %/);
});

test("answers of less accurate variants than promised break the promise of accuracy", () => {
  const scene = new Scene({
    promised: { violationRate: 0.01, accuracyPerSatisfied: 0.95, feasible: true },
  });
  scene.seconds(300, WELL);
  expect(scene.notices[0]).toMatch(
    /^promise broken: accuracy: the variants that answer have an accuracy of 90\.0 % since/,
  );
});

test("a cost above the plan breaks the promise of cost", () => {
  const scene = new Scene({ cost: { held: 4, promised: 4, most: 16, unit: "cores" } });
  scene.seconds(3600, WELL);
  expect(scene.notices).toEqual([]);
  scene.reading = { ...scene.reading, cost: { held: 8, promised: 4, most: 16, unit: "cores" } };
  scene.seconds(1200, WELL);
  expect(scene.notices[0]).toMatch(
    /^promise broken: cost: the cost is 8 cores; the plan promises 4, since 1[23]:/,
  );
  const text = exposition(scene.drift.lines());
  expect(text).toContain('stratagem_promise_holds{promise="cost"} 0');
});

test("the notice of slow service times has the promises of the adapted policy", () => {
  const scene = new Scene({ pace: 1.5, promised: { violationRate: 0.01, feasible: true } });
  for (let second = 0; second < 120; second++) {
    for (let batch = 0; batch < 20; batch++) {
      const endMs = scene.nowMs + 50 * batch;
      const times = { aroundMs: 15, insideMs: 15, endMs, busyWorkers: 1 };
      scene.times.onBatch({ variant: 0, rows: 1, kind: 0, ...times });
    }
    scene.second(WELL);
  }
  const told = "; the policy has adapted to pace 1.5 and promises at most 1.0 % late or dropped";
  expect(scene.notices[0]).toMatch(/^promise broken: service times: one takes 1\.5x/);
  expect(scene.notices[0]?.endsWith(told)).toBe(true);
  const [state] = scene.drift.states();
  expect(state?.because.endsWith(told)).toBe(true);
});
