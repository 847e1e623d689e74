/** An inference request of the gRPC listener, checked as those of HTTP are. */
import {
  binaryOf,
  gatheredInputs,
  type InferRequest,
  outputsOf,
  type RequestedOutput,
  refuseParameter,
  requestWishes,
} from "../protocol/infer-request.ts";
import { VARIANT_OUTPUT } from "../requests/variant-wish.ts";
import { BadRequest } from "../tensors/bad-request.ts";
import type { ClientSignature, ModelTensor } from "../tensors/signature.ts";
import { bytesOfContents, hasContents } from "./typed-contents.ts";
import type { WireInput, WireRequest } from "./wire-request.ts";

/**
 * @returns inputs as views on the message where their contents are raw.
 * @throws BadRequest at the first invalid field.
 */
export function inferRequestOf(
  { id, parameters, inputs: given, outputs: asked, raw }: WireRequest,
  signature: ClientSignature,
  maxRows: number,
): InferRequest {
  const wishes = requestWishes(parameters, signature);
  const isRaw = raw.length > 0;
  const gathered = gatheredInputs(
    given,
    statedOf,
    signature,
    maxRows,
    (tensor, shape, path, position) => {
      const { contents } = given[position] as WireInput;
      if (!isRaw) return bytesOfContents(tensor.datatype, shape, contents, `${path}.contents`);
      const bytes = raw[position];
      if (bytes !== undefined && contents.length === 0) {
        return binaryOf(bytes, tensor, shape, `raw_input_contents[${position}]`);
      }
      if (bytes === undefined) throw unmatched(given.length, raw.length);
      const found = `${contents.length} bytes`;
      throw new BadRequest(
        `${path}.contents`,
        "expected nothing in addition to raw_input_contents",
        found,
      );
    },
  );
  if (isRaw && raw.length !== given.length) throw unmatched(given.length, raw.length);
  const outputs = outputsOf(asked, parameters, signature, true);
  expectOneForm(outputs, signature);
  return { id: id === "" ? undefined : id, ...gathered, outputs, ...wishes };
}

function statedOf(input: WireInput, path: string): WireInput {
  refuseParameter(input.parameters, `${path}.parameters`, "shared_memory_region");
  return input;
}

function unmatched(inputs: number, contents: number): BadRequest {
  const expected = `expected ${inputs}, one of every input or none`;
  return new BadRequest("raw_input_contents", expected, contents);
}

/** Contents of an answer are all raw or all typed. */
function expectOneForm(outputs: readonly RequestedOutput[], signature: ClientSignature): void {
  const typed = outputs.filter(({ isBinary }) => !isBinary);
  if (typed.length === 0) return;
  if (typed.length < outputs.length) {
    const expected = "expected binary_data of all outputs to be the same";
    throw new BadRequest("outputs", expected, "true and false");
  }
  for (const { index, classes } of typed) {
    // Classes are sent as BYTES.
    if (classes !== undefined) continue;
    const { name, datatype }: ModelTensor = signature.outputs[index] ?? VARIANT_OUTPUT;
    if (hasContents(datatype)) continue;
    const expected = `expected raw contents: output "${name}" is ${datatype}, which has no others`;
    throw new BadRequest("parameters.binary_data_output", expected, false);
  }
}
