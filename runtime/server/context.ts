/** What the routes of the server share. */
import type { BodyLimits } from "./body.ts";
import type { Endpoint, EndpointModel } from "./endpoint.ts";
import type { Gate } from "./gate.ts";
import type { LoopLag } from "./loop-lag.ts";
import type { RequestCounts } from "./request-counts.ts";
import { RequestReader } from "./request-reader.ts";

export interface HttpContext extends BodyLimits {
  readonly endpoint: Endpoint;
  /** In the order of the endpoint. */
  readonly models: readonly HostedModel[];
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
}

/** A model of the endpoint, and how its requests are read. */
export interface HostedModel {
  readonly model: EndpointModel;
  readonly requests: RequestReader;
  /** Rows of one request at most. */
  readonly maxRows: number;
}

export const RETRY_LATER = { "retry-after": "1" };

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
export function hostedModels({ models }: Endpoint, maxRows: number): HostedModel[] {
  return models.map((model) => {
    const ownMaxRows = model.maxRows ?? maxRows;
    return {
      model,
      requests: new RequestReader(model.signature, ownMaxRows),
      maxRows: ownMaxRows,
    };
  });
}
