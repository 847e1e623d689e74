/** Median latency and accuracy of policies with other prices of latency, at one load. */
import * as Plot from "@observablehq/plot";
import type { RamsisBundle, RamsisLevel } from "stratagem-runtime/internal/bundle/schema";
import type { RamsisFrame } from "../../../model/frames.ts";
import { drawFigure } from "../../../report/figure.ts";
import { html, type Markup } from "../../../report/markup.ts";
import { decimalText, ratioText } from "../../../report/number-text.ts";
import { headRow } from "../../../report/table-row.ts";

/** Prices to solve for, in addition to the bundle's own, in accuracy per SLO of mean latency. */
const PRICES = [0.003, 0.01, 0.03] as const;

export interface LatencyFrontier {
  readonly loadQps: number;
  /** The bundle's own policy, then those of higher prices. */
  readonly points: readonly LatencyPoint[];
}

interface LatencyPoint {
  /** Null for the policy of the bundle. */
  readonly price: number | null;
  readonly accuracyPerQuery: number;
  readonly p50: number;
  readonly p99: number;
}

/** The prices that a bundle's load is solved for. */
export function latencyPrices({ policy }: RamsisBundle): number[] {
  const { latencyPrice = 0, objective } = policy;
  return objective === "per-decision" ? [] : PRICES.filter((price) => price > latencyPrice);
}

/**
 * Solves one load again with higher prices of latency; null if the bundle states no latencies.
 * @param solve `Solver.solveLevel`, in any process.
 */
export async function traceLatencies(
  bundle: RamsisBundle,
  loadQps: number,
  solve: (frame: RamsisFrame, loadQps: number) => Promise<RamsisLevel>,
): Promise<LatencyFrontier | null> {
  const { levels, provenance: _, ...frame } = bundle;
  const own = levels.find((level) => level.loadQps === loadQps);
  if (own?.expected.latencyMs === undefined) return null;
  const points = pointsOf(null, own);
  for (const latencyPrice of latencyPrices(bundle)) {
    const policy = { ...frame.policy, latencyPrice };
    points.push(...pointsOf(latencyPrice, await solve({ ...frame, policy }, loadQps)));
  }
  return { loadQps, points };
}

function pointsOf(price: number | null, { expected }: RamsisLevel): LatencyPoint[] {
  const { accuracyPerQuery, latencyMs } = expected;
  if (latencyMs === undefined) return [];
  return [{ price, accuracyPerQuery, p50: latencyMs.p50, p99: latencyMs.p99 }];
}

export function latencyFrontierSection(frontier: LatencyFrontier): Markup {
  const { loadQps, points } = frontier;
  return html`<p>At ${decimalText(loadQps)} queries/s, solved again with other prices of latency:
the latency and the accuracy of the policy that the solver finds for each.</p>
<div class="figures">
<figure>${drawLatencies(frontier)}</figure>
<div class="scroll"><table>
<thead>${headRow(["policy.latencyPrice", "p50, ms", "p99, ms", "accuracy per query"])}</thead>
<tbody>${points.map(
    ({ price, accuracyPerQuery, p50, p99 }) =>
      html`<tr${price === null ? html` class="own"` : ""}><td>${priceText(price)}</td>
<td>${decimalText(p50, 1)}</td><td>${decimalText(p99, 1)}</td><td>${ratioText(
        accuracyPerQuery,
      )}</td></tr>`,
  )}</tbody></table></div>
</div>`;
}

function priceText(price: number | null): string {
  return price === null ? "this bundle" : String(price);
}

function drawLatencies({ loadQps, points }: LatencyFrontier): Markup {
  const shown = [...points].sort((a, b) => a.p50 - b.p50);
  const accuracies = shown.map((point) => point.accuracyPerQuery);
  const [low, high] = [Math.min(...accuracies), Math.max(...accuracies)];
  const margin = Math.max(0.15 * (high - low), 0.0005);
  return drawFigure(
    {
      id: "latency-frontier",
      title: `Accuracy against median latency at ${decimalText(loadQps)} queries/s`,
      description:
        `Accuracy per query goes from ${ratioText(low)} to ${ratioText(high)} as the price of ` +
        "latency moves.",
    },
    {
      x: { domain: [0, 1.1 * (shown.at(-1)?.p50 ?? 1)], label: "p50, ms", grid: true },
      y: {
        domain: [low - margin, high + margin],
        label: "accuracy per query",
        ticks: 6,
        tickFormat: (ratio: number) => ratioText(ratio),
        grid: true,
      },
      marks: [
        Plot.line(shown, { x: "p50", y: "accuracyPerQuery", stroke: "currentColor" }),
        Plot.dot(shown, {
          x: "p50",
          y: "accuracyPerQuery",
          r: ({ price }: LatencyPoint) => (price === null ? 5 : 3),
          fill: "var(--accent)",
          title: ({ price }: LatencyPoint) => `price of latency: ${priceText(price)}`,
        }),
      ],
      r: { type: "identity" },
    },
  );
}
