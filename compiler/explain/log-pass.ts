/** One way through all lines of a log, and what is known of the log after it. */
import { eachLine } from "./log-files.ts";
import { type LoggedRequest, loggedRequest } from "./logged-request.ts";

export interface LogSummary {
  readonly files: readonly string[];
  /** That were read as requests. */
  readonly lines: number;
  /** That are no lines of an access log. */
  readonly unreadable: number;
  /** Of inference requests the first and last arrival, since 1970; null where there are none. */
  readonly firstMs: number | null;
  readonly lastMs: number | null;
  /** Requests that each bundle decided, by the first digits of its digest; "" of none. */
  readonly requestsByBundle: ReadonlyMap<string, number>;
}

/**
 * Calls back with every inference request, in the order of the lines: that of their ends.
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
