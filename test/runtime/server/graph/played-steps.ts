/** A cascade's scheduler put through anything, step by step. */
import fc from "fast-check";
import type { Submission } from "../../../../runtime/server/requests/request.ts";
import {
  finishAll,
  type scheduledStages,
  WORKERS,
} from "../../methods/inferline/serve/scheduled.ts";
import type { CascadeRow } from "./served-tasks.ts";

/** A scheduler of the cascade, whatever its plans are. */
export type PlayedSetup = Pick<
  ReturnType<typeof scheduledStages>,
  "scheduler" | "executor" | "clock" | "submit" | "start"
>;

export const STEP = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant("submit"), n: fc.integer({ min: 1, max: 15 }) }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("finish"), n: fc.nat({ max: 5 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("compute"), n: fc.nat({ max: 5 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom("load", "ready"),
      n: fc.nat({ max: WORKERS - 1 }),
    }),
  },
  fc.record({
    kind: fc.constantFrom(
      "refuse",
      "refuse rows",
      "lose",
      "lose",
      "lose",
      "cancel",
      "second",
      "minute",
    ),
    n: fc.nat({ max: 9 }),
  }),
);
type Step = typeof STEP extends fc.Arbitrary<infer Each> ? Each : never;

/**
 * Runs the steps, then brings everything to its end: lost workers come back, or more of them go for
 * good.
 */
export async function played(
  setup: PlayedSetup,
  steps: readonly Step[],
  gone: readonly number[] = [],
) {
  const { scheduler, executor, clock, submit, start } = setup;
  const submissions: { submission: Submission; rows: CascadeRow[] }[] = [];
  const lost = new Set<number>();
  const { workerCount } = scheduler.workers;
  start();
  for (const { kind, n } of steps) {
    clock.nowMs += 7;
    if (kind === "submit") {
      const rows = Array.from({ length: 1 + (n % 3) }, (_, row) => ({
        escalate: (n + row) & 1,
        keep: ((n + row) >> 1) & 1,
        value: 10 * submissions.length + row,
      }));
      submissions.push({ submission: submit(rows, 300), rows });
    } else if (kind === "cancel") submissions[n]?.submission.cancel();
    else if (kind === "load") executor.load();
    else if (kind === "second") clock.nowMs += 1000;
    else if (kind === "minute") clock.nowMs += 60_000;
    else if (kind === "lose" && n < workerCount && !lost.has(n)) {
      lost.add(n);
      executor.lose(n);
    } else if (kind === "ready" && lost.delete(n)) scheduler.onWorkerReady(n);
    else if (kind === "compute" && executor.held.length > 0)
      executor.compute(n % executor.held.length);
    else if (kind === "finish" && executor.held.length > 0)
      executor.finish(n % executor.held.length);
    else if (kind === "refuse" && executor.held.length > 0)
      executor.refuse(n % executor.held.length);
    else if (kind === "refuse rows" && executor.held.length > 0)
      executor.refuseRows([n, 2 * n], n % executor.held.length);
    for (let turn = 0; turn < 6; turn++) await Promise.resolve();
  }
  for (const worker of lost) if (!gone.includes(worker)) scheduler.onWorkerReady(worker);
  for (const worker of gone) if (!lost.has(worker)) executor.lose(worker);
  await finishAll(setup);
  return submissions;
}
