/**
 * The messages of KEDA's external scaler on the wire: package `externalscaler`, as the file
 * `pkg/scalers/externalscaler/externalscaler.proto` of github.com/kedacore/keda numbers their
 * fields. Six small messages are read and written by hand; runtime/scaler/externalscaler.proto
 * describes them.
 */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** Entries of a trigger's metadata, far more than anybody writes. */
const MOST_ENTRIES = 256;

/** Which ScaledObject asks, and what its trigger says. */
export interface ScaledObjectRef {
  readonly name: string;
  readonly namespace: string;
  readonly metadata: ReadonlyMap<string, string>;
}

/** Of whom which metric is asked. */
interface MetricsRequest {
  readonly ref: ScaledObjectRef;
  readonly metricName: string;
}

/** A name and a number: a target, or a value. */
interface NamedNumber {
  readonly name: string;
  readonly value: number;
}

/** @throws Error if the bytes are no such message. */
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

/** @throws Error if the bytes are no such message. */
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

/** False is the default, which is not written. */
export function writeIsActive(isActive: boolean): Uint8Array {
  const writer = new BinaryWriter();
  return (isActive ? writer.tag(1, WireType.Varint).bool(true) : writer).finish();
}

/**
 * `MetricSpec` and `MetricValue` have the same fields: a name, a whole number for KEDA before 2.9,
 * and the number. The answers that hold them have the same fields, too.
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

/** All fields that are known here are strings or messages; others are passed over. */
function eachField(
  bytes: Uint8Array,
  take: (field: number, reader: BinaryReader) => boolean,
): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (wire !== WireType.LengthDelimited || !take(field, reader)) reader.skip(wire, field);
  }
  if (reader.pos !== reader.len) throw new Error("the message does not end where it should");
}
