/** The models of all applications of a server, by the names that clients call them. */
import { type InferLimits, inferLimits } from "../bodies/body-limits.ts";
import { HttpError } from "../connections/http-error.ts";
import { Latencies } from "../metrics/latencies.ts";
import { RequestReader } from "../protocol/request-reader.ts";
import type { EndpointModel } from "../requests/endpoint.ts";
import type { Application } from "./application.ts";

/** A model of an application, and how its requests are read. */
export interface HostedModel {
  readonly application: Application;
  readonly model: EndpointModel;
  /** Its place among the models of the server. */
  readonly index: number;
  readonly requests: RequestReader;
  readonly limits: InferLimits;
  /** Rows of one request at most. */
  readonly maxRows: number;
  readonly latencies: Latencies;
}

export function hostedModels(applications: readonly Application[]): HostedModel[] {
  const hosted = applications.flatMap((application) =>
    application.endpoint.models.map((model) => ({ application, model })),
  );
  return hosted.map(({ application, model }, index) => {
    const { maxRows, maxBodyBytes } = application.limits;
    const ownMaxRows = model.maxRows ?? maxRows;
    return {
      application,
      model,
      index,
      limits: inferLimits(model.signature.inputs, ownMaxRows, maxBodyBytes),
      requests: new RequestReader(model.signature, ownMaxRows),
      maxRows: ownMaxRows,
      latencies: new Latencies(
        application.sloMs,
        model.classes?.stated.map(({ latencyMs }) => latencyMs),
      ),
    };
  });
}

/**
 * @param version as the client wrote it; empty for any.
 * @throws HttpError 404 for a name or version that no model has.
 */
export function hostedModel(
  models: readonly HostedModel[],
  name: string,
  version = "",
): HostedModel {
  const hosted = models.find(({ model }) => model.signature.names.includes(name));
  if (hosted !== undefined && (version === "" || version === "1")) return hosted;
  if (hosted !== undefined) {
    const message = `Request for unknown model: '${name}' version ${version} is not found`;
    throw new HttpError(404, message);
  }
  const hasClasses = models.some(({ model }) => model.classes !== undefined);
  const names = models.flatMap(({ model }) => model.signature.names).join(", ");
  const known = hasClasses ? `; there are ${names}` : "";
  throw new HttpError(404, `Request for unknown model: '${name}' is not found${known}`);
}
