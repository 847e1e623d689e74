/** The pure parts of the experiments at scale. */
import { expect, test } from "vitest";
import { stateOf } from "../../../lab/experiments/scale/announced-workers.ts";
import { gaugeOf, perSecond, trafficOf } from "../../../lab/experiments/scale/broker-traffic.ts";
import { FarCluster } from "../../../lab/experiments/scale/far-cluster.ts";
import { ceilingQps, isSteady } from "../../../lab/experiments/scale/steadiness.ts";
import { extrasOf } from "../../../lab/experiments/scale/zones.ts";
import { CommandBuffer } from "../../../runtime/core/command-buffer.ts";
import { readState, textOfState } from "../../../runtime/features/cluster/worker-state.ts";

test("a run is steady where its answers end with its schedule", () => {
  expect(isSteady({ qps: 1000, requests: 3000, seconds: 3.1 })).toBe(true);
  expect(isSteady({ qps: 1000, requests: 3000, seconds: 3.2 })).toBe(false);
});

test("a process that takes 100 µs for a request ends at 10,000 of them a second", () => {
  expect(ceilingQps(100)).toBe(10_000);
});

const VARZ = { in_msgs: 100, out_msgs: 300, in_bytes: 1000, out_bytes: 5000 };

test("what a nats-server carries in a second is told by what it has counted", () => {
  const before = trafficOf(JSON.stringify(VARZ), 1000);
  const after = trafficOf(JSON.stringify({ ...VARZ, in_msgs: 140, out_bytes: 9000 }), 3000);
  expect(perSecond(before, after)).toEqual({
    ...{ inMessages: 20, outMessages: 0, inBytes: 0, outBytes: 2000 },
  });
});

test("what is no /varz is refused with the name that is missing", () => {
  expect(() => trafficOf('{"out_msgs":7}', 0)).toThrow("/varz: expected a number for in_msgs");
});

test("a gauge is summed over its labels, and no other one with it", () => {
  const text = '# HELP a of a\na{pool="x"} 3\na{pool="y z"} 4\nab 9\nb 5\n';
  expect([gaugeOf(text, "a"), gaugeOf(text, "b"), gaugeOf(text, "c")]).toEqual([7, 5, 0]);
});

test("an announced worker says what members of a cluster say", () => {
  const state = { ...stateOf(999), session: "s", isLeaving: false };
  expect(readState(textOfState(state))).toEqual(state);
});

test("zones have their workers in turn, each beyond the way of the first", () => {
  expect(extrasOf(5, [1, 3, 8])).toEqual([0, 2, 7, 0, 2]);
});

test("a batch for a far worker begins later by its way, and no other one does", () => {
  const started: [atMs: number, worker: number, queries: number[]][] = [];
  let next = 0;
  const core = {
    ...{ workerCount: 2, waitingCapacity: 4, commandCapacity: 2 },
    wakeMs: Number.POSITIVE_INFINITY,
    onArrival: (query: number, _deadlineMs: number, _nowMs: number, out: CommandBuffer) => {
      out.startBatch(next++ % 2, 0, 0);
      out.appendQuery(query);
    },
    onBatchDone: () => {},
    onWake: () => {},
  };
  const far = new FarCluster(core, [0, 3], 4);
  const out = new CommandBuffer(far.commandCapacity, far.waitingCapacity);
  const take = (atMs: number) => {
    for (let command = 0; command < out.count; command++) {
      const length = out.queryCount(command);
      const queries = Array.from({ length }, (_, at) => out.query(command, at));
      started.push([atMs, out.worker(command), queries]);
    }
    out.clear();
  };
  for (const [query, nowMs] of [
    [10, 1],
    [11, 2],
    [12, 3],
  ] as const) {
    far.onArrival(query, nowMs + 100, nowMs, out);
    take(nowMs);
  }
  expect(far.wakeMs).toBe(5);
  far.onWake(5, out);
  take(5);
  expect(started).toEqual([
    [1, 0, [10]],
    [3, 0, [12]],
    [5, 1, [11]],
  ]);
  expect(far.wakeMs).toBe(Number.POSITIVE_INFINITY);
});
