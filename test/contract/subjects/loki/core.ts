/** The dispatcher of plans of servers, of a chain and of a tree. */
import fc from "fast-check";
import { chainBundle, treeBundle } from "../../../support/loki-samples.ts";
import {
  endPipeline,
  pipelineEvents,
  pipelinePolicies,
  playPipeline,
} from "../../../support/pipeline-events.ts";
import type { CoreSubject } from "../core.ts";
import { countedBy } from "../counted.ts";

export const lokiCore: CoreSubject = {
  runs: 250,
  mustHappen: ["start", "drop", "assign", "release"],
  stories: fc
    .tuple(fc.boolean(), pipelinePolicies, pipelineEvents)
    .map(([isTree, policy, events]) => ({
      play: () => {
        const bundle = isTree ? treeBundle({ policy }) : chainBundle({ policy });
        const driver = playPipeline(bundle, events);
        return {
          bundle,
          log: driver.log,
          happened: countedBy(driver.log, (line) => line.split(" ")[0]),
          end: (gone) => {
            endPipeline(driver, bundle, gone);
            const { came, ended, waiting } = driver;
            return { came, ended, waiting: waiting.size };
          },
        };
      },
    })),
};
