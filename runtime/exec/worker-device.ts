/** What a worker runs its models on, and how it is told. */

/** A name that onnxruntime has for what runs models. */
export type Provider = "cpu" | "cuda" | "tensorrt" | "webgpu";

/** Options of a provider, by the names that the binding has for them. */
export type ProviderOptions = Readonly<Record<string, string | boolean | readonly string[]>>;

export interface WorkerDevice {
  readonly provider: Provider;
  /**
   * "0", "GPU-…" or "MIG-…"; null for the default one. A worker sees no other: it is what its
   * CUDA_VISIBLE_DEVICES names.
   */
  readonly id: string | null;
  /** Variables of the worker, beside those of the server. */
  readonly environment: Readonly<Record<string, string>>;
  readonly options: ProviderOptions;
}
