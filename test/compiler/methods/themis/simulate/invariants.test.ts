import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { simulateThemis } from "../../../../../compiler/methods/themis/simulate/simulate.ts";
import type { ThemisBundle } from "../../../../../runtime/bundle/schema.ts";
import {
  ASSIGN,
  DROP,
  RELEASE,
  RESIZE,
  START_BATCH,
} from "../../../../../runtime/core/command-buffer.ts";
import { coreBudgetOf } from "../../../../../runtime/methods/themis/core/shape.ts";
import type { ThemisDispatcher } from "../../../../../runtime/methods/themis/core/themis-dispatcher.ts";
import { casesOf } from "../../../../support/cases.ts";
import { jumpingRates, randomThemisBundle } from "../../../../support/themis-random-bundle.ts";
import { leavingCount, ThemisWatch, type WatchedEvent } from "../../../../support/themis-watch.ts";

type Arrivals = typeof jumpingRates extends fc.Arbitrary<infer T> ? T : never;

function run(bundle: ThemisBundle, arrivals: Arrivals, seed: number, watch?: ThemisWatch) {
  return simulateThemis(bundle, {
    arrivals,
    durationMs: arrivals.trace.endMs,
    seed,
    startLevel: seed % bundle.levels.length,
    timeline: true,
    withLatencies: true,
    ...(watch === undefined ? {} : { dispatcherOf: watch.dispatcherOf }),
  });
}

/** Looks at every event of many simulations. */
function watchAll(
  bundles: fc.Arbitrary<ThemisBundle>,
  check: (
    event: WatchedEvent,
    seen: {
      readonly bundle: ThemisBundle;
      readonly watch: ThemisWatch;
      readonly dispatcher: ThemisDispatcher;
    },
  ) => void,
  numRuns = 60,
): void {
  fc.assert(
    fc.property(bundles, jumpingRates, fc.nat(1000), (bundle, arrivals, seed) => {
      const watch: ThemisWatch = new ThemisWatch((event, dispatcher) =>
        check(event, { bundle, watch, dispatcher }),
      );
      run(bundle, arrivals, seed, watch);
    }),
    { numRuns },
  );
}

describe("requests", () => {
  test("end once each, served in time, late or dropped, whatever is scaled", () => {
    fc.assert(
      fc.property(randomThemisBundle(), jumpingRates, fc.nat(1000), (bundle, arrivals, seed) => {
        const result = run(bundle, arrivals, seed);
        const { satisfied, late, dropped, queries, timeline } = result;
        const latencies = [...(result.latencyMsByRequest ?? [])];
        expect(satisfied + late + dropped).toBe(queries);
        expect(latencies).toHaveLength(queries);
        expect(latencies.filter(Number.isNaN)).toHaveLength(dropped);
        const beyond = (ms: number) => latencies.filter((latency) => latency > ms).length;
        // Differences of times are rounded.
        expect(beyond(bundle.slo.latencyMs + 1e-9)).toBeLessThanOrEqual(late);
        expect(beyond(bundle.slo.latencyMs - 1e-9)).toBeGreaterThanOrEqual(late);
        if (bundle.policy.dropAfterSlos === null) expect(dropped).toBe(0);
        const total = (key: "requests" | "violations") =>
          (timeline ?? []).reduce((sum, second) => sum + second[key], 0);
        expect(total("requests")).toBe(queries);
        expect(total("violations")).toBe(late + dropped);
      }),
      { numRuns: casesOf(75, 2) },
    );
  });

  test("of the same seed fare the same", () => {
    fc.assert(
      fc.property(randomThemisBundle(), jumpingRates, fc.nat(1000), (bundle, arrivals, seed) => {
        expect(run(bundle, arrivals, seed)).toEqual(run(bundle, arrivals, seed));
      }),
      { numRuns: 20 },
    );
  });
});

