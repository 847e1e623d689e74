/** Small bundles with classes, in memory. */
import {
  GIVE_UP,
  NO_ACTION,
  type RamsisBundle,
  type SloClass,
  type Table,
} from "../../runtime/bundle/schema.ts";
import { servedBundle } from "../runtime/server/harness.ts";
import type { TinyBundleOptions } from "./tiny-bundle.ts";

export const TWO_CLASSES: readonly SloClass[] = [
  { name: "interactive", latencyMs: 100, share: 0.75 },
  { name: "relaxed", latencyMs: 400, share: 0.25 },
];

export interface ClassBundleOptions
  extends Pick<TinyBundleOptions, "workers" | "maxQueue" | "loadsQps"> {
  readonly classes?: readonly SloClass[];
  /** Workers of each class at every level; null for one queue. */
  readonly split?: readonly number[] | null;
  readonly drop?: boolean;
  /**
   * Decides a cell of a table: that of a class by its index, or of all with -1. By default the most
   * accurate variant in time.
   */
  readonly decide?: (cell: ClassCell) => Decision;
}

interface ClassCell {
  readonly table: number;
  readonly queued: number;
  readonly slackMs: number;
  readonly column: number;
}

export type Decision = { readonly variant: 0 | 1; readonly batch: number } | "wait" | "give-up";

const STEPS = 10;

/**
 * A valid bundle with two classes of 100 and 400 ms on two workers: variants small (10 + 5 b ms)
 * and large (20 + 20 b ms).
 */
export function classBundle(options: ClassBundleOptions = {}): RamsisBundle {
  const { classes = TWO_CLASSES, workers = 2, maxQueue = 3, split = null, drop = false } = options;
  const { decide = largestInTime, loadsQps = [1000] } = options;
  const longestMs = Math.max(...classes.map(({ latencyMs }) => latencyMs));
  const sizes = { workers, maxQueue, sloMs: longestMs, slackSteps: STEPS };
  const tiny = servedBundle({ ...sizes, loadsQps });
  const tableOf = (table: number, sloMs: number): Table => {
    const data = Uint16Array.from({ length: (maxQueue + 1) * (STEPS + 1) }, (_, cell) => {
      const queued = 1 + Math.floor(cell / (STEPS + 1));
      const column = cell % (STEPS + 1);
      const decision = decide({ table, queued, column, slackMs: (sloMs * column) / STEPS });
      if (decision === "wait") return column === 0 ? 0 : NO_ACTION;
      if (decision === "give-up") return GIVE_UP;
      return decision.variant * (maxQueue + 1) + Math.min(decision.batch, queued) - 1;
    });
    return { dtype: "uint16", shape: [maxQueue + 1, STEPS + 1], data };
  };
  const rates = { accuracyPerSatisfied: 0.7, accuracyPerQuery: 0.69, violationRate: 0.001 };
  return {
    ...tiny,
    slo: { ...tiny.slo, classes },
    policy: { ...tiny.policy, balancer: "pooled", batching: "variable", drop, classes: "auto" },
    classSpaces: classes.map(({ latencyMs }) => ({
      maxQueue,
      slackMs: {
        dtype: "float64",
        shape: [STEPS + 1],
        data: Float64Array.from({ length: STEPS + 1 }, (_, step) => (latencyMs * step) / STEPS),
      },
    })),
    levels: tiny.levels.map((level) => ({
      ...level,
      expected: {
        ...level.expected,
        byClass: Object.fromEntries(classes.map(({ name }) => [name, { ...rates }])),
      },
      actionByState: tableOf(-1, longestMs),
      ...(split === null
        ? {}
        : {
            classTables: classes.map(({ latencyMs }, index) => ({
              workers: split[index] ?? 1,
              actionByState: tableOf(index, latencyMs),
            })),
          }),
    })),
  };
}

/** All that wait, on the large variant (20 + 20 b ms) where that ends in time. */
function largestInTime({ queued, slackMs }: ClassCell): Decision {
  return { variant: 20 + 20 * queued <= slackMs ? 1 : 0, batch: queued };
}
