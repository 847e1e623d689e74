/** A model that keeps a sum, for tests of sequences: y = x + state, and that is its state next. */
import type { RamsisBundle, TensorInfo } from "../../../../runtime/bundle/schema.ts";
import type { ExecutorHandlers } from "../../../../runtime/exec/models/executor.ts";
import { SMALL, type TinyBundleOptions } from "../../../support/tiny-bundle.ts";
import {
  call,
  FakeExecutor,
  type Harness,
  INFER,
  type Reply,
  serve,
  servedBundle,
} from "../harness.ts";

export const INPUTS: readonly TensorInfo[] = [
  { name: "sum", dtype: "float32", shape: [-1, 2] },
  { name: "x", dtype: "float32", shape: [-1, 2] },
];
export const OUTPUTS: readonly TensorInfo[] = [
  { name: "y", dtype: "float32", shape: [-1, 2] },
  { name: "next", dtype: "float32", shape: [-1, 2] },
];

/** One variant, which has state. */
export function summingBundle(options: TinyBundleOptions = {}): RamsisBundle {
  const bundle = servedBundle({ variants: [SMALL], ...options }, INPUTS, OUTPUTS);
  return {
    ...bundle,
    tasks: bundle.tasks.map((task) => ({
      ...task,
      variants: task.variants.map((variant) => {
        const { model } = variant;
        if (model === null) return variant;
        return { ...variant, model: { ...model, state: [{ input: "sum", output: "next" }] } };
      }),
    })),
  };
}

export class Accumulator extends FakeExecutor {
  override finish(): void {
    const { batch, resolve } = this.take();
    const [sum, x] = batch.inputs.map((parts) => floatsOf(Buffer.concat(parts)));
    const y = Float32Array.from(x ?? [], (value, index) => value + (sum?.[index] ?? Number.NaN));
    const output = () => ({ shape: [batch.rows, 2], bytes: new Uint8Array(y.slice().buffer) });
    resolve({ outputs: [output(), output()], wallMs: 1, cpuMs: 1, cores: 1 });
  }
}

export function floatsOf(bytes: Uint8Array): number[] {
  return [...new Float32Array(Uint8Array.from(bytes).buffer)];
}

type ServeOptions = NonNullable<Parameters<typeof serve>[0]>;

/** For `serve`. */
export function summing(options: ServeOptions = {}): ServeOptions {
  return {
    bundle: summingBundle(),
    executorFactory: (handlers: ExecutorHandlers) => new Accumulator(handlers, OUTPUTS),
    ...options,
  };
}

export function serveSums(options: ServeOptions = {}): Promise<Harness> {
  return serve(summing(options));
}

/** @param parameters of the request, such as sequence_id. */
export function add(
  harness: Harness,
  value: number,
  parameters: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  const input = { name: "x", datatype: "FP32", shape: [1, 2], data: [value, 0] };
  const body = JSON.stringify({ inputs: [input], parameters });
  return call(harness, INFER, { method: "POST", headers, body });
}

/** What a request was answered with: the sum, or the status and why. */
export function told({ status, body }: Reply): unknown {
  const json = JSON.parse(body.toString());
  return status === 200 ? json.outputs[0].data[0] : `${status} ${json.error}`;
}

/** Asks for metrics until they have a line. */
export async function seen(harness: Harness, line: string): Promise<void> {
  while (!(await call(harness, "/metrics")).body.includes(`\n${line}\n`));
}

/** Until so many requests wait for others of their sequences. */
export function waiting(harness: Harness, count: number): Promise<void> {
  return seen(harness, `stratagem_sequence_requests_waiting{model="tiny"} ${count}`);
}
