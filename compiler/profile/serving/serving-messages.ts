/** Messages about a measured serving path. */
import type { Spread } from "stratagem-runtime/internal/bundle/schema";
import { InputError } from "../../spec/document/input-error.ts";
import { percentText } from "../noise-messages.ts";
import { disturbance, type PathWindow } from "./path-window.ts";
import type { PathSamples, ServingRows } from "./serving-rows.ts";
import { meanOf } from "./spread.ts";

/** Mean share of the processors used by others above which the rows are refused. */
const MOST_DISTURBED = 0.15;

/** Share of the machine used by others during the measurement. */
function disturbedShare({ single, many }: Pick<PathSamples, "single" | "many">): number {
  return meanOf([...single, ...many].map(({ machine }) => disturbance(machine)));
}

/** @throws InputError if others used too much of the machine. */
export function refuseDisturbed(into: string, samples: Pick<PathSamples, "single" | "many">): void {
  const share = disturbedShare(samples);
  if (share <= MOST_DISTURBED) return;
  throw new InputError(
    "INPUT_CONFLICT",
    `${into}: expected a machine that is quiet enough to measure the serving path, got ` +
      `${percentText(share)} of its processors used by others (limit ` +
      `${percentText(MOST_DISTURBED)}), ${splitText([...samples.single, ...samples.many])}. ` +
      "The profile is unchanged: run the command again, or use --force to write the rows " +
      "despite the noise",
  );
}

function splitText(windows: readonly PathWindow[]): string {
  const part = (of: "steal" | "neighbours") =>
    percentText(meanOf(windows.map(({ machine }) => machine[of] ?? 0)));
  return `${part("steal")} by the hypervisor and ${part("neighbours")} by other processes`;
}

/** Returns lines below a profile. */
export function servingLines(rows: ServingRows, samples: PathSamples): string[] {
  const windows = [...samples.single, ...samples.many];
  const isKnown = windows.some(({ machine }) => machine.steal !== null);
  return [
    `serving path, ms p50/p95/p99: request ${quantilesText(rows.requestMs)}, batch ` +
      `${quantilesText(rows.batchMs)}, ` +
      `answer ${quantilesText(rows.answerMs)}, wake ${quantilesText(rows.wakeMs)}, wire ` +
      `${quantilesText(rows.wireMs)}`,
    `each additional MiB takes ${(rows.perMiBMs ?? 0).toFixed(2)} ms; with 1 to ` +
      `${rows.contention.length} workers busy at once, on ${rows.processors} processors, runs ` +
      `take ${rows.contention.map((factor) => factor.toFixed(2)).join(", ")} times as long`,
    isKnown
      ? `others used ${percentText(disturbedShare(samples))} of the processors meanwhile, ` +
        `${splitText(windows)}; the client took ${(rows.generatorShare ?? 0).toFixed(2)} of one`
      : "this system does not report the processor time of others: disturbances were not checked",
  ];
}

function quantilesText({ p50, p95, p99 }: Spread): string {
  return [p50, p95, p99].map((ms) => ms.toFixed(2)).join("/");
}
