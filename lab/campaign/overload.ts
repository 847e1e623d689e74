/**
 * Overload: of every method the goodput that this machine gives at capacity; what becomes of it, of
 * the answers' times and of memory under two and ten times that load, and after it.
 */
import { startServe, withServer } from "../experiments/harness/live.ts";
import { Page } from "../experiments/harness/page.ts";
import { findCapacityQps } from "./load/capacity.ts";
import { type Fit, grew, slopeText } from "./load/line-fit.ts";
import {
  goodputQps,
  isGeneratorLate,
  overloadMisses,
  RECOVERY_MS,
  recoveryMs,
} from "./load/overload-verdict.ts";
import { Generator, layoutText, pinServer } from "./load/pinned.ts";
import { ProcessWatch } from "./load/process-watch.ts";
import { countOf, type LoadPhase, type PhaseReport } from "./load/report.ts";
import {
  chosenMethods,
  requestsOf,
  type ServedMethod,
  untilReady,
  withPolicy,
} from "./load/served-method.ts";
import type { Attack, Outcome, Part } from "./part.ts";

/** Over capacity. */
const FACTORS = [2, 10];
/** Of capacity, the load after an overload, and for how long at least, s. */
const AFTER_SHARE = 0.6;
const AFTER_SECONDS = 6;
/** One request in flight on each. */
const CONNECTIONS = 512;
const WARM_UP_SECONDS = 3;
const SAMPLE_MS = 500;

export const OVERLOAD: Part = {
  name: "overload",
  about: "2x and 10x of the capacity found, of every method",
  unit: "s for each phase of a method",
  sizes: { full: 600, short: 5 },
  minutes: 170,
  run,
};

interface Row {
  readonly name: string;
  readonly report: PhaseReport;
  readonly more: readonly string[];
}

async function run(attack: Attack): Promise<Outcome> {
  const lost: string[] = [];
  const figures: Record<string, string> = { layout: layoutText() };
  let tried = 0;
  for (const chosen of chosenMethods()) {
    const served = await withPolicy(chosen, attack.folder);
    const { misses, told, criteria } = await overloaded(served, attack);
    tried += criteria;
    lost.push(...misses.map((miss) => `${served.name}, ${miss}`));
    figures[served.name] = told;
  }
  return { tried, lost, figures };
}

async function overloaded(served: ServedMethod, { size, seed, say }: Attack) {
  const { sloMs, messages } = await requestsOf(served);
  const generator = new Generator();
  const starting = startServe(served.policy, ["--models", served.models], { isQuiet: true });
  try {
    return await withServer(starting, async ({ url, pid }) => {
      await untilReady(url);
      pinServer(pid);
      const port = Number(new URL(url).port);
      const send = (phases: readonly LoadPhase[]) =>
        generator.send({ port, messages, phases, sloMs, connections: CONNECTIONS, seed });
      const tell = (line: string) => say(`${served.name}: ${line}`);
      await send([{ qps: served.firstQps, seconds: WARM_UP_SECONDS }]);
      const probeSeconds = Math.min(15, Math.max(3, size / 20));
      const capacityQps = await findCapacityQps(send, served.firstQps, probeSeconds, tell);
      const [, atCapacity] = await send([
        { qps: capacityQps, seconds: WARM_UP_SECONDS },
        { qps: capacityQps, seconds: size },
      ]);
      if (atCapacity === undefined) throw new Error("a phase without a report");
      const rows: Row[] = [{ name: "capacity", report: atCapacity, more: [] }];
      const misses: string[] = [];
      const figures = [`capacity ${capacityQps.toFixed(0)}/s`];
      for (const factor of FACTORS) {
        const watch = new ProcessWatch(pid, SAMPLE_MS);
        const [over, after] = await send([
          { qps: factor * capacityQps, seconds: size },
          { qps: AFTER_SHARE * capacityQps, seconds: Math.max(AFTER_SECONDS, size / 20) },
        ]);
        watch.end();
        if (over === undefined || after === undefined) throw new Error("a phase without a report");
        const fit = growthOf(watch, size);
        const backMs = recoveryMs(after);
        const isLate = isGeneratorLate(over);
        const reached = over.sent / over.seconds / capacityQps;
        const missed = overloadMisses(atCapacity, over, sloMs);
        if (grew(fit, size / 120)) missed.push(`memory grew by ${slopeText(fit)} MB a minute`);
        if (backMs > RECOVERY_MS) missed.push(`recovery took ${backMs} ms`);
        misses.push(...missed.map((miss) => `${factor}x: ${miss}`));
        const limit = isLate ? `${reached.toFixed(1)}x reached, generator at its limit` : "";
        const more = [slopeText(fit), `${backMs} ms`, limit];
        rows.push({ name: `${factor}x`, report: over, more });
        const share = (100 * goodputQps(over)) / goodputQps(atCapacity);
        figures.push(`${factor}x ${share.toFixed(0)} %`);
      }
      table(served, sloMs, rows);
      // Goodput, accepted, refused, unanswered, memory and recovery, for each factor.
      return { misses, told: figures.join(" "), criteria: 6 * FACTORS.length };
    });
  } finally {
    generator.close();
  }
}

/** Memory of the server and its workers, in the second half of the overload. */
function growthOf(watch: ProcessWatch, seconds: number): Fit {
  const firstMs = watch.samples[0]?.atMs ?? Number.NaN;
  const fromMs = firstMs + 500 * seconds;
  return watch.fit(({ ownMb, childrenMb }) => ownMb + childrenMb, fromMs, fromMs + 500 * seconds);
}

function table({ name }: ServedMethod, sloMs: number, rows: readonly Row[]): void {
  const page = new Page("text");
  const head = ["offered/s", "good/s", "of cap. %", "p50", "p99 200", "max", "p99 no", "max no"];
  const base = rows[0] === undefined ? Number.NaN : goodputQps(rows[0].report);
  page.table(
    [
      `${name}, SLO ${sloMs} ms`,
      ...head,
      "200",
      "429",
      "503",
      "other",
      "lag p99",
      "MB/min",
      "recovery",
      "",
    ],
    rows.map(({ name, report, more }) => {
      const { acceptedMs, shedMs, sent, seconds, lagMs, byStatus } = report;
      const known = ["200", "429", "503"].map((fate) => countOf(report, fate));
      const all = Object.values(byStatus).reduce((sum, count) => sum + count, 0);
      return [
        name,
        (sent / seconds).toFixed(0),
        goodputQps(report).toFixed(1),
        ((100 * goodputQps(report)) / base).toFixed(1),
        ...[acceptedMs.p50, acceptedMs.p99, acceptedMs.max].map((ms) => ms.toFixed(1)),
        ...[shedMs.p99, shedMs.max].map((ms) => ms.toFixed(1)),
        ...known,
        all - known.reduce((sum, count) => sum + count, 0),
        lagMs.p99.toFixed(1),
        ...more,
      ];
    }),
  );
}
