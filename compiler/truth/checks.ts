/** Compares promises with measurements. */
import { proportionInterval } from "../numeric/proportion-interval.ts";
import type { Check, MeasuredOutcome, Outcome, TruthPoint, Verdict } from "./truth-document.ts";

/** Tolerance of latencies: this part of the prediction, or these ms, whichever is greater. */
export const LATENCY_SHARE = 0.2;
export const LATENCY_MS = 2;
/** Tolerances of the ratio of late and lost requests, and of accuracies. */
const VIOLATION_POINTS = 0.005;
const ACCURACY_POINTS = 0.002;
/** Part of the ceiling below which a promise is safe. */
const SAFE_SHARE = 0.5;

/** Figures to judge a point by. */
export interface Judged {
  readonly promised: TruthPoint["promised"];
  readonly predicted: Outcome;
  readonly measured: MeasuredOutcome;
  /** Ratio of requests that may be late or lost. */
  readonly ceiling: number;
  /** Number of requests sent. */
  readonly requests: number;
}

/** Returns a check for each known figure. */
export function checksOf(judged: Judged): Check[] {
  const { predicted, measured } = judged;
  return [
    latencyCheck("p50", predicted, measured),
    latencyCheck("p99", predicted, measured),
    violationCheck(judged),
    ...accuracyChecks(predicted, measured),
  ];
}

/** Combines the checks. */
export function verdictOf(checks: readonly Check[]): Verdict {
  if (checks.every(({ holds }) => holds)) return "holds";
  if (checks.every(({ isKept }) => isKept)) return "better";
  const isLatency = ({ name }: Check): boolean => name === "p50" || name === "p99";
  const isSlower = checks.every((check) => {
    return check.isKept || (isLatency(check) && check.measured !== null);
  });
  return isSlower ? "slower" : "broken";
}

/**
 * Compares percentiles; of few batches, whatever their intervals allow. Fails without answers.
 */
function latencyCheck(name: "p50" | "p99", predicted: Outcome, measured: MeasuredOutcome): Check {
  const [promised, found] = [predicted[`${name}Ms`], measured[`${name}Ms`]];
  const tolerance = Math.max(LATENCY_SHARE * (promised ?? 0), LATENCY_MS);
  const check = { name, promised, measured: found, tolerance };
  if (promised === null || found === null) return { ...check, holds: false, isKept: false };
  const [least, most] = measured.intervalsMs?.[name] ?? [found, found];
  const [promisedLeast, promisedMost] = predicted.intervalsMs?.[name] ?? [promised, promised];
  const isKept = promisedMost === null || least - promisedMost <= tolerance;
  const holds = isKept && (most === null || promisedLeast - most <= tolerance);
  return { ...check, holds, isKept };
}

/**
 * Checks that the ratio is close to the prediction, and below the ceiling if the level promises a
 * safe value; of few requests, whatever its interval allows.
 */
function violationCheck({ promised, predicted, measured, ceiling, requests }: Judged): Check {
  const { lower, upper } = proportionInterval(measured.violationRate, requests);
  const nearest = Math.min(Math.max(predicted.violationRate, lower), upper);
  const isClose = isWithin(nearest, predicted.violationRate, VIOLATION_POINTS);
  const isSafe = (promised.violationRate ?? predicted.violationRate) < SAFE_SHARE * ceiling;
  const isUnder = !isSafe || lower <= ceiling;
  const isFewer = measured.violationRate < predicted.violationRate;
  return {
    name: "violations",
    promised: predicted.violationRate,
    measured: measured.violationRate,
    tolerance: VIOLATION_POINTS,
    holds: isClose && isUnder,
    isKept: (isClose || isFewer) && isUnder,
  };
}

/**
 * Compares the accuracy that the server states with those of the draws, and the accuracy by labels
 * with its confidence interval.
 */
function accuracyChecks(predicted: Outcome, measured: MeasuredOutcome): Check[] {
  const checks: Check[] = [];
  const tolerance = ACCURACY_POINTS;
  if (predicted.accuracy !== null && measured.accuracy !== null) {
    const [promised, found] = [predicted.accuracy, measured.accuracy];
    const [least, most] = predicted.accuracyRange ?? [promised, promised];
    const holds = isWithin(found, Math.min(Math.max(found, least), most), tolerance);
    const isKept = holds || found > promised;
    checks.push({ name: "accuracy", promised, measured: found, tolerance, holds, isKept });
  }
  const { accuracyByLabels: labels } = measured;
  if (labels !== null && measured.accuracy !== null) {
    const promised = measured.accuracy;
    const isKept = promised <= labels.upper + tolerance;
    const holds = isKept && promised >= labels.lower - tolerance;
    checks.push({ name: "labels", promised, measured: labels.estimate, tolerance, holds, isKept });
  }
  return checks;
}

/** Allows for rounding of decimal differences. */
function isWithin(measured: number, promised: number, tolerance: number): boolean {
  return Math.abs(measured - promised) <= tolerance + Number.EPSILON;
}
