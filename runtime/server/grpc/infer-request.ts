/** An inference request of the gRPC listener, checked as those of HTTP are. */
import type { JsonThread } from "../json/json-thread.ts";
import {
  gatheredInputs,
  type InferRequest,
  outputsOf,
  type RequestedOutput,
  refuseInputParameters,
  requestWishes,
} from "../protocol/infer-request.ts";
import { VARIANT_OUTPUT } from "../requests/variant-wish.ts";
import { BadRequest } from "../tensors/bad-request.ts";
import type { ClientSignature, ModelTensor } from "../tensors/signature.ts";
import { type Contents, contentBytesOf, hasContents } from "./contents/typed-contents.ts";
import type { WireInput, WireRequest } from "./wire-request.ts";

/** Maximum bytes of contents, or of strings, that are decoded on the event loop: some 5 ms. */
const MAX_LOOP_BYTES = 65_536;

/**
 * @param thread decodes long contents; the message's memory may be handed over to it.
 * @returns inputs as views on the message where their contents are raw.
 * @throws BadRequest at the first invalid field.
 */
export function inferRequestOf(
  { id, parameters, inputs: given, outputs: asked, raw }: WireRequest,
  signature: ClientSignature,
  maxRows: number,
  thread: Pick<JsonThread, "contents">,
): InferRequest | Promise<InferRequest> {
  const wishes = requestWishes(parameters, signature);
  const isRaw = raw.length > 0;
  let loopBytes = 0;
  for (const { contents } of given) loopBytes += contents.length;
  if (isRaw) loopBytes += stringBytesOf(given, raw);
  const later: (Contents & { readonly place: Uint8Array })[] | undefined =
    loopBytes > MAX_LOOP_BYTES ? [] : undefined;
  const read = (
    { datatype }: ModelTensor,
    shape: readonly number[],
    bytes: Uint8Array,
    path: string,
    isRawOne: boolean,
  ) => {
    const one = { datatype, shape, bytes, path, isRaw: isRawOne };
    if (later === undefined) return contentBytesOf(one);
    const place = new Uint8Array();
    later.push({ ...one, place });
    return place;
  };
  const gathered = gatheredInputs(
    given,
    statedOf,
    signature,
    maxRows,
    (tensor, shape, path, position) => {
      const { contents } = given[position] as WireInput;
      if (!isRaw) return read(tensor, shape, contents, `${path}.contents`, false);
      const bytes = raw[position];
      if (bytes !== undefined && contents.length === 0) {
        return read(tensor, shape, bytes, `raw_input_contents[${position}]`, true);
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
  const request = { id: id === "" ? undefined : id, ...gathered, outputs, ...wishes };
  if (later === undefined) return request;
  return thread.contents(later).then((found) => ({
    ...request,
    inputs: request.inputs.map((place) => {
      return found[later.findIndex((one) => one.place === place)] as Uint8Array;
    }),
  }));
}

/** Bytes whose elements have to be counted one by one. */
function stringBytesOf(given: readonly WireInput[], raw: readonly Uint8Array[]): number {
  let bytes = 0;
  for (const [position, { datatype }] of given.entries()) {
    if (datatype === "BYTES") bytes += raw[position]?.length ?? 0;
  }
  return bytes;
}

function statedOf(input: WireInput, path: string): WireInput {
  refuseInputParameters(input.parameters, `${path}.parameters`);
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
