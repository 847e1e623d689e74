/** Servers of each level, and how many of them load another model when the level changes. */
import * as Plot from "@observablehq/plot";
import type { LokiBundle } from "stratagem-runtime/internal/bundle/schema";
import { drawFigure } from "../../../report/figure.ts";
import { levelBand } from "../../../report/kit/load-axis.ts";
import { type LevelBar, rangeOf, stackedBars } from "../../../report/kit/plan-figures.ts";
import type { PipelineVariantKey } from "../../../report/kit/variant-keys.ts";
import { MAX_LETTERED, wholeAxis } from "../../../report/kit/whole-axis.ts";
import type { Markup } from "../../../report/markup.ts";
import { decimalText } from "../../../report/number-text.ts";

export function serverCount({ cluster }: LokiBundle): number {
  return cluster.pools.reduce((sum, { workers }) => sum + workers, 0);
}

/** One bar per level, stacked by task and variant in the order of the keys. */
export function drawServers(bundle: LokiBundle, keys: readonly PipelineVariantKey[]): Markup {
  const bars = serverBars(bundle, keys);
  const total = serverCount(bundle);
  const text = {
    id: "servers",
    title: "Servers by task and variant at every load",
    description: bundle.tasks
      .map(({ name }, task) => `${name} takes ${serverRange(bars, bundle, task)} servers`)
      .join(", ")
      .concat("."),
  };
  const stacked = stackedBars(bundle.levels, bars, total, "servers");
  const shed = stacked.isLettered ? bundle.levels.filter(({ feasible }) => !feasible) : [];
  return drawFigure(text, {
    ...stacked.options,
    marks: [
      ...stacked.marks,
      Plot.ruleY([total], { stroke: "currentColor", strokeOpacity: 0.5 }),
      Plot.text(shed, {
        x: "loadQps",
        y: () => total,
        dy: -7,
        text: () => "shed",
        fill: "var(--limit)",
      }),
    ],
  });
}

function serverBars(bundle: LokiBundle, keys: readonly PipelineVariantKey[]): LevelBar[] {
  const total = serverCount(bundle);
  return bundle.levels.flatMap(({ loadQps, feasible, plan }) =>
    keys.flatMap((key) => {
      const servers = plan.instances
        .filter(({ task, variant }) => task === key.task && variant === key.variant)
        .reduce((sum, { replicas }) => sum + replicas, 0);
      const title =
        `${key.taskName} ${key.name}: ${servers} of ${total} servers at ` +
        `${decimalText(loadQps, 2)} requests/s`;
      return servers === 0 ? [] : [{ loadQps, key, value: servers, feasible, title }];
    }),
  );
}

function serverRange(bars: readonly LevelBar[], { levels }: LokiBundle, task: number): string {
  const counts = levels.map(({ loadQps }) =>
    bars
      .filter((bar) => bar.key.task === task && bar.loadQps === loadQps)
      .reduce((sum, { value }) => sum + value, 0),
  );
  return rangeOf(counts);
}

/**
 * Model loads of a change up above the axis, of a change down below it. Null if no change loads a
 * model.
 */
export function drawTransitions({ levels }: LokiBundle): Markup | null {
  const changes = levels.slice(1).map(({ loadQps, transition }, index) => ({
    loadQps,
    fromQps: levels[index]?.loadQps ?? 0,
    up: transition.modelLoadsFromBelow ?? 0,
    down: levels[index]?.transition.modelLoadsFromAbove ?? 0,
  }));
  const most = Math.max(0, ...changes.flatMap(({ up, down }) => [up, down]));
  if (most === 0) return null;
  const bars = changes.flatMap(({ loadQps, fromQps, up, down }) => [
    { loadQps, loads: up, text: `up from ${decimalText(fromQps, 2)}: ${loadsText(up)}` },
    { loadQps, loads: -down, text: `down to ${decimalText(fromQps, 2)}: ${loadsText(down)}` },
  ]);
  const isNumbered = changes.length <= MAX_LETTERED;
  const text = {
    id: "transitions",
    title: "Model loads of a change of level",
    description: `A change between neighbouring levels makes ${most} servers at most load a model.`,
  };
  return drawFigure(text, {
    x: levelBand(
      changes.map(({ loadQps }) => loadQps),
      "load of the upper level, requests/s",
    ),
    y: {
      domain: [-1.2 * most, 1.2 * most],
      label: "model loads",
      ...wholeAxis(-most, most),
    },
    marks: [
      Plot.barY(bars, {
        x: "loadQps",
        y: "loads",
        fill: "currentColor",
        fillOpacity: (bar) => (bar.loads > 0 ? 0.75 : 0.4),
        title: "text",
      }),
      Plot.ruleY([0], { stroke: "currentColor" }),
      ...numbers(isNumbered ? bars.filter(({ loads }) => loads > 0) : [], -7),
      ...numbers(isNumbered ? bars.filter(({ loads }) => loads < 0) : [], 8),
      Plot.text(["up"], { frameAnchor: "top-right", dx: -3, dy: 3, fillOpacity: 0.75 }),
      Plot.text(["down"], { frameAnchor: "bottom-right", dx: -3, dy: -3, fillOpacity: 0.75 }),
    ],
  });
}

function loadsText(count: number): string {
  return `${count} model ${count === 1 ? "load" : "loads"}`;
}

function numbers(
  bars: readonly { readonly loadQps: number; readonly loads: number }[],
  dy: number,
): Plot.Markish[] {
  const text = bars.map(({ loads }) => String(Math.abs(loads)));
  return [Plot.text(bars, { x: "loadQps", y: "loads", dy, text })];
}
