/** All streams with all seeds under one policy, at the moderate SLO. */
import type {
  AccordionSimulationOptions,
  AccordionSimulationResult,
} from "stratagem/internal/methods/accordion/simulate/simulate";
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";
import { meanOf } from "../harness/numbers.ts";
import { type DrawnStream, drawnStream, STREAMS } from "./drawn-streams.ts";
import { type PlacePolicy, type Settings, simulated } from "./place-methods.ts";

export interface StreamRun {
  readonly stream: number;
  readonly drawn: DrawnStream;
  readonly result: AccordionSimulationResult;
}

export function streamRuns(
  bundle: AccordionBundle,
  load: number,
  policy: PlacePolicy,
  { seeds, low }: Settings,
  options: Pick<AccordionSimulationOptions, "withLatencies"> = {},
): StreamRun[] {
  return STREAMS.flatMap((_, stream) =>
    seeds.map((seed) => {
      const drawn = drawnStream(bundle, { stream, slo: "moderate", load, seed, low });
      return { stream, drawn, result: simulated(drawn, policy, options) };
    }),
  );
}

/** A row of means over the runs of each column. */
export function rowOf(
  label: string,
  columns: readonly (readonly StreamRun[])[],
  of: (run: StreamRun) => number,
  text: (value: number) => string,
): string[] {
  return [label, ...columns.map((runs) => text(meanOf(runs, of)))];
}
