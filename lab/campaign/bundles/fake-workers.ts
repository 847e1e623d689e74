/** Workers without processes, which answer every batch at once and with ones, for any bundle. */
import {
  type AssignedExecutor,
  type AssignedExecutorHandlers,
  type Batch,
  type BatchResult,
  type Executor,
  type ExecutorHandlers,
  InferenceError,
} from "stratagem-runtime/internal/exec/models/executor";
import type { WorkerStarter } from "stratagem-runtime/internal/methods/method";
import type { WantedModel } from "stratagem-runtime/internal/methods/wanted-models";
import { DATATYPES } from "stratagem-runtime/internal/server/tensors/tensors";

/** An output that takes more is refused, as by a model that runs out of memory. */
const MAX_OUTPUT_BYTES = 2 ** 20;

const BYTES_BY_DTYPE = new Map(
  Object.values(DATATYPES).map(({ dtype, elementBytes }) => [dtype, elementBytes]),
);

/** Starts fakes for the models of a bundle; `ready` brings all of them up. */
export class FakeWorkers implements WorkerStarter {
  readonly #models: readonly WantedModel[];
  readonly #workerCount: number;
  #handlers: ExecutorHandlers | null = null;

  constructor(models: readonly WantedModel[], workerCount: number) {
    this.#models = models;
    this.#workerCount = workerCount;
  }

  async start(handlers: ExecutorHandlers): Promise<Executor> {
    this.#handlers = handlers;
    return { run: (_, batch) => this.#run(batch), close: async () => {} };
  }

  async startAssigned(handlers: AssignedExecutorHandlers): Promise<AssignedExecutor> {
    this.#handlers = handlers;
    return {
      run: (_, batch) => this.#run(batch),
      close: async () => {},
      assign: (worker, variants) => {
        if (!variants.every((variant) => this.#models[variant] !== undefined)) {
          throw new Error(`worker ${worker} is assigned ${variants}, which are no variants`);
        }
        queueMicrotask(() => handlers.onModelReady(worker, variants.length));
      },
      resize: (worker, cores) => queueMicrotask(() => handlers.onResized?.(worker, cores)),
      release: () => {},
    };
  }

  ready(): void {
    for (let worker = 0; worker < this.#workerCount; worker++) this.#handlers?.onReady(worker);
  }

  async #run({ variant, rows }: Batch): Promise<BatchResult> {
    const { model, name } = this.#models[variant] ?? {};
    if (model === undefined || model === null) throw new Error(`there is no variant ${variant}`);
    if (!(Number.isInteger(rows) && rows > 0)) throw new Error(`a batch has ${rows} rows`);
    const outputs = model.outputs.map(({ dtype, shape }) => {
      const sizes = shape.map((size) => (size === -1 ? rows : size));
      const elements = sizes.reduce((product, size) => product * size, 1);
      const byteCount = elements * (BYTES_BY_DTYPE.get(dtype) ?? 0);
      if (byteCount > MAX_OUTPUT_BYTES) throw new InferenceError(name ?? "", "out of memory");
      const isCount = dtype === "int64";
      const bytes = isCount
        ? new Uint8Array(new BigInt64Array(elements).fill(1n).buffer)
        : new Uint8Array(byteCount);
      return { shape: sizes, bytes };
    });
    return { outputs, wallMs: 1, cpuMs: 1, cores: 1 };
  }
}
