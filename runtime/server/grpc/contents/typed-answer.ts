/** Elements of an output as fields of InferTensorContents. */
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { DATATYPES, type Datatype } from "../../tensors/tensors.ts";
import { type InferTensorContents, InferTensorContentsSchema } from "../pb/inference-pb.ts";

type Init = MessageInitShape<typeof InferTensorContentsSchema>;

/** Returns a message of InferTensorContents; arguments are those of `contentsOf`. */
export function typedContentsOf(datatype: Datatype, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return toBinary(InferTensorContentsSchema, contentsOf(datatype, bytes));
}

/**
 * @param bytes row-major and little-endian; of BYTES each element after its length.
 * @throws Error for a type that has no field.
 */
function contentsOf(datatype: Datatype, bytes: Uint8Array): InferTensorContents {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const init = datatype === "BYTES" ? { bytesContents: stringsOf(bytes, view) } : undefined;
  return create(InferTensorContentsSchema, init ?? numbersOf(datatype, view));
}

function numbersOf(datatype: Datatype, view: DataView): Init {
  const { elementBytes } = DATATYPES[datatype];
  const all = <T>(read: (offset: number) => T): T[] => {
    const count = view.byteLength / elementBytes;
    return Array.from({ length: count }, (_, index) => read(index * elementBytes));
  };
  const byType: Partial<Record<Datatype, () => Init>> = {
    BOOL: () => ({ boolContents: all((at) => view.getUint8(at) !== 0) }),
    INT8: () => ({ intContents: all((at) => view.getInt8(at)) }),
    INT16: () => ({ intContents: all((at) => view.getInt16(at, true)) }),
    INT32: () => ({ intContents: all((at) => view.getInt32(at, true)) }),
    INT64: () => ({ int64Contents: all((at) => view.getBigInt64(at, true)) }),
    UINT8: () => ({ uintContents: all((at) => view.getUint8(at)) }),
    UINT16: () => ({ uintContents: all((at) => view.getUint16(at, true)) }),
    UINT32: () => ({ uintContents: all((at) => view.getUint32(at, true)) }),
    UINT64: () => ({ uint64Contents: all((at) => view.getBigUint64(at, true)) }),
    FP32: () => ({ fp32Contents: all((at) => view.getFloat32(at, true)) }),
    FP64: () => ({ fp64Contents: all((at) => view.getFloat64(at, true)) }),
  };
  const init = byType[datatype];
  if (init === undefined) throw new Error(`${datatype} has no contents of its own`);
  return init();
}

function stringsOf(bytes: Uint8Array, view: DataView): Uint8Array[] {
  const strings: Uint8Array[] = [];
  for (let offset = 0; offset < bytes.length; ) {
    const end = offset + 4 + view.getUint32(offset, true);
    strings.push(bytes.subarray(offset + 4, end));
    offset = end;
  }
  return strings;
}
