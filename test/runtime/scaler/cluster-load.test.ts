/** Load of a cluster, summed from its front ends' beats. */
import { expect, test } from "vitest";
import { loadBundle } from "../../../runtime/bundles/load-bundle.ts";
import {
  beatText,
  type CountedTraffic,
  frontEndKey,
  type TrafficByApplication,
} from "../../../runtime/features/cluster/shares/share-texts.ts";
import { ClusterLoad } from "../../../runtime/scaler/cluster-load.ts";
import { LoadWatch } from "../../../runtime/scaler/load-watch.ts";
import { loadQpsOf } from "../../../runtime/scaler/observed-load.ts";
import { MemoryBucket, type MemoryStore } from "../../support/memory-store.ts";
import { Clock } from "../../support/told-traffic.ts";

const NOTHING = { qps: 0, variance: 0 };
const APPLICATION = "ocr-inferline";

/** One that serves, as far as the store shows: it counts, and writes beats. */
class Beating {
  counts: CountedTraffic = { rows: 0, dropped: 0, requests: 0, rejected: 0 };
  readonly #store: MemoryStore;
  readonly #key: string;
  #beat = 0;

  constructor(bucket: MemoryBucket, name: string) {
    this.#store = bucket.store();
    this.#key = frontEndKey(name);
  }

  serve(rows: number, rejected = 0): void {
    const { counts } = this;
    this.counts = {
      rows: counts.rows + rows,
      dropped: counts.dropped,
      requests: counts.requests + rows,
      rejected: counts.rejected + rejected,
    };
  }

  async beat(traffic: TrafficByApplication = { [APPLICATION]: this.counts }): Promise<void> {
    this.#beat++;
    const found = await this.#store.get(this.#key);
    const text = beatText(this.#beat, NOTHING, traffic);
    if (found === null) await this.#store.create(this.#key, text);
    else await this.#store.update(this.#key, text, found.revision);
  }

  async leave(): Promise<void> {
    await this.#store.delete(this.#key);
  }
}

function watched() {
  const bucket = new MemoryBucket();
  const clock = new Clock();
  const store = bucket.store();
  const load = new ClusterLoad({ store, application: APPLICATION, nowMs: clock.now });
  const qps = () => loadQpsOf(load.load().window);
  return { bucket, clock, store, load, qps };
}

type Watched = ReturnType<typeof watched>;

/** Beats each half second, and looks each second. */
async function pass(
  seconds: number,
  rates: readonly (readonly [Beating, rowsPerSecond: number])[],
  { clock, load }: Pick<Watched, "clock" | "load">,
): Promise<void> {
  for (let half = 1; half <= 2 * seconds; half++) {
    clock.ms += 500;
    for (const [frontEnd, rows] of rates) {
      frontEnd.serve(rows / 2);
      await frontEnd.beat();
    }
    if (half % 2 === 0) await load.look();
  }
}

test("sums the counts of all front ends, including rejected requests", async () => {
  const at = watched();
  const [a, b] = [new Beating(at.bucket, "a"), new Beating(at.bucket, "b")];
  expect(at.load.whyUnknown(at.clock.ms)).toContain("has been received yet");
  await pass(
    9,
    [
      [a, 40],
      [b, 20],
    ],
    at,
  );
  expect(at.load.whyUnknown(at.clock.ms)).toContain("less than 10 s");
  await pass(
    31,
    [
      [a, 40],
      [b, 20],
    ],
    at,
  );
  expect(at.load.whyUnknown(at.clock.ms)).toBeNull();
  expect(at.qps()).toBeCloseTo(60, 6);
  for (let half = 0; half < 60; half++) {
    b.serve(0, 5);
    await pass(
      0.5,
      [
        [a, 40],
        [b, 20],
      ],
      at,
    );
  }
  expect(at.qps()).toBeCloseTo(70, 6);
});

test("a dead front end is excluded after 3 s, and a leaving one at once", async () => {
  const at = watched();
  const [a, b] = [new Beating(at.bucket, "a"), new Beating(at.bucket, "b")];
  await pass(
    40,
    [
      [a, 40],
      [b, 20],
    ],
    at,
  );
  await pass(2, [[a, 40]], at);
  expect(at.qps()).toBeCloseTo(60, 6);
  await pass(2, [[a, 60]], at);
  expect(at.qps()).toBeLessThan(50);
  await b.beat();
  await pass(
    12,
    [
      [a, 40],
      [b, 20],
    ],
    at,
  );
  expect(at.load.whyUnknown(at.clock.ms)).toBeNull();
  await b.leave();
  await pass(30, [[a, 40]], at);
  expect(at.qps()).toBeCloseTo(40, 6);
});

test("an outage of the store makes the load unknown and no front end dead", async () => {
  const at = watched();
  const [a, b] = [new Beating(at.bucket, "a"), new Beating(at.bucket, "b")];
  await pass(
    40,
    [
      [a, 40],
      [b, 20],
    ],
    at,
  );
  at.store.link = "cut";
  for (let second = 0; second < 20; second++) {
    at.clock.ms += 1000;
    a.serve(40);
    b.serve(20);
    await at.load.look();
  }
  expect(at.load.whyUnknown(at.clock.ms)).toContain("no front end of the cluster sends beats");
  at.store.link = "whole";
  await a.beat();
  await at.load.look();
  await b.beat();
  expect(at.load.whyUnknown(at.clock.ms)).toBeNull();
  expect(at.qps()).toBeCloseTo(60, 6);
});

test("front ends of another application do not count", async () => {
  const at = watched();
  const other = new Beating(at.bucket, "other");
  const traffic = { rows: 5, dropped: 0, requests: 5, rejected: 0 };
  await other.beat({ another: traffic });
  await Promise.resolve();
  expect(at.load.whyUnknown(at.clock.ms)).toContain(`serves "${APPLICATION}"`);
});

test("follows the plan for the load of all front ends", async () => {
  const { bundle } = await loadBundle("policies/ocr-inferline/bundle.msgpack");
  const at = watched();
  const watch = new LoadWatch({ bundle, frontEnds: at.load, nowMs: at.clock.now });
  const [a, b] = [new Beating(at.bucket, "a"), new Beating(at.bucket, "b")];
  for (let second = 0; second < 40; second++) {
    await pass(
      1,
      [
        [a, 1],
        [b, 1],
      ],
      at,
    );
    await watch.look();
  }
  expect(watch.plan.wanted({ task: "read" })).toBe(7);
});
