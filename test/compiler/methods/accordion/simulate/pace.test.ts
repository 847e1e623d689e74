import { expect, test } from "vitest";
import { simulateAccordion } from "../../../../../compiler/methods/accordion/simulate/simulate.ts";
import {
  AS_PROFILED,
  type MachineState,
} from "../../../../../compiler/simulate/serving/machine-state.ts";
import type { AccordionBundle } from "../../../../../runtime/bundle/schema.ts";
import { accordionBundle } from "../../../../support/accordion-bundle.ts";

function bundleOf(layerMs: number, places: number): AccordionBundle {
  const models = [{ name: "even", accuracy: 0.75, layerMs: [layerMs, layerMs] }];
  const policy = { meanBatch: 3, maxBatch: 8, dropAfterSlos: 1 };
  return accordionBundle({ models, places, maxDepth: places, sloMs: 200, policy });
}

function run(bundle: AccordionBundle, qps: number, machine: Partial<MachineState>, adapts = true) {
  return simulateAccordion(bundle, {
    arrivals: { kind: "poisson", qps },
    durationMs: 60_000,
    seed: 3,
    stations: { machine: { ...AS_PROFILED, ...machine } },
    adapts,
  });
}

test("at a constant pace violations are those of a bundle for that pace", () => {
  const slow = run(bundleOf(5, 2), 18, { pace: 2 });
  const right = run(bundleOf(10, 2), 18, {});
  expect(slow.violationRate).toBeLessThanOrEqual(1.1 * right.violationRate + 0.001);
  expect(right.violationRate).toBeGreaterThan(0.001);
});

test("a straggler costs less when its pace is followed", () => {
  const machine = { workerPaces: new Map([[0, 3]]) };
  const adapting = run(bundleOf(7, 2), 8, machine);
  const fixed = run(bundleOf(7, 2), 8, machine, false);
  expect(adapting.violationRate).toBeLessThan(0.8 * fixed.violationRate);
});

test("places that are lost run nothing any more, and every query ends", () => {
  const lost = run(bundleOf(5, 3), 20, { lost: { workers: 2, atMs: 1000 } });
  const one = run(bundleOf(5, 1), 20, {});
  expect(lost.satisfied + lost.late + lost.dropped).toBe(lost.queries);
  expect(Math.abs(lost.violationRate - one.violationRate)).toBeLessThan(0.05);
});
