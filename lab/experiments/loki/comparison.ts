/** §6.2: hardware scaling and pipeline-agnostic accuracy scaling on two days, both pipelines. */
import type { LokiSimulationResult } from "stratagem/internal/methods/loki/simulate/simulate";
import type { LokiBundle } from "stratagem-runtime/internal/bundle/schema";
import type { Experiment, Run } from "../harness/experiment.ts";
import { meanOf, percent, present } from "../harness/numbers.ts";
import type { Page } from "../harness/page.ts";
import { baselineOf, dropping, ReferenceApps } from "./reference-apps.ts";
import {
  type Day,
  PEAK_OF_HARDWARE,
  recordedDay,
  replay,
  smoothDay,
  steady,
  TRACE_SECONDS,
} from "./replays.ts";

/** Part of a method's requests that may be late where its effective capacity is measured. */
const MAX_VIOLATION_RATE = 0.01;

type NamedBundle = readonly [name: string, bundle: LokiBundle];

export const comparison: Experiment = {
  name: "comparison",
  about: "§6.2, a recorded day and one that rises and falls once",
  takes: "three minutes",
  run: async (run) => {
    const apps = new ReferenceApps(run.folder);
    for (const name of ["traffic_tree", "social_media_1500"] as const) {
      await compareOn(run, apps, name);
    }
  },
};

async function compareOn(
  { page }: Run,
  apps: ReferenceApps,
  name: keyof typeof PEAK_OF_HARDWARE,
): Promise<void> {
  const { bundle, capacityQps, hardwareQps } = await apps.placed(name);
  const { bundle: roomy } = await apps.placed(name, { policy: { headroom: "auto" } });
  const inferline = await baselineOf(bundle, "inferline");
  const proteus = await baselineOf(bundle, "proteus");
  const methods: NamedBundle[] = [
    ["stratagem, headroom: auto", roomy],
    ["loki's plans, drop: deadline", bundle],
    ["loki as printed, reroute", dropping(bundle, "reroute")],
    ["inferline, drop: deadline", inferline],
    ["inferline, last-task", dropping(inferline, "last-task")],
    ["proteus, drop: deadline", proteus],
    ["proteus, last-task", dropping(proteus, "last-task")],
  ];
  const peakQps = PEAK_OF_HARDWARE[name] * hardwareQps;
  const days = [
    ["recorded", "a recorded day", recordedDay(peakQps)],
    ["smooth", "a day that rises and falls once", smoothDay(peakQps)],
  ] as const;
  const outcomes = days.map(([, title, day]) => {
    const rates = `peak ${peakQps.toFixed(0)} requests/s, mean ${day.meanQps.toFixed(0)}`;
    page.say(`\n${name}: ${title} in ${TRACE_SECONDS} s, ${rates}`);
    return replayAll(page, methods, day);
  });
  const [ours, printed, hardware] = [roomy, bundle, inferline].map((own) =>
    effectiveCapacity(own, capacityQps),
  ) as [number, number, number];
  page.say(
    `largest steady load with at most ${percent(MAX_VIOLATION_RATE)} late: ` +
      `headroom ${ours.toFixed(0)}, loki's plans ${printed.toFixed(0)}, ` +
      `inferline ${hardware.toFixed(0)}: ${ratio(printed, hardware)} (paper 2.5–2.7×, its ` +
      "peak)",
  );
  page.say(
    `plans carry ${capacityQps.toFixed(0)} with accuracy scaling, ` +
      `${hardwareQps.toFixed(0)} without: ${ratio(capacityQps, hardwareQps)}`,
  );
  for (const [index, [day]] of days.entries()) page.say(dayText(day, present(outcomes[index])));
}

/** @param outcomes in the order of the methods. */
function dayText(day: string, outcomes: readonly LokiSimulationResult[]): string {
  const [roomy, own, asPrinted, , , , agnostic] = outcomes.map((one) => present(one));
  const over = (other?: LokiSimulationResult) =>
    ratio(present(agnostic).violationRate, present(other).violationRate);
  const servers = ratio(offPeakServers(present(agnostic)), offPeakServers(present(own)));
  return (
    `${day} day, proteus with last-task over loki as printed: ` +
    `violations ${over(asPrinted)}, over drop: ` +
    `deadline ${over(own)}, over headroom ${over(roomy)} (paper up to 10×); ` +
    `servers off-peak ${servers} (paper 2.67×)`
  );
}

function replayAll(page: Page, methods: readonly NamedBundle[], day: Day): LokiSimulationResult[] {
  const outcomes = methods.map(([, bundle]) => replay(bundle, day));
  const accuracies = ["accuracy/satisfied", "accuracy/request"];
  page.table(
    ["method", "violations", ...accuracies, "servers", "off-peak", "changes of plan"],
    outcomes.map((outcome, index) => [
      present(methods[index])[0],
      percent(outcome.violationRate),
      percent(outcome.accuracyPerSatisfied),
      percent(outcome.accuracyPerQuery),
      outcome.servers.mean.toFixed(1),
      offPeakServers(outcome).toFixed(1),
      outcome.planSwitches,
    ]),
  );
  return outcomes;
}

/** The largest steady load of which at most a hundredth misses the SLO, to 2 %. */
function effectiveCapacity(bundle: LokiBundle, capacityQps: number): number {
  const holds = (qps: number) => steady(bundle, qps).violationRate <= MAX_VIOLATION_RATE;
  let [low, high] = [0, capacityQps];
  if (holds(high)) return high;
  while (high - low > 0.02 * high) {
    const middle = (low + high) / 2;
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** Mean servers of the quarter of the seconds with the fewest requests. */
function offPeakServers({ timeline }: LokiSimulationResult): number {
  const quiet = [...(timeline ?? [])].sort((a, b) => a.requests - b.requests);
  return meanOf(quiet.slice(0, Math.ceil(quiet.length / 4)), ({ servers }) => servers);
}

function ratio(a: number, b: number): string {
  return b === 0 ? "∞" : `${(a / b).toFixed(2)}×`;
}
