/** Table of the demo: for each load the policy beside single models. */
import type { LoadResult } from "stratagem/internal/load/run-load";
import type { TruthDocument, TruthPoint } from "stratagem/internal/truth/truth-document";
import { explainedTable, percent, wrapped } from "stratagem-runtime/internal/describe/text";

/** Measurement of one model alone at a load. */
export interface Single {
  readonly name: string;
  /** Mean over requests in time; null if none was in time. */
  readonly accuracy: number | null;
  /** Ratio of requests that were late or lost. */
  readonly violationRate: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

const HEAD = ["requests/s", "served by", "accuracy", "late or lost", "p50 ms", "p99 ms"];
/** Differences of accuracy below this are rounding. */
const SAME_ACCURACY = 1e-5;

export function singleOf(name: string, result: LoadResult): Single {
  const { accuracyPerSatisfied: accuracy, violationRate, latencyFromSendMs: latency } = result;
  const [p50Ms, p99Ms] = [latency?.p50 ?? null, latency?.p99 ?? null];
  return { name, accuracy, violationRate, p50Ms, p99Ms };
}

/** @param singles shape (points, models), the most accurate model first. */
export function demoText(document: TruthDocument, singles: readonly (readonly Single[])[]): string {
  const { points, slo } = document;
  const { ceiling } = slo;
  const rows = points.flatMap((point, index) => rowsOf(point, singles[index] ?? [], ceiling));
  return [
    `Deadline ${slo.latencyMs} ms. At most ${percent(ceiling)} of the requests may be late ` +
      `or lost.`,
    "",
    explainedTable([HEAD, ...rows]),
    "",
    wrapped(promiseText(document)),
    wrapped(singlesText(document, singles)),
    ...points.flatMap(({ loadQps, verdict, cause }) =>
      verdict !== "broken" || cause === null ? [] : [wrapped(`${loadQps} requests/s: ${cause}`)],
    ),
  ].join("\n");
}

/** The policy, the most accurate model, and the most accurate one that keeps up. */
function rowsOf(point: TruthPoint, singles: readonly Single[], ceiling: number): string[][] {
  const { loadQps, predicted, measured } = point;
  const [first] = singles;
  const best = bestSingle(singles, ceiling);
  const models = new Set([first, best]);
  return [
    [String(loadQps), "the policy", ...figuresOf(measured)],
    ["", "  as predicted", ...figuresOf(predicted)],
    ...[...models].flatMap((one) =>
      one === undefined ? [] : [["", `${one.name} alone`, ...figuresOf(one)]],
    ),
  ];
}

/** The most accurate model within the ceiling; without one, that with most correct answers. */
function bestSingle(singles: readonly Single[], ceiling: number): Single | undefined {
  const inTime = singles.filter(({ violationRate }) => violationRate <= ceiling);
  const score = inTime.length > 0 ? accuracyOf : correct;
  const candidates = inTime.length > 0 ? inTime : singles;
  return candidates.toSorted((one, other) => score(other) - score(one))[0];
}

function accuracyOf({ accuracy }: Single): number {
  return accuracy ?? 0;
}

function correct({ accuracy, violationRate }: Single): number {
  return (accuracy ?? 0) * (1 - violationRate);
}

function promiseText({ points, slo }: TruthDocument): string {
  const within = points.filter(({ measured }) => measured.violationRate <= slo.ceiling).length;
  const kept = points.filter(({ verdict }) => verdict !== "broken").length;
  const paces = points.flatMap(({ machine }) => machine.pace ?? []);
  const pace =
    paces.length === 0
      ? ""
      : ` This machine took ${Math.min(...paces).toFixed(2)} to ${Math.max(...paces).toFixed(2)} ` +
        "times the profiled times.";
  return (
    `The policy met the deadline at ${within} of ${points.length} loads. Accuracy and late ` +
    `requests were as predicted or better at ${kept}.${pace}`
  );
}

function singlesText({ points }: TruthDocument, singles: readonly (readonly Single[])[]): string {
  const superior = points.flatMap((point, index) => {
    const better = (singles[index] ?? []).filter((one) => isSuperior(one, point));
    return better.map(({ name }) => `${name} at ${point.loadQps} requests/s`);
  });
  return superior.length === 0
    ? "No single model was more accurate and more often in time."
    : `More accurate and more often in time: ${superior.join(", ")}.`;
}

function isSuperior({ accuracy, violationRate }: Single, { measured }: TruthPoint): boolean {
  const isMoreAccurate = (accuracy ?? 0) > (measured.accuracy ?? 0) + SAME_ACCURACY;
  return isMoreAccurate && violationRate < measured.violationRate;
}

type Figures = Pick<Single, "accuracy" | "violationRate" | "p50Ms" | "p99Ms">;

function figuresOf({ violationRate, accuracy, p50Ms, p99Ms }: Figures): string[] {
  return [percent(accuracy), percent(violationRate), msText(p50Ms), msText(p99Ms)];
}

function msText(ms: number | null): string {
  return ms === null ? "-" : ms.toFixed(1);
}
