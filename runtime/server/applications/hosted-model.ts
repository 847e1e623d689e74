/** The models of all applications of a server, by the names that clients call them. */
import { type InferLimits, inferLimits } from "../bodies/body-memory.ts";
import { HttpError } from "../connections/http-error.ts";
import type { ReadModel } from "../json/json-jobs.ts";
import { RequestReader } from "../protocol/protocol.ts";
import type { EndpointModel } from "../requests/endpoint.ts";
import { Latencies } from "../requests/request-metrics.ts";
import type { Application } from "./application.ts";

/** A model of an application, and how its requests are read. */
export interface HostedModel {
  readonly application: Application;
  readonly model: EndpointModel;
  /** Names that clients can use for the model on this server: its own, and unambiguous others. */
  readonly names: readonly string[];
  readonly requests: RequestReader;
  /** Data for the thread that reads its long JSON. */
  readonly readModel: ReadModel;
  readonly limits: InferLimits;
  /** Maximum number of rows of one request. */
  readonly maxRows: number;
  readonly latencies: Latencies;
}

export function hostedModels(application: Application): HostedModel[] {
  return application.endpoint.models.map((model) => {
    const { maxRows, maxBodyBytes } = application.limits;
    const ownMaxRows = model.maxRows ?? maxRows;
    const limits = inferLimits(model.signature.inputs, ownMaxRows, maxBodyBytes);
    return {
      application,
      model,
      names: model.signature.names,
      limits,
      requests: new RequestReader(model.signature, ownMaxRows),
      readModel: readModelOf(model, ownMaxRows, limits),
      maxRows: ownMaxRows,
      latencies: new Latencies(
        application.sloMs,
        model.classes?.stated.map(({ latencyMs }) => latencyMs),
      ),
    };
  });
}

/**
 * Returns the models of a server with the names that clients can use. The first name is a model's
 * own; others, such as that of its only task, are dropped where several applications have them.
 */
export function namedApart(models: readonly HostedModel[]): HostedModel[] {
  return models.map((hosted) => {
    const others = models.filter(({ application }) => application !== hosted.application);
    const taken = new Set(others.flatMap(({ model }) => model.signature.names));
    const { names: all } = hosted.model.signature;
    const names = all.filter((name, index) => index === 0 || !taken.has(name));
    return { ...hosted, names };
  });
}

function readModelOf(
  { signature }: EndpointModel,
  maxRows: number,
  { parts }: InferLimits,
): ReadModel {
  const { names, inputs, outputs, variants, answersByRow, outputsAreRows } = signature;
  const { hasSequences, axes } = signature;
  const plain = {
    names,
    inputs: inputs.map(({ name, datatype, rowShape }) => ({ name, datatype, rowShape })),
    outputs: outputs.map(({ name, datatype, rowShape, isInternal = false }) => {
      return { name, datatype, rowShape, isInternal };
    }),
    variants: variants.map(({ name }) => ({ name })),
    answersByRow: answersByRow === true,
    outputsAreRows: outputsAreRows !== false,
    hasSequences: hasSequences === true,
    ...(axes === undefined ? {} : { axes }),
  };
  return { signature: plain, maxRows, parts };
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
