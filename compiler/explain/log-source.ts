/** Describes the log that an explanation is based on. */
import type { LoadedBundle } from "stratagem-runtime/internal/bundles/load-bundle";
import { counted, wrapped } from "stratagem-runtime/internal/describe/text";
import type { LogSummary } from "./log-pass.ts";

type Digest = Pick<LoadedBundle, "sha256">;

/** Reports unreadable lines and requests that another bundle decided; otherwise empty. */
export function sourceLines(summary: LogSummary, { sha256 }: Digest): string[] {
  const { unreadable } = summary;
  const lines = [
    ...(unreadable === 0
      ? []
      : [`${counted(unreadable, "line")} of the log could not be read as a request`]),
    ...otherBundles(summary, sha256).map(([digest, requests]) => {
      return `${counted(requests, "request")} were decided by another bundle, ${digest}…`;
    }),
    ...((summary.requestsByBundle.get("") ?? 0) === 0
      ? []
      : ["the log does not name the bundle that decided: an older server wrote it"]),
  ];
  return lines.length === 0 ? [] : ["", ...lines.map((line) => wrapped(line))];
}

export function sourceJson(summary: LogSummary, { sha256 }: Digest): object {
  const { files, lines, unreadable, firstMs, lastMs } = summary;
  return {
    ...{ files, lines, unreadable },
    from: firstMs === null ? null : new Date(firstMs).toISOString(),
    to: lastMs === null ? null : new Date(lastMs).toISOString(),
    bundleSha256: sha256,
    otherBundles: Object.fromEntries(otherBundles(summary, sha256)),
  };
}

function otherBundles({ requestsByBundle }: LogSummary, sha256: string): [string, number][] {
  return [...requestsByBundle].filter(([digest]) => digest !== "" && !sha256.startsWith(digest));
}
