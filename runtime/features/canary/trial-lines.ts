/** Metrics of two bundles that answer side by side. */
import { head, line, type MetricLine } from "../../base/exposition.ts";
import { type ArmCounts, revisionOf, type Trial } from "../../server/applications/trial.ts";

export function trialLines(trials: readonly Trial[]): MetricLine[] {
  if (trials.length === 0) return [];
  const requests = "stratagem_canary_requests_total";
  const lines = (trial: Trial, own: "stable" | "candidate") => {
    const { kept, violated }: ArmCounts = trial.arms[own];
    const arm = own === "stable" ? "stable" : "canary";
    const labels = { model: trial.stable.name, arm, revision: revisionOf(trial[own]) };
    return [
      line(requests, { ...labels, outcome: "kept" }, kept),
      line(requests, { ...labels, outcome: "violated" }, violated),
    ];
  };
  return [
    head(requests, "counter", "Requests during a trial, by bundle and outcome"),
    ...trials.flatMap((trial) => [...lines(trial, "stable"), ...lines(trial, "candidate")]),
  ];
}
