/**
 * Messages of KEDA's external scaler: package `externalscaler`, with the field numbers of
 * `pkg/scalers/externalscaler/externalscaler.proto` in github.com/kedacore/keda. These six small
 * messages are encoded by hand; runtime/scaler/externalscaler.proto describes them.
 */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** Limit of the entries in a trigger's metadata. */
const MOST_ENTRIES = 256;

/** The requesting ScaledObject and the metadata of its trigger. */
export interface ScaledObjectRef {
  readonly name: string;
  readonly namespace: string;
  readonly metadata: ReadonlyMap<string, string>;
}

interface MetricsRequest {
  readonly ref: ScaledObjectRef;
  readonly metricName: string;
}

/** A metric's name with its target or value. */
interface NamedNumber {
  readonly name: string;
  readonly value: number;
}

/** @throws Error for an invalid message. */
export function readScaledObjectRef(bytes: Uint8Array): ScaledObjectRef {
  let name = "";
  let namespace = "";
  const metadata = new Map<string, string>();
  eachField(bytes, (field, reader) => {
    if (field === 1) name = reader.string();
    else if (field === 2) namespace = reader.string();
    else if (field === 3) {
      const [key, value] = readPair(reader.bytes());
      if (metadata.size >= MOST_ENTRIES) throw new Error(`more than ${MOST_ENTRIES} entries`);
      metadata.set(key, value);
    } else return false;
    return true;
  });
  return { name, namespace, metadata };
}

/** @throws Error for an invalid message. */
export function readMetricsRequest(bytes: Uint8Array): MetricsRequest {
  let ref: ScaledObjectRef = { name: "", namespace: "", metadata: new Map() };
  let metricName = "";
  eachField(bytes, (field, reader) => {
    if (field === 1) ref = readScaledObjectRef(reader.bytes());
    else if (field === 2) metricName = reader.string();
    else return false;
    return true;
  });
  return { ref, metricName };
}

/** False is the default and is omitted. */
export function writeIsActive(isActive: boolean): Uint8Array {
  const writer = new BinaryWriter();
  return (isActive ? writer.tag(1, WireType.Varint).bool(true) : writer).finish();
}

/**
 * `MetricSpec` and `MetricValue` have the same fields: a name, an integer for KEDA before 2.9, and
 * a number. Their responses have the same field as well.
 */
export function writeNamedNumbers(numbers: readonly NamedNumber[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const { name, value } of numbers) {
    const one = new BinaryWriter().tag(1, WireType.LengthDelimited).string(name);
    one.tag(2, WireType.Varint).int64(Math.ceil(value));
    one.tag(3, WireType.Bit64).double(value);
    writer.tag(1, WireType.LengthDelimited).bytes(one.finish());
  }
  return writer.finish();
}

function readPair(bytes: Uint8Array): readonly [key: string, value: string] {
  let key = "";
  let value = "";
  eachField(bytes, (field, reader) => {
    if (field === 1) key = reader.string();
    else if (field === 2) value = reader.string();
    else return false;
    return true;
  });
  return [key, value];
}

/** Reads the known fields, all strings or messages, and skips others. */
function eachField(
  bytes: Uint8Array,
  take: (field: number, reader: BinaryReader) => boolean,
): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (wire !== WireType.LengthDelimited || !take(field, reader)) reader.skip(wire, field);
  }
  if (reader.pos !== reader.len) throw new Error("the message is truncated");
}
