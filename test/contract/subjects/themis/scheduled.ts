/** The scheduler of scaled stages. */
import fc from "fast-check";
import { expect } from "vitest";
import { themis } from "../../../../runtime/methods/themis/themis.ts";
import {
  restlessScales,
  scheduledScales,
} from "../../../runtime/methods/themis/serve/scheduled.ts";
import { played, STEP } from "../../../runtime/server/graph/played-steps.ts";
import { expectedOutputs } from "../../../runtime/server/graph/served-tasks.ts";
import type { ScheduledSubject } from "../scheduled.ts";

const MAX_PENDING = 40;

export const themisScheduled: ScheduledSubject = {
  runs: 100,
  failures: ["cancelled", "inference", "late", "refused", "worker-lost"],
  stories: fc.array(STEP, { maxLength: 80, size: "max" }).map((steps) => ({
    async play(gone) {
      const bundle = restlessScales();
      const setup = scheduledScales(bundle, { maxPending: MAX_PENDING });
      const submissions = await played(
        setup,
        steps,
        gone.filter((worker) => worker < 4),
      );
      return {
        requests: submissions.map(({ submission: { outcome }, rows }) => ({
          outcome,
          checkOwn: (answer) => expect(setup.valuesOf(answer)).toEqual(expectedOutputs(rows)),
        })),
        pendingCount: () => setup.scheduler.pendingCount,
        log: setup.log,
        replayer: () => themis.replayer(bundle, { maxPending: MAX_PENDING }),
        abort() {
          const { outcome } = setup.submit([{ escalate: 1, keep: 1, value: 7 }]);
          setup.scheduler.abort();
          return outcome;
        },
      };
    },
  })),
};
