import { type Field, fieldsOf, valuesOf } from "../../lab/models/onnx-protobuf.ts";

/** Weights of the forecasting model by their name in its graph. */
export type Weights = ReadonlyMap<string, Float32Array>;

/** The graph's float32 constants, as they are in the file. */
export function weightsOf(model: Uint8Array): Weights {
  const graph = message(valuesOf(model, 7)[0]);
  return new Map(
    valuesOf(graph, 5).map((constant) => {
      const name = new TextDecoder().decode(message(valuesOf(message(constant), 8)[0]));
      // A copy that begins where its buffer does.
      const data = Uint8Array.from(message(valuesOf(message(constant), 9)[0]));
      return [name, new Float32Array(data.buffer)];
    }),
  );
}

/** Operators of the graph, in their order. */
export function operatorsOf(model: Uint8Array): string[] {
  const graph = message(valuesOf(model, 7)[0]);
  return fieldsOf(graph)
    .filter(({ number }: Field) => number === 1)
    .map(({ value }) => new TextDecoder().decode(message(valuesOf(message(value), 4)[0])));
}

/**
 * The forecast of one history without gaps, as the equations say: lists, one gate after the other,
 * in double precision.
 */
export function naiveForecast(weights: Weights, history: readonly number[]): number {
  const part = (name: string): Float32Array => weights.get(name) ?? new Float32Array();
  const biases = part("biases");
  const units = part("dense_weights").length;
  const maxima = Array.from({ length: 6 }, (_, window) =>
    Math.max(...history.slice(10 * window, 10 * window + 10)),
  );
  const scale = Math.max(maxima.reduce((sum, maximum) => sum + maximum) / 6, 1e-6);
  const sigmoid = (sum: number): number => 1 / (1 + Math.exp(-sum));
  let hidden = new Array<number>(units).fill(0);
  let cell = new Array<number>(units).fill(0);
  for (const maximum of maxima) {
    const gate = (index: number, unit: number): number => {
      const row = index * units + unit;
      const own = (part("input_weights")[row] ?? 0) * (maximum / scale);
      const recurrent = hidden.reduce(
        (sum, value, from) => sum + value * (part("recurrent_weights")[row * units + from] ?? 0),
        0,
      );
      return own + recurrent + (biases[row] ?? 0) + (biases[4 * units + row] ?? 0);
    };
    const kept = cell.map((value, unit) => sigmoid(gate(2, unit)) * value);
    cell = kept.map((value, unit) => value + sigmoid(gate(0, unit)) * Math.tanh(gate(3, unit)));
    hidden = cell.map((value, unit) => sigmoid(gate(1, unit)) * Math.tanh(value));
  }
  const dense = part("dense_weights");
  const share = hidden.reduce((sum, value, unit) => sum + value * (dense[unit] ?? 0), 0);
  return Math.max(scale * (share + (part("dense_bias")[0] ?? 0)), 0);
}

function message(value: number | Uint8Array | undefined): Uint8Array {
  if (!(value instanceof Uint8Array)) throw new Error("expected a field that has a length");
  return value;
}
