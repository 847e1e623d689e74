/** The scheduler of provisioned stages. */
import fc from "fast-check";
import { expect } from "vitest";
import { inferline } from "../../../../runtime/methods/inferline/inferline.ts";
import {
  restlessStages,
  scheduledStages,
} from "../../../runtime/methods/inferline/serve/scheduled.ts";
import { played, STEP } from "../../../runtime/server/graph/played-steps.ts";
import { expectedOutputs } from "../../../runtime/server/graph/served-tasks.ts";
import type { ScheduledSubject } from "../scheduled.ts";

const MAX_PENDING = 40;

export const inferlineScheduled: ScheduledSubject = {
  runs: 80,
  failures: ["cancelled", "inference", "refused", "worker-lost"],
  stories: fc.array(STEP, { maxLength: 80, size: "max" }).map((steps) => ({
    async play(gone) {
      const bundle = restlessStages();
      const setup = scheduledStages(bundle, MAX_PENDING);
      const submissions = await played(setup, steps, gone);
      return {
        requests: submissions.map(({ submission: { outcome }, rows }) => ({
          outcome,
          checkOwn: (answer) => expect(setup.valuesOf(answer)).toEqual(expectedOutputs(rows)),
        })),
        pendingCount: () => setup.scheduler.pendingCount,
        log: setup.log,
        replayer: () => inferline.replayer(bundle, { maxPending: MAX_PENDING }),
        abort() {
          const { outcome } = setup.submit([{ escalate: 1, keep: 1, value: 7 }]);
          setup.scheduler.abort();
          return outcome;
        },
      };
    },
  })),
};
