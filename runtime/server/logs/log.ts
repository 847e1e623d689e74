/** The server's log for operators, as text or as JSON lines. */

import { type Notice, SEVERITIES, type Severity } from "../../base/notice.ts";
import type { LineSink } from "./line-sink.ts";

export const LOG_FORMATS = ["text", "json"] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

export interface LogOptions {
  readonly sink: Pick<LineSink, "write">;
  readonly level: Severity;
  readonly format: LogFormat;
  /** Milliseconds since 1970. */
  readonly epochMs: () => number;
}

/** Log settings that may change at run time. */
export interface LogState {
  /** Minimum severity of lines that are written. */
  level: Severity;
  /** Text lines are for a person at a terminal: no time and no severity. */
  format: LogFormat;
}

export class Log implements LogState {
  level: Severity;
  format: LogFormat;
  readonly #sink: Pick<LineSink, "write">;
  readonly #epochMs: () => number;

  constructor({ sink, level, format, epochMs }: LogOptions) {
    this.level = level;
    this.format = format;
    this.#sink = sink;
    this.#epochMs = epochMs;
  }

  /** Writes a line, as the level and the format are at the time. */
  readonly notice: Notice = (message, severity = "info") => {
    if (SEVERITIES.indexOf(severity) > SEVERITIES.indexOf(this.level)) return;
    if (this.format === "text") this.#sink.write(message);
    else {
      const time = new Date(this.#epochMs()).toISOString();
      this.#sink.write(JSON.stringify({ time, level: severity, message }));
    }
  };
}
