/** Two policies side by side, for people. */
import { alignColumns, percent } from "stratagem-runtime/internal/tell/text";
import type { SimulatedPair, SimulatedPolicy } from "./simulated-pair.ts";
import type { ToldPolicy, ToldShadow } from "./told-shadow.ts";

export interface ShadowTold {
  readonly told: ToldShadow;
  readonly simulated: SimulatedPair;
}

export function shadowText({ told, simulated }: ShadowTold): string {
  const { application, served, shadow, arrivals } = told;
  return [
    `${application}: ${served.policy} serves, ${shadow.policy} looks on`,
    "",
    decidedText(told),
    "",
    `Simulated, ${arrivals.count} arrivals from ${arrivals.from} to ${arrivals.to}, ` +
      `${simulated.serviceTimes === "sampled" ? "service times drawn" : "service times p95"}`,
    alignColumns([HEADS, ...simulatedRows(simulated)]),
  ].join("\n");
}

const HEADS = ["", "served", "shadow"];

function decidedText({ fault, since, served, shadow, compared }: ToldShadow): string {
  if (fault !== null) return `Decisions are not compared: ${fault}`;
  const rows = [
    ["queries", ...both(served, shadow, ({ queries }) => String(queries))],
    ["late or not answered", ...both(served, shadow, (one) => percent(one.violationRate))],
    ["accuracy in time", ...both(served, shadow, (one) => percent(one.accuracyPerSatisfied))],
    ["queries of a batch", ...both(served, shadow, ({ meanBatch }) => fixed(meanBatch, 2))],
    ["level now, qps", ...both(served, shadow, ({ levelQps }) => fixed(levelQps, 0))],
    ...variantRows(served, shadow),
  ];
  const same = `${percent(compared.sameAnswerer)} of ${compared.queries} queries`;
  return [
    `Decided since ${since}; ${same} have the same answerer under both`,
    alignColumns([HEADS, ...rows]),
  ].join("\n");
}

/** Shares of the queries that each variant is to answer. */
function variantRows(served: ToldPolicy, shadow: ToldPolicy): string[][] {
  const names = new Set([served, shadow].flatMap(({ byVariant }) => byVariant.map(nameOf)));
  return [...names].map((name) => [
    `by ${name}`,
    ...both(served, shadow, (one) => percent(shareOf(one, name))),
  ]);
}

function shareOf({ byVariant }: ToldPolicy, name: string): number | null {
  const all = byVariant.reduce((sum, { queries }) => sum + queries, 0);
  const own = byVariant.find((one) => nameOf(one) === name);
  return own === undefined || all === 0 ? null : own.queries / all;
}

function nameOf({ task, variant }: ToldPolicy["byVariant"][number]): string {
  return task === undefined ? variant : `${task}/${variant}`;
}

function simulatedRows({ served, shadow }: SimulatedPair): string[][] {
  const row = (name: string, tell: (one: SimulatedPolicy) => string) => {
    const cells = both(served, shadow, tell);
    return cells.every((cell) => cell === "-") ? [] : [[name, ...cells]];
  };
  return [
    ...row("late or not answered", (one) => percent(one.violationRate)),
    ...row("accuracy in time", (one) => percent(one.accuracyPerSatisfied)),
    ...row("p50 ms", ({ p50Ms }) => fixed(p50Ms, 1)),
    ...row("p99 ms", ({ p99Ms }) => fixed(p99Ms, 1)),
    ...row("workers in the mean", ({ servers }) => fixed(servers, 2)),
    ...row("cost per hour", ({ costPerHour }) => fixed(costPerHour, 3)),
  ];
}

function both<P>(served: P, shadow: P, tell: (one: P) => string): string[] {
  return [tell(served), tell(shadow)];
}

function fixed(value: number | null, digits: number): string {
  return value === null ? "-" : value.toFixed(digits);
}
