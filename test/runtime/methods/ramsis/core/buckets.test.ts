/** Queues of buckets that share their workers. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { CommandBuffer, DROP } from "../../../../../runtime/core/command-buffer.ts";
import { dispatcherOf } from "../../../../../runtime/methods/ramsis/core/dispatcher-of.ts";
import { type BucketBundleOptions, bucketBundle } from "../../../../support/bucket-bundle.ts";

interface Started {
  readonly worker: number;
  readonly variant: number;
  readonly queries: readonly number[];
}

/** A cluster that is told of arrivals and completions, and says what it starts. */
function clusterOf(options: BucketBundleOptions) {
  const dispatcher = dispatcherOf(bucketBundle(options));
  const out = new CommandBuffer(dispatcher.commandCapacity, dispatcher.waitingCapacity);
  const read = (): Started[] => {
    const started: Started[] = [];
    for (let command = 0; command < out.count; command++) {
      if (out.kind(command) === DROP) continue;
      const queries = Array.from({ length: out.queryCount(command) }, (_, at) =>
        out.query(command, at),
      );
      started.push({ worker: out.worker(command), variant: out.variant(command), queries });
    }
    out.clear();
    return started;
  };
  return {
    dispatcher,
    arrive(query: number, bucket: number, nowMs: number, sloMs = 100) {
      dispatcher.onArrival(query, nowMs + sloMs, nowMs, out, bucket);
      return read();
    },
    done(worker: number, nowMs: number) {
      dispatcher.onBatchDone(worker, nowMs, out);
      return read();
    },
    wake(nowMs: number) {
      dispatcher.onWake(nowMs, out);
      return read();
    },
  };
}

test("no batch mixes buckets, and each is served once", () => {
  const story = fc.array(fc.tuple(fc.nat({ max: 1 }), fc.nat({ max: 12 })), { maxLength: 60 });
  fc.assert(
    fc.property(story, fc.integer({ min: 1, max: 3 }), (arrivals, workers) => {
      const cluster = clusterOf({ workers, maxQueue: 7 });
      const bucketOf = new Map<number, number>();
      const served: number[] = [];
      const running: number[] = [];
      let nowMs = 0;
      const take = (started: readonly Started[]) => {
        for (const { worker, queries } of started) {
          expect(new Set(queries.map((query) => bucketOf.get(query))).size).toBe(1);
          served.push(...queries);
          running.push(worker);
        }
      };
      for (const [query, [bucket, gapMs]] of arrivals.entries()) {
        nowMs += gapMs;
        bucketOf.set(query, bucket);
        take(cluster.arrive(query, bucket, nowMs, 1e6));
        if (gapMs > 8 && running.length > 0) take(cluster.done(running.shift() as number, nowMs));
      }
      while (running.length > 0) take(cluster.done(running.shift() as number, nowMs));
      expect(new Set(served).size).toBe(served.length);
      expect(served.length).toBeLessThanOrEqual(arrivals.length);
    }),
  );
});

test("the earliest deadline goes first, with all of its bucket that wait", () => {
  const cluster = clusterOf({});
  expect(cluster.arrive(0, 0, 0)).toEqual([{ worker: 0, variant: 0, queries: [0] }]);
  cluster.arrive(1, 1, 1);
  cluster.arrive(2, 0, 2, 50);
  cluster.arrive(3, 1, 3);
  cluster.arrive(4, 0, 4);
  expect(cluster.done(0, 5)).toEqual([{ worker: 0, variant: 0, queries: [2, 4] }]);
  expect(cluster.done(0, 20)).toEqual([{ worker: 0, variant: 0, queries: [1, 3] }]);
});

test("while a bucket waits its worker is kept, but for batches that end before it acts", () => {
  const waits: BucketBundleOptions["decide"] = ({ bucket, queued, slackMs }) => {
    return bucket === 0 && queued === 1 && slackMs >= 50 ? "wait" : { variant: 0, batch: queued };
  };
  const cluster = clusterOf({ decide: waits });
  // Bucket 0 will act at 60 ms, when its slack has fallen below 50: a batch of bucket 1 takes 15.
  expect(cluster.arrive(0, 0, 10)).toEqual([]);
  expect(cluster.arrive(1, 1, 20)).toEqual([{ worker: 0, variant: 0, queries: [1] }]);
  expect(cluster.done(0, 35)).toEqual([]);
  expect(cluster.arrive(2, 1, 50)).toEqual([]);
  expect(cluster.dispatcher.wakeMs).toBeCloseTo(60, 3);
  expect(cluster.wake(60.001)).toEqual([{ worker: 0, variant: 0, queries: [0] }]);
  expect(cluster.done(0, 68)).toEqual([{ worker: 0, variant: 0, queries: [2] }]);
});

test("levels are chosen by work: more of a large bucket than its share calls for a higher", () => {
  const levelsAt = (bucket: number) => {
    const dispatcher = dispatcherOf(bucketBundle({ workers: 60, loadsQps: [400, 2000] }));
    const out = new CommandBuffer(dispatcher.commandCapacity, dispatcher.waitingCapacity);
    const levels: number[] = [];
    for (let query = 0; query < 700; query++) {
      const nowMs = (query * 1000) / 350;
      dispatcher.onArrival(query, nowMs + 100, nowMs, out, bucket);
      for (let command = 0; command < out.count; command++) {
        levels.push(out.level(command));
        dispatcher.onBatchDone(out.worker(command), nowMs, new CommandBuffer(64, 64));
      }
      out.clear();
    }
    expect(dispatcher.loadQps(2000)).toBeCloseTo(350, -1);
    return levels.at(-1);
  };
  expect([levelsAt(0), levelsAt(1)]).toEqual([0, 1]);
});
