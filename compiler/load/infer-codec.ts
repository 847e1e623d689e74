/**
 * Requests and replies of the Open Inference Protocol v2 with its binary tensor extension: a JSON
 * header, then raw little-endian bytes.
 */
import { halfToNumber } from "stratagem-runtime/internal/core/half";

/** A tensor of the model under load. */
export interface LoadTensor {
  readonly name: string;
  /** As the protocol names it, such as FP32. */
  readonly datatype: string;
  /** Of one row; axis 0, the rows, is left out. */
  readonly rowShape: readonly number[];
  readonly rowBytes: number;
}

export interface LoadModel {
  readonly name: string;
  readonly inputs: readonly LoadTensor[];
  /** Bytes of one row of all inputs in their order, which is what a provider of inputs gives. */
  readonly rowBytes: number;
}

/** What a reply says that a load generator wants to know. */
export interface Reply {
  readonly variant: string | null;
  /** Accuracy of that variant as the server states it, 0..1. */
  readonly accuracy: number | null;
  /**
   * Index of the largest element of the first output, the lowest on ties; an integer output of one
   * element is taken as the class itself.
   */
  readonly predicted: number | null;
}

/** A reply that does not follow the protocol. */
export class ReplyError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ReplyError";
  }
}

interface Datatype {
  readonly bytes: number;
  readonly isInteger: boolean;
  /** Null for what has no JavaScript number. */
  readonly read: ((view: DataView, offset: number) => number) | null;
}

const DATATYPES: ReadonlyMap<string, Datatype> = new Map([
  ["BOOL", integer(1, (view, offset) => view.getUint8(offset))],
  ["UINT8", integer(1, (view, offset) => view.getUint8(offset))],
  ["UINT16", integer(2, (view, offset) => view.getUint16(offset, true))],
  ["UINT32", integer(4, (view, offset) => view.getUint32(offset, true))],
  ["UINT64", integer(8, (view, offset) => Number(view.getBigUint64(offset, true)))],
  ["INT8", integer(1, (view, offset) => view.getInt8(offset))],
  ["INT16", integer(2, (view, offset) => view.getInt16(offset, true))],
  ["INT32", integer(4, (view, offset) => view.getInt32(offset, true))],
  ["INT64", integer(8, (view, offset) => Number(view.getBigInt64(offset, true)))],
  ["FP16", { bytes: 2, isInteger: false, read: readHalf }],
  ["BF16", { bytes: 2, isInteger: false, read: null }],
  ["FP32", { bytes: 4, isInteger: false, read: (view, offset) => view.getFloat32(offset, true) }],
  ["FP64", { bytes: 8, isInteger: false, read: (view, offset) => view.getFloat64(offset, true) }],
]);

function integer(bytes: number, read: (view: DataView, offset: number) => number): Datatype {
  return { bytes, isInteger: true, read };
}

function readHalf(view: DataView, offset: number): number {
  return halfToNumber(view.getUint16(offset, true));
}

/** Bytes of one element, or null where it has no fixed size. */
export function elementBytes(datatype: string): number | null {
  return DATATYPES.get(datatype)?.bytes ?? null;
}

/**
 * The JSON header of a request; the bytes of the inputs follow it.
 * @param sloClass null for requests that name none.
 * @param sequence id of the one that the request begins and ends; null for none.
 * @param rows of each input, and how urgent they are; one row if left out.
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
 * @param headerLength value of `Inference-Header-Content-Length`; undefined when the whole body is
 * JSON.
 * @param wantsClass whether the first output is looked at.
 * @throws ReplyError
 */
export function decodeReply(
  body: Buffer,
  headerLength: string | undefined,
  wantsClass: boolean,
): Reply {
  const jsonBytes = headerLength === undefined ? body.length : Number(headerLength);
  if (!Number.isSafeInteger(jsonBytes) || jsonBytes < 0 || jsonBytes > body.length) {
    throw new ReplyError(`a header of ${headerLength} bytes in a body of ${body.length}`);
  }
  const header = parseObject(body.toString("utf8", 0, jsonBytes));
  const parameters = asObject(header["parameters"]);
  const variant = parameters?.["variant"];
  const accuracy = parameters?.["accuracy"];
  return {
    variant: typeof variant === "string" ? variant : null,
    accuracy: typeof accuracy === "number" ? accuracy : null,
    predicted: wantsClass ? classOf(header, body.subarray(jsonBytes)) : null,
  };
}

type JsonObject = Readonly<Record<string, unknown>>;

function parseObject(text: string): JsonObject {
  let value: unknown = null;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ReplyError("a header that is not JSON");
  }
  const object = asObject(value);
  if (object === null) throw new ReplyError("a header that is not a JSON object");
  return object;
}

function asObject(value: unknown): JsonObject | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : null;
}

function classOf(header: JsonObject, binary: Buffer): number {
  const outputs = header["outputs"];
  const first = Array.isArray(outputs) ? asObject(outputs[0]) : null;
  const datatype = DATATYPES.get(String(first?.["datatype"]));
  if (first === null || datatype === undefined) throw new ReplyError("no output of a known type");
  const size = asObject(first["parameters"])?.["binary_data_size"];
  const values =
    typeof size === "number"
      ? binaryValues(binary, size, datatype)
      : jsonValues(first["data"], String(first["name"]));
  const [only] = values;
  if (only === undefined) throw new ReplyError("an output without elements");
  return values.length === 1 && datatype.isInteger ? only : argmax(values);
}

function binaryValues(binary: Buffer, size: number, { bytes, read }: Datatype): number[] {
  if (read === null || size % bytes !== 0 || size < 0 || size > binary.length) {
    throw new ReplyError(`an output of ${size} bytes, of which ${binary.length} came`);
  }
  const view = new DataView(binary.buffer, binary.byteOffset, size);
  return Array.from({ length: size / bytes }, (_, index) => read(view, index * bytes));
}

function jsonValues(data: unknown, name: string): number[] {
  if (!Array.isArray(data)) throw new ReplyError(`output "${name}" without data`);
  const values: unknown[] = data.flat(Number.POSITIVE_INFINITY);
  return values.map((value) => {
    if (typeof value === "number" || typeof value === "boolean") return Number(value);
    throw new ReplyError(`output "${name}" with an element that is no number`);
  });
}

function argmax(values: readonly number[]): number {
  let best = 0;
  for (const [index, value] of values.entries()) {
    if (value > (values[best] ?? Number.NaN)) best = index;
  }
  return best;
}
