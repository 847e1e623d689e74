/** Writes the outputs of a batch in the Open Inference Protocol. */
import type { BatchResult } from "../exec/models/executor.ts";
import { jsonOfBytes, lengthOf } from "../server/tensors/tensors.ts";
import type { AgentModel } from "./agent-model.ts";
import type { ReadBatch } from "./batch-request.ts";
import type { KeptValues } from "./kept-values.ts";

interface WrittenAnswer {
  readonly headers: Readonly<Record<string, string | number>>;
  readonly parts: readonly Uint8Array[];
}

/**
 * @param values store for outputs that the request asks to keep.
 * @throws HttpError 413 if an output is too large to keep. @throws Error if an output requested as
 * JSON has an element that JSON cannot express.
 */
export function writeAnswer(
  { name, signature }: AgentModel,
  { id, outputs, kept }: ReadBatch,
  { outputs: given, wallMs, cpuMs }: BatchResult,
  values: KeptValues,
): WrittenAnswer {
  const binary: Uint8Array[] = [];
  const written = outputs.map(({ index, isBinary }) => {
    const tensor = signature.outputs[index];
    const output = given[index];
    if (tensor === undefined || output === undefined) throw new Error(`no output ${index}`);
    const { shape, bytes } = output;
    const head = JSON.stringify({ name: tensor.name, datatype: tensor.datatype, shape });
    if (kept.has(index)) {
      return `${head.slice(0, -1)},"parameters":{"stratagem_value":"${values.put(bytes)}"}}`;
    }
    if (isBinary) {
      binary.push(bytes);
      return `${head.slice(0, -1)},"parameters":{"binary_data_size":${bytes.length}}}`;
    }
    const data = jsonOfBytes(tensor.datatype, bytes);
    if (data !== undefined) return `${head.slice(0, -1)},"data":${data}}`;
    const reason = "has an element that is NaN or infinite; request it with binary_data";
    throw new Error(`output "${tensor.name}" ${reason}`);
  });
  const own = id === undefined ? {} : { id };
  const head = JSON.stringify({ model_name: name, model_version: "1", ...own }).slice(0, -1);
  const json = Buffer.from(`${head},"outputs":[${written.join(",")}]}`);
  const isBinary = binary.length > 0;
  return {
    headers: {
      "content-type": isBinary ? "application/octet-stream" : "application/json",
      "content-length": json.length + lengthOf(binary),
      ...(isBinary ? { "inference-header-content-length": json.length } : {}),
      "stratagem-wall-ms": wallMs.toFixed(3),
      "stratagem-cpu-ms": cpuMs.toFixed(3),
    },
    parts: [json, ...binary],
  };
}
