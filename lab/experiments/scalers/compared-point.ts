/** Our replicas beside those of the autoscalers that people run, on the same requests. */
import type { ScalerSetting } from "stratagem/internal/simulate/graph/scalers/scaler-settings";
import { settingParameters } from "stratagem/internal/simulate/graph/scalers/scaler-settings";
import type { ScalerName } from "stratagem/internal/simulate/graph/scalers/scalers";
import { SCALER_NAMES } from "stratagem/internal/simulate/graph/scalers/scalers";
import type {
  PlannedSetting,
  TriedSetting,
} from "stratagem/internal/simulate/graph/scalers/tune-scaler";
import { percent } from "../harness/numbers.ts";
import type { Page } from "../harness/page.ts";

/** What became of the requests of a point. */
export interface Served {
  /** Money per hour or cores, mean over the time. */
  readonly cost: number;
  readonly violationRate: number;
  /** Violations of the minute with the most of its requests. */
  readonly worstMinute: number;
}

/** Requests, and whoever may serve them. */
export interface ComparedPoint {
  readonly name: string;
  readonly about: string;
  readonly unit: string;
  readonly ceiling: number;
  /** Others of ours, to see what these are worth. */
  readonly ours: readonly { readonly who: string; serve(): Served }[];
  shipped(name: ScalerName): PlannedSetting;
  /** All that hindsight tries for a ceiling, on the requests or on a part of them. */
  tried(name: ScalerName, ceiling: number): readonly TriedSetting[];
  /** On all requests. */
  serve(name: ScalerName, planned: PlannedSetting): Served;
  /** Of the best that were tried so many are served all requests. */
  readonly finalists: number;
}

/** What an autoscaler came to. */
interface Peer {
  readonly name: ScalerName;
  readonly shipped: Served;
  readonly tuned: Served;
  readonly setting: ScalerSetting;
  /** The cheapest that violates no more often than ours; null where none is. */
  readonly within: Served | null;
}

export interface Verdict {
  readonly point: string;
  /** Autoscalers that have a setting which is no dearer and violates no more often. */
  readonly lost: readonly string[];
  /** Those, as shipped or tuned, that are cheaper but violate more often. */
  readonly cheaper: readonly string[];
}

/** Prints a point. @param names of the autoscalers to compare with. */
export function tellPoint(
  page: Page,
  point: ComparedPoint,
  names: readonly ScalerName[] = SCALER_NAMES,
): Verdict {
  const own = point.ours.map(({ who, serve }) => ({ who, served: serve() }));
  const [first] = own;
  if (first === undefined) throw new RangeError("a point has ours");
  const peers = names.map((name) => peerOf(point, name, first.served));
  page.say(`\n${point.name}: ${point.about}`);
  page.table(
    ["", point.unit, "misses", "worst minute", "tuned", "misses", "worst minute", "at no more"],
    [
      ...own.map(({ who, served }) => [who, ...cells(served), "", "", "", ""]),
      ...peers.map(({ name, shipped, tuned, within }) => [
        name,
        ...cells(shipped),
        ...cells(tuned),
        within === null ? "none" : within.cost.toFixed(3),
      ]),
    ],
  );
  for (const { name, setting } of peers) {
    const pairs = Object.entries(settingParameters(setting)).map(
      ([key, value]) => `${key} ${value}`,
    );
    page.say(`  ${name} tuned: ${pairs.join(", ")}`);
  }
  return verdictOf(point, first.served, peers);
}

/** Says what was lost, point by point. */
export function tellVerdicts(page: Page, verdicts: readonly Verdict[]): void {
  const lost = verdicts.filter((one) => one.lost.length > 0);
  const cheaper = verdicts.filter((one) => one.cheaper.length > 0);
  page.say(`\n${verdicts.length} points; lost to a setting of an autoscaler: ${lost.length}`);
  for (const { point, lost: names } of lost) page.say(`  ${point}: ${names.join(", ")}`);
  page.say(`cheaper than ours, with more misses, as shipped or tuned: ${cheaper.length}`);
  for (const { point, cheaper: names } of cheaper) page.say(`  ${point}: ${names.join(", ")}`);
}

function peerOf(point: ComparedPoint, name: ScalerName, ours: Served): Peer {
  const best = bestOf(point, name, point.ceiling);
  const quiet = bestOf(point, name, ours.violationRate);
  const shipped = point.serve(name, point.shipped(name));
  const all = [shipped, best.served, quiet.served];
  const [within = null] = all
    .filter(({ violationRate }) => violationRate <= ours.violationRate)
    .sort((a, b) => a.cost - b.cost);
  return { name, shipped, tuned: best.served, setting: best.setting, within };
}

/** Of what hindsight tries, the cheapest within a ceiling, by all requests. */
function bestOf(
  point: ComparedPoint,
  name: ScalerName,
  ceiling: number,
): { readonly setting: ScalerSetting; readonly served: Served } {
  const excess = ({ violationRate }: Served) => Math.max(0, violationRate - ceiling);
  const [best] = point
    .tried(name, ceiling)
    .slice(0, point.finalists)
    .map(({ plan, setting }) => ({ setting, served: point.serve(name, { plan, setting }) }))
    .sort(({ served: a }, { served: b }) => excess(a) - excess(b) || a.cost - b.cost);
  if (best === undefined) throw new RangeError("something was tried");
  return best;
}

function verdictOf(
  { name: point, unit }: ComparedPoint,
  ours: Served,
  peers: readonly Peer[],
): Verdict {
  const text = (name: string, { cost, violationRate }: Served) =>
    `${name} ${cost.toFixed(3)} ${unit} at ${percent(violationRate, 3)} (ours ` +
    `${ours.cost.toFixed(3)} at ${percent(ours.violationRate, 3)})`;
  const lost = peers.flatMap(({ name, within }) =>
    within !== null && within.cost <= ours.cost ? [text(name, within)] : [],
  );
  const isCheaper = ({ cost, violationRate }: Served) =>
    cost < ours.cost && violationRate > ours.violationRate;
  const cheaper = peers.flatMap(({ name, shipped, tuned }) => [
    ...(isCheaper(shipped) ? [text(`${name} as shipped`, shipped)] : []),
    ...(isCheaper(tuned) ? [text(`${name} tuned`, tuned)] : []),
  ]);
  return { point, lost, cheaper };
}

function cells({ cost, violationRate, worstMinute }: Served): string[] {
  return [cost.toFixed(3), percent(violationRate, 3), percent(worstMinute, 1)];
}
