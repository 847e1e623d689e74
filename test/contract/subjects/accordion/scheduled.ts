/** The driver of execution places. */
import fc from "fast-check";
import { expect, vi } from "vitest";
import { accordion } from "../../../../runtime/methods/accordion/accordion.ts";
import {
  ask,
  drivenPlaces,
  expectOwnRows,
  finishAll,
} from "../../../runtime/methods/accordion/serve/driven.ts";
import {
  act,
  type Happened,
  MAX_PENDING,
  OPTIONS,
  PLACES,
  STEP,
} from "../../../runtime/methods/accordion/serve/driven-steps.ts";
import { DEEP, SMALL, servedPlaces } from "../../../runtime/methods/accordion/serve/fake-places.ts";
import type { ScheduledSubject } from "../scheduled.ts";

export const accordionScheduled: ScheduledSubject = {
  runs: 100,
  failures: ["cancelled", "inference", "late", "no-worker", "queue-full", "worker-lost"],
  stories: fc
    .tuple(OPTIONS, fc.boolean(), fc.array(STEP, { maxLength: 90, size: "max" }))
    .map(([policy, hasTwoPools, steps]) => ({
      async play(gone) {
        const pools = hasTwoPools ? [{ workers: 2 }, { workers: 2, speed: 2 }] : undefined;
        const sketch = { models: [DEEP, SMALL], policy, maxDepth: policy.maxDepth ?? 4 };
        const bundle = servedPlaces(pools === undefined ? sketch : { ...sketch, pools });
        vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
        try {
          const driven = drivenPlaces(bundle, MAX_PENDING);
          const happened: Happened = { asked: [], cancelled: new Set() };
          for (const step of steps) await act(driven, happened, step);
          await end(driven, gone);
          expect(driven.executor.mistakes).toEqual([]);
          for (const one of happened.asked) expect(one.outcomes).toHaveLength(1);
          // Every place is as it was: a request that nothing disturbs has them all.
          const last = ask(driven, [7, 8, 9]);
          await finishAll(driven);
          if (gone.length === 0) expectOwnRows(driven, last);
          return {
            requests: happened.asked.map((one) => ({
              outcome: one.submission.outcome,
              checkOwn: () => void expectOwnRows(driven, one),
            })),
            pendingCount: () => driven.executor.held.length,
            log: driven.log,
            replayer: () => accordion.replayer(bundle, { maxPending: MAX_PENDING }),
            abort() {
              const { submission } = ask(driven, [1]);
              driven.driver.abort();
              return submission.outcome;
            },
          };
        } finally {
          vi.useRealTimers();
        }
      },
    })),
};

async function end(driven: ReturnType<typeof drivenPlaces>, gone: readonly number[]) {
  const { executor } = driven;
  for (let place = 0; place < PLACES; place++) {
    if (!executor.isUp(place)) executor.ready(place);
  }
  for (const place of gone) if (place < PLACES) await executor.lose(place);
  await finishAll(driven);
}
