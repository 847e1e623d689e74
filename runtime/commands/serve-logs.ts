/** The logs of `serve`: what operators are told, and a line for every request. */
import { RuntimeError } from "../base/errors.ts";
import type { ServerOptions } from "../host/start-server.ts";
import { LineSink } from "../server/telemetry/line-sink.ts";
import { Log } from "../server/telemetry/log.ts";
import type { SettingValues } from "../settings/table.ts";

export interface ServeLogs {
  readonly log: Log;
  readonly options: Pick<ServerOptions, "accessLog" | "logs" | "log" | "onNotice">;
  /** Opens files again, which may have been moved. */
  reopen(): void;
  /** Ends once all is written, or has waited for a second. */
  close(): Promise<void>;
}

/** @throws RuntimeError RUNTIME_USAGE for a file that cannot be written. */
export function openLogs(settings: SettingValues): ServeLogs {
  const { logLevel: level, logFormat: format, accessLog: path } = settings;
  const stderr = new LineSink();
  const access = path === null ? undefined : path === "-" ? stderr : fileSink(path);
  const isOwn = access !== undefined && access !== stderr;
  const epochMs = () => performance.timeOrigin + performance.now();
  const log = new Log({ sink: stderr, level, format, epochMs });
  return {
    log,
    options: {
      log,
      onNotice: log.notice,
      accessLog: access,
      logs: isOwn ? { server: stderr, access } : { server: stderr },
    },
    reopen: () => access?.reopen(),
    async close() {
      if (isOwn) await access.close();
      await stderr.close();
    },
  };
}

function fileSink(path: string): LineSink {
  try {
    return new LineSink(path);
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    const message = `--access-log: expected a file that can be written, got ${path}: ${reason}`;
    throw new RuntimeError("RUNTIME_USAGE", message);
  }
}
