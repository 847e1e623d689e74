import { Rng } from "stratagem-runtime/internal/core/rng";
import { loadBundle } from "stratagem-runtime/internal/load-bundle";
import { methodOf } from "stratagem-runtime/internal/methods/registry";
import { ArrivalBook } from "stratagem-runtime/internal/server/shadow-policy/arrival-book";
import { ShadowPolicy } from "stratagem-runtime/internal/server/shadow-policy/shadow-policy";
import { bench, describe } from "vitest";

const QUERIES = 10_000;
const QPS = 880;

const loaded = await loadBundle("policies/letters/bundle.msgpack");
const { bundle } = loaded;

describe("a bundle that looks on, what a query costs", () => {
  let nowMs = 0;
  const method = methodOf(bundle);
  const times = method.onlookerTimes?.(bundle, new Rng(1, 1));
  if (times === undefined) throw new Error("a bundle of tables looks on");
  const rng = new Rng(1, 2);
  const policy = new ShadowPolicy({
    served: () => loaded,
    shadow: loaded,
    parts: {
      replayer: method.replayer(bundle, { maxPending: 4096 }),
      times,
      workerCount: method.workerCount(bundle),
      queryCapacity: 4096,
    },
    arrivals: new ArrivalBook(0),
    nowMs: () => nowMs,
    epochOffsetMs: 0,
    onNotice: (notice) => {
      throw new Error(notice);
    },
  });

  bench(`${QUERIES} queries at ${QPS} a second, each served by itself`, () => {
    for (let query = 0; query < QUERIES; query++) {
      nowMs += (-1000 / QPS) * Math.log(1 - rng.nextFloat());
      const name = query % 64;
      const deadlineMs = nowMs + bundle.slo.latencyMs;
      policy.record({ kind: "arrival", query: name, deadlineMs, nowMs });
      policy.record({ kind: "start-batch", worker: 0, variant: 0, level: 0, queries: [name] });
      policy.record({ kind: "done", worker: 0, nowMs });
    }
    policy.look();
  });
});
