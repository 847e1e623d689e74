/** What an operator is told, and how much it matters. */

/** The worst first. */
export const SEVERITIES = ["error", "warn", "info", "debug"] as const;

export type Severity = (typeof SEVERITIES)[number];

/** Tells an operator something, such as that a worker was lost; without a severity, "info". */
export type Notice = (message: string, severity?: Severity) => void;
