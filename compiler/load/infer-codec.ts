/**
 * Codec of the Open Inference Protocol v2 with its binary tensor extension: a JSON header, then raw
 * little-endian bytes.
 */
import { numbersOf } from "stratagem-runtime/internal/exec/tensors/host-tensors";
import { answerHead, type Fields } from "stratagem-runtime/internal/exec/tensors/v2-codec";

export interface LoadTensor {
  readonly name: string;
  /** Name in the protocol, such as FP32. */
  readonly datatype: string;
  /** Shape of one row, without axis 0. */
  readonly rowShape: readonly number[];
  readonly rowBytes: number;
}

export interface LoadModel {
  readonly name: string;
  readonly inputs: readonly LoadTensor[];
  /** Length of one row of all inputs in order, which is the form of provided inputs. */
  readonly rowBytes: number;
}

/** Content of a reply for the load generator. */
interface Reply {
  readonly variant: string | null;
  /** Accuracy of that variant stated by the server, 0..1. */
  readonly accuracy: number | null;
  /**
   * Index of the largest element of the first output, the lowest on ties; for an integer output of
   * one element, that element.
   */
  readonly predicted: number | null;
}

/** Reply that violates the protocol. */
export class ReplyError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ReplyError";
  }
}

/**
 * Encodes the JSON header of a request; the bytes of the inputs follow it.
 * @param sloClass null for requests without a class.
 * @param sequence id of the sequence that the request begins and ends; null for none.
 * @param rows of each input, and their priority; one row if left out.
 */
export function encodeRequestHeader(
  model: LoadModel,
  sloClass: string | null = null,
  sequence: string | null = null,
  { rows, priority }: { readonly rows: number; readonly priority?: number } = { rows: 1 },
): Buffer {
  return Buffer.from(
    JSON.stringify({
      inputs: model.inputs.map(({ name, datatype, rowShape, rowBytes }) => ({
        name,
        datatype,
        shape: [rows, ...rowShape],
        parameters: { binary_data_size: rows * rowBytes },
      })),
      parameters: {
        binary_data_output: true,
        ...(priority === undefined ? {} : { priority }),
        ...(sloClass === null ? {} : { slo_class: sloClass }),
        ...(sequence === null
          ? {}
          : { sequence_id: sequence, sequence_start: true, sequence_end: true }),
      },
    }),
  );
}

/**
 * @param headerLength value of `Inference-Header-Content-Length`; undefined if the whole body is
 * JSON.
 * @param wantsClass whether to decode the first output.
 * @throws ReplyError
 */
export function decodeReply(
  body: Buffer,
  headerLength: string | undefined,
  wantsClass: boolean,
): Reply {
  const { fields, binary } = headOf(body, headerLength);
  const parameters = asObject(fields["parameters"]);
  const variant = parameters?.["variant"];
  const accuracy = parameters?.["accuracy"];
  return {
    variant: typeof variant === "string" ? variant : null,
    accuracy: typeof accuracy === "number" ? accuracy : null,
    predicted: wantsClass ? classOf(fields, binary) : null,
  };
}

function headOf(body: Buffer, headerLength: string | undefined) {
  try {
    return answerHead(body, headerLength ?? null);
  } catch (error) {
    throw new ReplyError(error instanceof Error ? error.message : String(error));
  }
}

function asObject(value: unknown): Fields | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : null;
}

function classOf({ outputs }: Fields, binary: Uint8Array): number {
  const first = Array.isArray(outputs) ? asObject(outputs[0]) : null;
  if (first === null) throw new ReplyError("no output");
  const datatype = String(first["datatype"]);
  const size = asObject(first["parameters"])?.["binary_data_size"];
  const values =
    typeof size === "number"
      ? binaryValues(binary, size, datatype)
      : jsonValues(first["data"], String(first["name"]));
  const [only] = values;
  if (only === undefined) throw new ReplyError("an output without elements");
  return values.length === 1 && !/^(FP|BF)/.test(datatype) ? only : argmax(values);
}

function binaryValues(binary: Uint8Array, size: number, datatype: string): number[] {
  const isThere = size >= 0 && size <= binary.length;
  const values = isThere ? numbersOf(datatype, binary.subarray(0, size)) : null;
  if (values !== null) return values;
  throw new ReplyError(`an output of ${size} bytes of ${datatype}, got ${binary.length} bytes`);
}

function jsonValues(data: unknown, name: string): number[] {
  if (!Array.isArray(data)) throw new ReplyError(`output "${name}" without data`);
  const values: unknown[] = data.flat(Number.POSITIVE_INFINITY);
  return values.map((value) => {
    if (typeof value === "number" || typeof value === "boolean") return Number(value);
    throw new ReplyError(`output "${name}" with an element that is not a number`);
  });
}

function argmax(values: readonly number[]): number {
  let best = 0;
  for (const [index, value] of values.entries()) {
    if (value > (values[best] ?? Number.NaN)) best = index;
  }
  return best;
}
