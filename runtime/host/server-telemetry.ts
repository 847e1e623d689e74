/** What a server tells of its requests and decisions, opened before its bundles. */

import { packageVersion } from "../base/version.ts";
import type { DecisionLog } from "../server/decisions/decision-log.ts";
import { Telemetry } from "../server/telemetry/telemetry.ts";
import { clockOf, type ServerOptions } from "./server-options.ts";

/** Nothing of OTLP is loaded where nothing is sent. */
export async function telemetryOf(options: ServerOptions, decisions: DecisionLog | undefined) {
  const { accessLog, otlp: settings, onNotice = () => {} } = options;
  const { nowMs, epochOffsetMs } = clockOf(options);
  const clock = { nowMs, epochOffsetMs };
  const otlp =
    settings === undefined
      ? undefined
      : (await import("../server/telemetry/otlp/otlp.ts")).openOtlp({
          settings,
          version: packageVersion(),
          ...clock,
          onNotice,
        });
  const traces = otlp?.traces;
  const isOff = accessLog === undefined && traces === undefined && decisions === undefined;
  if (isOff) return { otlp };
  return { otlp, telemetry: new Telemetry({ accessLog, traces, decisions, ...clock }) };
}

/** Nothing of it is loaded where nothing is logged. @throws RuntimeError RUNTIME_USAGE. */
export async function decisionsOf(options: ServerOptions): Promise<DecisionLog | undefined> {
  const { decisionLog, onNotice = () => {} } = options;
  if (decisionLog === undefined) return undefined;
  const { openDecisionLog } = await import("./open-decision-log.ts");
  const { nowMs, epochOffsetMs } = clockOf(options);
  return openDecisionLog(decisionLog, { nowMs, epochOffsetMs, onNotice });
}
