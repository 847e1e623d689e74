/** Reads all lines of a log once and summarizes the log. */
import { eachLine } from "./log-files.ts";
import { type LoggedRequest, loggedRequest } from "./logged-request.ts";

export interface LogSummary {
  readonly files: readonly string[];
  /** Lines that were read as requests. */
  readonly lines: number;
  /** Lines that are not access log entries. */
  readonly unreadable: number;
  /** First and last arrival of inference requests, ms since 1970; null without requests. */
  readonly firstMs: number | null;
  readonly lastMs: number | null;
  /**
   * Requests per deciding bundle, by the first digits of its digest; "" if the log has no digest.
   */
  readonly requestsByBundle: ReadonlyMap<string, number>;
}

/**
 * Calls back with every inference request in the order of the lines, which is the order in which
 * requests ended.
 * @throws InputError as `eachLine`.
 */
export async function passOver(
  files: readonly string[],
  signal: AbortSignal,
  onRequest: (request: LoggedRequest) => void,
): Promise<LogSummary> {
  const requestsByBundle = new Map<string, number>();
  let lines = 0;
  let unreadable = 0;
  let firstMs = Number.POSITIVE_INFINITY;
  let lastMs = Number.NEGATIVE_INFINITY;
  const onLine = (line: string | null): void => {
    const request = line === null ? null : loggedRequest(line);
    if (request === null) {
      unreadable++;
      return;
    }
    lines++;
    if (request.model === "") return;
    const { bundle, timeMs } = request;
    firstMs = Math.min(firstMs, timeMs);
    lastMs = Math.max(lastMs, timeMs);
    requestsByBundle.set(bundle ?? "", (requestsByBundle.get(bundle ?? "") ?? 0) + 1);
    onRequest(request);
  };
  for (const path of files) await eachLine(path, signal, onLine);
  const isEmpty = firstMs > lastMs;
  return {
    ...{ files, lines, unreadable, requestsByBundle },
    firstMs: isEmpty ? null : firstMs,
    lastMs: isEmpty ? null : lastMs,
  };
}
