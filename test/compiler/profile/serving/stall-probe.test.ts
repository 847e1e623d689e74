/** How long a host takes a processor away, seen by a loop on a clock that jumps. */
import { expect, test } from "vitest";
import { StallProbe } from "../../../../compiler/profile/serving/stall-probe.ts";

/** A clock that goes 0.01 ms a look, and jumps by these after as many looks. */
function probeOn(jumps: ReadonlyMap<number, number>, switchedAt: ReadonlySet<number>) {
  let looks = 0;
  let atMs = 0;
  let switches = 0;
  const nowMs = () => {
    looks++;
    if (switchedAt.has(looks)) switches++;
    atMs += 0.01 + (jumps.get(looks) ?? 0);
    return atMs;
  };
  return new StallProbe({ nowMs, switches: () => switches, sleep: () => Promise.resolve() });
}

/** As many jumps of so long, one every hundred looks. */
function jumpsOf(count: number, ms: (index: number) => number): Map<number, number> {
  return new Map(Array.from({ length: count }, (_, index) => [100 * (index + 1), ms(index)]));
}

test("counts jumps of the clock, but not the system's own switches", async () => {
  const jumps = jumpsOf(40, (index) => (index < 20 ? 2 : 9));
  const theirs = probeOn(jumps, new Set());
  await theirs.look(1000);
  const form = theirs.form();
  expect(form?.p50).toBeCloseTo(2.01, 6);
  expect(form?.p99).toBeCloseTo(9.01, 6);
  expect(form?.mean).toBeCloseTo(5.51, 6);
  const ours = probeOn(jumps, new Set([...jumps.keys()].slice(20)));
  await ours.look(1000);
  expect(ours.form()?.p99).toBeCloseTo(2.01, 6);
});

test("ignores gaps below the loop's resolution, and has no quantiles for few gaps", async () => {
  const short = probeOn(
    jumpsOf(100, () => 0.15),
    new Set(),
  );
  await short.look(1000);
  expect(short.form()).toBeNull();
  const few = probeOn(
    jumpsOf(19, () => 3),
    new Set(),
  );
  await few.look(1000);
  expect(few.form()).toBeNull();
});
