/** Who is let in, by what was in and how long that took. */
import { expect, test } from "vitest";
import { Gate } from "../../../../runtime/server/applications/application.ts";
import type { EndpointModel } from "../../../../runtime/server/requests/endpoint.ts";
import type { Outcome } from "../../../../runtime/server/requests/request.ts";

const ANSWERED = { kind: "answered" } as Outcome;

/** Eight at a time, each of 40 rows and as late as that makes it; then one after the other. */
function admittedAfterCrowd(model: EndpointModel): number {
  const gate = new Gate(4096, 2, 250);
  let nowMs = 0;
  for (let round = 0; round < 50; round++) {
    const crowd = Array.from({ length: 8 }, () =>
      gate.enter(model, 40, true, { arrivalMs: nowMs, sloMs: 250 }, nowMs),
    );
    nowMs += 500;
    for (const entry of crowd) gate.leave(entry, ANSWERED, nowMs);
  }
  let admitted = 0;
  for (let request = 0; request < 20; request++) {
    const small = gate.enter(model, 1, true, { arrivalMs: nowMs, sloMs: 250 }, nowMs);
    if (gate.admits(model, 60, false)) admitted++;
    gate.leave(small, ANSWERED, nowMs + 10);
    nowMs += 500;
  }
  return admitted;
}

test("large queries that are one each come in behind a small one, whatever a crowd said", () => {
  expect(admittedAfterCrowd({ isWhole: true } as EndpointModel)).toBe(20);
});

test("where rows are queries as many rows wait for room", () => {
  expect(admittedAfterCrowd({} as EndpointModel)).toBeLessThan(20);
});

test("what is of low priority and given up in time makes no crowd", () => {
  const gate = new Gate(4096, 2, 250);
  const model = { isWhole: true, givesUpLow: true } as EndpointModel;
  let nowMs = 0;
  for (let round = 0; round < 50; round++) {
    const times = { arrivalMs: nowMs, sloMs: 250 };
    const crowd = Array.from({ length: 12 }, () =>
      gate.enter(model, 40, false, times, times.arrivalMs),
    );
    expect(gate.admits(model, 40, true)).toBe(true);
    expect(gate.admits(model, 40, false)).toBe(true);
    nowMs += 300;
    for (const entry of crowd) gate.leave(entry, ANSWERED, nowMs);
  }
});

test("a crowd of high priority that is late shuts the door, also for what is given up", () => {
  const gate = new Gate(4096, 2, 250);
  const model = { isWhole: true, givesUpLow: true } as EndpointModel;
  const times = { arrivalMs: 0, sloMs: 250 };
  const crowd = Array.from({ length: 40 }, () =>
    gate.enter(model, 1, true, times, times.arrivalMs),
  );
  for (const entry of crowd.slice(0, 20)) gate.leave(entry, ANSWERED, 1000);
  expect(gate.admits(model, 1, true)).toBe(false);
  expect(gate.admits(model, 1, false)).toBe(false);
});
