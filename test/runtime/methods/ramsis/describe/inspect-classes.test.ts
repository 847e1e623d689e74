/** What inspect and diff say of classes. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { diffBundles } from "../../../../../compiler/gate/differences.ts";
import { diffText } from "../../../../../compiler/gate/differences-text.ts";
import type { RamsisBundle } from "../../../../../runtime/bundle/schema.ts";
import { encodeBundle } from "../../../../../runtime/bundles/checked-bundle.ts";
import { inspectCommand } from "../../../../../runtime/commands/inspect.ts";
import { parseState } from "../../../../../runtime/describe/asked-state.ts";
import { inspectState } from "../../../../../runtime/methods/ramsis/describe/state-view.ts";
import { classBundle } from "../../../../support/class-bundle.ts";
import { changedAt } from "../../../../support/refused-bundle.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-classes-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The table of a class runs the variant of its index, that of all the large one. */
const bundle = classBundle({
  split: [1, 1],
  decide: ({ table, queued }) => ({ variant: table === 0 ? 0 : 1, batch: queued }),
});

async function inspected(options: { loadQps?: number; state?: string }) {
  const path = join(folder, "bundle.msgpack");
  writeFileSync(path, encodeBundle(bundle));
  const { loadQps = null, state = null } = options;
  return inspectCommand({ path, loadQps, state });
}

test("a state may name its class, whose table then answers with its own grid", () => {
  const asked = (text: string) => inspectState(bundle, { ...parseState(text), loadQps: 1000 });
  expect(asked("queued=2,slack=95ms,class=interactive")).toMatchObject({
    sloClass: "interactive",
    decision: { variant: "small", batch: 2 },
    tableState: { queued: 2, slackMs: 90 },
  });
  expect(asked("class=relaxed,queued=2,slack=95ms")).toMatchObject({
    sloClass: "relaxed",
    decision: { variant: "large", batch: 2 },
    tableState: { queued: 2, slackMs: 80 },
  });
  expect(asked("queued=2,slack=95ms").sloClass).toBe("interactive");
  expect(
    inspectState(classBundle(), { ...parseState("queued=1,slack=95ms"), loadQps: 1000 }),
  ).not.toHaveProperty("sloClass");
  expect(() => asked("queued=2,slack=95ms,class=fast")).toThrow(
    '--state: expected class to be interactive or relaxed, got "fast"',
  );
});

test("the summary tells the classes and what each level promises them", async () => {
  const { text, json } = await inspected({});
  expect(text).toContain(
    "slo by class: interactive 100 ms (75.000%), relaxed 400 ms (25.000%); " +
      "one queue or workers of their own, by level",
  );
  expect(text).toMatch(/^ +1000 +relaxed +400 +25\.000% +1 +70\.000% +69\.000% +0\.100%$/m);
  expect(json).toMatchObject({
    slo: { classes: bundle.slo.classes },
    levels: [
      {
        workersByClass: { interactive: 1, relaxed: 1 },
        expected: { byClass: { relaxed: { violationRate: 0.001 } } },
      },
    ],
  });
  const { sections } = json as { sections: { name: string }[] };
  expect(sections.map(({ name }) => name)).toContain("levels[0].classTables[1].actionByState");
});

test("a level has a map for each class, and one for all", async () => {
  const { text, json } = await inspected({ loadQps: 1000 });
  expect(text).toContain(
    "level 1000 qps, class interactive on 1 of the workers: variant by queries queued",
  );
  expect(text).toContain("while a class exceeds its share, one queue is used:");
  expect(json).toMatchObject({ level: { classes: [{ name: "interactive", workers: 1 }, {}] } });
});

test("a difference in the table or the workers of a class is told with its name", () => {
  const other = changedAt(bundle, "levels[0].classTables[1].actionByState.data[12]", 0);
  const { levels } = diffBundles(bundle, other as RamsisBundle);
  expect(levels).toMatchObject([
    { changedStates: 1, states: 3 * 44, examples: [{ sloClass: "relaxed", queued: 2 }] },
  ]);
  const [moved, shares] = [
    changedAt(bundle, "levels[0].classTables[1].workers", 2),
    changedAt(bundle, "slo.classes[0].share", 0.7),
  ] as RamsisBundle[];
  if (moved === undefined || shares === undefined) throw new Error("two bundles");
  expect(diffText(diffBundles(bundle, moved))).toContain("classTables[relaxed].workers: 1 → 2");
  expect(diffText(diffBundles(bundle, shares))).toContain(
    "slo.classes[interactive].share: 0.75 → 0.7",
  );
});
