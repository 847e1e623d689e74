/** Reader of models that loads with the first model: many specs name none. */
import type { ModelReader } from "stratagem-runtime/internal/exec/process/model-reader";

type Asked = "describe" | "readHost" | "probe" | "probeFile";

/** Reads models for a compile. Must be closed. */
export class LateModelReader implements Pick<ModelReader, Asked> {
  readonly #signal: AbortSignal;
  #reader: Promise<ModelReader> | null = null;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  readonly describe: ModelReader["describe"] = async (path) => {
    return (await this.#opened()).describe(path);
  };

  readonly readHost: ModelReader["readHost"] = async (source) => {
    return (await this.#opened()).readHost(source);
  };

  readonly probe: ModelReader["probe"] = async (model, options) => {
    return (await this.#opened()).probe(model, options);
  };

  readonly probeFile: ModelReader["probeFile"] = async (path, options) => {
    return (await this.#opened()).probeFile(path, options);
  };

  /** Ends the reading process if it was started. */
  async close(): Promise<void> {
    (await this.#reader)?.close();
  }

  #opened(): Promise<ModelReader> {
    this.#reader ??= this.#open();
    return this.#reader;
  }

  async #open(): Promise<ModelReader> {
    const { ModelReader: Reader } = await import(
      "stratagem-runtime/internal/exec/process/model-reader"
    );
    return new Reader(this.#signal);
  }
}
