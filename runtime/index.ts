/**
 * The public API of `stratagem-runtime`: reads a policy bundle, asks it for decisions, drives its
 * core by a clock of one's own, and serves it in this process. Described in docs/library.md.
 */

export type { BundleErrorCode } from "./base/bundle-error.ts";
export { BundleError } from "./base/bundle-error.ts";
export type { RuntimeErrorCode } from "./base/errors.ts";
export { RuntimeError } from "./base/errors.ts";
export type * from "./bundle/schema.ts";
export type { AtLevel } from "./bundles/ask.ts";
export { decide, levelIndex, openCore } from "./bundles/ask.ts";
export { decodeBundle } from "./bundles/checked-bundle.ts";
export type { LoadedBundle, LoadOptions } from "./bundles/load-bundle.ts";
export { loadBundle } from "./bundles/load-bundle.ts";
export {
  ASSIGN,
  DROP,
  DROP_LATE,
  DROP_NO_WORKER,
  DROP_QUEUE_FULL,
  RELEASE,
  RESIZE,
  START_BATCH,
} from "./core/command-buffer.ts";
export { NO_PARENT } from "./core/graph/pipeline-dispatcher.ts";
export type {
  HostData,
  HostDatatype,
  HostModule,
  HostModuleSurroundings,
  HostTensor,
  HostTensorInfo,
  HostTensors,
  OpenHostModule,
  RowsError,
} from "./exec/tensors/host-module.ts";
export type { ServerOptions, StartedServer } from "./host/start-server.ts";
export { startServer } from "./host/start-server.ts";
export { DROP_QUERY, RESHAPE_QUERY, START_QUERY } from "./methods/every-method.ts";
export type { CoreOf, CoreOptionsOf, DecisionOf, StateOf } from "./methods/registry.ts";
