/** Options of `report` that only pages of decision tables have. */
import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { ReportRequest } from "./method.ts";

/**
 * Leaving the frontier out is granted: there is none. @param kind what the bundle is of.
 * @throws RuntimeError for an option that asks for what there is of tables alone.
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
      "whose page shows what its levels hold and nothing beside; leave the option out",
  );
}

/**
 * Days are of methods that scale: others have nothing to show of them. @param kind what the bundle
 * is of.
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
