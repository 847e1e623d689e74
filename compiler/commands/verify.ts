/** `stratagem verify BUNDLE`: integrity, schema and semantics as the runtime checks them, then every stated guarantee recomputed. */
import type { Bundle, Level } from "../../runtime/bundle/schema.ts";
import type { CommandResult } from "../../runtime/commands/command-result.ts";
import { verifyBundle } from "../../runtime/commands/verify.ts";
import { type LevelPoolOptions, runInWorkers } from "../level-pool.ts";

/** A stated figure may differ from the recomputed one by this much: far above rounding, far below what matters. */
const TOLERANCE = 1e-9;

interface LevelCheck {
  readonly loadQps: number;
  readonly stated: Level["expected"];
  readonly recomputed: Level["expected"];
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

function check(level: Level | undefined, recomputed: Level["expected"]): LevelCheck {
  if (level === undefined) throw new RangeError("one reply per level");
  const { loadQps, expected: stated } = level;
  const found = numbersOf(recomputed);
  const ok = numbersOf(stated).every(
    (value, index) => Math.abs(value - (found[index] ?? Number.NaN)) <= TOLERANCE,
  );
  return { loadQps, stated, recomputed, ok };
}

/** In the order of their names; what expectations are made of is one or two levels deep. */
function numbersOf(expected: object): number[] {
  return Object.entries(expected)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, value]: [string, unknown]) =>
      typeof value === "object" && value !== null ? numbersOf(value) : [Number(value)],
    );
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
