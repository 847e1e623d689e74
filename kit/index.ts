/** Types for modules of `kind: module` that users write. */
export type {
  Datatype,
  HostModule,
  NamedTensors,
  OpenArguments,
  OpenModule,
  Tensor,
  TensorData,
  TensorSpec,
} from "./module/contract.ts";
export { RowError, type RowMistake } from "./module/row-error.ts";
