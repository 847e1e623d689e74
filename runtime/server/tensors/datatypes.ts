/**
 * Element types of the Open Inference Protocol and what onnxruntime and Triton's model
 * configuration call them.
 */
import type { HostDatatype } from "../../exec/tensors/host-module.ts";

/** What modules have, and one more that is passed on as its bytes. */
export type Datatype = HostDatatype | "BF16";

interface DatatypeInfo {
  /** Name in the bundle. */
  readonly dtype: string;
  /** Name in Triton's model configuration. */
  readonly configType: string;
  /** Bytes of an element; 0 for BYTES, whose elements carry their length. */
  readonly elementBytes: number;
}

export const DATATYPES: Readonly<Record<Datatype, DatatypeInfo>> = {
  BOOL: { dtype: "bool", configType: "TYPE_BOOL", elementBytes: 1 },
  UINT8: { dtype: "uint8", configType: "TYPE_UINT8", elementBytes: 1 },
  UINT16: { dtype: "uint16", configType: "TYPE_UINT16", elementBytes: 2 },
  UINT32: { dtype: "uint32", configType: "TYPE_UINT32", elementBytes: 4 },
  UINT64: { dtype: "uint64", configType: "TYPE_UINT64", elementBytes: 8 },
  INT8: { dtype: "int8", configType: "TYPE_INT8", elementBytes: 1 },
  INT16: { dtype: "int16", configType: "TYPE_INT16", elementBytes: 2 },
  INT32: { dtype: "int32", configType: "TYPE_INT32", elementBytes: 4 },
  INT64: { dtype: "int64", configType: "TYPE_INT64", elementBytes: 8 },
  FP16: { dtype: "float16", configType: "TYPE_FP16", elementBytes: 2 },
  BF16: { dtype: "bfloat16", configType: "TYPE_BF16", elementBytes: 2 },
  FP32: { dtype: "float32", configType: "TYPE_FP32", elementBytes: 4 },
  FP64: { dtype: "float64", configType: "TYPE_FP64", elementBytes: 8 },
  BYTES: { dtype: "string", configType: "TYPE_STRING", elementBytes: 0 },
};

const DATATYPE_BY_DTYPE = new Map(
  Object.entries(DATATYPES).map(([datatype, { dtype }]) => [dtype, datatype as Datatype]),
);

/** @returns undefined for an element type that the protocol does not have. */
export function datatypeOf(dtype: string): Datatype | undefined {
  return DATATYPE_BY_DTYPE.get(dtype);
}

/** Whether elements can only be sent as bytes: the protocol has no JSON for them. */
export function isBinaryOnly(datatype: Datatype): datatype is "BF16" {
  return datatype === "BF16";
}

/** Bytes of an element of any type; null where it has no fixed size. */
export function fixedElementBytes(datatype: string): number | null {
  return (
    (Object.hasOwn(DATATYPES, datatype) && DATATYPES[datatype as Datatype].elementBytes) || null
  );
}

export function elementCountOf(shape: readonly number[]): number {
  return shape.reduce((count, size) => count * size, 1);
}
