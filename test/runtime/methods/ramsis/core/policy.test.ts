import { expect, test } from "vitest";
import type { RamsisBundle } from "../../../../../runtime/bundle/schema.ts";
import { CommandBuffer, DROP, DROP_LATE } from "../../../../../runtime/core/command-buffer.ts";
import { PaceMonitor } from "../../../../../runtime/core/pace.ts";
import { dispatcherOf } from "../../../../../runtime/methods/ramsis/core/dispatcher-of.ts";
import { Policy } from "../../../../../runtime/methods/ramsis/core/policy.ts";
import { tinyBundle } from "../../../../support/tiny-bundle.ts";

/**
 * Every state runs one query, on variant 0, and with the other table of the mixture on variant 1.
 */
function mixedBundle(share: number): RamsisBundle {
  const first = tinyBundle({ decide: () => ({ variant: 0, batch: 1 }) });
  const second = tinyBundle({ decide: () => ({ variant: 1, batch: 1 }) });
  const levels = first.levels.map((level, index) => {
    const actionByState = second.levels[index]?.actionByState ?? level.actionByState;
    return { ...level, mixture: { share, actionByState } };
  });
  return { ...first, policy: { ...first.policy, batching: "variable" }, levels };
}

test("the other table of a mixture takes its share, the same ones every time", () => {
  const decisions = () => {
    const policy = Policy.fromBundle(mixedBundle(0.3));
    const pace = new PaceMonitor(1, 1, { adapt: true, mayBeFaster: true, beatMs: 1000 });
    return Array.from({ length: 10_000 }, (_, ms) =>
      policy.variant(policy.decide(1, 100, ms, 1, pace)),
    );
  };
  const variants = decisions();
  const share = variants.filter((variant) => variant === 1).length / variants.length;
  // Five standard deviations.
  expect(Math.abs(share - 0.3)).toBeLessThan(0.023);
  expect(decisions()).toEqual(variants);
});

test("a hopeless query is given up if the policy says so, and the next is served", () => {
  // SMALL takes 15 ms for one query.
  for (const [drop, dropped] of [
    [true, [0]],
    [false, []],
  ] as const) {
    const bundle = tinyBundle({ maxQueue: 3 });
    const dispatcher = dispatcherOf({ ...bundle, policy: { ...bundle.policy, drop } });
    const out = new CommandBuffer(dispatcher.commandCapacity, dispatcher.waitingCapacity);
    // Keeps the only worker busy until 100.
    dispatcher.onArrival(9, 200, 0, out);
    out.clear();
    dispatcher.onArrival(0, 114, 10, out);
    dispatcher.onArrival(1, 190, 20, out);
    expect(out.count).toBe(0);
    dispatcher.onBatchDone(0, 100, out);
    const kinds = Array.from({ length: out.count }, (_, command) => out.kind(command));
    expect(kinds.filter((kind) => kind === DROP)).toHaveLength(dropped.length);
    if (drop) {
      expect(out.query(0, 0)).toBe(0);
      expect(out.reason(0)).toBe(DROP_LATE);
    }
    expect(out.query(out.count - 1, 0)).toBe(drop ? 1 : 0);
  }
});
