/** Baselines of scaled tasks: the same pipeline planned and scaled as other systems do. */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { ThemisBundle, ThemisOptions } from "stratagem-runtime/internal/bundle/schema";
import { beatMsOf } from "stratagem-runtime/internal/core/beat";
import { SCALER_NAMES } from "../../simulate/graph/scalers/scalers.ts";
import { themis } from "./solve/themis.ts";

/**
 * FA2 scales instances of one core, Sponge (as the paper extends it to pipelines) the cores of one
 * instance for each task, Themis both; all with plans that allow nothing for random arrivals,
 * solved exactly. Source: Themis §6.
 */
const BASELINES = {
  fa2: { scaling: "horizontal" },
  sponge: { scaling: "vertical" },
  themis: { scaling: "themis" },
} as const satisfies Record<string, Pick<ThemisOptions, "scaling">>;

/** Polls the traffic as often as in the paper, once per heartbeat. */
const AS_PAPER = { queueing: "paper", solver: "exact", stableTicks: 5 } as const;

/** Baselines of the paper: other plans for the same levels. */
export const PAPER_BASELINES = ["fa2", "sponge", "themis"] as const;

/** In the order of the help. */
export const THEMIS_BASELINES: readonly string[] = [...PAPER_BASELINES, ...SCALER_NAMES];

/**
 * The bundle of a baseline for the same levels.
 * @throws RuntimeError for a name that is not a system of the paper.
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
  // These systems drop queries by age alone, whatever is left of their path.
  const { dropRule: _, ...policy } = bundle.policy;
  const tickMs = beatMsOf(bundle.slo);
  return rescaled({ ...bundle, policy }, { ...BASELINES[known], ...AS_PAPER, tickMs });
}

/** The levels of a bundle planned again with other options. */
export function rescaled(bundle: ThemisBundle, options: Partial<ThemisOptions>): ThemisBundle {
  const { levels, paceLevels: _, transitions: __, provenance, ...shared } = bundle;
  const frame = { ...shared, policy: { ...bundle.policy, ...options } };
  const scaler = themis.open(frame);
  const planned = levels.map(({ loadQps }) => scaler.scaleLevel(loadQps));
  return { ...frame, levels: planned, transitions: scaler.transitions(planned), provenance };
}
