/**
 * Interface of an ES module that runs as a model: its default export opens it. Described in
 * docs/models.md.
 */

/** Element types, as the Open Inference Protocol names them. */
export type HostDatatype =
  | "BOOL"
  | "UINT8"
  | "UINT16"
  | "UINT32"
  | "UINT64"
  | "INT8"
  | "INT16"
  | "INT32"
  | "INT64"
  | "FP16"
  | "FP32"
  | "FP64"
  | "BYTES";

/** A tensor that a module takes or gives, as the module declares it. */
export interface HostTensorInfo {
  readonly name: string;
  readonly datatype: HostDatatype;
  /** Shape of one row, without the axis of rows; −1 for any size. */
  readonly shape: readonly number[];
}

/** Elements by type; FP16 as bits, BOOL as 0 or 1. */
export type HostData =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | BigUint64Array
  | BigInt64Array
  | Float32Array
  | Float64Array
  | readonly (Uint8Array | string)[];

export interface HostTensor {
  /** Row-major; a list for BYTES. */
  readonly data: HostData;
  /** Rows first. */
  readonly shape: readonly number[];
}

/**
 * Tensors by name. Inputs are valid until the module has answered: BYTES is a list of Uint8Array,
 * INT64 a BigInt64Array, and so on.
 */
export type HostTensors = Readonly<Record<string, HostTensor>>;

export interface HostModule {
  readonly inputs: readonly HostTensorInfo[];
  readonly outputs: readonly HostTensorInfo[];
  /** Accepted batch sizes, including 1; others run in parts. Null or left out: any. */
  readonly batches?: readonly number[] | null;
  /**
   * Returns inputs for profiling and warm-up; if left out, they are random or zero.
   * @param random returns numbers in [0, 1), the same in every run.
   */
  readonly sample?: (rows: number, random: () => number) => HostTensors | Promise<HostTensors>;
  /**
   * Answers a batch. An error fails the batch; an error with `rows`, indices into the batch, fails
   * only the requests of those rows, with status 400, and the others run again.
   */
  readonly run: (inputs: HostTensors, rows: number) => HostTensors | Promise<HostTensors>;
  readonly close?: () => void | Promise<void>;
}

/** @typeParam Options type of the options in the spec. */
export interface HostModuleSurroundings<Options = Readonly<Record<string, unknown>>> {
  /** Options of the variant in the spec; an empty object by default. */
  readonly options: Options;
  /** Folder of the spec while compiling and measuring, of the model files while serving. */
  readonly folder: string;
  /** Cores of its worker. */
  readonly cores: number;
}

/** The default export of a module. */
export type OpenHostModule<Options = Readonly<Record<string, unknown>>> = (
  surroundings: HostModuleSurroundings<Options>,
) => HostModule | Promise<HostModule>;

/** An error that a module throws for rows that it refuses. */
export type RowsError = Error & { readonly rows: readonly number[] };
