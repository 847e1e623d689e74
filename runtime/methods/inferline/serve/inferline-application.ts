/** Hosts a pipeline whose plans fix the variant, pool and batch of each task. */
import type { InferlineBundle } from "../../../bundle/schema.ts";
import type { Application } from "../../../server/applications/application.ts";
import {
  type PipelineApplicationOptions,
  pipelineApplication,
} from "../../../server/graph/pipeline-application.ts";
import type { AxisNames } from "../../../server/graph/signature/output-groups.ts";
import { inferlinePipeline } from "./inferline-pipeline.ts";

interface InferlineApplicationOptions extends PipelineApplicationOptions {
  readonly bundle: InferlineBundle;
  /** Names of first dimensions, of each variant of all tasks. */
  readonly axisNames?: readonly AxisNames[];
}

/**
 * @throws RuntimeError RUNTIME_MODEL if the bundle's models do not fit
 * together.
 */
export function inferlineApplication(options: InferlineApplicationOptions): Application {
  return pipelineApplication(options, (maxPending) =>
    inferlinePipeline(options.bundle, maxPending, options.axisNames),
  );
}
