/**
 * What an ES module is that runs as a model: its default export opens it. Described in
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

/** A tensor that a module takes or gives, as it declares it. */
export interface HostTensorInfo {
  readonly name: string;
  readonly datatype: HostDatatype;
  /** Of one row, without the axis of the rows; −1 where any size will do. */
  readonly shape: readonly number[];
}

/** Elements by their type; of FP16 they are the bits, and of BOOL 0 or 1. */
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
  /** Row-major; of BYTES a list. */
  readonly data: HostData;
  /** The rows first. */
  readonly shape: readonly number[];
}

/**
 * By name. What a module is given lasts until it has answered: of BYTES a list of Uint8Array, of
 * INT64 a BigInt64Array, and so on.
 */
export type HostTensors = Readonly<Record<string, HostTensor>>;

export interface HostModule {
  readonly inputs: readonly HostTensorInfo[];
  readonly outputs: readonly HostTensorInfo[];
  /**
   * Batch sizes that it takes, 1 among them; others are run in parts. Null, or left out, for any.
   */
  readonly batches?: readonly number[] | null;
  /**
   * Inputs to profile it and to warm it up with; left out, they are random or zero.
   * @param random gives numbers in [0, 1), the same in every run.
   */
  readonly sample?: (rows: number, random: () => number) => HostTensors | Promise<HostTensors>;
  /**
   * Answers a batch. What it throws fails the batch; an error with `rows`, indices into the batch,
   * fails the requests of those rows alone, with status 400, and the others are run again.
   */
  readonly run: (inputs: HostTensors, rows: number) => HostTensors | Promise<HostTensors>;
  readonly close?: () => void | Promise<void>;
}

/** @typeParam Options that a module knows to be what the spec has. */
export interface HostModuleSurroundings<Options = Readonly<Record<string, unknown>>> {
  /** Of the variant in the spec; an empty object without some. */
  readonly options: Options;
  /** Folder of the spec while compiling and measuring, of the model files while serving. */
  readonly folder: string;
  /** Cores of the worker that it runs in. */
  readonly cores: number;
}

/** The default export of a module. */
export type OpenHostModule<Options = Readonly<Record<string, unknown>>> = (
  surroundings: HostModuleSurroundings<Options>,
) => HostModule | Promise<HostModule>;

/** An error that a module throws for rows that it will not have. */
export type RowsError = Error & { readonly rows: readonly number[] };
