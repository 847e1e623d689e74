/** Provisioned stages as people see them. */
import { stageBundle } from "../../../support/stage-bundle.ts";
import { stageSample } from "../../../support/stage-samples.ts";
import { MARKUP, type ShownSubject } from "../shown.ts";

export const inferlineShown: ShownSubject = {
  bundle: stageSample(),
  markedUp: stageBundle({
    tasks: [{ name: MARKUP, latencyMs: { 1: 10 } }],
    levels: [{ loadQps: 5, stages: [[1, 1]] }],
  }),
  hasTables: false,
};
