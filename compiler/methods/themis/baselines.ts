/**
 * What scaled tasks are compared with: the same pipeline planned and scaled as other systems do.
 */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { ThemisBundle, ThemisOptions } from "stratagem-runtime/internal/bundle/schema";
import { beatMsOf } from "stratagem-runtime/internal/core/beat";
import { SCALER_NAMES } from "../../simulate/graph/scalers/scalers.ts";
import { themis } from "./solve/themis.ts";

/**
 * FA2 scales instances of one core, Sponge (as the paper extends it to pipelines) the cores of one
 * instance for each task, Themis both; all of them with plans that leave no room for random
 * arrivals, solved exactly. Source: Themis §6.
 */
const BASELINES = {
  fa2: { scaling: "horizontal" },
  sponge: { scaling: "vertical" },
  themis: { scaling: "themis" },
} as const satisfies Record<string, Pick<ThemisOptions, "scaling">>;

/** Looks at the traffic as often as in the paper, once a beat. */
const AS_PAPER = { queueing: "paper", solver: "exact", stableTicks: 5 } as const;

/** Those of the paper, which are other plans for the same levels. */
export const PAPER_BASELINES = ["fa2", "sponge", "themis"] as const;

/** In the order the help names them. */
export const THEMIS_BASELINES: readonly string[] = [...PAPER_BASELINES, ...SCALER_NAMES];

/**
 * The bundle of a baseline for the same levels.
 * @throws RuntimeError for a name that is no other paper's system.
 */
export function themisBaseline(bundle: ThemisBundle, name: string): ThemisBundle {
  const known = PAPER_BASELINES.find((one) => one === name);
  if (known === undefined) {
    throw new RuntimeError(
      "RUNTIME_USAGE",
      `--baseline ${name} is not for a bundle of method themis; ` +
        `expected one of ${THEMIS_BASELINES.join(", ")}`,
    );
  }
  // They give up what is too old, whatever is left of its way.
  const { dropRule: _, ...policy } = bundle.policy;
  const tickMs = beatMsOf(bundle.slo);
  return rescaled({ ...bundle, policy }, { ...BASELINES[known], ...AS_PAPER, tickMs });
}

/** The levels of a bundle planned anew under other options. */
export function rescaled(bundle: ThemisBundle, options: Partial<ThemisOptions>): ThemisBundle {
  const { levels, paceLevels: _, transitions: __, provenance, ...shared } = bundle;
  const frame = { ...shared, policy: { ...bundle.policy, ...options } };
  const scaler = themis.open(frame);
  const planned = levels.map(({ loadQps }) => scaler.scaleLevel(loadQps));
  return { ...frame, levels: planned, transitions: scaler.transitions(planned), provenance };
}
