/**
 * `stratagem verify BUNDLE`: checks integrity, schema and semantics as the runtime does, then
 * recomputes every stated guarantee.
 */

import type { Bundle, Level } from "stratagem-runtime/internal/bundle/schema";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { verifyBundle } from "stratagem-runtime/internal/commands/verify";
import { pacePromisesOf } from "stratagem-runtime/internal/describe/pace-promises";
import { short } from "stratagem-runtime/internal/describe/text";
import type { CompilerMethod } from "../methods/method.ts";
import { methodOf } from "../methods/registry.ts";
import { type LevelPoolOptions, runInWorkers } from "../processes/level-pool.ts";

/**
 * Largest allowed difference between a stated and a recomputed figure: far above rounding, far
 * below relevance.
 */
const TOLERANCE = 1e-9;

interface LevelCheck {
  readonly loadQps: number;
  /** Figures by name. */
  readonly stated: object;
  readonly recomputed: object;
  readonly ok: boolean;
}

const NOT_RECOMPUTED =
  "guarantees not recomputed: plans for a recorded trace need the trace, which the " +
  "bundle does not hold; compile --check compares the whole bundle";

export async function verifyCommand(path: string, pool: LevelPoolOptions): Promise<CommandResult> {
  const { bundle, result } = await verifyBundle(path);
  if (bundle === null) return result;
  const checks = await recompute(bundle, pool);
  if (checks === null) {
    return {
      ...result,
      text: `${result.text}\n${NOT_RECOMPUTED}`,
      json: { ...result.json, guarantees: null },
    };
  }
  const failed = checks.filter((check) => !check.ok);
  return {
    exitCode: failed.length === 0 ? 0 : 3,
    text: [result.text, ...summary(checks, failed, statedPaces(bundle))].join("\n"),
    json: { ...result.json, ok: failed.length === 0, guarantees: checks },
  };
}

/** Recomputes the promises; null if they cannot be computed from the bundle alone. */
async function recompute(bundle: Bundle, pool: LevelPoolOptions): Promise<LevelCheck[] | null> {
  const method = await methodOf(bundle);
  const frame = method.frameOf(bundle);
  if (!method.isRecomputable(frame)) return null;
  const levels: readonly Level[] = bundle.levels;
  const requests = levels.map((_, level) => {
    return { kind: "promise", bundle, level, isSolved: false } as const;
  });
  const replies = await runInWorkers(frame, requests, pool);
  return replies
    .filter((reply) => reply.kind === "promised")
    .map((reply, index) => check(method, levels[index], reply.level));
}

function check(method: CompilerMethod, level: Level | undefined, promised: Level): LevelCheck {
  if (level === undefined) throw new RangeError("missing reply for a level");
  const { loadQps } = level;
  const stated = method.stated(level);
  const recomputed = method.stated(promised);
  return { loadQps, stated, recomputed, ok: agrees(stated, recomputed) };
}

/**
 * Returns whether every stated number equals the recomputed one of the same name; bundles of older
 * versions state fewer.
 */
function agrees(stated: unknown, recomputed: unknown): boolean {
  if (typeof stated === "number") {
    return typeof recomputed === "number" && Math.abs(stated - recomputed) <= TOLERANCE;
  }
  if (typeof stated !== "object" || stated === null) return true;
  if (typeof recomputed !== "object" || recomputed === null) return false;
  const found = new Map<string, unknown>(Object.entries(recomputed));
  return Object.entries(stated).every(([name, value]) => agrees(value, found.get(name)));
}

function statedPaces(bundle: Bundle): number[] {
  const levels: readonly Level[] = bundle.levels;
  const paces = levels.flatMap((level) =>
    (pacePromisesOf(level).byPace ?? []).map((at) => at.pace),
  );
  return [...new Set(paces)];
}

function paceText(paces: readonly number[]): string {
  return paces.length === 0 ? "" : ` at pace ${[1, ...paces].map(short).join(", ")}`;
}

/** @param paces other than 1 that promises are stated for. */
function summary(
  checks: readonly LevelCheck[],
  failed: readonly LevelCheck[],
  paces: readonly number[],
): string[] {
  if (failed.length === 0) {
    const { length } = checks;
    return [
      `guarantees ok: ${length} levels recomputed${paceText(paces)}, each within ${TOLERANCE}`,
    ];
  }
  return failed.flatMap(({ loadQps, stated, recomputed }) => [
    `guarantees of level ${loadQps} qps differ from those of its tables:`,
    `  stated     ${JSON.stringify(stated)}`,
    `  recomputed ${JSON.stringify(recomputed)}`,
  ]);
}
