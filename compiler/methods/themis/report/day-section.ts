/** Days in a report: each trace under the bundle's scaler and those of the papers. */
import { type ThemisBundle, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { captionedFigure } from "../../../report/captioned-figure.ts";
import { figureGrid } from "../../../report/figure-grid.ts";
import { limited } from "../../../report/kit/limited-cell.ts";
import { html, type Markup } from "../../../report/markup.ts";
import { counted, decimalText, ratioText } from "../../../report/number-text.ts";
import { headRow } from "../../../report/table-row.ts";
import {
  curveSample,
  type DayCurve,
  drawDayCores,
  drawDayLoad,
  drawDayMisses,
} from "./day-figures.ts";
import { minutesOf, type ScaledDay, type ScaledRun, worstMinute } from "./days.ts";

export function daySection(bundle: ThemisBundle, days: readonly ScaledDay[]): Markup {
  return html`${days.map((day, index) => dayPart(bundle, day, `day-${index}`))}`;
}

function dayPart(bundle: ThemisBundle, { name, runs }: ScaledDay, id: string): Markup {
  const curves = runs.map((run): DayCurve => ({ scaler: run.scaler, minutes: minutesOf(run) }));
  const figures = [
    captionedFigure("Load", drawDayLoad(id, curves[0]?.minutes ?? []), "Means over minutes."),
    captionedFigure(
      "Cores",
      html`${curveKey(curves)}${drawDayCores(id, curves)}`,
      "Held in the mean over each minute; the broad line is what the levels plan that the bundle " +
        "is at: what is above it comes up, goes, or meets a burst.",
    ),
    captionedFigure(
      "Misses",
      drawDayMisses(id, curves),
      "Late or dropped, of the requests that came in the minute.",
    ),
  ];
  return html`<div id="${id}"><h3>${name}</h3><p class="note">${counted(
    runs[0]?.result.queries ?? 0,
    "request",
  )} in ${counted(curves[0]?.minutes.length ?? 0, "minute")}, the same for all
scalers.</p>${dayTable(bundle, runs, curves)}${figureGrid(figures)}</div>\n`;
}

function curveKey(curves: readonly DayCurve[]): Markup {
  return html`<ul class="key">${curves.map(
    ({ scaler }, index) => html`<li>${curveSample(index)}${scaler}</li>\n`,
  )}<li>${curveSample(null)}planned by the bundle</li></ul>`;
}

/** One row for each scaler. */
function dayTable(
  bundle: ThemisBundle,
  runs: readonly ScaledRun[],
  curves: readonly DayCurve[],
): Markup {
  const ceiling = violationCeiling(bundle.slo);
  const hasCost = runs.some(({ result }) => result.costPerHour !== undefined);
  const rows = runs.map(({ scaler, result }, index) => {
    const minutes = curves[index]?.minutes ?? [];
    const worst = worstMinute(minutes);
    const planned = minutes.reduce((sum, one) => sum + one.plannedCores, 0) / minutes.length;
    const cost = hasCost ? html`<td>${decimalText(result.costPerHour ?? 0, 4)}</td>` : "";
    return html`<tr${index === 0 ? html` class="own"` : ""}><td>${scaler}</td>
<td>${decimalText(result.cores.mean, 2)}</td><td>${decimalText(planned, 2)}</td>
<td>${decimalText(result.cores.max)}</td>${cost}${limited(
      result.violationRate > ceiling,
      ratioText(result.violationRate),
    )}<td>${ratioText(worst?.missedShare ?? 0)}</td>
<td>${worst === null ? "–" : String(worst.minute)}</td>
<td>${decimalText(result.planSwitches)}</td></tr>\n`;
  });
  return html`<div class="scroll" role="region" aria-label="scalers of a day" tabindex="0"><table
class="day-table"><thead>${headRow([
    "scaler",
    "cores, mean",
    "planned, mean",
    "cores, most",
    ...(hasCost ? ["cost/hour"] : []),
    "missed",
    "worst minute",
    "which",
    "changes of level",
  ])}</thead><tbody>${rows}</tbody></table></div>`;
}
