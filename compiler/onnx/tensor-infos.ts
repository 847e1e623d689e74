/** Tensors of one instance, in the terms of bundles and of ONNX. */
import { create } from "@bufbuild/protobuf";
import type { TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import { OnnxModelError } from "./onnx-model-error.ts";
import {
  TensorProto_DataType,
  TensorShapeProto_DimensionSchema,
  TensorShapeProtoSchema,
  TypeProto_TensorSchema,
  TypeProtoSchema,
  type ValueInfoProto,
  ValueInfoProtoSchema,
} from "./onnx-pb.ts";

/** Element types that workers can send, by onnxruntime's names. */
export const ELEMENT_TYPES: ReadonlyMap<string, TensorProto_DataType> = new Map([
  ["float32", TensorProto_DataType.FLOAT],
  ["float64", TensorProto_DataType.DOUBLE],
  ["float16", TensorProto_DataType.FLOAT16],
  ["uint8", TensorProto_DataType.UINT8],
  ["int8", TensorProto_DataType.INT8],
  ["uint16", TensorProto_DataType.UINT16],
  ["int16", TensorProto_DataType.INT16],
  ["uint32", TensorProto_DataType.UINT32],
  ["int32", TensorProto_DataType.INT32],
  ["uint64", TensorProto_DataType.UINT64],
  ["int64", TensorProto_DataType.INT64],
  ["bool", TensorProto_DataType.BOOL],
  ["string", TensorProto_DataType.STRING],
]);

/**
 * Returns the input of a graph for one instance.
 * @throws OnnxModelError if a dimension other than the first is open, or the first is for another
 * number; without the file's name.
 */
export function instanceInput({ name, type }: ValueInfoProto): TensorInfo {
  const tensor = type?.value.case === "tensorType" ? type.value.value : undefined;
  if (tensor === undefined) {
    throw new OnnxModelError(`input "${name}": expected a tensor; allowed: tensors`);
  }
  const dtype = dtypeOf(tensor.elemType);
  if (dtype === undefined) {
    const found = `input "${name}" has the element type ${typeName(tensor.elemType)}`;
    throw new OnnxModelError(`${found}; allowed: ${[...ELEMENT_TYPES.keys()].join(", ")}`);
  }
  if (tensor.shape === undefined) {
    throw new OnnxModelError(
      `input "${name}": expected a shape, found none; ${allowedShape(undefined)}`,
    );
  }
  const sizes = tensor.shape.dim.map(({ value }) => {
    if (value.case === "dimValue" && value.value > 0n) return Number(value.value);
    return value.case === "dimParam" && value.value !== "" ? value.value : "?";
  });
  const [first, ...rest] = sizes;
  const fixed = rest.filter((size) => typeof size === "number");
  if (
    first === undefined ||
    (typeof first === "number" && first !== 1) ||
    fixed.length < rest.length
  ) {
    throw new OnnxModelError(
      `input "${name}" has the shape [${sizes.join(", ")}]; ${allowedShape(first)}`,
    );
  }
  return { name, dtype, shape: [1, ...fixed] };
}

/** Describes the same tensor in ONNX's terms. */
export function valueInfo({ name, dtype, shape }: TensorInfo): ValueInfoProto {
  const elemType = ELEMENT_TYPES.get(dtype);
  if (elemType === undefined) throw new RangeError(`a stage has no element type ${dtype}`);
  const dim = shape.map((size) =>
    create(
      TensorShapeProto_DimensionSchema,
      size < 0 ? {} : { value: { case: "dimValue", value: BigInt(size) } },
    ),
  );
  const tensor = create(TypeProto_TensorSchema, {
    elemType,
    shape: create(TensorShapeProtoSchema, { dim }),
  });
  const type = create(TypeProtoSchema, { value: { case: "tensorType", value: tensor } });
  return create(ValueInfoProtoSchema, { name, type });
}

function allowedShape(first: number | string | undefined): string {
  const rule = "allowed: axis 0 open or 1, for the instances, and every other axis of a fixed size";
  return typeof first === "number" && first !== 1
    ? `${rule}: a stage runs one instance at a time`
    : rule;
}

function dtypeOf(elemType: number): string | undefined {
  return [...ELEMENT_TYPES].find(([, type]) => type === elemType)?.[0];
}

function typeName(elemType: number): string {
  const known = Object.entries(TensorProto_DataType).find(([, type]) => type === elemType);
  return known?.[0].toLowerCase() ?? String(elemType);
}
