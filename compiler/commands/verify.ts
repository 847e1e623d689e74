/** `stratagem verify BUNDLE`: integrity, schema and semantics as the runtime checks them, then every stated guarantee recomputed. */
import type { Bundle, Expected, Level } from "../../runtime/bundle/schema.ts";
import type { CommandResult } from "../../runtime/commands/command-result.ts";
import { verifyBundle } from "../../runtime/commands/verify.ts";
import { type LevelPoolOptions, runInWorkers } from "../level-pool.ts";

/** A stated figure may differ from the recomputed one by this much: far above rounding, far below what matters. */
const TOLERANCE = 1e-9;

interface LevelCheck {
  readonly loadQps: number;
  readonly stated: Expected;
  readonly recomputed: Expected;
  readonly ok: boolean;
}

export async function verifyCommand(path: string, pool: LevelPoolOptions): Promise<CommandResult> {
  const { bundle, result } = await verifyBundle(path);
  if (bundle === null) return result;
  const checks = await recompute(bundle, pool);
  const failed = checks.filter((check) => !check.ok);
  return {
    exitCode: failed.length === 0 ? 0 : 3,
    text: [result.text, ...summary(checks, failed)].join("\n"),
    json: { ...result.json, ok: failed.length === 0, guarantees: checks },
  };
}

async function recompute(bundle: Bundle, pool: LevelPoolOptions): Promise<LevelCheck[]> {
  const { levels, provenance: _, ...frame } = bundle;
  const requests = levels.map((level) => ({ kind: "evaluate", level }) as const);
  const replies = await runInWorkers(frame, requests, pool);
  return replies
    .filter((reply) => reply.kind === "evaluated")
    .map(({ expected }, index) => check(levels[index], expected));
}

function check(level: Level | undefined, recomputed: Expected): LevelCheck {
  if (level === undefined) throw new RangeError("one reply per level");
  const { loadQps, expected: stated } = level;
  const found = numbersOf(recomputed);
  const ok = numbersOf(stated).every(
    (value, index) => Math.abs(value - (found[index] ?? Number.NaN)) <= TOLERANCE,
  );
  return { loadQps, stated, recomputed, ok };
}

function numbersOf({ byBatch, ...means }: Expected): number[] {
  const { accuracy, violationRate } = byBatch;
  return [means, accuracy, violationRate].flatMap((numbers) => {
    return Object.entries(numbers)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, value]): number => value);
  });
}

function summary(checks: readonly LevelCheck[], failed: readonly LevelCheck[]): string[] {
  if (failed.length === 0) {
    return [`guarantees ok: ${checks.length} levels recomputed, each within ${TOLERANCE}`];
  }
  return failed.flatMap(({ loadQps, stated, recomputed }) => [
    `guarantees of level ${loadQps} qps are not what its tables give:`,
    `  stated     ${JSON.stringify(stated)}`,
    `  recomputed ${JSON.stringify(recomputed)}`,
  ]);
}
