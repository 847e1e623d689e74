import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { simulateCommand } from "../../../../../../compiler/commands/simulate/simulate.ts";
import type {
  Baseline,
  TableBaseline,
} from "../../../../../../compiler/methods/ramsis/simulate/baseline-names.ts";
import { baselineBundle } from "../../../../../../compiler/methods/ramsis/simulate/baselines/simulate-baseline.ts";
import type { RamsisBundle } from "../../../../../../runtime/bundle/schema.ts";
import { checkRamsisSemantics } from "../../../../../../runtime/methods/ramsis/bundle/semantics.ts";
import { simulatedAs } from "../../../../../support/beaten.ts";
import { type TinyBundleOptions, tinyBundle } from "../../../../../support/tiny-bundle.ts";

/**
 * Small takes 10 + 5b ms at accuracy 0.6, large 20 + 20b ms at 0.8; the SLO is 100 ms, batches go
 * to 20.
 */
function derived(baseline: TableBaseline, options: TinyBundleOptions = {}): RamsisBundle {
  return baselineBundle(tinyBundle({ maxQueue: 19, workers: 2, ...options }), baseline, () => 0);
}

/** Variant and batch of a state, by the load of the level. */
function decisions(bundle: RamsisBundle, queued: number, column: number): Record<number, string> {
  const { actions, slackMs } = bundle.decisionSpace;
  const variants = bundle.tasks[0]?.variants ?? [];
  return Object.fromEntries(
    bundle.levels.map(({ loadQps, actionByState }) => {
      const cell = (queued - 1) * slackMs.data.length + column;
      const action = actionByState.data[cell] ?? Number.NaN;
      const name = variants[actions.data[2 * action] ?? Number.NaN]?.name;
      return [loadQps, `${name} ${actions.data[2 * action + 1]}`];
    }),
  );
}

/** The same cluster behind one queue, which is longer than the largest batch. */
function pooledBundle(): RamsisBundle {
  const bundle = tinyBundle({ workers: 2 });
  const maxQueue = 9;
  const columns = bundle.decisionSpace.slackMs.data.length;
  const table = {
    dtype: "uint16",
    shape: [maxQueue + 1, columns],
    data: new Uint16Array((maxQueue + 1) * columns),
  } as const;
  return {
    ...bundle,
    policy: { ...bundle.policy, balancer: "pooled" },
    decisionSpace: { ...bundle.decisionSpace, maxQueue },
    levels: bundle.levels.map((level) => ({
      ...level,
      actionByState: table,
      mixture: { share: 0.5, actionByState: table },
    })),
  };
}

const BASELINES: readonly TableBaseline[] = [
  { kind: "fixed", variant: "large" },
  { kind: "greedy" },
  { kind: "jellyfish" },
  { kind: "model-switching" },
];

describe.each(BASELINES)("$kind", (baseline) => {
  it.each([
    ["bound", tinyBundle()],
    ["pooled", pooledBundle()],
  ])("makes a bundle that is valid and promises nothing, out of a %s one", (_, bundle) => {
    const made = baselineBundle(bundle, baseline, () => 0);
    expect(() => checkRamsisSemantics(made)).not.toThrow();
    for (const level of made.levels) {
      expect(level).toMatchObject({
        feasible: false,
        mixture: null,
        expected: { violationRate: 1 },
      });
    }
  });

  it("serves the arrivals that the policy sees", () => {
    const options = { arrivals: { kind: "poisson", qps: 40 }, durationMs: 5000 } as const;
    const run = (one: Baseline | null) =>
      simulatedAs(one, tinyBundle(), { ...options, seed: 3, serviceTimes: "p95" });
    expect(run(baseline).queries).toBe(run(null).queries);
    expect(run(baseline)).toEqual(run(baseline));
  });
});

