/** Checks options of `report` that apply only to decision tables. */
import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { ReportRequest } from "./method.ts";

/**
 * Accepts a frontier of none: other methods have no frontier.
 * @param kind of application of the bundle.
 * @throws RuntimeError for any other option of decision tables.
 */
export function refuseTableOptions(
  { path, simulations, frontierQps }: ReportRequest,
  kind: string,
): void {
  const isAsked = typeof frontierQps === "number";
  const option = simulations.length > 0 ? "--simulation" : isAsked ? "--frontier" : null;
  if (option === null) return;
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `${option}: expected a bundle of decision tables, got ${path}, one of ${kind}, ` +
      "whose page shows its levels only; leave the option out",
  );
}

/**
 * Refuses --trace: only methods that scale show days.
 * @param kind of application of the bundle.
 * @throws RuntimeError for a trace.
 */
export function refuseTraces({ path, traces = [] }: ReportRequest, kind: string): void {
  if (traces.length === 0) return;
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `--trace: expected a bundle of method themis, got ${path}, one of ${kind}, whose page shows ` +
      "no days; leave the option out",
  );
}
