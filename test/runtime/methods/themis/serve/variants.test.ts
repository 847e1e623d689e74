import { expect, test } from "vitest";
import type { ScaledTask, Table, ThemisBundle } from "../../../../../runtime/bundle/schema.ts";
import { decodeBundle, encodeBundle } from "../../../../../runtime/bundles/checked-bundle.ts";
import { themis } from "../../../../../runtime/methods/themis/themis.ts";
import { type CascadeRow, LAST, outputsOf } from "../../../server/graph/served-tasks.ts";
import { answerOf, finishAll, settled } from "../../inferline/serve/scheduled.ts";
import { scheduledScales, traffic } from "./scheduled.ts";
import { servedScales } from "./served.ts";

/** What follows the last task's first variant in the order of all. */
const SECOND = LAST + 1;
const KEPT: CascadeRow = { escalate: 0, keep: 1, value: 5 };

/**
 * The cascade whose last task has a second variant, faster and less often right, in a pool of its
 * own: the highest level has that, the others the first.
 */
function twoVariants(): ThemisBundle {
  const bundle = servedScales();
  const tasks = bundle.tasks.map((task): ScaledTask => {
    const [first] = task.variants;
    if (task.name !== "last" || first === undefined) return task;
    const { latency } = first;
    const data = Float64Array.from(latency.ms.data, (time) => time / 2);
    const ms: Table = { dtype: "float64", shape: latency.ms.shape, data };
    const second = { ...first, name: "hasty", accuracy: 0.5, pool: 1 };
    return { ...task, variants: [first, { ...second, latency: { ...latency, ms } }] };
  });
  const [pool] = bundle.cluster.pools;
  if (pool === undefined) throw new RangeError("there is a pool");
  const levels = bundle.levels.map((level, index) => {
    if (index < 2) return level;
    const stages = level.steady.stages.map((stage, task) =>
      task === LAST ? { ...stage, variant: 1 } : stage,
    );
    return { ...level, steady: { ...level.steady, stages } };
  });
  const pools = [pool, { ...pool, name: "other", workers: 1 }];
  return { ...bundle, tasks, levels, cluster: { ...bundle.cluster, pools } };
}

/** As of the three models of the cascade. */
const answer: typeof outputsOf = (batch) =>
  outputsOf(batch.variant === SECOND ? { ...batch, variant: LAST } : batch);

test("variants of several pools have room side by side, each in its pool", () => {
  const bundle = decodeBundle(encodeBundle(twoVariants()));
  if (bundle.method !== "themis") throw new RangeError("it is one of themis");
  expect(themis.workersByPool(bundle)).toEqual([4, 1]);
  expect(themis.workerCount(bundle)).toBe(5);
  expect(themis.models(bundle).map(({ pools }) => pools)).toEqual([[0], [0], [0], [1]]);
  const planned = themis.plannedWorkers(bundle, 2);
  expect(planned.map(({ pool }) => pool)).toEqual(["default", "default", "other"]);
});

test("an answer is as accurate as all variants on its way", async () => {
  const setup = scheduledScales(twoVariants(), {}, answer);
  setup.start();
  expect(setup.executor.told).toContain(`4: ${SECOND} on 1`);
  const submission = setup.submit([KEPT]);
  await finishAll(setup);
  const { accuracy, variant } = (await answerOf(submission)).answerer;
  expect(variant).toBe("hasty");
  expect(accuracy).toBeCloseTo(0.7 * 0.5, 12);
});

test("another variant takes over once it is up, and then the one before goes", async () => {
  const setup = scheduledScales(twoVariants(), {}, answer);
  setup.start();
  const before = setup.executor.told.length;
  await traffic(setup, 30, 2);
  const told = () => setup.executor.told.slice(before);
  expect(told().some((one) => one.endsWith(`: ${LAST} on 1`))).toBe(true);
  expect(told()).not.toContain("4: off");
  while (setup.executor.loading.length > 0) setup.executor.load();
  await settled(setup);
  await traffic(setup, 1, 2);
  expect(told()).toContain("4: off");
  const submission = setup.submit([KEPT]);
  await finishAll(setup);
  expect((await answerOf(submission)).answerer.accuracy).toBeCloseTo(0.7 * 0.8, 12);
});

test("a variant that runs in several pools has lines of its own in each", () => {
  const bundle = twoVariants();
  const tasks = bundle.tasks.map((task) => ({
    ...task,
    variants: task.variants.map((variant) => ({ ...variant, name: "same" })),
  }));
  const { signature } = scheduledScales({ ...bundle, tasks }).pipeline;
  const names = signature.variants.map(({ name }) => name);
  expect(names).toEqual(["same", "same", "same@default", "same@other"]);
});