describe("greedy", () => {
  it("runs the most accurate variant in time for all queued, else the fastest", () => {
    const ms = { small: (batch: number) => 10 + 5 * batch, large: (b: number) => 20 + 20 * b };
    const bundle = derived({ kind: "greedy" });
    const grid = bundle.decisionSpace.slackMs.data;
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.nat(grid.length - 1), (queued, column) => {
        const slackMs = grid[column] ?? Number.NaN;
        const inTime = Array.from({ length: queued }, (_, i) => i + 1).filter(
          (batch) => ms.small(batch) <= slackMs,
        );
        const expected =
          ms.large(queued) <= slackMs ? `large ${queued}` : `small ${inTime.at(-1) ?? queued}`;
        expect(decisions(bundle, queued, column)).toEqual({ 1000: expected });
      }),
    );
  });
});

describe("jellyfish", () => {
  it("picks the most accurate variant that carries the load within half the SLO", () => {
    // Within 50 ms: large a batch of 1, 2 × 25 queries/s; small one of 8, 2 × 160. With 5 % to
    // spare: 47.6 and 304.8.
    const bundle = derived({ kind: "jellyfish" }, { loadsQps: [47, 48, 304, 305] });
    expect(decisions(bundle, 20, 0)).toEqual({
      47: "large 1",
      48: "small 8",
      304: "small 8",
      // Nothing carries it: the fastest, within the whole SLO.
      305: "small 18",
    });
    expect(decisions(bundle, 3, 1)).toEqual({
      47: "large 1",
      48: "small 3",
      304: "small 3",
      305: "small 3",
    });
  });

  it("carries more with more workers", () => {
    const loadsQps = [48];
    expect(decisions(derived({ kind: "jellyfish" }, { loadsQps, workers: 3 }), 20, 0)).toEqual({
      48: "large 1",
    });
  });
});

describe("model-switching", () => {
  /**
   * Response latencies as if measured; the cluster under measurement has one level, of one variant.
   */
  const measured: Record<string, number> = {
    "large at 10": 100,
    "large at 20": 100.5,
    "small at 20": 30,
    "small at 30": 99,
    "small at 40": Number.POSITIVE_INFINITY,
  };

  it("picks the most accurate variant whose response latency is within the SLO at the load", () => {
    const asked: string[] = [];
    const bundle = baselineBundle(
      tinyBundle({ maxQueue: 19, loadsQps: [10, 20, 30, 40] }),
      { kind: "model-switching" },
      (cluster, loadQps) => {
        const [name = ""] = (decisions(cluster, 1, 0)[loadQps] ?? "").split(" ");
        expect(cluster.levels.map((level) => level.loadQps)).toEqual([loadQps]);
        asked.push(`${name} at ${loadQps}`);
        return measured[`${name} at ${loadQps}`] ?? Number.NaN;
      },
    );
    expect(decisions(bundle, 20, 0)).toEqual({
      10: "large 1",
      20: "small 8",
      30: "small 8",
      40: "small 18",
    });
    // What was too slow is not measured again at a higher load.
    expect(asked).toEqual(Object.keys(measured));
  });

  it("measures on the simulated cluster: no more accurate variant would have been in time", () => {
    for (const qps of [2, 25, 30]) {
      const bundle = tinyBundle({ loadsQps: [qps] });
      const run = (baseline: Baseline) => {
        const arrivals = { kind: "poisson", qps } as const;
        return simulatedAs(baseline, bundle, {
          arrivals,
          durationMs: 60_000,
          seed: 8,
          serviceTimes: "p95",
        });
      };
      const isLarge = (run({ kind: "model-switching" }).byVariant["large"]?.queries ?? 0) > 0;
      // Large takes 40 ms a query: at 2 queries/s it hardly queues, 25 and more it does not carry.
      expect(isLarge).toBe(qps === 2);
    }
  });
});

describe("--baseline", () => {
  it.each(["nope", "fixed", "fixed:", "fixed:a:b", "jellyfish:large", ""])(
    "refuses %j and names what there is",
    async (baseline) => {
      const command = { bundle: "none", arrivals: "poisson:10", seed: "1", baseline };
      const options = { ...command, serviceTimes: "p95", fanout: "rounded" } as const;
      const { signal } = new AbortController();
      const watch = { jobs: 1, onProgress() {}, signal, nowMs: () => 0 };
      await expect(simulateCommand(options, watch)).rejects.toThrow(
        /fixed:VARIANT, greedy, .*maxbatch, .*proteus, .*cg-peak, .*fa2, .*one-stage; got/,
      );
    },
  );
});
