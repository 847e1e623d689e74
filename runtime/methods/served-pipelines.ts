/** How the bundles of pipelines are served, by their methods: a registry. */
import type { OnnxForecaster } from "../exec/onnx-forecaster.ts";
import type { PipelineBundle } from "../server/graph/linked-tasks.ts";
import type { AxisNames } from "../server/graph/output-groups.ts";
import type { ServedPipeline } from "../server/graph/served-pipeline.ts";
import { inferlinePipeline } from "./inferline/serve/inferline-pipeline.ts";
import { lokiPipeline } from "./loki/serve/loki-pipeline.ts";
import { themisPipeline } from "./themis/serve/themis-pipeline.ts";

export interface ServedPipelineOptions {
  readonly bundle: PipelineBundle;
  /** Of each variant of all tasks. */
  readonly axisNames?: readonly AxisNames[] | undefined;
  /** Rows of requests that have no answer yet, at most. */
  readonly maxPending: number;
  /** Of a bundle whose forecasts a model makes. */
  readonly forecaster?: Pick<OnnxForecaster, "forecast"> | undefined;
  readonly onNotice?: ((message: string) => void) | undefined;
}

/** @throws RuntimeError RUNTIME_MODEL if the bundle's models do not fit together. */
export function servedPipelineOf(options: ServedPipelineOptions): ServedPipeline {
  const { bundle, axisNames, maxPending } = options;
  if (bundle.method === "loki") return lokiPipeline(bundle, axisNames, maxPending);
  if (bundle.method === "inferline") return inferlinePipeline(bundle, maxPending);
  return themisPipeline(bundle, options);
}
