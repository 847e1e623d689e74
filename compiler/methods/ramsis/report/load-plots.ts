/** Figures over the load: accuracy and violations, of the policy and of single variants. */
import * as Plot from "@observablehq/plot";
import { type RamsisBundle, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { drawFigure } from "../../../report/figure.ts";
import {
  dots,
  LABEL_GAP,
  LIMIT_STYLE,
  MAX_DOTS,
  type Point,
  percentTick,
} from "../../../report/load-marks.ts";
import type { Markup } from "../../../report/markup.ts";
import { decimalText, NEGLIGIBLE_RATIO, ratioText } from "../../../report/number-text.ts";
import type { VariantKey } from "../../../report/palette.ts";
import {
  baselineLine,
  type Label,
  type LoadEvidence,
  letterMarks,
  loadAxis,
  simulationMarks,
  type VariantLine,
} from "./evidence-marks.ts";
import type { SimulatedRun } from "./simulated-levels.ts";

interface Baseline {
  readonly key: VariantKey;
  readonly points: readonly { readonly loadQps: number; readonly run: SimulatedRun }[];
}

const BOUND_STYLE = { stroke: "currentColor", strokeDasharray: "2 3", strokeWidth: 1.2 };

/** Violation rate at which the line of a variant gets its letter. */
const LABELLED_RATE = 0.1;

export function drawAccuracy(evidence: LoadEvidence): Markup {
  const { bundle, simulations } = evidence;
  const policy = policyPoints(bundle, (level) => level.expected.accuracyPerQuery);
  const bound = policyPoints(bundle, (level) => level.expected.upperBoundAccuracy);
  const baselines = baselinesOf(evidence);
  const simulated = simulatedPoints(evidence, (run) => run.result.accuracyPerQuery);
  const besides = simulations.flatMap((one) => one.accuracyPerQuery ?? []);
  const shown = [...policy, ...simulated].map((point) => point.value);
  const domain = accuracyDomain([...shown, ...besides].filter(Number.isFinite), bound, baselines);
  const lines = baselines.map(({ key, points }) => ({
    key,
    points: points.map(({ loadQps, run }) => ({
      loadQps,
      value: run.result.accuracyPerQuery ?? 0,
    })),
  }));
  const text = {
    id: "accuracy",
    title: "Accuracy per query against load",
    description:
      `Expected accuracy of the policy goes from ${ratioText(policy[0]?.value ?? null)} at ` +
      `the lowest load to ${ratioText(policy.at(-1)?.value ?? null)} at the highest.`,
  };
  return drawFigure(text, {
    x: loadAxis(bundle, simulations),
    y: { domain, label: "accuracy per query", tickFormat: percentTick, ticks: 6, grid: true },
    marks: [
      ...baselineMarks(lines, domain),
      Plot.line(bound, { x: "loadQps", y: "value", ...BOUND_STYLE, clip: true }),
      ...policyMarks(policy),
      Plot.dot(simulated, simulatedStyle()),
      ...simulationMarks(simulations, (one) => one.accuracyPerQuery),
    ],
  });
}

export function drawViolations(evidence: LoadEvidence): Markup {
  const { bundle, simulations } = evidence;
  const shown = (rate: number): number => Math.max(rate, NEGLIGIBLE_RATIO);
  const policy = policyPoints(bundle, (level) => shown(level.expected.violationRate));
  const lines = baselinesOf(evidence).map(({ key, points }) => ({
    key,
    points: points.map(({ loadQps, run }) => ({ loadQps, value: shown(run.result.violationRate) })),
  }));
  const ceiling = violationCeiling(bundle.slo);
  const worst = Math.max(...bundle.levels.map((level) => level.expected.violationRate));
  const text = {
    id: "violations",
    title: "Violations against load",
    description:
      `The policy is expected to miss the deadline of at most ${ratioText(worst)} of the ` +
      `queries at any level; ${ratioText(ceiling)} are allowed.`,
  };
  return drawFigure(text, {
    marginLeft: 66,
    x: loadAxis(bundle, simulations),
    y: {
      type: "log",
      domain: [NEGLIGIBLE_RATIO, 1],
      label: "queries that miss the deadline",
      ticks: [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1],
      tickFormat: violationTick,
      grid: true,
    },
    marks: [
      ...lines.map(({ key, points }) => baselineLine(key, points)),
      Plot.ruleY([shown(ceiling)], LIMIT_STYLE),
      ...crossingLabels(lines, loadAxis(bundle, simulations)),
      Plot.text(["ceiling"], {
        frameAnchor: "left",
        y: () => shown(ceiling),
        dx: 3,
        dy: -7,
        fill: "var(--limit)",
      }),
      ...policyMarks(policy),
      Plot.dot(
        simulatedPoints(evidence, (run) => shown(run.result.violationRate)),
        simulatedStyle(),
      ),
      ...simulationMarks(simulations, (one) => shown(one.violationRate)),
    ],
  });
}

function policyPoints(
  { levels }: RamsisBundle,
  read: (level: RamsisBundle["levels"][number]) => number,
): Point[] {
  return levels.map((level) => ({ loadQps: level.loadQps, value: read(level) }));
}

function simulatedPoints(
  { runs }: LoadEvidence,
  read: (run: SimulatedRun) => number | null,
): Point[] {
  const policyRuns = runs.filter((run) => run.variant === null);
  const every = Math.ceil(policyRuns.length / MAX_DOTS);
  return policyRuns
    .filter((_, index) => index % every === 0)
    .map((run) => ({ loadQps: run.loadQps, value: read(run) ?? Number.NaN }));
}

/** Runs of single variants, most accurate first. */
function baselinesOf({ runs, keys }: LoadEvidence): Baseline[] {
  return [...keys]
    .sort((a, b) => (a.letter > b.letter ? -1 : 1))
    .map((key) => ({
      key,
      points: runs
        .filter((run) => run.variant === key.name)
        .map((run) => ({ loadQps: run.loadQps, run })),
    }))
    .filter(({ points }) => points.length > 0);
}

/**
 * Range of the accuracy axis: begins a little below the policy, stated and simulated, and the best
 * single variant, so that differences are visible.
 */
function accuracyDomain(
  policy: readonly number[],
  bound: readonly Point[],
  baselines: readonly Baseline[],
): [number, number] {
  const best = new Map<number, number>();
  for (const { loadQps, run } of baselines.flatMap(({ points }) => points)) {
    best.set(loadQps, Math.max(best.get(loadQps) ?? 0, run.result.accuracyPerQuery ?? 0));
  }
  const low = Math.min(...policy, ...best.values());
  const high = Math.max(...policy, ...bound.map((point) => point.value));
  const margin = Math.max(0.1 * (high - low), 0.002);
  return [Math.max(0, low - margin), Math.min(1, high + margin)];
}

function policyMarks(points: readonly Point[]): Plot.Markish[] {
  return [
    Plot.line(points, { x: "loadQps", y: "value", stroke: "currentColor", strokeWidth: 2.4 }),
    dots(points, 2.6),
  ];
}

function simulatedStyle(): Plot.DotOptions {
  return {
    x: "loadQps",
    y: "value",
    r: 5,
    stroke: "currentColor",
    strokeWidth: 1.1,
    clip: true,
  };
}

/**
 * Lines of single variants, each with its letter at the left end; letters that would collide are
 * moved apart.
 */
function baselineMarks(
  lines: readonly VariantLine[],
  [low, high]: readonly [number, number],
): Plot.Markish[] {
  const gap = LABEL_GAP * (high - low);
  let above = Number.POSITIVE_INFINITY;
  const labels: Label[] = [];
  for (const { key, points } of lines) {
    const at = points.find((point) => point.value >= low);
    if (at === undefined) continue;
    const y = Math.min(at.value, above - gap);
    above = y;
    if (y >= low) labels.push({ key, loadQps: at.loadQps, value: y });
  }
  return [...lines.map(({ key, points }) => baselineLine(key, points)), ...letterMarks(labels, -9)];
}

/**
 * Letters where the lines of single variants cross a rate, moved to the right if they would
 * collide.
 */
function crossingLabels(
  lines: readonly VariantLine[],
  { domain }: Plot.ScaleOptions,
): Plot.Markish[] {
  const [, end = 1] = [...(domain ?? [])] as number[];
  const crossings = lines.flatMap(({ key, points }) => {
    const index = points.findIndex((point) => point.value >= LABELLED_RATE);
    const to = points[index];
    if (to === undefined) return [];
    const from = points[index - 1] ?? to;
    const rise = Math.log(to.value / from.value);
    const share = rise > 0 ? Math.log(LABELLED_RATE / from.value) / rise : 0;
    return [{ key, loadQps: from.loadQps + share * (to.loadQps - from.loadQps) }];
  });
  let left = Number.NEGATIVE_INFINITY;
  const labels = crossings
    .sort((a, b) => a.loadQps - b.loadQps)
    .map(({ key, loadQps }) => {
      left = Math.max(loadQps, left + 0.72 * LABEL_GAP * end);
      return { key, loadQps: left, value: LABELLED_RATE };
    });
  return letterMarks(labels, 0);
}

function violationTick(rate: number): string {
  return rate <= NEGLIGIBLE_RATIO ? "≤0.0001%" : `${decimalText(100 * rate, 4)}%`;
}
