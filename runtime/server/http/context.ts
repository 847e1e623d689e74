/** State that the routes of the HTTP server share. */
import type { ServerResponse } from "node:http";
import type { MetricLine } from "../../base/exposition.ts";
import type { Need } from "../access/scopes.ts";
import type { HostedModel } from "../applications/hosted-model.ts";
import type { ServerState } from "../applications/server-state.ts";
import type { PaceLimits } from "../bodies/body.ts";
import type { NotesAt } from "../connections/connection.ts";
import type { Connections, RequestCounts } from "../connections/connections.ts";
import type { Dialect } from "../json/json-jobs.ts";
import type { JsonThread } from "../json/json-thread.ts";
import type { RequestRecord } from "../requests/request-record.ts";
import type { AdminHooks } from "./admin-hooks.ts";
import type { Routes } from "./route.ts";

/** Model and operation of an inference path. */
export interface InferPath {
  readonly hosted: HostedModel;
  /** Model name as in the path. */
  readonly modelName: string;
  readonly dialect: Dialect;
}

/** Resources for JSON: a share of the event loop for short JSON, and a thread for long JSON. */
export interface JsonPlaces {
  /**
   * @returns a promise that resolves when it is the turn of that many bytes; undefined for at once.
   */
  readonly turnShare: { take(bytes: number): Promise<void> | undefined };
  readonly jsonThread: JsonThread;
}

export interface HttpContext extends JsonPlaces {
  readonly state: ServerState;
  /** Minimum speed of request bodies. */
  readonly pace: PaceLimits;
  readonly connections: Connections;
  /** Inference paths in their usual spelling, parsed in advance. */
  readonly inferred: ReadonlyMap<string, InferPath>;
  readonly counts: RequestCounts;
  /** Records of unanswered requests; empty without access log and traces. */
  readonly records: NotesAt<ServerResponse, RequestRecord>;
  /** Names of the clients of unanswered requests, for those with a token. */
  readonly clients: NotesAt<ServerResponse, string>;
  /** Scopes that this listener serves. */
  readonly served: ReadonlySet<Need>;
  readonly routes: Routes;
  /** Admin operations; undefined where the program provides none. */
  readonly admin: AdminHooks | undefined;
  /** Metrics of all applications and of the server. */
  readonly metricLines: () => readonly MetricLine[];
}

/** Models by the paths of their inference requests, with the version and without it. */
export function inferredModels(models: readonly HostedModel[]): Map<string, InferPath> {
  const inferred = new Map<string, InferPath>();
  for (const hosted of models) {
    for (const modelName of hosted.names) {
      const own = encodeURIComponent(modelName);
      const path = `/v2/models/${own}`;
      const named = { hosted, modelName };
      inferred.set(`${path}/infer`, { ...named, dialect: "v2" });
      inferred.set(`${path}/versions/1/infer`, { ...named, dialect: "v2" });
      inferred.set(`/v1/models/${own}:predict`, { ...named, dialect: "kserve-v1" });
    }
  }
  return inferred;
}
