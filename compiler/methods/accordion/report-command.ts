/** `stratagem report BUNDLE` of malleable pipelines: its levels under every scheduler. */
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";
import type { Report, ReportRequest } from "../method.ts";
import { renderAccordionReport } from "./report/report.ts";
import { planSchedules, runSchedules, type ScheduledRun } from "./report/simulated-schedulers.ts";

export async function reportAccordion(
  bundle: AccordionBundle,
  { file, progress }: ReportRequest,
): Promise<Report> {
  const plan = planSchedules(bundle);
  const runs = await runSchedules(bundle, plan, progress(plan.length));
  return { page: renderAccordionReport({ bundle, file, runs }), runs: runs.map(outcomeOf) };
}

function outcomeOf({ loadQps, scheduler, result: one }: ScheduledRun): object {
  const { timeline: _, latencyMsByQuery: __, ...outcome } = one;
  return { loadQps, scheduler, ...outcome };
}
