/** Where `compile` solves levels: in processes beside this one, or one after the other in it. */
import type { PacePromises } from "stratagem-runtime/internal/bundle/schema";
import { answer } from "../levels/answer.ts";
import type { LevelSolver } from "../levels/compile.ts";
import type { CompilerMethod, SolvedLevel } from "../methods/method.ts";
import type { BundleFrame } from "../model/frames.ts";
import type { FoundBranch } from "../model/root-branches.ts";
import { type LevelPoolOptions, LevelWorkers } from "../processes/level-pool.ts";
import type { LevelReply } from "../processes/level-request.ts";

/** @param nowMs a monotonic clock, ms. */
export function openLevelSolver(
  frame: BundleFrame,
  { isQuick }: Pick<CompilerMethod, "isQuick">,
  pool: LevelPoolOptions,
  nowMs: () => number,
): LevelSolver {
  return isQuick ? inTurn(frame, pool, nowMs) : inProcesses(frame, pool);
}

function inProcesses(frame: BundleFrame, pool: LevelPoolOptions): LevelSolver {
  const workers = new LevelWorkers(frame, pool);
  return {
    async solve(loadsQps, round, onSolved, divided) {
      const requests = loadsQps.map((loadQps) => {
        return { kind: "solve", loadQps, branches: divided?.asked(loadQps) } as const;
      });
      const stage = round === undefined ? undefined : `round ${round}`;
      const replies = await workers.run(
        requests,
        stage,
        (reply) => onSolved?.(solvedBy(reply)),
        (request, branch) => {
          if (request.kind === "solve") divided?.onBranch(request.loadQps, branch);
        },
      );
      return replies.filter((reply) => reply.kind === "solved");
    },
    async solvePaced(asked) {
      const requests = asked.map((one) => ({ kind: "solve", ...one }) as const);
      if (requests.length === 0) return [];
      return (await workers.run(requests, "paces")).map((reply) => solvedBy(reply).level);
    },
    async promisePaces(bundle) {
      const requests = bundle.levels.map((_, level) => ({ kind: "paces", bundle, level }) as const);
      return (await workers.run(requests, "paces")).map(promisedBy);
    },
    async settle(level, neighbour) {
      const [reply] = await workers.run([{ kind: "settle", level, neighbour }], "neighbours");
      return solvedBy(reply).level;
    },
    close: () => workers.close(),
  };
}

/** Lets signals and progress through between two levels. */
function inTurn(
  frame: BundleFrame,
  { signal, onProgress }: LevelPoolOptions,
  nowMs: () => number,
): LevelSolver {
  return {
    async solve(loadsQps, _round, onSolved, divided) {
      const solved: SolvedLevel[] = [];
      for (const loadQps of loadsQps) {
        await new Promise((resolve) => setImmediate(resolve));
        signal.throwIfAborted();
        const request = { kind: "solve", loadQps, branches: divided?.asked(loadQps) } as const;
        const onBranch = (branch: FoundBranch) => divided?.onBranch(loadQps, branch);
        const level = solvedBy(await answer(frame, request, nowMs, onBranch));
        solved.push(level);
        onSolved?.(level);
        onProgress(solved.length, loadsQps.length);
      }
      return solved;
    },
    async solvePaced(asked) {
      const levels = [];
      for (const one of asked) {
        signal.throwIfAborted();
        levels.push(solvedBy(await answer(frame, { kind: "solve", ...one }, nowMs)).level);
      }
      return levels;
    },
    async promisePaces(bundle) {
      const promised = [];
      for (const level of bundle.levels.keys()) {
        await new Promise((resolve) => setImmediate(resolve));
        signal.throwIfAborted();
        promised.push(promisedBy(await answer(frame, { kind: "paces", bundle, level }, nowMs)));
      }
      return promised;
    },
    async settle(level, neighbour) {
      const reply = await answer(frame, { kind: "settle", level, neighbour }, nowMs);
      return solvedBy(reply).level;
    },
    async close() {},
  };
}

function promisedBy(reply: LevelReply | undefined): PacePromises {
  if (reply?.kind !== "paced") throw new TypeError("a bundle is answered by its promises");
  return reply.promised;
}

function solvedBy(reply: LevelReply | undefined): SolvedLevel {
  if (reply?.kind !== "solved") throw new TypeError("a level is answered by a level");
  return reply;
}
