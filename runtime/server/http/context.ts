/** What the routes of the HTTP server share. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { HostedModel } from "../applications/hosted-model.ts";
import type { House } from "../applications/house.ts";
import type { Connections } from "../connections/connections.ts";
import type { PaceLimits } from "../connections/pace.ts";
import type { RequestCounts } from "../connections/request-counts.ts";
import type { JsonThread } from "../json/json-thread.ts";
import type { TurnShare } from "../json/turn-share.ts";
import type { MetricLine } from "../metrics/exposition.ts";
import type { LivePage } from "../page/page.ts";
import type { RequestRecord } from "../telemetry/request-record.ts";
import type { AdminHooks } from "./admin-hooks.ts";

export interface HttpContext {
  readonly house: House;
  /** Of the body of a request. */
  readonly pace: PaceLimits;
  readonly connections: Connections;
  /** By the paths of their inference requests, as clients mostly write them. */
  readonly inferred: ReadonlyMap<string, HostedModel>;
  readonly counts: RequestCounts;
  /** Requests without an answer; none where no log and no trace is kept. */
  readonly records: WeakMap<ServerResponse, RequestRecord>;
  /** For short JSON, which is read and written on the event loop. */
  readonly turnShare: TurnShare;
  /** For long JSON, which is not. */
  readonly jsonThread: JsonThread;
  /** For people; left out where none is wanted. */
  readonly page?: LivePage | undefined;
  /** For administrators; left out where nobody has given any. */
  readonly admin: AdminHooks | undefined;
  /** Takes what is no inference to the process that decides; left out where that is this one. */
  readonly relay?: HttpRelay | undefined;
  /** Of all applications and the server itself. */
  readonly metricLines: () => readonly MetricLine[];
}

/** @param path in segments. @throws HttpError */
export type HttpRelay = (
  context: HttpContext,
  path: readonly string[],
  request: IncomingMessage,
  response: ServerResponse,
) => Promise<void>;

/** Models by the paths of their inference requests, with the version and without it. */
export function inferredModels(models: readonly HostedModel[]): Map<string, HostedModel> {
  const paths = models.flatMap((hosted) =>
    hosted.names.flatMap((name) => {
      const own = encodeURIComponent(name);
      const path = `/v2/models/${own}`;
      const paths = [`${path}/infer`, `${path}/versions/1/infer`, `/v1/models/${own}:predict`];
      return paths.map((one) => [one, hosted] as const);
    }),
  );
  return new Map(paths);
}
