/** Telemetry of single requests: the access log and traces. */

import type { MetricLine } from "../../base/exposition.ts";
import type { OpenFeature } from "../../server/feature.ts";
import type { LineSink } from "../../server/logs/line-sink.ts";
import type { LogState } from "../../server/logs/log.ts";
import type { RequestRecord } from "../../server/requests/request-record.ts";
import { accessLine } from "./access-log.ts";
import type { Sampling } from "./otlp/sampling.ts";
import { settingsRoutes } from "./settings-routes.ts";

/** Receives finished requests and exports their spans. */
export interface TraceSink {
  readonly sampling: Sampling;
  take(record: RequestRecord): void;
  lines(): MetricLine[];
}

interface TelemetryOptions {
  readonly accessLog?: Pick<LineSink, "write"> | undefined;
  readonly traces?: TraceSink | undefined;
  /** Log whose settings operators may change; undefined if the server writes none. */
  readonly log?: LogState | undefined;
  readonly epochOffsetMs: () => number;
}

/** Adds no hooks if neither the access log nor traces are on. */
export function telemetryOf(options: TelemetryOptions): OpenFeature {
  const { accessLog, traces, log, epochOffsetMs } = options;
  const operated = { log, sampling: traces?.sampling };
  const extensions = Object.entries({ logging: log, trace: traces?.sampling });
  const ended = (record: RequestRecord) => {
    accessLog?.write(accessLine(record, epochOffsetMs()));
    if (record.isSampled) traces?.take(record);
  };
  const arrived = (record: RequestRecord) => {
    if (traces === undefined) return;
    record.isSampled = traces.sampling.sample(record.traceId, record.parent);
  };
  const isOff = accessLog === undefined && traces === undefined;
  return {
    ...(isOff ? {} : { hooks: { arrived, ended } }),
    extensions: extensions.flatMap(([name, what]) => (what === undefined ? [] : [name])),
    routes: settingsRoutes(operated),
    rpcs: async () => (await import("./settings-rpcs.ts")).settingsRpcs(operated),
    metricLines: () => traces?.lines() ?? [],
  };
}
