/** The contract of modules that a spec names with `kind: module`. */

export type Datatype = "BOOL" | "UINT8" | "INT32" | "INT64" | "FP16" | "FP32" | "FP64" | "BYTES";

/** A tensor as a module declares it. */
export interface TensorSpec {
  readonly name: string;
  readonly datatype: Datatype;
  /** Shape of one row, without the axis of rows; -1 is any size. */
  readonly shape: readonly number[];
}

/** FP16 has its bits in a Uint16Array; BYTES come as Uint8Array, and answers may hold strings. */
export type TensorData =
  | Uint8Array
  | Int32Array
  | BigInt64Array
  | Uint16Array
  | Float32Array
  | Float64Array
  | readonly (Uint8Array | string)[];

/** Values with the rows first, in the order of C. */
export interface Tensor {
  readonly data: TensorData;
  readonly shape: readonly number[];
}

export type NamedTensors = Readonly<Record<string, Tensor>>;

export interface HostModule {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  /** Batch sizes that it takes; null says that it takes any. */
  readonly batches: readonly number[] | null;
  /**
   * Inputs as they come in service, to profile and warm it up with.
   * @param random uniform in [0, 1).
   */
  sample(rows: number, random: () => number): NamedTensors | Promise<NamedTensors>;
  /**
   * @param rows of every input; outputs may have others.
   * @throws RowError for rows that it will not have: the others are run again without them.
   */
  run(inputs: NamedTensors, rows: number): NamedTensors | Promise<NamedTensors>;
  close(): void | Promise<void>;
}

export interface OpenArguments {
  /** The spec may say any JSON here. */
  readonly options?: unknown;
  /** Folder of the models, with the files that options name. */
  readonly folder: string;
  /** Cores of its worker; 1 by default. */
  readonly cores?: number;
}

/** Default export of a module. */
export type OpenModule = (how: OpenArguments) => Promise<HostModule>;
