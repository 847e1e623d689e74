/** Formats an explained request as the document of `--json`. */
import type { ExplainedRequest } from "./explained-request.ts";
import type { Reason } from "./reasons.ts";
import { circumstances } from "./reasons.ts";
import { headline } from "./request-text.ts";

export function requestJson(explained: ExplainedRequest, reasons: readonly Reason[]): object {
  const { request, verdict, latencyMs, sloMs, steps, runs, decision, context } = explained;
  const { batchesBefore, silence, ...others } = context;
  const { timeMs, runs: _, ...asked } = request;
  return {
    request: { time: new Date(timeMs).toISOString(), ...asked },
    ...{ verdict, latencyMs, sloMs, steps },
    sentence: headline(explained, reasons),
    reasons,
    circumstances: circumstances(explained),
    runs,
    decision: decision === null ? null : { ...decision.report.json, asked: decision.state },
    context: {
      ...others,
      silence: { from: new Date(silence.fromMs).toISOString(), ms: silence.ms },
      batchesBefore: batchesBefore.map(({ run, startMs, endMs }) => ({
        ...{ task: run.task, variant: run.variant, batch: run.batch, worker: run.worker },
        ...{ start: new Date(startMs).toISOString(), ms: endMs - startMs, workerMs: run.workerMs },
      })),
    },
  };
}
