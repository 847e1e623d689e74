/** Levels and branches solved elsewhere, by frame and load. */
import type { LevelSolver } from "../levels/compile.ts";
import type { SolvedLevel } from "../methods/method.ts";
import type { BranchShare, FoundBranch } from "../model/root-branches.ts";
import { levelText, type PartBranch, type PartLevel } from "./part.ts";

export class KnownLevels {
  readonly #byFrame = new Map<string, Map<number, SolvedLevel>>();
  readonly #branches = new Map<string, FoundBranch[]>();
  #differing = 0;

  /** Keeps the first of two with the same frame and load. */
  add({ frame, level, ms }: PartLevel): void {
    const ofFrame = this.#byFrame.get(frame) ?? new Map<number, SolvedLevel>();
    this.#byFrame.set(frame, ofFrame);
    const before = ofFrame.get(level.loadQps);
    if (before === undefined) ofFrame.set(level.loadQps, { level, ms });
    else if (levelText(before.level) !== levelText(level)) this.#differing++;
  }

  addBranch({ frame, loadQps, branch }: PartBranch): void {
    const key = `${frame} ${loadQps}`;
    const ofLevel = this.#branches.get(key) ?? [];
    this.#branches.set(key, ofLevel);
    ofLevel.push(branch);
  }

  /** @param frame digest. */
  branchesOf(frame: string, loadQps: number): readonly FoundBranch[] {
    return this.#branches.get(`${frame} ${loadQps}`) ?? [];
  }

  /** @param frame digest. */
  of(frame: string, loadQps: number): SolvedLevel | undefined {
    return this.#byFrame.get(frame)?.get(loadQps);
  }

  /**
   * Number of levels that were solved twice with different results, for example if a time limit
   * ended a search.
   */
  get differing(): number {
    return this.#differing;
  }
}

interface KnownFirst {
  /** Digest of the frame. */
  readonly frame: string;
  readonly known: KnownLevels;
  /** Called for the first unknown level. */
  readonly open: () => LevelSolver;
  /** Called with each newly solved level. */
  readonly onSolved: (level: SolvedLevel) => void;
  /** Branches to search in levels that others search too; null for all. */
  readonly share: BranchShare | null;
  /** Called with each newly searched branch. */
  readonly onBranch: (loadQps: number, branch: FoundBranch) => void;
}

/** Returns a solver that solves only unknown levels. */
export function knownFirst(options: KnownFirst): LevelSolver {
  const { frame, known, open, onSolved, share, onBranch } = options;
  const asked = (loadQps: number) => {
    const branches = known.branchesOf(frame, loadQps);
    const isDivided = share !== null && (share.of > 1 || branches.length > 0);
    return isDivided ? { share, known: branches } : undefined;
  };
  let opened: LevelSolver | null = null;
  const solver = () => {
    opened ??= open();
    return opened;
  };
  return {
    async solve(loadsQps, round) {
      const missing = loadsQps.filter((loadQps) => known.of(frame, loadQps) === undefined);
      const divided = { asked, onBranch };
      const solved =
        missing.length === 0 ? [] : await solver().solve(missing, round, onSolved, divided);
      const here = new Map(missing.map((loadQps, index) => [loadQps, solved[index]]));
      return loadsQps.flatMap((loadQps) => known.of(frame, loadQps) ?? here.get(loadQps) ?? []);
    },
    solvePaced: (bundle, paces) => solver().solvePaced(bundle, paces),
    promise: (bundle) => solver().promise(bundle),
    move: (requests) => solver().move(requests),
    settle: (level, neighbour) => solver().settle(level, neighbour),
    async close() {
      await opened?.close();
    },
  };
}
