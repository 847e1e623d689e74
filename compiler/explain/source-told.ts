/** What is told of the log that something was explained from. */
import type { LoadedBundle } from "stratagem-runtime/internal/bundles/load-bundle";
import { counted, wrapped } from "stratagem-runtime/internal/describe/text";
import type { LogSummary } from "./log-pass.ts";

type Digest = Pick<LoadedBundle, "sha256">;

/** Only what is out of order. */
export function sourceLines(summary: LogSummary, { sha256 }: Digest): string[] {
  const { unreadable } = summary;
  const told = [
    ...(unreadable === 0
      ? []
      : [`${counted(unreadable, "line")} of the log could not be read as requests`]),
    ...otherBundles(summary, sha256).map(([digest, requests]) => {
      return `${counted(requests, "request")} were decided by another bundle, ${digest}…`;
    }),
    ...((summary.requestsByBundle.get("") ?? 0) === 0
      ? []
      : ["the log does not say which bundle decided: an older server wrote it"]),
  ];
  return told.length === 0 ? [] : ["", ...told.map((line) => wrapped(line))];
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
