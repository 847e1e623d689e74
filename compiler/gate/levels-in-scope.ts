/** Selects the levels of a clause: those that decide for its loads. */
import type { Scope } from "../spec/document/clause.ts";

interface ScopedLevels<L> {
  readonly levels: readonly L[];
  /**
   * Load of the scope above the highest level, which has no promise; null if there is no such load.
   */
  readonly uncoveredQps: number | null;
}

/** @param levels ascending in load. */
export function levelsInScope<L extends { readonly loadQps: number; readonly feasible: boolean }>(
  scope: Scope,
  levels: readonly L[],
): ScopedLevels<L> {
  const decidingFor = (qps: number): number => levels.findIndex((level) => level.loadQps >= qps);
  switch (scope.kind) {
    case "all":
      return { levels, uncoveredQps: null };
    case "feasible":
      return { levels: levels.filter(({ feasible }) => feasible), uncoveredQps: null };
    case "load": {
      const level = levels[decidingFor(scope.qps)];
      if (level === undefined) return { levels: [], uncoveredQps: scope.qps };
      return { levels: [level], uncoveredQps: null };
    }
    case "range": {
      const { fromQps, toQps } = scope;
      const first = fromQps === null ? 0 : decidingFor(fromQps);
      if (first < 0) return { levels: [], uncoveredQps: toQps ?? fromQps };
      const last = toQps === null ? levels.length - 1 : decidingFor(toQps);
      if (last < 0) return { levels: levels.slice(first), uncoveredQps: toQps };
      return { levels: levels.slice(first, last + 1), uncoveredQps: null };
    }
  }
}
