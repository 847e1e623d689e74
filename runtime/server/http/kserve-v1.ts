/** Routes of KServe's first protocol. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type HostedModel, hostedModel } from "../applications/hosted-model.ts";
import { infer } from "../applications/inference.ts";
import { HttpError, RETRY_LATER } from "../connections/http-error.ts";
import type { PredictedOutput } from "../protocol/kserve-v1.ts";
import type { InferRequest } from "../protocol/protocol.ts";
import type { Answer } from "../requests/request.ts";
import type { HttpContext } from "./context.ts";
import { parsedRequest, predictions, repeatedId, routed } from "./infer.ts";
import { expectMethod, sendJson } from "./replies.ts";

const PREDICT = ":predict";

/** @param path behind `/v1`. @throws HttpError, BadRequest */
export function routeV1(
  context: HttpContext,
  path: readonly string[],
  request: IncomingMessage,
  response: ServerResponse,
): void | Promise<void> {
  const { state } = context;
  const [first, second = ""] = path;
  if (first !== "models" || path.length > 2) {
    throw new HttpError(404, `no such path: ${request.url}`);
  }
  if (second.endsWith(PREDICT)) {
    const name = second.slice(0, -PREDICT.length);
    const hosted = hostedModel(state.models, name);
    expectMethod(request, "POST");
    return answerPredict(context, hosted, name, request, response);
  }
  const hosted = path.length === 1 ? undefined : hostedModel(state.models, second);
  expectMethod(request, "GET");
  if (hosted === undefined) {
    sendJson(context, response, 200, { models: state.modelNames });
    return;
  }
  const ready = state.isApplicationReady(hosted.application);
  const headers = ready ? {} : RETRY_LATER;
  sendJson(context, response, ready ? 200 : 503, { name: second, ready }, headers);
}

function answerPredict(
  context: HttpContext,
  served: HostedModel,
  modelName: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { state, connections } = context;
  const hosted = routed(context, served, request);
  const revision = state.trials.openCount === 0 ? undefined : state.trials.revisionOf(hosted);
  return infer(state, {
    hosted,
    modelName,
    client: context.clients.get(response),
    holder: request.socket,
    id: () => repeatedId(response),
    read: (hold) => parsedRequest(context, hosted, request, hold, "kserve-v1"),
    onceGone: (act) => {
      response.on("close", act);
      if (response.destroyed) act();
      return () => response.off("close", act);
    },
    write: async (asked, answer) => {
      const body = await predictions(context, predictedOutputs(hosted, asked, answer));
      response.writeHead(200, {
        "content-type": "application/json",
        "content-length": body.length,
        "stratagem-variant": encodeURI(answer.answerer.variant),
        ...(revision === undefined ? {} : { "stratagem-revision": revision }),
      });
      connections.outbox.send(response, [body]);
    },
  });
}

function predictedOutputs(
  { model: { signature } }: HostedModel,
  { outputs }: InferRequest,
  answer: Answer,
): PredictedOutput[] {
  return outputs.flatMap(({ index }) => {
    const [tensor, output] = [signature.outputs[index], answer.outputs[index]];
    if (tensor === undefined || output === undefined) return [];
    return [{ name: tensor.name, datatype: tensor.datatype, ...output }];
  });
}
