/** Shares of the variants in a task's rows over the last five minutes. */
import type { LiveApplication } from "../live.ts";
import { label, type Time, timeOf, times, xAt, yAt } from "./chart.ts";
import { variantStyles } from "./colours.ts";
import { drawn } from "./dom.ts";
import { Figure, FRAME } from "./figure.ts";
import type { Drawn } from "./load-figures.ts";
import { ratioText } from "./numbers.ts";
import type { Moment } from "./trends.ts";

export function shareFigure(task: string, isOnlyTask: boolean): Drawn {
  const heading = isOnlyTask ? "Share of variants" : `Share of variants: ${task}`;
  const figure = new Figure(heading, "Rows by the variant that ran them, over ten seconds.");
  return {
    figure,
    update: (application, moments) => {
      const own = ownVariants(application, task);
      const shares = moments.at(-1)?.measures.shares ?? [];
      figure.key(
        [...own].reverse().map(({ index, name, style }) => {
          return { name: `${name} ${ratioText(shares[index] ?? null)}`, style, isArea: true };
        }),
      );
      const time = timeOf(moments);
      const scale = { ...time, least: 0, most: 1 };
      const axis = [0, 0.5, 1].map((value) =>
        label(FRAME.left - 6, yAt(value, scale) + 4, `${100 * value}%`, "end"),
      );
      const texts = own.map(({ index, name }) => `${name} ${ratioText(shares[index] ?? null)}`);
      figure.show(
        [...areas(own, moments, time), ...axis, ...times(time)],
        `Now ${texts.join(", ")}.`,
      );
    },
  };
}

interface OwnVariant {
  readonly index: number;
  readonly name: string;
  readonly style: string;
}

/** Variants of a task in the order of accuracy. */
function ownVariants({ variants }: LiveApplication, task: string): OwnVariant[] {
  const styles = variantStyles(variants);
  return variants
    .map(({ name, accuracy, task: its }, index) => {
      return { index, name, accuracy: accuracy ?? 0, its, style: styles[index] ?? "" };
    })
    .filter(({ its }) => its === task)
    .sort((one, other) => one.accuracy - other.accuracy || one.index - other.index);
}

/** Draws a stacked bar for each second. */
function areas(own: readonly OwnVariant[], moments: readonly Moment[], time: Time): SVGElement[] {
  const scale = { ...time, least: 0, most: 1 };
  const paths = own.map(() => "");
  for (const [place, { atMs, measures }] of moments.entries()) {
    const right = xAt(atMs, time);
    const before = moments[place - 1]?.atMs ?? atMs - 1000;
    const left = xAt(Math.max(before, atMs - 5000), time);
    let sum = 0;
    for (const [part, { index }] of own.entries()) {
      const share = measures.shares[index] ?? 0;
      if (share === 0) continue;
      const [low, high] = [yAt(sum, scale), yAt(sum + share, scale)];
      const width = (right - left + 0.2).toFixed(2);
      const height = (low - high).toFixed(2);
      paths[part] += `M${left.toFixed(2)} ${high.toFixed(2)}h${width}v${height}h-${width}z`;
      sum += share;
    }
  }
  return own.map(({ style }, part) =>
    drawn("path", { class: `area ${style}`, d: paths[part] ?? "" }),
  );
}
