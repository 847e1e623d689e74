/** Where replicas are in the end, whatever happened before. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  comeToRest,
  DIAMOND,
  playStages,
  repair,
  stageEvents,
} from "../../../../support/stage-events.ts";

test("in the end every stage is where the plan has it, with all its replicas", () => {
  fc.assert(
    fc.property(stageEvents, (steps) => {
      const { driver, tuner } = playStages(steps);
      tuner.recentMeanQps = Number.NaN;
      // As planned, so that there are workers for all.
      const { stages } = DIAMOND.levels[driver.dispatcher.level]?.plan ?? { stages: [] };
      tuner.tell(...stages.map(({ replicas }) => replicas));
      tuner.wakeMs = driver.nowMs;
      driver.endEvent();
      repair(driver);
      comeToRest(driver);
      for (const [task, { pool, replicas }] of stages.entries()) {
        const name = DIAMOND.tasks[task]?.name;
        const places = driver.models.flatMap((model, index) =>
          model === `${name}/${name}` ? [Math.floor(index / 4)] : [],
        );
        expect(places).toEqual(Array(replicas).fill(pool));
      }
    }),
    { numRuns: 150 },
  );
});
