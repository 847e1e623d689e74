/** Peers by name, and their tuning in hindsight. */
import type { PeerName } from "../baseline-names.ts";
import { clockwork } from "./clockwork.ts";
import { infaas } from "./infaas.ts";
import { nexus } from "./nexus.ts";
import type { Peer, PeerSetting } from "./peer.ts";
import { proteus } from "./proteus.ts";
import { maxAccuracy, maxBatch, slackfitA, slackfitB } from "./slack-rules.ts";
import { symphony } from "./symphony.ts";

export const PEERS: Readonly<Record<PeerName, Peer>> = {
  proteus,
  symphony,
  slackfit: slackfitA,
  "slackfit-b": slackfitB,
  clockwork,
  nexus,
  infaas,
  maxacc: maxAccuracy,
  maxbatch: maxBatch,
};

/** Figures that a setting is chosen by. */
export interface Trial {
  readonly accuracyPerQuery: number | null;
  readonly violationRate: number;
}

export interface Measured {
  readonly setting: PeerSetting;
  readonly trial: Trial;
}

/**
 * Measures a setting.
 * @param round 0 for a first look at all, 1 for a longer one, on other arrivals, at the best of
 * them.
 */
type Measure = (setting: PeerSetting, round: 0 | 1) => Trial;

/** Number of the best that get a second look. */
const FINALISTS = 3;

/**
 * Chooses the setting with the highest accuracy per query, where a violation counts as accuracy 0;
 * then the one with the fewest violations; then the first.
 * @returns the settings of the second look, the best first.
 */
export function tune(settings: readonly PeerSetting[], measure: Measure): Measured[] {
  const round = (candidates: readonly PeerSetting[], number: 0 | 1): Measured[] =>
    candidates
      .map((setting): Measured => ({ setting, trial: measure(setting, number) }))
      .sort(({ trial: a }, { trial: b }) => {
        const accuracies = (b.accuracyPerQuery ?? 0) - (a.accuracyPerQuery ?? 0);
        return accuracies || a.violationRate - b.violationRate;
      });
  const first = round(settings, 0);
  if (first.length < 2) return first;
  return round(
    first.slice(0, FINALISTS).map(({ setting }) => setting),
    1,
  );
}
