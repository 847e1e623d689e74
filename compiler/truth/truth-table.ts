/** Formats the points of an application as a table of promised and measured figures. */
import { explainedTable, percent } from "stratagem-runtime/internal/describe/text";
import type { CheckName, TruthDocument, TruthPoint } from "./truth-document.ts";

const HEAD = [
  "load/s",
  "run",
  "pace",
  "p50 ms",
  "measured",
  "p99 ms",
  "measured",
  "late or lost",
  "measured",
  "accuracy",
  "measured",
  "by labels",
  "verdict",
];

/** Returns the table with notes. */
export function truthText(document: TruthDocument): string {
  const { application, method, points, held, better, of, slo, machine } = document;
  const steal =
    machine.profileStealShare === null
      ? ""
      : `; other guests used ${percent(machine.profileStealShare)} during profiling`;
  const failed = points.filter(({ holds }) => !holds);
  return [
    `${application} (${method}), SLO ${slo.latencyMs} ms, at most ${percent(slo.ceiling)} late; ` +
      `${machineText(machine)}${steal}`,
    ...document.latenciesWithout.map((what) => `latencies without ${what}`),
    "",
    explainedTable([HEAD, ...points.map(rowOf)]),
    "",
    ...failed.map(
      ({ loadQps, run, cause }) =>
        `${loadQps} requests/s, run ${run}: ${cause ?? "no cause found"}`,
    ),
    ...points.flatMap(alarmLines),
    ...points.flatMap(earlierLines),
    ...lagLines(points),
    `${held} of ${of} hold${better === 0 ? "" : `, ${better} more better than promised`}`,
  ].join("\n");
}

/** Marks figures that do not hold with !, and better ones with +. */
function rowOf(point: TruthPoint): string[] {
  const { loadQps, run, predicted, measured, machine, verdict } = point;
  const marked = (name: CheckName, text: string): string => {
    const check = point.checks.find((one) => one.name === name);
    if (check === undefined || check.holds) return text;
    return check.isKept ? `${text} +` : `${text} !`;
  };
  const labels = measured.accuracyByLabels;
  return [
    String(loadQps),
    String(run),
    paceText(machine.pace),
    msText(predicted.p50Ms),
    marked("p50", msText(measured.p50Ms)),
    msText(predicted.p99Ms),
    marked("p99", msText(measured.p99Ms)),
    percent(predicted.violationRate),
    marked("violations", percent(measured.violationRate)),
    percent(predicted.accuracy),
    marked("accuracy", percent(measured.accuracy)),
    labels === null ? "-" : marked("labels", percent(labels.estimate)),
    verdict === "broken" ? "BROKEN" : verdict,
  ];
}

function alarmLines({ loadQps, run, alarms }: TruthPoint): string[] {
  return alarms.map(
    (said) => `${loadQps} requests/s, run ${run}: the server called a promise broken: ${said}`,
  );
}

function earlierLines({ loadQps, run, earlier }: TruthPoint): string[] {
  return earlier.map(({ machine, holds }) => {
    const verdict = holds ? "held" : "did not hold";
    return (
      `${loadQps} requests/s, run ${run} was repeated because of disturbances (other guests ` +
      `used ${percent(machine.stealShare)} of the processors, other processes ` +
      `${percent(machine.neighbourShare)}): it ${verdict}`
    );
  });
}

function lagLines(points: readonly TruthPoint[]): string[] {
  const lags = points.flatMap(({ measured: { sendLagMs } }) => sendLagMs ?? []);
  if (lags.length === 0) return [];
  const shares = points.flatMap(({ machine }) => machine.generatorShare ?? []);
  const most = Math.max(...lags.map(({ p99 }) => p99));
  const typical = Math.max(...lags.map(({ p50 }) => p50));
  return [
    `latencies count from the time of sending, which was at most ${typical.toFixed(1)} ms late ` +
      `at the median of a run, ${most.toFixed(1)} ms at p99; the load generator used up to ` +
      `${percent(Math.max(...shares))} of the processors`,
  ];
}

/** Formats two decimals; a dash if unknown. */
export function paceText(pace: number | null): string {
  return pace === null ? "-" : pace.toFixed(2);
}

function msText(ms: number | null): string {
  return ms === null ? "-" : ms.toFixed(1);
}

/** Formats `2 processors, 1.0 processors by quota (cpu.max), model of the CPU`. */
export function machineText({ processors, quota, cpu }: TruthDocument["machine"]): string {
  return [`${processors} processors`, ...(quota === null ? [] : [quota]), cpu].join(", ");
}
