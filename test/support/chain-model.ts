import type {
  LayerPipeline,
  ModelFile,
  StageModel,
  TensorInfo,
} from "stratagem-runtime/internal/bundle/schema";

/**
 * A chain: layer k makes `h<k+1>` of `h<k>`, the first of `x`, the last `y`; and the last takes
 * `h1` besides, past the layers between.
 */
export function chainModel(name: string, layerCount: number): ModelFile {
  return {
    file: `${name}.onnx`,
    sha256: "0".repeat(64),
    inputs: [tensor("x", -1)],
    outputs: [tensor(layerCount === 1 ? "h1" : "y", -1)],
  };
}

function tensor(name: string, rows: number): TensorInfo {
  return { name, dtype: "float32", shape: [rows, 4] };
}

/** Of all ranges that pipelines cut it into, in order. */
export function chainStages(
  name: string,
  layerCount: number,
  pipelines: readonly (LayerPipeline | null)[],
): StageModel[] {
  const ranges = new Map<string, readonly [number, number]>();
  for (const pipeline of pipelines) {
    let from = 0;
    for (const layers of pipeline?.cut ?? []) {
      ranges.set(`${from}-${from + layers}`, [from, from + layers]);
      from += layers;
    }
  }
  return [...ranges.values()]
    .sort(([fromA, toA], [fromB, toB]) => fromA - fromB || toA - toB)
    .map(([from, to]) => ({ from, to, model: chainStage(name, layerCount, from, to) }));
}

function chainStage(name: string, layerCount: number, from: number, to: number): ModelFile {
  const after = (layers: number): string => {
    if (layers === 0) return "x";
    return layers === layerCount && layerCount > 1 ? "y" : `h${layers}`;
  };
  const takesSkip = to === layerCount && from > 1;
  const givesSkip = from === 0 && to > 1 && to < layerCount;
  return {
    file: `${name}.${from}-${to}.onnx`,
    sha256: "0".repeat(64),
    inputs: [after(from), ...(takesSkip ? ["h1"] : [])].map((each) => tensor(each, 1)),
    outputs: [after(to), ...(givesSkip ? ["h1"] : [])].map((each) => tensor(each, 1)),
  };
}
