import { expect, test } from "vitest";
import { CommandBuffer } from "../../../../../runtime/core/command-buffer.ts";
import type { LoadShare } from "../../../../../runtime/core/load-share.ts";
import { dispatcherOf } from "../../../../../runtime/methods/ramsis/core/dispatcher-of.ts";
import type { RecordedEvent } from "../../../../../runtime/methods/ramsis/serve/recorded-dispatcher.ts";
import { RamsisReplayer } from "../../../../../runtime/methods/ramsis/serve/replayer.ts";
import { classBundle } from "../../../../support/class-bundle.ts";
import { tinyBundle } from "../../../../support/tiny-bundle.ts";

const SHARE: LoadShare = { othersQps: 950, othersVariance: 1900, workers: 1, allWorkers: 4 };
const ALONE: LoadShare = { othersQps: 0, othersVariance: 0, workers: 4, allWorkers: 4 };

/** The level of a batch that starts after a share is told, where little has come here. */
function levelOf(bundle: Parameters<typeof dispatcherOf>[0], share: LoadShare): number {
  const dispatcher = dispatcherOf(bundle);
  const out = new CommandBuffer(dispatcher.commandCapacity, dispatcher.waitingCapacity);
  let level = -1;
  dispatcher.onShare(share);
  for (let query = 0; query < 12; query++) {
    const nowMs = 1000 + 100 * query;
    dispatcher.onArrival(query, nowMs + 100, nowMs, out);
    for (let command = 0; command < out.count; command++) level = out.level(command);
    const workers = Array.from({ length: out.count }, (_, command) => out.worker(command));
    out.clear();
    for (const worker of workers) dispatcher.onBatchDone(worker, nowMs + 1, out);
    out.clear();
  }
  return level;
}

const LOADS = { workers: 4, maxQueue: 3, sloMs: 100, loadsQps: [100, 1000, 2000] };

test.each(["round-robin", "pooled"] as const)("%s: levels are of the load of all", (balancer) => {
  const bundle = tinyBundle(LOADS);
  const own = { ...bundle, policy: { ...bundle.policy, balancer } };
  expect(levelOf(own, ALONE)).toBe(0);
  expect(levelOf(own, SHARE)).toBe(1);
});

test("classes: levels are of the load of all", () => {
  const bundle = classBundle({ loadsQps: [100, 1000, 2000], workers: 4 });
  expect(levelOf(bundle, ALONE)).toBe(0);
  expect(levelOf(bundle, SHARE)).toBe(1);
});

test("a replay is told the share, and says the same", () => {
  const bundle = tinyBundle(LOADS);
  const replayed = (share: RecordedEvent) => {
    const replayer = new RamsisReplayer(bundle);
    replayer.tell({ kind: "ready", worker: 0, nowMs: 0 });
    replayer.tell(share);
    return replayer.tell({ kind: "arrival", query: 1, deadlineMs: 1100, nowMs: 1000 });
  };
  expect(replayed({ kind: "share", nowMs: 1, ...SHARE })).toMatchObject([{ level: 1 }]);
  expect(replayed({ kind: "share", nowMs: 1, ...ALONE })).toMatchObject([{ level: 0 }]);
});
