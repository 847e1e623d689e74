/** Messages to an operator, and their severities. */

/** Most severe first. */
export const SEVERITIES = ["error", "warn", "info", "debug"] as const;

export type Severity = (typeof SEVERITIES)[number];

/** Reports an event to an operator, such as a lost worker; default severity "info". */
export type Notice = (message: string, severity?: Severity) => void;
