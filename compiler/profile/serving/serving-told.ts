/** What people are told of a serving path that was measured. */
import type { Spread } from "stratagem-runtime/internal/bundle/schema";
import { InputError } from "../../spec/document/input-error.ts";
import { percentText } from "../noise-told.ts";
import { disturbance, type PathWindow } from "./path-window.ts";
import type { PathSamples, ServingRows } from "./serving-rows.ts";
import { meanOf } from "./spread.ts";

/** Part of the processors that others may take on the average before rows are refused. */
const MOST_DISTURBED = 0.15;

/** What of the machine others took while the path was measured. */
function disturbedShare({ single, many }: Pick<PathSamples, "single" | "many">): number {
  return meanOf([...single, ...many].map(({ machine }) => disturbance(machine)));
}

/** @throws InputError for a machine that others kept too busy. */
export function refuseDisturbed(into: string, samples: Pick<PathSamples, "single" | "many">): void {
  const share = disturbedShare(samples);
  if (share <= MOST_DISTURBED) return;
  throw new InputError(
    "INPUT_CONFLICT",
    `${into}: expected a machine that is quiet enough to measure the serving path, got ` +
      `${percentText(share)} of its processors taken by others (limit ` +
      `${percentText(MOST_DISTURBED)}), ${splitText([...samples.single, ...samples.many])}. ` +
      "The profile is as it was: the same command measures again, and --force writes the rows " +
      "however noisy it is",
  );
}

function splitText(windows: readonly PathWindow[]): string {
  const part = (of: "steal" | "neighbours") =>
    percentText(meanOf(windows.map(({ machine }) => machine[of] ?? 0)));
  return `${part("steal")} by the hypervisor and ${part("neighbours")} by other processes`;
}

/** Lines under a profile. */
export function servingLines(rows: ServingRows, samples: PathSamples): string[] {
  const windows = [...samples.single, ...samples.many];
  const isKnown = windows.some(({ machine }) => machine.steal !== null);
  return [
    `serving path, ms p50/p95/p99: request ${told(rows.requestMs)}, batch ${told(rows.batchMs)}, ` +
      `answer ${told(rows.answerMs)}, wake ${told(rows.wakeMs)}, wire ${told(rows.wireMs)}`,
    `each MiB more takes ${(rows.perMiBMs ?? 0).toFixed(2)} ms; with 1 to ` +
      `${rows.contention.length} workers busy at once, on ${rows.processors} processors, runs ` +
      `take ${rows.contention.map((factor) => factor.toFixed(2)).join(", ")} times as long`,
    isKnown
      ? `meanwhile others took ${percentText(disturbedShare(samples))} of the processors, ` +
        `${splitText(windows)}; the client took ${(rows.generatorShare ?? 0).toFixed(2)} of one`
      : "this system does not tell what others take of its processors: that was not checked",
  ];
}

function told({ p50, p95, p99 }: Spread): string {
  return [p50, p95, p99].map((ms) => ms.toFixed(2)).join("/");
}
