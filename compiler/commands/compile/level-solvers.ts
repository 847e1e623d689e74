/** Runs the level solver of `compile` in worker processes, or sequentially in this process. */
import type { Bundle, Level } from "stratagem-runtime/internal/bundle/schema";
import { answer } from "../../levels/answer.ts";
import type { LevelSolver } from "../../levels/compile.ts";
import type { CompilerMethod, SolvedLevel } from "../../methods/method.ts";
import type { BundleFrame } from "../../model/frames.ts";
import type { FoundBranch } from "../../model/root-branches.ts";
import { type LevelPoolOptions, LevelWorkers } from "../../processes/level-pool.ts";
import type { LevelReply, LevelRequest } from "../../processes/level-request.ts";

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
    async solvePaced(bundle, paces) {
      const requests = paces.map((pace) => ({ kind: "pace-levels", bundle, pace }) as const);
      return (await workers.run(requests, "paces")).flatMap(pacedBy);
    },
    async promise(bundle) {
      const requests = bundle.levels.map((_, level) => promiseRequest(bundle, level));
      return (await workers.run(requests, "promises")).map(promisedBy);
    },
    async move(requests) {
      return (await workers.run(requests, "between")).map(solvedBy);
    },
    async settle(level, neighbour) {
      const [reply] = await workers.run([{ kind: "settle", level, neighbour }], "neighbours");
      return solvedBy(reply).level;
    },
    close: () => workers.close(),
  };
}

/** Yields between levels so that signals and progress are handled. */
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
    async solvePaced(bundle, paces) {
      const levels = [];
      for (const pace of paces) {
        signal.throwIfAborted();
        levels.push(pacedBy(await answer(frame, { kind: "pace-levels", bundle, pace }, nowMs)));
      }
      return levels.flat();
    },
    async promise(bundle) {
      const promised = [];
      for (const level of bundle.levels.keys()) {
        await new Promise((resolve) => setImmediate(resolve));
        signal.throwIfAborted();
        promised.push(promisedBy(await answer(frame, promiseRequest(bundle, level), nowMs)));
      }
      return promised;
    },
    async move(requests) {
      const moved = [];
      for (const request of requests) {
        signal.throwIfAborted();
        moved.push(solvedBy(await answer(frame, request, nowMs)));
      }
      return moved;
    },
    async settle(level, neighbour) {
      const reply = await answer(frame, { kind: "settle", level, neighbour }, nowMs);
      return solvedBy(reply).level;
    },
    async close() {},
  };
}

function pacedBy(reply: LevelReply | undefined): readonly object[] {
  if (reply?.kind !== "pace-levels") throw new TypeError("expected levels in reply to a pace");
  return reply.levels;
}

function promiseRequest(bundle: Bundle, level: number): LevelRequest {
  return { kind: "promise", bundle, level, isSolved: true };
}

function promisedBy(reply: LevelReply | undefined): Level {
  if (reply?.kind !== "promised") throw new TypeError("expected promises in reply to a level");
  return reply.level;
}

function solvedBy(reply: LevelReply | undefined): SolvedLevel {
  if (reply?.kind !== "solved") throw new TypeError("expected a solved level in reply to a level");
  return reply;
}
