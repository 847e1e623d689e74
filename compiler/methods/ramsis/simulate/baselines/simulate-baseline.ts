/** Simulates a baseline of a policy: a rule that is a table, or another system. */
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import { withoutKinds } from "stratagem-runtime/internal/methods/ramsis/bundle/kind-views";
import { dispatcherOf } from "stratagem-runtime/internal/methods/ramsis/core/dispatcher-of";
import { InputError } from "../../../../spec/document/input-error.ts";
import { taskOf } from "../baseline-bundle.ts";
import { type Baseline, isPeer, type PeerBaseline, type TableBaseline } from "../baseline-names.ts";
import { simulateCluster } from "../cluster-simulation.ts";
import type { PeerSetting } from "../peers/peer.ts";
import {
  paperSetting,
  simulatePeer,
  triedSettings,
  tunedSettings,
} from "../peers/simulate-peer.ts";
import {
  clusterOptions,
  type SimulationOptions,
  type SimulationResult,
  simulate,
} from "../simulate.ts";
import {
  fixedVariantBundle,
  greedyBundle,
  jellyfishBundle,
  modelSwitchingBundle,
  type ResponseLatencyProfiler,
} from "./tables.ts";

/**
 * Duration of the measurements that a baseline's profiles need; with this seed they do not depend
 * on the simulated arrivals.
 */
const PROFILE_DURATION_MS = 60_000;
const PROFILE_SEED = 0x70726f66;

/**
 * Serves the arrivals of `simulate` with a baseline, which assumes one queue and one size: the
 * shortest SLO and the largest bucket, so that every query can be in time.
 * @throws InputError if the baseline names an unknown variant, or like `simulate`.
 */
export function simulateBaseline(
  bundle: RamsisBundle,
  baseline: Baseline,
  options: SimulationOptions,
): SimulationResult {
  const { slo, buckets } = bundle;
  const { durationMs, seed } = options;
  const { paceLevels: _, ...alone } = withoutKinds(bundle);
  const latencyMs = Math.min(...(slo.classes ?? [slo]).map((one) => one.latencyMs));
  const served = { ...alone, slo: { ...alone.slo, latencyMs } };
  const cluster = clusterOptions(buckets === undefined ? bundle : served, options);
  if (isPeer(baseline)) {
    const { kind: name, tuned } = baseline;
    const setting = settingOf(served, baseline, options);
    const outcome = simulatePeer(served, setting, cluster);
    const { parameters } = setting;
    return { seed, durationMs, ...outcome, baseline: { name, tuned, parameters } };
  }
  const { kind: name, ...parameters } = baseline;
  const made = baselineBundle(served, baseline, responseLatencyProfiler(options));
  const outcome = simulateCluster(made, dispatcherOf(made, { ready: true, adapt: false }), cluster);
  return { seed, durationMs, ...outcome, baseline: { name, tuned: false, parameters } };
}

/** The setting of its paper, or the best setting on other arrivals of the same kind. */
function settingOf(
  bundle: RamsisBundle,
  { kind, tuned }: PeerBaseline,
  options: SimulationOptions,
): PeerSetting {
  const { arrivals } = options;
  if (!tuned) return paperSetting(bundle, kind, arrivals);
  const [best] = tunedSettings(bundle, triedSettings(bundle, kind, arrivals), options);
  assert(best !== undefined, "a peer has at least one setting");
  return best.setting;
}

/**
 * The application of a bundle under a baseline instead of its policy, as a bundle, so that the same
 * core follows it.
 * @throws InputError INPUT_INVALID_VALUE if the bundle has no such variant.
 */
export function baselineBundle(
  bundle: RamsisBundle,
  baseline: TableBaseline,
  profile: ResponseLatencyProfiler,
): RamsisBundle {
  switch (baseline.kind) {
    case "fixed":
      return fixedVariantBundle(bundle, variantNamed(bundle, baseline.variant));
    case "greedy":
      return greedyBundle(bundle);
    case "jellyfish":
      return jellyfishBundle(bundle);
    case "model-switching":
      return modelSwitchingBundle(bundle, profile);
  }
}

function variantNamed(bundle: RamsisBundle, name: string): number {
  const { variants } = taskOf(bundle);
  const variant = variants.findIndex((candidate) => candidate.name === name);
  if (variant !== -1) return variant;
  const names = variants.map((candidate) => candidate.name).join(", ");
  throw new InputError(
    "INPUT_INVALID_VALUE",
    `baseline: no variant "${name}"; the bundle has ${names}`,
  );
}

/**
 * Measures on the simulated cluster itself, under the arrivals that its bundle was compiled for,
 * Poisson instead of a trace.
 */
function responseLatencyProfiler({
  serviceTimes,
  stations: { machine: _, ...stations } = {},
}: Pick<SimulationOptions, "serviceTimes" | "stations">): ResponseLatencyProfiler {
  return (cluster, loadQps) => {
    const { arrivals } = cluster;
    const { dropped, latencyMs } = simulate(cluster, {
      arrivals:
        arrivals.process === "gamma"
          ? { kind: "gamma", qps: loadQps, cv2: arrivals.cv2 }
          : { kind: "poisson", qps: loadQps },
      durationMs: PROFILE_DURATION_MS,
      seed: PROFILE_SEED,
      serviceTimes,
      stations,
    });
    return dropped > 0 ? Number.POSITIVE_INFINITY : (latencyMs?.p99 ?? 0);
  };
}
