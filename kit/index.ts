/** What modules for `kind: module` are made of: types for those who write their own. */
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
