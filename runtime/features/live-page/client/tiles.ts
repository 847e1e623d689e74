/** Tiles with the most important current values. */
import type { LiveApplication, LivePace } from "../live.ts";
import { element, setText } from "./dom.ts";
import { decidingLevel, type Measures, quantileText } from "./measures.ts";
import { countText, decimalText, loadText, msText, ratioText } from "./numbers.ts";
import { ACCURACY_TOLERANCE, type Verdict, type Verdicts } from "./verdict.ts";

interface TileText {
  readonly value: string;
  readonly note: string;
  readonly verdict?: Verdict;
}

const NAMES = ["Load", "Accuracy", "Late or dropped", "Latency", "Waiting or running", "Workers"];
const SIGNS: Readonly<Record<Verdict, string>> = {
  kept: "✓ kept: ",
  broken: "✗ broken: ",
  recovering: "✗ broken, kept again now: ",
  chance: "≈ may be chance: ",
  worse: "≈ worse now, the promise still holds: ",
  unknown: "",
};

export class Tiles {
  readonly root = element("dl", { class: "tiles" });
  readonly #values: HTMLElement[] = [];
  readonly #notes: HTMLElement[] = [];

  constructor() {
    for (const name of NAMES) {
      const value = element("dd", { class: "value" });
      const note = element("dd", { class: "note" });
      this.#values.push(value);
      this.#notes.push(note);
      this.root.append(element("div", {}, element("dt", {}, name), value, note));
    }
  }

  update(application: LiveApplication, now: Measures, verdicts: Verdicts): void {
    for (const [place, { value, note, verdict = "unknown" }] of [
      load(application),
      accuracy(application, now, verdicts),
      violations(application, now, verdicts),
      latency(application, now),
      queue(application, now),
      workers(application),
    ].entries()) {
      const [valueAt, noteAt] = [this.#values[place], this.#notes[place]];
      if (valueAt === undefined || noteAt === undefined) continue;
      setText(valueAt, value);
      setText(noteAt, SIGNS[verdict] + note);
      noteAt.className = `note ${verdict}`;
    }
  }
}

const NOTHING_PROMISED = "nothing is promised now";

function load(application: LiveApplication): TileText {
  const { loadQps, level, levels, levelCount, isLevelFollowed } = application;
  const deciding = decidingLevel(application);
  const value = loadQps === null ? "not known yet" : loadText(loadQps, application);
  if (level === null || deciding === undefined) {
    return { value, note: `no decision yet, ${levelCount} levels` };
  }
  const top = levels.findLast(({ pace }) => pace === 1)?.loadQps ?? Number.POSITIVE_INFINITY;
  if (loadQps !== null && loadQps > top) {
    return {
      value,
      note: `above the highest level, ${loadText(top, application)}: no promise applies`,
    };
  }
  const what = isLevelFollowed ? "decided by" : "matches";
  const own = loadText(deciding.loadQps, application);
  const of =
    level < levelCount
      ? `level ${level + 1} of ${levelCount}, for ${own}`
      : `the level for ${own} at pace ${decimalText(deciding.pace)}`;
  return { value, note: `${what} ${of}` };
}

function accuracy(application: LiveApplication, now: Measures, { accuracy }: Verdicts): TileText {
  const promised = application.promised.accuracy;
  const value = ratioText(now.accuracy);
  if (promised === null) return { value, note: NOTHING_PROMISED };
  const isWorse = now.accuracy !== null && now.accuracy < promised - ACCURACY_TOLERANCE;
  return { value, note: `promised ${ratioText(promised)}`, verdict: shown(accuracy, isWorse) };
}

function violations(application: LiveApplication, now: Measures, verdicts: Verdicts): TileText {
  const promised = application.promised.violationRate;
  const limit = `limit ${ratioText(application.slo.maxViolationRate)}`;
  const value = ratioText(now.violationRate);
  if (promised === null) return { value, note: `${NOTHING_PROMISED}; ${limit}` };
  const note = `promised at most ${ratioText(promised)}, ${limit}`;
  const isWorse = (now.violationRate ?? 0) > promised;
  return { value, note, verdict: shown(verdicts.violations, isWorse) };
}

/** Verdicts are of five minutes, values of ten seconds. @param isWorse than promised now. */
function shown(verdict: Verdict, isWorse: boolean): Verdict {
  if (verdict === "broken" && !isWorse) return "recovering";
  return verdict === "kept" && isWorse ? "worse" : verdict;
}

function latency({ slo, latency }: LiveApplication, now: Measures): TileText {
  const { p99Ms, p50Ms, meanMs } = now;
  const limit = `SLO ${msText(slo.latencyMs)}`;
  if (p99Ms === null) return { value: msText(meanMs), note: `mean; ${limit}` };
  const value = quantileText(p99Ms, latency);
  return { value, note: `99th percentile; median ${msText(p50Ms)}; ${limit}` };
}

function queue(
  { pending, slack: slacks }: LiveApplication,
  { slackP50Ms, slackP10Ms }: Measures,
): TileText {
  const slack = `slack of a batch: median ${msText(slackP50Ms)}`;
  return {
    value: countText(pending),
    note:
      slackP50Ms === null
        ? "no batch has started recently"
        : `${slack}, 10th percentile ${quantileText(slackP10Ms, slacks)}`,
  };
}

function workers({ pace, workers: { count, ready, lost, hung } }: LiveApplication): TileText {
  const losses =
    lost === 0 ? "none lost" : `${countText(lost)} lost, ${countText(hung)} of them hung`;
  return {
    value: `${countText(ready)} of ${countText(count)} ready`,
    note: `${paceText(pace)}${losses} since the start`,
  };
}

/** Pace of the pool, and of the slowest worker if that is slower. */
function paceText(pace: LivePace | null): string {
  if (pace === null) return "";
  const [slowest] = [...pace.workers].sort((one, other) => other.pace - one.pace);
  const isEven = slowest === undefined || slowest.pace <= pace.pool;
  const least = isEven ? "" : `, worker ${slowest.worker} ${decimalText(slowest.pace)}`;
  return `pace ${decimalText(pace.pool)}${least} (1 is as profiled); `;
}
