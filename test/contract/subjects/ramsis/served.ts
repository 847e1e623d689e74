/** One model of two variants as an endpoint. */
import { FakeExecutor, servedBundle } from "../../../runtime/server/harness.ts";
import { type FakeWorkers, never, type ServedSubject } from "../served.ts";

const WORKERS = [0, 1];
const SKETCH = { workers: WORKERS.length, loadsQps: [20, 100] };

export const ramsisServed: ServedSubject = {
  bundle: servedBundle(SKETCH),
  openWorkers,
  model: "tiny",
  input: {
    name: "x",
    data: [
      [1, 2],
      [3, 4],
    ],
  },
  // The small variant takes 15 ms for one row.
  leastUs: 15_000,
  otherSlo: servedBundle({ ...SKETCH, sloMs: 200 }),
  otherLevels: servedBundle({ ...SKETCH, loadsQps: [10, 20, 100] }),
  refusal: null,
};

function openWorkers(): FakeWorkers {
  let executor: FakeExecutor | undefined;
  return {
    starter: {
      start: async (handlers) => {
        executor = new FakeExecutor(handlers);
        executor.isHolding = true;
        return executor;
      },
      startAssigned: never,
    },
    ready: () => {
      for (const worker of WORKERS) executor?.handlers.onReady(worker);
    },
    async loseAll() {
      for (const worker of WORKERS) executor?.handlers.onLost(worker, "killed");
    },
    async hang() {
      executor?.replace("hung");
    },
    p99sMs: () => executor?.held.map(({ batch }) => batch.p99Ms) ?? [],
    runningCount: () => executor?.held.length ?? 0,
    finish: async () => executor?.finish(),
  };
}
