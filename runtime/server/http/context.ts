/** What the routes of the server share. */
import { type InferLimits, inferLimits } from "../bodies/body-limits.ts";
import type { ByteBudget } from "../bodies/byte-budget.ts";
import type { Connections } from "../connections/connections.ts";
import type { PaceLimits } from "../connections/pace.ts";
import type { RequestCounts } from "../connections/request-counts.ts";
import type { JsonThread } from "../json/json-thread.ts";
import type { TurnShare } from "../json/turn-share.ts";
import { RequestReader } from "../protocol/request-reader.ts";
import type { Endpoint, EndpointModel } from "../requests/endpoint.ts";
import type { Gate } from "../requests/gate.ts";
import type { LoopLag } from "./loop-lag.ts";

export { RETRY_LATER } from "../connections/http-error.ts";

export interface HttpContext {
  /** Of the body of a request. */
  readonly pace: PaceLimits;
  readonly endpoint: Endpoint;
  /** In the order of the endpoint. */
  readonly models: readonly HostedModel[];
  readonly connections: Connections;
  /** By the paths of their inference requests, as clients mostly write them. */
  readonly inferred: ReadonlyMap<string, HostedModel>;
  readonly gate: Gate;
  readonly lag: LoopLag;
  readonly counts: RequestCounts;
  readonly version: string;
  readonly nowMs: () => number;
  readonly epochOffsetMs: number;
  readonly sloMs: number;
  readonly isDraining: () => boolean;
  /** Tells that an inference request is in the house, and that it has left. */
  readonly onInfer: (change: 1 | -1) => void;
  /** For the bytes of all requests. */
  readonly budget: ByteBudget;
  /** For short JSON, which is read and written on the event loop. */
  readonly turnShare: TurnShare;
  /** For long JSON, which is not. */
  readonly jsonThread: JsonThread;
  /** Metrics of the server itself. */
  readonly metricsText: () => string;
}

/** A model of the endpoint, and how its requests are read. */
export interface HostedModel {
  readonly model: EndpointModel;
  /** Its place among the models of the endpoint. */
  readonly index: number;
  readonly requests: RequestReader;
  readonly limits: InferLimits;
  /** Rows of one request at most. */
  readonly maxRows: number;
}

export function isReady({ isDraining, endpoint }: HttpContext): boolean {
  return !isDraining() && endpoint.isReady;
}

/** Models by the paths of their inference requests, with the version and without it. */
export function inferredModels(models: readonly HostedModel[]): Map<string, HostedModel> {
  const paths = models.flatMap((hosted) =>
    hosted.model.signature.names.flatMap((name) => {
      const path = `/v2/models/${encodeURIComponent(name)}`;
      return [`${path}/infer`, `${path}/versions/1/infer`].map((one) => [one, hosted] as const);
    }),
  );
  return new Map(paths);
}

/** @param maxRows of one request, where the model has no limit of its own. */
export function hostedModels(
  { models }: Endpoint,
  { maxRows, maxBodyBytes }: { readonly maxRows: number; readonly maxBodyBytes: number },
): HostedModel[] {
  return models.map((model, index) => {
    const ownMaxRows = model.maxRows ?? maxRows;
    return {
      model,
      index,
      limits: inferLimits(model.signature.inputs, ownMaxRows, maxBodyBytes),
      requests: new RequestReader(model.signature, ownMaxRows),
      maxRows: ownMaxRows,
    };
  });
}
