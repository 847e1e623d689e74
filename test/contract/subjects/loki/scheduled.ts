/** The scheduler of plans of servers. */
import fc from "fast-check";
import { pipelineDispatcherOf } from "../../../../runtime/methods/loki/core/loki-dispatcher.ts";
import { PipelineReplayer } from "../../../../runtime/server/graph/pipeline-replayer.ts";
import {
  DROP_MODES,
  expectOwn,
  played,
  QUERY_CAPACITY,
  STEP,
  scheduled,
} from "../../../runtime/methods/loki/serve/scheduled-pipeline.ts";
import { servedPipeline } from "../../../runtime/server/graph/served-pipeline.ts";
import type { ScheduledSubject } from "../scheduled.ts";

export const lokiScheduled: ScheduledSubject = {
  runs: 80,
  failures: ["cancelled", "inference", "late", "refused", "worker-lost"],
  stories: fc
    .tuple(fc.constantFrom(...DROP_MODES), fc.array(STEP, { maxLength: 80, size: "max" }))
    .map(([drop, steps]) => ({
      async play(gone) {
        const bundle = servedPipeline({ policy: { drop } });
        const setup = scheduled(bundle);
        const submissions = await played(setup, steps, gone);
        return {
          requests: submissions.map(({ submission: { outcome }, rows }) => ({
            outcome,
            checkOwn: (answer) => expectOwn(answer, rows),
          })),
          pendingCount: () => setup.scheduler.pendingCount,
          log: setup.log,
          replayer() {
            const dispatcher = pipelineDispatcherOf(bundle, { queryCapacity: QUERY_CAPACITY });
            return new PipelineReplayer(dispatcher, QUERY_CAPACITY);
          },
          abort() {
            const { outcome } = setup.submit([{ crops: 1, value: 1 }]);
            setup.scheduler.abort();
            return outcome;
          },
        };
      },
    })),
};