describe("commands", () => {
  test("start no batch larger than planned, nor on an instance that is not up or is busy", () => {
    watchAll(randomThemisBundle(), ({ commands }, { bundle, watch }) => {
      const started = commands.filter(({ kind }) => kind === START_BATCH);
      const workers = new Set(started.map(({ worker }) => worker));
      check(workers.size === started.length, "one batch for each instance");
      for (const { worker, task, queryCount, isBusyBefore } of started) {
        // Between two plans the batch is that of a transition, here always that of some plan.
        const planned = bundle.levels.map((level) => level.steady.stages[task]?.batch ?? 0);
        check(queryCount >= 1 && queryCount <= Math.max(...planned), "a batch as planned");
        const instance = watch.instances.get(worker);
        check(instance?.task === task, "on an instance of the task");
        check(!isBusyBefore && (instance?.inForce ?? 0) > 0, "that is up and idle");
      }
    });
  });

  test("while a plan is followed, keep to the batch of the plan", () => {
    const largest: number[][] = [];
    watchAll(randomThemisBundle(), ({ commands }, { bundle, dispatcher }) => {
      const level = bundle.levels[dispatcher.level];
      if (dispatcher.burstCount > 0 || dispatcher.settledCount > 0) return;
      for (const { kind, task, queryCount } of commands) {
        if (kind !== START_BATCH) continue;
        const planned = level?.steady.stages[task]?.batch ?? 0;
        check(queryCount <= planned, "a batch of the plan");
        largest.push([queryCount, planned]);
      }
    });
    expect(largest.filter(([batch, planned]) => batch === planned).length).toBeGreaterThan(100);
  });

  test("never give the instances that stay more cores than the pool has", () => {
    watchAll(
      randomThemisBundle(),
      ({ commands }, { bundle, watch, dispatcher }) => {
        if (commands.every(({ kind }) => kind === START_BATCH || kind === DROP)) return;
        let staying = 0;
        for (const task of bundle.tasks.keys()) {
          const wanted = watch.ofTask(task).map((one) => one.wanted);
          wanted.sort((a, b) => a - b);
          // Those that leave may be the largest.
          const kept = wanted.slice(0, wanted.length - leavingCount(dispatcher, task));
          staying += kept.reduce((sum, cores) => sum + cores, 0);
        }
        check(staying <= coreBudgetOf(bundle), `${staying} cores are within the pool`);
      },
      casesOf(600, 4),
    );
  });

  test("give all instances of a task the same cores in a burst and when settled", () => {
    let bursts = 0;
    watchAll(randomThemisBundle({ extraCores: "same" }), (event, { bundle, watch, dispatcher }) => {
      bursts += event.bursts;
      if (event.bursts + event.settled === 0) return;
      // Those that are started for the plan that is moved to have its cores, and so have those that
      // leave no more.
      const fresh = event.commands.filter(({ kind }) => kind === ASSIGN).map((one) => one.worker);
      for (const task of bundle.tasks.keys()) {
        const cores = dispatcher.targetCoresByTask[task];
        const others = watch
          .ofTask(task)
          .filter((one) => one.wanted !== cores && !fresh.includes(one.worker));
        const leaving = Math.max(leavingCount(dispatcher, task), event.leavingBefore[task] ?? 0);
        check(others.length <= leaving, `${others.length} differ and ${leaving} leave`);
      }
    });
    expect(bursts).toBeGreaterThan(50);
  });

  test("take cores from no instance before the plan that is settled on is up in full", () => {
    let shrunk = 0;
    // With so many cores no burst has to give up those of an earlier load.
    watchAll(randomThemisBundle({}, 400), (event, { bundle, watch, dispatcher }) => {
      const less = event.commands.filter(
        ({ kind, cores, wantedBefore }) => kind === RESIZE && cores < wantedBefore,
      );
      shrunk += less.length;
      if (event.settled === 0) {
        for (const [task, leaving] of event.leavingBefore.entries()) {
          const shrunkNow = less.filter((one) => watch.instances.get(one.worker)?.task === task);
          // One that was leaving and is taken back counts as new.
          check(shrunkNow.length <= leaving, "no instance has fewer cores");
        }
        return;
      }
      const { stages } = bundle.levels[dispatcher.goal]?.steady ?? { stages: [] };
      for (const [task, { instances }] of stages.entries()) {
        check((dispatcher.readyByTask[task] ?? 0) >= instances, "the plan is up");
      }
    });
    expect(shrunk).toBeGreaterThan(20);
  });

  test("release no instance in a burst, and hold what the dispatcher says is held", () => {
    watchAll(randomThemisBundle({}, 400), (event, { bundle, watch, dispatcher }) => {
      if (event.settled === 0 && event.name === "onWake") {
        check(
          event.commands.every(({ kind }) => kind !== RELEASE),
          "all stay",
        );
      }
      for (const task of bundle.tasks.keys()) {
        const held = watch
          .ofTask(task)
          .reduce((sum, { wanted, inForce }) => sum + Math.max(wanted, inForce), 0);
        check(dispatcher.coresByTask[task] === held, `task ${task} holds ${held} cores`);
      }
    });
  });
});

/** `expect` takes too long for so many events. */
function check(condition: boolean, message: string): void {
  if (!condition) throw new Error(message);
}
