/** Effect of a tighter or looser ceiling on violations, at one load. */
import * as Plot from "@observablehq/plot";
import {
  type RamsisBundle,
  type RamsisLevel,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import type { RamsisFrame } from "../../../model/frames.ts";
import { drawFigure } from "../../../report/figure.ts";
import { html, type Markup } from "../../../report/markup.ts";
import { decimalText, NEGLIGIBLE_RATIO, ratioText } from "../../../report/number-text.ts";
import { headRow } from "../../../report/table-row.ts";

/** Ceilings to solve for, in addition to the bundle's own. */
const CEILINGS = [0.1, 0.01, 0.001, 1e-4] as const;
const DECADES = [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1] as const;
/** Outcomes closer than this are the same policy. */
const SAME = 1e-9;

export interface Frontier {
  readonly loadQps: number;
  /** Descending ceilings. */
  readonly points: readonly FrontierPoint[];
}

interface FrontierPoint {
  readonly ceiling: number;
  /** Whether this is the ceiling that the bundle was compiled with. */
  readonly own: boolean;
  readonly feasible: boolean;
  readonly accuracyPerQuery: number;
  readonly violationRate: number;
}

/** The ceilings that a frontier is solved for, descending. */
export function frontierCeilings({ slo }: RamsisBundle): number[] {
  const ceilings = new Set<number>([violationCeiling(slo), ...CEILINGS]);
  return [...ceilings].sort((a, b) => b - a);
}

/**
 * Solves one load again under every ceiling.
 * @param solve `Solver.solveLevel`, in any process.
 */
export async function traceFrontier(
  bundle: RamsisBundle,
  loadQps: number,
  solve: (frame: RamsisFrame, loadQps: number) => Promise<RamsisLevel>,
): Promise<Frontier> {
  const { levels: _, provenance: __, ...frame } = bundle;
  const points: FrontierPoint[] = [];
  for (const ceiling of frontierCeilings(bundle)) {
    const own = ceiling === violationCeiling(bundle.slo);
    const looser = points.at(-1);
    // A policy that is best under a looser ceiling and keeps this one is best under this one.
    if (looser?.feasible && looser.violationRate <= ceiling) {
      points.push({ ...looser, ceiling, own });
      continue;
    }
    const slo = { ...frame.slo, maxViolationRate: ceiling };
    const { feasible, expected } = own
      ? levelAt(bundle, loadQps)
      : await solve({ ...frame, slo }, loadQps);
    const { accuracyPerQuery, violationRate } = expected;
    points.push({ ceiling, own, feasible, accuracyPerQuery, violationRate });
  }
  return { loadQps, points };
}

function levelAt({ levels }: RamsisBundle, loadQps: number): RamsisLevel {
  const level = levels.find((one) => one.loadQps === loadQps);
  if (level === undefined) throw new RangeError("no level at the load of the frontier");
  return level;
}

/** The default load to trace: the highest feasible one. */
export function frontierLoadQps({ levels }: RamsisBundle): number | null {
  return levels.findLast((level) => level.feasible)?.loadQps ?? null;
}

/** Figure and table, or the sentence that explains why they are missing. */
export function frontierSection(frontier: Frontier): Markup {
  const { loadQps, points } = frontier;
  const load = `${decimalText(loadQps)} queries/s`;
  const [first] = points;
  if (first === undefined || points.every((point) => isSame(point, first))) {
    return html`<p>${unchangedText(load, points)}</p>`;
  }
  return html`<p>At ${load}, solved again with other ceilings: the late queries and the accuracy of
the policy that the solver finds for each.</p>
<div class="figures">
<figure>${drawFrontier(frontier)}</figure>
<div class="scroll"><table>
<thead>${headRow(["ceiling", "violations", "accuracy per query", "feasible"])}</thead>
<tbody>${points.map(
    (point) =>
      html`<tr${point.own ? html` class="own"` : ""}><td>${ratioText(point.ceiling)}${
        point.own ? " (this bundle)" : ""
      }</td><td>${ratioText(point.violationRate)}</td>
<td>${ratioText(point.accuracyPerQuery)}</td><td>${point.feasible ? "yes" : "no"}</td></tr>`,
  )}</tbody></table></div>
</div>`;
}

/** Explains why there is nothing to draw. */
function unchangedText(load: string, points: readonly FrontierPoint[]): string {
  const [loosest] = points;
  const tightest = points.at(-1);
  if (loosest === undefined || tightest === undefined) return "No ceilings were tried.";
  const [loose, tight] = [loosest, tightest].map(({ ceiling }) => ratioText(ceiling));
  const range = `from ${loose} down to ${tight}`;
  const same = `At ${load} the figures are the same for every ceiling ${range}`;
  const rate = ratioText(tightest.violationRate);
  return tightest.violationRate <= tightest.ceiling
    ? `${same}: ${rate} of the queries are expected to be late, which all of them allow.`
    : `${same}, although ${rate} of the queries are expected to be late: ` +
        "the solver finds no policy with fewer.";
}

function isSame(a: FrontierPoint, b: FrontierPoint): boolean {
  return (
    Math.abs(a.accuracyPerQuery - b.accuracyPerQuery) <= SAME &&
    Math.abs(a.violationRate - b.violationRate) <= SAME
  );
}

function drawFrontier({ loadQps, points }: Frontier): Markup {
  const shown = points.map((point) => ({
    ...point,
    x: Math.max(point.violationRate, NEGLIGIBLE_RATIO),
  }));
  const xs = shown.map((point) => point.x);
  const ys = shown.map((point) => point.accuracyPerQuery);
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  const domain = [Math.min(...xs) / 2, Math.max(...xs) * 2] as const;
  const margin = Math.max(0.15 * (high - low), 0.0005);
  return drawFigure(
    {
      id: "frontier",
      title: `Accuracy against violations at ${decimalText(loadQps)} queries/s`,
      description:
        `Accuracy per query goes from ${ratioText(low)} to ${ratioText(high)} as the ceiling ` +
        "on violations moves.",
    },
    {
      x: {
        type: "log",
        domain,
        label: "queries that miss the deadline",
        ticks: DECADES.filter((rate) => rate >= domain[0] && rate <= domain[1]),
        tickFormat: (rate: number) => ratioText(rate),
        grid: true,
      },
      y: {
        domain: [low - margin, high + margin],
        label: "accuracy per query",
        ticks: 6,
        tickFormat: (ratio: number) => ratioText(ratio),
        grid: true,
      },
      marks: [
        Plot.line(shown, { x: "x", y: "accuracyPerQuery", stroke: "currentColor" }),
        Plot.dot(shown, {
          x: "x",
          y: "accuracyPerQuery",
          r: (point: (typeof shown)[number]) => (point.own ? 5 : 3),
          fill: "var(--accent)",
          title: (point: (typeof shown)[number]) => `ceiling ${ratioText(point.ceiling)}`,
        }),
      ],
      r: { type: "identity" },
    },
  );
}
