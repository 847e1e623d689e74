import fc from "fast-check";
import { expect, test } from "vitest";
import type { AccordionBundle } from "../../../../../runtime/bundle/schema.ts";
import {
  inspectState,
  type ModelState,
  parseState,
} from "../../../../../runtime/methods/accordion/describe/state-view.ts";
import { accordionBundle, table1Bundle } from "../../../../support/accordion-bundle.ts";

/** Of 8 instances: 240, 149, 100 and 100 ms on 1 to 4 places. */
const deep = { name: "deep", layerMs: [4, 6, 3, 7, 5, 5] };
const only = (scheduler: AccordionBundle["policy"]["scheduler"] = "accordion", sloMs = 200) =>
  accordionBundle({ models: [deep], policy: { scheduler }, sloMs });

function stateOf(bundle: AccordionBundle, free: number, slackMs: number, batch = 8): ModelState {
  const models = [bundle.tasks[0]?.variants[0]?.name ?? ""];
  const [state] = inspectState(bundle, { batch, free: [free], slackMs, models }).models;
  if (state === undefined) throw new Error("a model was asked for");
  return state;
}

test("reads a state in any order, times in ms or s, the model by name or all", () => {
  const bundle = accordionBundle();
  const state = { batch: 8, free: [3], slackMs: 400, models: ["deep", "small"] };
  expect(parseState("batch=8,free=3,slack=400ms", bundle)).toEqual(state);
  expect(parseState(" slack = 0.4 s , free=3, batch=8", bundle)).toEqual(state);
  expect(parseState("batch=1,free=0,slack=-2,model=small", bundle)).toEqual({
    batch: 1,
    free: [0],
    slackMs: -2,
    models: ["small"],
  });
  const pools = accordionBundle({ pools: [{ workers: 2 }, { workers: 3 }], models: [deep] });
  expect(parseState("batch=1,free=2/3,slack=1ms", pools).free).toEqual([2, 3]);
});

test.each([
  ["", 'expected batch=COUNT,free=COUNT,slack=TIME and optionally model=NAME, got ""'],
  ["queued=7,slack=40ms", 'optionally model=NAME, got "queued=7"'],
  ["batch=1,batch=2,free=1,slack=1ms", 'optionally model=NAME, got "batch=2"'],
  ["batch=1=2,free=1,slack=1ms", 'optionally model=NAME, got "batch=1=2"'],
  ["free=1,slack=1ms", 'expected batch an integer from 1 to 8, got batch=""'],
  ["batch=0,free=1,slack=1ms", 'expected batch an integer from 1 to 8, got batch="0"'],
  ["batch=9,free=1,slack=1ms", 'expected batch an integer from 1 to 8, got batch="9"'],
  ["batch=1,slack=1ms", 'free places of each pool in their order, 0 to 8, got free=""'],
  ["batch=1,free=9,slack=1ms", 'free places of each pool in their order, 0 to 8, got free="9"'],
  ["batch=1,free=1/1,slack=1ms", 'in their order, 0 to 8, got free="1/1"'],
  ["batch=1,free=-1,slack=1ms", 'in their order, 0 to 8, got free="-1"'],
  ["batch=1,free=1", 'expected slack a time such as 400ms or 0.4s, got slack=""'],
  ["batch=1,free=1,slack=1h", 'expected slack a time such as 400ms or 0.4s, got slack="1h"'],
  ["batch=1,free=1,slack=1,model=x", 'expected model one of deep, small, got model="x"'],
])("refuses the state %j", (text, message) => {
  expect(() => parseState(text, accordionBundle())).toThrow(
    expect.objectContaining({
      code: "RUNTIME_USAGE",
      message: expect.stringContaining(`${message}; an example is --state batch=20,free=3,slack=`),
    }),
  );
});

test("a query starts on the free places that help it, when they are enough", () => {
  const { decision, need } = stateOf(only(), 8, 150);
  // Four places are no faster than three.
  expect(decision).toEqual({
    action: "start",
    executionPlaces: 3,
    places: [3],
    latencyMs: 100,
    meetsSlack: true,
    isFree: true,
  });
  expect(need).toMatchObject({ executionPlaces: 2, latencyMs: 149, meetsSlack: true });
});

test("a query waits for what it lacks until its deadline is lost, then starts", () => {
  const bundle = only();
  expect(stateOf(bundle, 1, 150).decision).toEqual({
    action: "wait",
    missing: 1,
    untilSlackMs: 100,
  });
  expect(stateOf(bundle, 1, 120).decision).toMatchObject({ action: "wait", missing: 2 });
  expect(stateOf(bundle, 1, 99)).toMatchObject({
    need: null,
    decision: { action: "start", executionPlaces: 1, meetsSlack: false },
  });
  expect(stateOf(bundle, 0, 99)).toMatchObject({
    need: null,
    decision: { action: "wait", missing: 1, untilSlackMs: 100 },
  });
});

test("baselines wait for the places that are due to them, whatever the slack", () => {
  const wait = (missing: number) => ({ action: "wait", missing, untilSlackMs: null });
  expect(stateOf(only("fastest"), 2, 50).decision).toEqual(wait(1));
  expect(stateOf(only("slo-conforming", 150), 1, 50).decision).toEqual(wait(1));
  expect(stateOf(only("bbs", 150), 0, 500).decision).toEqual(wait(2));
  expect(stateOf(only("one-stage"), 8, 120).decision).toMatchObject({
    action: "start",
    executionPlaces: 1,
    meetsSlack: false,
  });
});

test("alternatives are the pipelines that there are, with their times", () => {
  const { alternatives } = stateOf(table1Bundle({ maxDepth: 10 }), 5, 10_000, 20);
  expect(alternatives.map(({ executionPlaces }) => executionPlaces)).toEqual([
    1, 2, 3, 4, 5, 6, 7, 8,
  ]);
  expect(alternatives[3]).toEqual({
    executionPlaces: 4,
    places: [4],
    latencyMs: expect.closeTo(1400 + (19 * 1400) / 2.19, 6),
    meetsSlack: false,
    isFree: true,
  });
  expect(alternatives.map(({ isFree }) => isFree)).toEqual([
    ...[true, true, true, true, true],
    ...[false, false, false],
  ]);
});

test("what starts is free, and it is in time if any free shape is", () => {
  const bundle = accordionBundle({
    pools: [{ workers: 2 }, { workers: 2, speed: 0.5 }],
    maxDepth: 3,
    models: [deep],
  });
  const free = fc.tuple(fc.nat(2), fc.nat(2));
  fc.assert(
    fc.property(free, fc.integer({ min: 1, max: 8 }), fc.nat(500), (counts, batch, slackMs) => {
      const asked = { batch, free: counts, slackMs, models: ["deep"] };
      const [state] = inspectState(bundle, asked).models;
      const enough = state?.alternatives.some((one) => one.isFree && one.meetsSlack);
      if (state?.decision.action === "start") {
        expect(state.decision.isFree).toBe(true);
        expect(state.decision.meetsSlack).toBe(enough);
      } else expect(enough).toBe(false);
    }),
    { seed: 1, numRuns: 200 },
  );
});
