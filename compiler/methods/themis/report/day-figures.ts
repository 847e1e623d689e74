/** Days as curves: cores of each scaler, and missed requests, minute by minute. */
import * as Plot from "@observablehq/plot";
import { drawFigure } from "../../../report/figure.ts";
import { percentTick } from "../../../report/load-marks.ts";
import { Markup } from "../../../report/markup.ts";
import { counted, decimalText, ratioText } from "../../../report/number-text.ts";
import { type DayMinute, worstMinute } from "./days.ts";

export interface DayCurve {
  readonly scaler: string;
  readonly minutes: readonly DayMinute[];
}

/** Dash patterns that distinguish scalers without colour: the bundle's own is the widest line. */
const STROKES = [
  { strokeWidth: 2.2, strokeDasharray: "none" },
  { strokeWidth: 1.2, strokeDasharray: "7 3" },
  { strokeWidth: 1.2, strokeDasharray: "2 3" },
  { strokeWidth: 1.2, strokeDasharray: "7 3 2 3" },
] as const;

/** Style of the cores that the bundle's levels plan. */
const PLANNED = { strokeWidth: 4, strokeOpacity: 0.25 } as const;

/** Longer days have hours on the axis. */
const MOST_MINUTES = 180;

/** Cores that each scaler holds, and those that the bundle's current levels plan. */
export function drawDayCores(id: string, curves: readonly DayCurve[]): Markup {
  const [own] = curves;
  const means = curves.map(
    ({ scaler, minutes }) =>
      `${scaler} ${decimalText(
        meanOf(minutes, ({ cores }) => cores),
        1,
      )}`,
  );
  const text = {
    id: `${id}-cores`,
    title: "Cores held, minute by minute",
    description: `Mean cores: ${means.join(", ")}.`,
  };
  return drawFigure(text, {
    x: timeAxis(curves),
    y: { zero: true, label: "cores held", grid: true, ticks: 6, nice: true },
    marks: [
      line(own?.minutes ?? [], ({ plannedCores }) => plannedCores, PLANNED),
      ...lines(curves, ({ cores }) => cores),
    ],
  });
}

/** Share of the requests arriving in a minute that is late or dropped. */
export function drawDayMisses(id: string, curves: readonly DayCurve[]): Markup {
  const worst = curves.map(({ scaler, minutes }) => {
    const minute = worstMinute(minutes);
    return minute === null
      ? `${scaler} misses none`
      : `${scaler} at most ${ratioText(minute.missedShare)}, in minute ${minute.minute}`;
  });
  const most = Math.max(...curves.flatMap(({ minutes }) => minutes.map((one) => one.missedShare)));
  const text = {
    id: `${id}-misses`,
    title: "Requests that are late or dropped, minute by minute",
    description: `${worst.join("; ")}.`,
  };
  return drawFigure(text, {
    x: timeAxis(curves),
    y: {
      domain: [0, Math.max(most, 0.001)],
      label: "missed in a minute",
      grid: true,
      ticks: 5,
      tickFormat: percentTick,
      nice: true,
    },
    marks: lines(curves, ({ missedShare }) => missedShare),
  });
}

/** Requests per second, the same for all. */
export function drawDayLoad(id: string, minutes: readonly DayMinute[]): Markup {
  const rates = minutes.map(({ qps }) => qps);
  const text = {
    id: `${id}-load`,
    title: "Requests per second, minute by minute",
    description:
      `From ${decimalText(Math.min(...rates), 1)} to ${decimalText(Math.max(...rates), 1)} ` +
      `requests/s over ${counted(minutes.length, "minute")}.`,
  };
  return drawFigure(text, {
    x: timeAxis([{ scaler: "", minutes }]),
    y: { zero: true, label: "requests/s", grid: true, ticks: 5, nice: true },
    marks: [line(minutes, ({ qps }) => qps, STROKES[0])],
  });
}

/**
 * The line of a curve, for a key.
 * @param index of the scaler; null for the planned cores.
 */
export function curveSample(index: number | null): Markup {
  const { strokeWidth, ...style } = index === null ? PLANNED : strokeOf(index);
  const more = "strokeDasharray" in style ? ` stroke-dasharray="${style.strokeDasharray}"` : "";
  const opacity = "strokeOpacity" in style ? ` stroke-opacity="${style.strokeOpacity}"` : "";
  return new Markup(
    `<svg viewBox="0 0 26 10" aria-hidden="true"><path d="M0 5h26" stroke="currentColor" ` +
      `stroke-width="${strokeWidth}"${more}${opacity}/></svg>`,
  );
}

function strokeOf(index: number): (typeof STROKES)[number] {
  return STROKES[index % STROKES.length] ?? STROKES[0];
}

function lines(curves: readonly DayCurve[], of: (minute: DayMinute) => number): Plot.Markish[] {
  return curves.map(({ minutes }, index) => line(minutes, of, strokeOf(index))).toReversed();
}

/** Steps: the value of a minute holds for the whole of it. */
function line(
  minutes: readonly DayMinute[],
  of: (minute: DayMinute) => number,
  style: object,
): Plot.Markish {
  const scale = isLong(minutes) ? 60 : 1;
  return Plot.line(minutes, {
    x: ({ minute }: DayMinute) => minute / scale,
    y: of,
    stroke: "currentColor",
    curve: "step-after",
    ...style,
  });
}

function timeAxis(curves: readonly DayCurve[]): object {
  const minutes = curves[0]?.minutes ?? [];
  return { label: isLong(minutes) ? "hours" : "minutes", ticks: 7 };
}

function isLong(minutes: readonly DayMinute[]): boolean {
  return minutes.length > MOST_MINUTES;
}

function meanOf(minutes: readonly DayMinute[], of: (minute: DayMinute) => number): number {
  return minutes.reduce((sum, minute) => sum + of(minute), 0) / Math.max(1, minutes.length);
}
