/** The log of a server: what operators are told, as text or as JSON lines. */
import type { LineSink } from "./line-sink.ts";
import { type Notice, SEVERITIES, type Severity } from "./notice.ts";

export type LogFormat = "text" | "json";

export interface LogOptions {
  readonly sink: Pick<LineSink, "write">;
  /** What matters less is not told. */
  readonly level: Severity;
  readonly format: LogFormat;
  /** Milliseconds since 1970. */
  readonly epochMs: () => number;
}

/** As text, lines are what a person reads who sits before it: without time and severity. */
export function logOf({ sink, level, format, epochMs }: LogOptions): Notice {
  const least = SEVERITIES.indexOf(level);
  return (message, severity = "info") => {
    if (SEVERITIES.indexOf(severity) > least) return;
    if (format === "text") sink.write(message);
    else {
      const time = new Date(epochMs()).toISOString();
      sink.write(JSON.stringify({ time, level: severity, message }));
    }
  };
}
