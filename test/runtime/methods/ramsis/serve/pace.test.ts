/** The running server measures the pace of its workers, and records what it decides by. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { RecordedEvent } from "../../../../../runtime/methods/ramsis/serve/recorded-dispatcher.ts";
import { RamsisReplayer } from "../../../../../runtime/methods/ramsis/serve/replayer.ts";
import { Scheduler } from "../../../../../runtime/methods/ramsis/serve/scheduler.ts";
import { paceLines, servedPace } from "../../../../../runtime/server/metrics/served-pace.ts";
import {
  isCommand,
  type RecordedEntry,
} from "../../../../../runtime/server/requests/recorded-entry.ts";
import { signatureOf } from "../../../../../runtime/server/tensors/signature.ts";
import { FakeExecutor, servedBundle } from "../../../server/harness.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});

afterEach(() => {
  vi.useRealTimers();
});

const bundle = servedBundle({ workers: 2, maxQueue: 3, sloMs: 100 });
const row = () => ({ rows: 1, inputs: [new Uint8Array(8)] });

class Scene {
  readonly log: RecordedEntry[] = [];
  readonly scheduler: Scheduler;
  readonly executor: FakeExecutor;

  constructor() {
    const scheduler = new Scheduler({
      bundle,
      signature: signatureOf(bundle),
      nowMs: () => performance.now(),
      maxPending: 10,
      recorder: (entry) => this.log.push(structuredClone(entry)),
    });
    this.scheduler = scheduler;
    this.executor = new FakeExecutor({
      onReady: (worker) => scheduler.onWorkerReady(worker),
      onLost: (worker, reason) => scheduler.onWorkerLost(worker, reason),
    });
    scheduler.attach(this.executor);
    scheduler.onWorkerReady(0);
    scheduler.onWorkerReady(1);
  }

  /** So many batches of one row, one after the other, that take some times their profile. */
  async batches(count: number, factor: number): Promise<void> {
    const { decisionMs } = bundle.tasks[0]?.serviceTimes ?? {};
    const [, maxBatch = 0] = decisionMs?.shape ?? [];
    for (let one = 0; one < count; one++) {
      this.executor.isHolding = true;
      const { outcome } = this.scheduler.submit(row(), performance.now() + 1000);
      const { variant = 0 } = this.executor.held[0]?.batch ?? {};
      this.executor.wallMs = factor * (decisionMs?.data[variant * maxBatch] ?? 0);
      vi.advanceTimersByTime(20);
      this.executor.finish();
      await outcome;
    }
  }

  get done(): Extract<RecordedEvent, { kind: "done" }>[] {
    return this.log.filter((one) => one.kind === "done") as never;
  }
}

test("the measured time of a batch makes the pace, but that of a worker's first one", async () => {
  const scene = new Scene();
  await scene.batches(1, 4);
  expect(scene.done.map(({ ranMs }) => ranMs)).toEqual([undefined]);
  await scene.batches(30, 2);
  expect(scene.done.at(-1)?.ranMs).toBeGreaterThan(0);
  expect(scene.scheduler.pace.poolPace).toBeGreaterThanOrEqual(1.5);
  const { pools } = bundle.cluster;
  const lines = paceLines(servedPace(scene.scheduler.pace, pools));
  const paces = lines.filter((one) => one.kind === "sample" && one.name === "stratagem_pace");
  expect(paces).toHaveLength(2);
  scene.scheduler.onWorkerLost(1, "gone");
  expect(servedPace(scene.scheduler.pace, pools).workers.map(({ worker }) => worker)).toEqual([0]);
});

test("the pace survives a reload of the same bundle", async () => {
  const scene = new Scene();
  await scene.batches(30, 2);
  const { poolPace } = scene.scheduler.pace;
  expect(poolPace).toBeGreaterThan(1);
  scene.scheduler.replaceBundle(structuredClone(bundle));
  expect(scene.scheduler.pace.poolPace).toBe(poolPace);
});

test("a log with measured times is replayed to the same commands, as is one without", async () => {
  const scene = new Scene();
  await scene.batches(20, 2.5);
  await scene.batches(20, 1);
  const replayer = new RamsisReplayer(bundle);
  const told = scene.log.filter((one) => !isCommand(one)).flatMap((one) => replayer.tell(one));
  expect(told).toEqual(scene.log.filter(isCommand));
  const before = new RamsisReplayer(bundle);
  for (const { ranMs: _, ...event } of scene.log.filter((one) => !isCommand(one)))
    before.tell(event);
});
