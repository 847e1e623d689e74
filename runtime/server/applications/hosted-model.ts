/** The models of all applications of a server, by the names that clients call them. */
import { type InferLimits, inferLimits } from "../bodies/body-limits.ts";
import { HttpError } from "../connections/http-error.ts";
import { RequestReader } from "../protocol/request-reader.ts";
import type { EndpointModel } from "../requests/endpoint.ts";
import type { Application } from "./application.ts";

/** A model of an application, and how its requests are read. */
export interface HostedModel {
  readonly application: Application;
  readonly model: EndpointModel;
  /** By which clients call it here: its own, and others that no other application has. */
  readonly names: readonly string[];
  /** Its place among the models of the server. */
  readonly index: number;
  readonly requests: RequestReader;
  readonly limits: InferLimits;
  /** Rows of one request at most. */
  readonly maxRows: number;
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
      names: ownNames(hosted, { application, model }),
      index,
      limits: inferLimits(model.signature.inputs, ownMaxRows, maxBodyBytes),
      requests: new RequestReader(model.signature, ownMaxRows),
      maxRows: ownMaxRows,
    };
  });
}

/**
 * The first name is a model's own; others, such as that of its only task, are nobody's where
 * several applications have them.
 */
function ownNames(
  all: readonly Pick<HostedModel, "application" | "model">[],
  { application, model }: Pick<HostedModel, "application" | "model">,
): string[] {
  const others = all.filter((one) => one.application !== application);
  const taken = new Set(others.flatMap((one) => one.model.signature.names));
  return model.signature.names.filter((name, index) => index === 0 || !taken.has(name));
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
  const hosted = models.find(({ names }) => names.includes(name));
  if (hosted !== undefined && (version === "" || version === "1")) return hosted;
  if (hosted !== undefined) {
    const message = `Request for unknown model: '${name}' version ${version} is not found`;
    throw new HttpError(404, message);
  }
  const hasClasses = models.some(({ model }) => model.classes !== undefined);
  const names = models.flatMap((one) => one.names).join(", ");
  const known = hasClasses ? `; there are ${names}` : "";
  throw new HttpError(404, `Request for unknown model: '${name}' is not found${known}`);
}
