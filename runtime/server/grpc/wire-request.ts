/** A decoded ModelInferRequest whose tensor elements are not decoded yet. */
import { BinaryReader } from "@bufbuild/protobuf/wire";
import type { Fields, StatedInput } from "../protocol/infer-request.ts";
import { BadRequest } from "../tensors/bad-request.ts";
import {
  BYTES,
  eachField,
  type TakeField,
  VARINT,
  WireBudget,
  WireParameters,
} from "./contents/wire.ts";

export interface WireRequest {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: Fields;
  readonly inputs: readonly WireInput[];
  readonly outputs: readonly WireOutput[];
  /** Views on the message. */
  readonly raw: readonly Uint8Array[];
}

export interface WireInput extends StatedInput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly parameters: Fields;
  /** The message of the contents, a view; empty without one. */
  readonly contents: Uint8Array;
}

export interface WireOutput {
  readonly name: string;
  readonly parameters: Fields;
}

/** Tensors of one request: more than any model has. */
const MAX_TENSORS = 1024;
const MAX_AXES = 32;
/** Tag of `model_name`, which clients write first. */
const NAME_TAG = 0x0a;

/**
 * The model that a request names, if it names it first, as clients do; a look at a few bytes.
 * @returns "" where it does not.
 */
export function namedFirst(message: Uint8Array): string {
  const length = message[1] ?? 0;
  if (message[0] !== NAME_TAG || length > 0x7f || message.length < length + 2) return "";
  return Buffer.from(message.buffer, message.byteOffset + 2, length).toString("utf8");
}

/** @throws BadRequest */
export function readWireRequest(message: Uint8Array): WireRequest {
  let [modelName, modelVersion, id] = ["", "", ""];
  const budget = new WireBudget();
  const parameters = new WireParameters("parameters", budget);
  const inputs: WireInput[] = [];
  const outputs: WireOutput[] = [];
  const raw: Uint8Array[] = [];
  const take: TakeField = (field, wire, reader) => {
    if (wire !== BYTES) return false;
    if (field === 1) modelName = budget.textOf(reader, "model_name");
    else if (field === 2) modelVersion = budget.textOf(reader, "model_version");
    else if (field === 3) id = budget.textOf(reader, "id");
    else if (field === 4) parameters.take(reader.bytes());
    else if (field === 5) inputs.push(inputOf(reader.bytes(), pathOf("inputs", inputs), budget));
    else if (field === 6) {
      outputs.push(outputOf(reader.bytes(), pathOf("outputs", outputs), budget));
    } else if (field === 7) {
      pathOf("raw_input_contents", raw);
      raw.push(reader.bytes());
    } else return false;
    return true;
  };
  eachField(message, "request", take, budget);
  return { modelName, modelVersion, id, parameters: parameters.fields, inputs, outputs, raw };
}

/** Path of the next element. @throws BadRequest if there are too many. */
function pathOf(list: string, { length }: readonly unknown[]): string {
  if (length < MAX_TENSORS) return `${list}[${length}]`;
  throw new BadRequest(list, `expected at most ${MAX_TENSORS}`, "more");
}

function inputOf(message: Uint8Array, path: string, budget: WireBudget): WireInput {
  let [name, datatype] = ["", ""];
  const shape: number[] = [];
  const parameters = new WireParameters(`${path}.parameters`, budget);
  const contents: Uint8Array[] = [];
  const takeAxis = (reader: BinaryReader) => {
    if (shape.length === MAX_AXES) {
      throw new BadRequest(`${path}.shape`, `expected at most ${MAX_AXES} axes`, "more");
    }
    shape.push(Number(reader.int64()));
  };
  const take: TakeField = (field, wire, reader) => {
    if (field === 3 && wire === VARINT) takeAxis(reader);
    else if (wire !== BYTES) return false;
    else if (field === 1) name = budget.textOf(reader, `${path}.name`);
    else if (field === 2) datatype = budget.textOf(reader, `${path}.datatype`);
    else if (field === 3) {
      const packed = new BinaryReader(reader.bytes());
      while (packed.pos < packed.len) takeAxis(packed);
    } else if (field === 4) parameters.take(reader.bytes());
    else if (field === 5) contents.push(reader.bytes());
    else return false;
    return true;
  };
  eachField(message, path, take, budget);
  const [only] = contents;
  // Parts of a split message are concatenated, by protobuf's rules.
  const joined = contents.length > 1 ? Buffer.concat(contents) : (only ?? new Uint8Array());
  return { name, datatype, shape, parameters: parameters.fields, contents: joined };
}

function outputOf(message: Uint8Array, path: string, budget: WireBudget): WireOutput {
  let name = "";
  const parameters = new WireParameters(`${path}.parameters`, budget);
  const take: TakeField = (field, wire, reader) => {
    if (wire !== BYTES) return false;
    if (field === 1) name = budget.textOf(reader, `${path}.name`);
    else if (field === 2) parameters.take(reader.bytes());
    else return false;
    return true;
  };
  eachField(message, path, take, budget);
  return { name, parameters: parameters.fields };
}
