/** Arrivals of an application as its bundle states them. */
import type { ArrivalModel } from "stratagem-runtime/internal/bundle/schema";
import type { Application } from "../spec/application.ts";
import { spreadPart } from "../spec/trace.ts";

/**
 * @param dispersion of a trace, variance over mean; 1 where levels are planned for random arrivals
 * and the trace only gives their loads.
 */
export function arrivalModelOf({ arrivals }: Application, dispersion = 1): ArrivalModel {
  if (arrivals.process !== "trace") return arrivals;
  const { file, trace } = arrivals;
  const name = file.replace(/^.*[\\/]/, "");
  return { process: "trace", file: name, dispersion, ...spreadPart(trace) };
}
