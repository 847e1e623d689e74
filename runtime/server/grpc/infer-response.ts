/** A ModelInferResponse: raw contents, or typed ones for a request that asks for those. */
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { InferRequest } from "../protocol/infer-request.ts";
import {
  type AnsweredOutput,
  type AnswerParameters,
  answeredOutputs,
  answerParameters,
  bytesOf,
} from "../protocol/response.ts";
import type { Answer } from "../requests/request.ts";
import type { ClientSignature } from "../tensors/signature.ts";
import {
  type InferParameterSchema,
  type ModelInferResponse,
  ModelInferResponseSchema,
} from "./pb/inference-pb.ts";
import { contentsOf } from "./typed-answer.ts";

type ParameterInit = MessageInitShape<typeof InferParameterSchema>;

/** @param sloClass of the request; null where all have the same SLO. */
export function inferResponseOf(
  modelName: string,
  request: InferRequest,
  answer: Answer,
  signature: ClientSignature,
  sloClass: string | null,
): ModelInferResponse {
  const answered = answeredOutputs(request, answer, signature);
  const isRaw = answered.every(({ isBinary }) => isBinary);
  return create(ModelInferResponseSchema, {
    modelName,
    modelVersion: "1",
    id: request.id ?? "",
    parameters: parametersOf(answerParameters(answer, signature, sloClass)),
    outputs: answered.map((output) => ({
      name: output.name,
      datatype: output.datatype,
      shape: output.shape.map(BigInt),
      ...(isRaw ? {} : { contents: typedOf(output) }),
    })),
    rawOutputContents: isRaw ? answered.map(({ parts }) => bytesOf(parts)) : [],
  });
}

export function inferResponseBytes(response: ModelInferResponse): Uint8Array {
  return toBinary(ModelInferResponseSchema, response);
}

function typedOf({ datatype, parts }: AnsweredOutput) {
  return contentsOf(datatype, bytesOf(parts));
}

/** A parameter is no list: several variants are the text of one. */
function parametersOf(told: AnswerParameters): Record<string, ParameterInit> {
  const { variant, accuracy, variants, slo_class: sloClass } = told;
  const text = (value: string): ParameterInit => ({
    parameterChoice: { case: "stringParam", value },
  });
  return {
    variant: text(variant),
    accuracy: { parameterChoice: { case: "doubleParam", value: accuracy } },
    ...(variants === undefined ? {} : { variants: text(JSON.stringify(variants)) }),
    ...(sloClass === undefined ? {} : { slo_class: text(sloClass) }),
  };
}
