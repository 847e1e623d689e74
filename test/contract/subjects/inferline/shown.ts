/** Provisioned stages as people see them. */
import { inferlineBundle } from "../../../support/inferline-bundle.ts";
import { inferlineSample } from "../../../support/inferline-samples.ts";
import { MARKUP, type ShownSubject } from "../shown.ts";

export const inferlineShown: ShownSubject = {
  bundle: inferlineSample(),
  markedUp: inferlineBundle({
    tasks: [{ name: MARKUP, latencyMs: { 1: 10 } }],
    levels: [{ loadQps: 5, stages: [[1, 1]] }],
  }),
  hasTables: false,
  hasDays: true,
};
