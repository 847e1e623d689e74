/** What the demo found: for each load the promise, the policy and the best single model. */
import type { LoadResult } from "stratagem/internal/load/run-load";
import type { TruthDocument, TruthPoint } from "stratagem/internal/truth/truth-document";
import { paceText } from "stratagem/internal/truth/truth-table";
import { alignColumns, percent, wrapped } from "stratagem-runtime/internal/describe/text";

/** What one model did alone at a load. */
export interface Single {
  readonly name: string;
  /** Mean over requests in time; null where none was. */
  readonly accuracy: number | null;
  /** Ratio of requests that were late or lost. */
  readonly violationRate: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

const HEAD = ["load/s", "pace", "", "late", "accuracy", "p50 ms", "p99 ms", "verdict"];

export function singleOf(name: string, result: LoadResult): Single {
  const { accuracyPerSatisfied: accuracy, violationRate, latencyFromSendMs: latency } = result;
  const [p50Ms, p99Ms] = [latency?.p50 ?? null, latency?.p99 ?? null];
  return { name, accuracy, violationRate, p50Ms, p99Ms };
}

/** @param singles by the points of the document, which are one for each load. */
export function demoText(document: TruthDocument, singles: readonly (readonly Single[])[]): string {
  const { points, slo, held, better: outdone, of } = document;
  const slower = points.filter(({ verdict }) => verdict === "slower").length;
  const rows = points.flatMap((point, index) => rowsOf(point, singles[index] ?? []));
  const superior = points.flatMap((point, index) => {
    const better = (singles[index] ?? []).filter((one) => isSuperior(one, point));
    return better.map(({ name }) => `${name} at ${point.loadQps}/s`);
  });
  const names = superior.join(", ") || "no model";
  return [
    `SLO ${slo.latencyMs} ms, at most ${percent(slo.ceiling)} late or lost. Pace: service times ` +
      "over the profile's.",
    "",
    alignColumns([HEAD, ...rows]),
    "",
    ...points.flatMap(({ loadQps, verdict, cause }) =>
      verdict === "broken" || verdict === "slower"
        ? [wrapped(`${loadQps}/s: ${cause ?? "no cause found"}`)]
        : [],
    ),
    wrapped(
      `accuracy and late requests are as promised at the pace of the machine, or better, at ` +
        `${held + outdone + slower} of ${of} loads; latencies are at ${held + outdone}`,
    ),
    wrapped(`better in accuracy and in late requests than the policy: ${names}`),
  ].join("\n");
}

/** Promise, policy, and the single model that answered most requests correctly in time. */
function rowsOf(point: TruthPoint, singles: readonly Single[]): string[][] {
  const { loadQps, predicted, measured, machine, verdict } = point;
  const best = singles.toSorted((one, other) => correct(other) - correct(one))[0];
  return [
    [String(loadQps), paceText(machine.pace), "promised", ...figuresOf(predicted), ""],
    ["", "", "measured", ...figuresOf(measured), verdict === "broken" ? "BROKEN" : verdict],
    ...(best === undefined ? [] : [["", "", `${best.name} alone`, ...figuresOf(best), ""]]),
  ];
}

function correct({ accuracy, violationRate }: Single): number {
  return (accuracy ?? 0) * (1 - violationRate);
}

/** Beyond the rounding of accuracies. */
const SAME_ACCURACY = 1e-5;

function isSuperior({ accuracy, violationRate }: Single, { measured }: TruthPoint): boolean {
  const isMoreAccurate = (accuracy ?? 0) > (measured.accuracy ?? 0) + SAME_ACCURACY;
  return isMoreAccurate && violationRate < measured.violationRate;
}

type Figures = Pick<Single, "accuracy" | "violationRate" | "p50Ms" | "p99Ms">;

function figuresOf({ violationRate, accuracy, p50Ms, p99Ms }: Figures): string[] {
  return [percent(violationRate), percent(accuracy), msText(p50Ms), msText(p99Ms)];
}

function msText(ms: number | null): string {
  return ms === null ? "-" : ms.toFixed(1);
}
