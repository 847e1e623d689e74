/** Types of the data about an application that features exchange. */

/** Kinds of promises of a bundle, as in `/metrics`. */
export const PROMISES = ["service_time", "arrivals", "violations", "accuracy", "cost"] as const;

export type PromiseName = (typeof PROMISES)[number];

/** Names of promises in messages. */
export const PROMISE_WORDS: Readonly<Record<PromiseName, string>> = {
  service_time: "service times",
  arrivals: "arrivals",
  violations: "violations",
  accuracy: "accuracy",
  cost: "cost",
};

export interface PromiseState {
  readonly promise: PromiseName;
  readonly holds: boolean;
  /** 0 to 1, which is broken. */
  readonly evidence: number;
  /** How the measurements differ from the promise; empty while it holds. */
  readonly because: string;
}

/** Answers of a variant with known truth since its bundle was opened. */
export interface LabelledAnswers {
  readonly variant: string;
  readonly asked: number;
  /** Rows of these that the variant had right. */
  readonly correct: number;
}

/** Formats a percentage; a positive share never appears as 0. */
export function percentText(share: number): string {
  const percent = 100 * share;
  if (percent > 0 && percent < 0.001) return "<0.001 %";
  return `${percent.toFixed(percent > 0 && percent < 0.05 ? 3 : 1)} %`;
}
