/** `inspect URL`: the load, the level and the pace of a running server. */

import { EXIT_CODES, RuntimeError } from "../base/errors.ts";
import { askHttp, causeOf } from "../base/http-client.ts";
import { explainedTable, short } from "../describe/text.ts";
import {
  LIVE_FORMAT,
  LIVE_PATH,
  type LiveApplication,
  type LiveDocument,
  type LivePace,
} from "../features/live-page/live.ts";
import type { CommandResult } from "./command-result.ts";

const TIMEOUT_MS = 10_000;
const LIMITS = { maxBytes: 2 ** 26, maxRedirects: 5 };

/** @throws RuntimeError RUNTIME_UNREADABLE if no server answers with the data of its live page. */
export async function inspectServer(place: string, timeoutMs = TIMEOUT_MS): Promise<CommandResult> {
  const live = await liveDocument(place, timeoutMs);
  const text = live.applications.map(applicationText).join("\n\n");
  return { exitCode: EXIT_CODES.ok, text, json: live };
}

async function liveDocument(place: string, timeoutMs: number): Promise<LiveDocument> {
  try {
    const url = new URL(LIVE_PATH, place.endsWith("/") ? place : `${place}/`);
    const { status, bytes } = await askHttp(url, { ...LIMITS, timeoutMs });
    if (status !== 200) throw new Error(`status ${status}`);
    const document: LiveDocument = JSON.parse(bytes.toString());
    if (document.format !== LIVE_FORMAT) throw new Error(`format ${document.format}`);
    return document;
  } catch (error) {
    const expected = "expected a server that answers with the data of its live page";
    throw new RuntimeError("RUNTIME_UNREADABLE", `${place}: ${expected}, got: ${causeOf(error)}`);
  }
}

function applicationText(application: LiveApplication): string {
  const { name, method, isReady, bundleSha256, loadQps, workers, pace } = application;
  return [
    `${name}: ${method}, ${isReady ? "ready" : "not ready"}, bundle ${bundleSha256.slice(0, 12)}`,
    `load: ${loadQps === null ? "not known" : `${short(loadQps)} qps`}${levelPart(application)}`,
    `workers: ${workers.ready ?? "?"} of ${workers.count ?? "?"} ready, ${workers.lost} lost`,
    ...(pace === null ? ["pace: not measured"] : paceText(pace)),
  ].join("\n");
}

function levelPart({ level, levels }: LiveApplication): string {
  const decides = levels.find(({ index }) => index === level);
  if (decides === undefined) return "";
  const slower = decides.pace === 1 ? "" : ` at pace ${short(decides.pace)}`;
  return `; decided by the level for ${short(decides.loadQps)} qps${slower}`;
}

function paceText({ pool, stretch, workers, corrections }: LivePace): string[] {
  const rows = workers.map((one) => [String(one.worker), one.pool, one.pace.toFixed(2)]);
  const cells = corrections.map(({ variant, batch, correction }) => {
    return [variant, batch === 1 ? "1" : `${batch} to ${2 * batch - 1}`, correction.toFixed(2)];
  });
  return [
    `pace: ${short(pool)}; a query costs ${short(stretch)} times what it costs as profiled`,
    "",
    explainedTable([["worker", "pool", "pace"], ...rows]),
    "",
    ...(cells.length === 0
      ? ["no variant differs from its profile by more than the pace"]
      : [explainedTable([["variant", "batch", "times the profile, beside the pace"], ...cells])]),
  ];
}
