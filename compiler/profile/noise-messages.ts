/** Messages about a noisy machine. */
import { InputError } from "../spec/document/input-error.ts";
import type { Measurement } from "./latency-profile.ts";

type MeasuredCell = Measurement["cells"][number];

/** Most cells that are named; the rest are counted. */
const MOST_NAMED = 4;

export function isTooNoisy({ noise }: Measurement): boolean {
  return noiseReasons(noise).length > 0;
}

/**
 * Refuses to write a noisy profile.
 * @param files that keep the measurements.
 * @throws InputError, always.
 */
export function refuseNoise(
  out: string,
  measurement: Measurement,
  files: readonly string[],
): never {
  const named = noisyCellsText(measurement);
  throw new InputError(
    "INPUT_CONFLICT",
    `${out}: expected a machine that is quiet enough to profile, got ` +
      `${noiseReasons(measurement.noise).join("; ")}${quotaNote(measurement)}` +
      `${named === "" ? "" : `. Noisy cells: ${named}`}. The measurements are kept ` +
      `in ${files.join(" and ")}, and the same command with --force writes the profile from ` +
      "them without measuring again; without --force it measures again",
  );
}

/** Names a quota, which a container takes for waiting although its processors look idle. */
function quotaNote({ machine: { quota } }: Measurement): string {
  return quota === null ? "" : `; this process has ${quota}`;
}

/** Returns the limits that the machine exceeds; empty for a quiet machine. */
function noiseReasons(noise: Measurement["noise"]): string[] {
  const { figure, limit, waitingShare, waitingLimit, noisyCells, mostNoisyCells } = noise;
  const count = noisyCells.length;
  return [
    ...(figure > limit ? [`noise ${figure.toFixed(2)} (mean p95 ÷ p50, limit ${limit})`] : []),
    ...((waitingShare ?? 0) > waitingLimit
      ? [
          `${percentText(waitingShare ?? 0)} of the time in the worker spent waiting for a ` +
            `processor (limit ${percentText(waitingLimit)})`,
        ]
      : []),
    ...(count > mostNoisyCells
      ? [`${count} noisy ${count === 1 ? "cell" : "cells"} (limit ${mostNoisyCells})`]
      : []),
  ];
}

/** Returns lines below a profile: how noisy the machine was, and which cells are unreliable. */
export function noiseLines(measurement: Measurement, isByCores: boolean): string[] {
  const { figure, limit, waitingShare, waitingLimit, noisyCells } = measurement.noise;
  const waiting =
    waitingShare === null
      ? ""
      : `; ${percentText(waitingShare)} of the time in the worker ` +
        `${isByCores ? "on 1 core " : ""}was spent waiting for a processor ` +
        `(limit ${percentText(waitingLimit)})`;
  const noise = `noise ${figure.toFixed(2)} (mean p95 ÷ p50, limit ${limit})`;
  return [
    `${noise}${waiting}${quotaNote(measurement)}`,
    ...(noisyCells.length === 0 ? [] : [`noisy: ${noisyCellsText(measurement)}`]),
  ];
}

/** Lists the worst cells first; if no cell is noisy by itself, those with the longest tails. */
function noisyCellsText({ noise, cells }: Measurement): string {
  const own = noise.noisyCells.flatMap((index) => cells[index] ?? []);
  const shown = own.length > 0 ? own : cells.filter((cell) => cell.noise > noise.limit);
  const worst = [...shown].sort((a, b) => badness(b) - badness(a));
  const named = worst.slice(0, MOST_NAMED).map((cell) => cellText(cell));
  const others = shown.length - named.length;
  return [...named, ...(others > 0 ? [`${others} more`] : [])].join(", ");
}

function badness({ p95Interval, drift, noise }: MeasuredCell): number {
  return Math.max(p95Interval.halfWidth, drift, noise / 100);
}

function cellText(measured: MeasuredCell): string {
  const { variant, batch, cores, bucket, samples, p95Interval, drift, isNoisy, wallMs } = measured;
  const of = bucket === undefined ? "" : `of ${bucket} `;
  const on = cores === 1 ? "" : ` on ${cores} cores`;
  const cell = `${variant} ${of}batch ${batch}${on}`;
  const p95Ms = wallMs.p95 ?? wallMs.max ?? 0;
  if (!isNoisy) return `${cell} (p95 ${p95Ms.toFixed(2)} ms, p50 ${wallMs.p50.toFixed(2)} ms)`;
  const { lowMs, highMs, halfWidth } = p95Interval;
  if (drift > halfWidth) return `${cell} (its median drifted by ${percentText(drift)})`;
  const runs = samples === 1 ? "1 run" : `${samples} runs`;
  return `${cell} (p95 ${lowMs.toFixed(2)} to ${highMs.toFixed(2)} ms by ${runs})`;
}

export function percentText(share: number): string {
  return `${Math.round(100 * share)}%`;
}
