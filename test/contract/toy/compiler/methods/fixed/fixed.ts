/** Fixed as a method of the compiler: the smallest batch of one variant that carries the load. */
import { basename } from "node:path";
import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { FixedBundle, FixedLevel } from "stratagem-runtime/internal/bundle/schema";
import { violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { levelAt } from "stratagem-runtime/internal/core/level-choice";
import { bundledCluster } from "../../model/bundled-cluster.ts";
import type { FrameOf } from "../../model/frames.ts";
import { serviceTimesByBatch } from "../../model/service-time.ts";
import { invalid } from "../../spec/document/mistakes.ts";
import type { CompilerMethodOf } from "../method.ts";
import { refuseTableOptions } from "../table-options.ts";
import { simulateFixed } from "./simulate/simulate-fixed.ts";

type FixedFrame = FrameOf<FixedBundle>;

const PROMISE = { durationMs: 60_000, seed: 1 };

export const fixedMethod: CompilerMethodOf<"fixed"> = {
  name: "fixed",

  *mistakes({ tasks, cluster }) {
    if (tasks.length !== 1) yield invalid(["tasks"], "one task", String(tasks.length));
    const { length } = cluster.pools;
    if (length !== 1) yield invalid(["cluster", "pools"], "one pool", String(length));
  },
  withSolver() {
    throw new RuntimeError("RUNTIME_USAGE", "--solver: method fixed has one solver");
  },
  frame(application, models) {
    const { name, slo, arrivals, tasks, policy } = application;
    const { variant, maxBatch } = policy;
    return {
      application: name,
      method: "fixed",
      slo,
      arrivals:
        arrivals.process === "trace"
          ? { process: "trace", file: basename(arrivals.file), dispersion: 1 }
          : arrivals,
      cluster: bundledCluster(application),
      tasks: tasks.map((task) => ({
        name: task.name,
        variants: task.variants
          .filter((one) => one.name === variant)
          .map(({ profile, model, accuracy }) => {
            const { file, hardware, sha256 } = profile;
            const rows = profile.rows.map(({ batch, latencyMs: ms }) => ({ batch, ms }));
            return {
              name: variant,
              accuracy,
              model: model === null ? null : (models.get(model) ?? null),
              profile: { file, variant: profile.variant, hardware, sha256 },
              latencyMs: {
                dtype: "float64",
                shape: [maxBatch],
                data: Float64Array.from(serviceTimesByBatch(rows, maxBatch)),
              },
            };
          }),
      })),
      policy: { maxBatch },
    };
  },

  isQuick: false,
  solveLevel: (frame, loadQps) => ({ level: fixedLevel(frame, loadQps) }),

  promises(_, { loadQps, feasible, expected }) {
    const { violationRate: violations, latencyMsP99: p99 } = expected;
    const figures = { violations, p99 };
    return { loadQps, feasible, missed: [], figures, classes: [], buckets: [] };
  },
  stated: ({ expected }) => expected,
  worstViolationRate: ({ expected }) => expected.violationRate,
  promised(frame, { levels }, index) {
    const level = levelAt(levels, index);
    return { ...level, expected: promised(frame, level.loadQps, level.batch) };
  },
  promisesAlone: true,

  baselines: {
    of: "one variant",
    isOfPipelines: false,
    names: [],
    tunable: false,
    has: () => false,
  },
  simulate(bundle, { arrivals, durationMs, seed, baseline }) {
    if (baseline !== null) {
      const message = `--baseline ${baseline.text} is of method ${baseline.from.name}`;
      throw new RuntimeError("RUNTIME_USAGE", message);
    }
    const top = bundle.levels.at(-1)?.batch ?? 1;
    const result = simulateFixed(bundle, top, { arrivals, durationMs, seed });
    const text = `${result.queries} queries: ${result.late} late`;
    return { exitCode: 0, text, json: { seed, durationMs, ...result } };
  },

  warnings: ({ levels }) =>
    levels.flatMap(({ loadQps, feasible }) => {
      return feasible ? [] : [`level ${loadQps} qps is not feasible`];
    }),
  async report(bundle, asked) {
    refuseTableOptions(asked, "one batch size");
    const { renderFixedReport } = await import("./report/fixed-report.ts");
    return { page: renderFixedReport(bundle) };
  },
};

function fixedLevel(frame: FixedFrame, loadQps: number): FixedLevel {
  const { cluster, policy, tasks } = frame;
  const latencyMs = tasks[0]?.variants[0]?.latencyMs.data ?? [];
  const carriedQps = Array.from(latencyMs, (ms, index) => {
    return (1000 * (index + 1) * (cluster.pools[0]?.workers ?? 0)) / ms;
  });
  const capacityQps = Math.max(...carriedQps);
  const batch = carriedQps.findIndex((qps) => qps > loadQps) + 1 || policy.maxBatch;
  const expected = promised(frame, loadQps, batch);
  const keepsCeiling = expected.violationRate <= violationCeiling(frame.slo);
  return { loadQps, feasible: loadQps < capacityQps && keepsCeiling, capacityQps, batch, expected };
}

function promised(frame: FixedFrame, qps: number, batch: number): FixedLevel["expected"] {
  const arrivals = { kind: "poisson", qps } as const;
  const { violationRate, latencyMs } = simulateFixed(frame, batch, { arrivals, ...PROMISE });
  return { violationRate, latencyMsP99: latencyMs?.p99 ?? 0, seed: PROMISE.seed };
}
