/** Log of `serve` for operators. */

import type { ServerOptions } from "../host/start-server.ts";
import { LineSink } from "../server/logs/line-sink.ts";
import { Log } from "../server/logs/log.ts";
import type { SettingValues } from "../settings/table.ts";

export interface ServeLogs {
  readonly log: Log;
  readonly options: Pick<ServerOptions, "stderr" | "log" | "onNotice">;
  /** Ends once all lines are written, or after a second. */
  close(): Promise<void>;
}

export function openLogs({ logLevel: level, logFormat: format }: SettingValues): ServeLogs {
  const stderr = new LineSink();
  const epochMs = () => performance.timeOrigin + performance.now();
  const log = new Log({ sink: stderr, level, format, epochMs });
  return { log, options: { log, stderr, onNotice: log.notice }, close: () => stderr.close() };
}
