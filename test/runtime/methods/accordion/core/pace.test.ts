import { describe, expect, test } from "vitest";
import {
  AccordionCommands,
  DROP,
  START,
} from "../../../../../runtime/methods/accordion/core/commands.ts";
import { AccordionScheduler } from "../../../../../runtime/methods/accordion/core/scheduler.ts";
import { chainPlaces } from "../../../../support/accordion-chain.ts";

/** Places of one query each, whose instances take 120 ms as profiled. */
function placesOf(count: number, adapt: boolean) {
  const commands = new AccordionCommands();
  const bundle = chainPlaces(count, { maxDepth: 1, policy: { dropAfterSlos: 1 } });
  const options = { queryCapacity: 8, adapt, reference: "decision" } as const;
  const scheduler = new AccordionScheduler(bundle, options);
  for (let place = 0; place < count; place++) scheduler.onPlaceReady(place, 0, commands);
  commands.clear();
  return { scheduler, commands };
}

const HIGH = { model: 0, batch: 4, isHigh: true, deadlineMs: 1e6 };

describe("a scheduler", () => {
  test("gives up at once what slow places would end too late", () => {
    for (const [adapt, kind] of [
      [true, DROP],
      [false, START],
    ] as const) {
      const { scheduler, commands } = placesOf(1, adapt);
      scheduler.onQuery(0, HIGH, 0, commands);
      for (let instance = 1; instance <= 4; instance++) {
        scheduler.onInstanceDone(0, 240 * instance, commands);
      }
      expect(scheduler.pace.poolPace).toBe(adapt ? 2 : 1);
      commands.clear();
      // 480 ms as profiled, 960 at half the speed.
      const low = { model: 0, batch: 4, isHigh: false, deadlineMs: 960 + 700 };
      scheduler.onQuery(1, low, 960, commands);
      expect(commands.kind(0)).toBe(kind);
    }
  });

  test("takes the fastest free place", () => {
    const { scheduler, commands } = placesOf(2, true);
    scheduler.onQuery(0, HIGH, 0, commands);
    scheduler.onQuery(1, HIGH, 0, commands);
    const ends = [0, 1].flatMap((query) =>
      [1, 2, 3, 4].map((instance) => ({ query, atMs: 120 * (query === 0 ? 3 : 1) * instance })),
    );
    for (const { query, atMs } of ends.toSorted((a, b) => a.atMs - b.atMs)) {
      scheduler.onInstanceDone(query, atMs, commands);
    }
    commands.clear();
    scheduler.onQuery(2, HIGH, 1440, commands);
    expect([commands.kind(0), commands.place(0, 0)]).toEqual([START, 1]);
  });

  test("does not start a query on a straggler that would make it late", () => {
    const { scheduler, commands } = placesOf(2, true);
    scheduler.onQuery(0, HIGH, 0, commands);
    scheduler.onQuery(1, { ...HIGH, batch: 8 }, 0, commands);
    const ends = [
      ...[1, 2, 3, 4].map((instance) => ({ query: 0, atMs: 360 * instance })),
      ...Array.from({ length: 7 }, (_, at) => ({ query: 1, atMs: 120 * (at + 1) })),
    ];
    for (const { query, atMs } of ends.toSorted((a, b) => a.atMs - b.atMs)) {
      scheduler.onInstanceDone(query, atMs, commands);
    }
    commands.clear();
    // The straggler takes 360 ms; the other is free at 1442 and takes 120.
    scheduler.onQuery(2, { ...HIGH, batch: 1, deadlineMs: 1441 + 300 }, 1441, commands);
    expect(commands.count).toBe(0);
    scheduler.onInstanceDone(1, 1442, commands);
    expect([commands.kind(0), commands.place(0, 0)]).toEqual([START, 1]);
  });
});
