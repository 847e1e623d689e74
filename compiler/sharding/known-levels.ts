/** Levels, and branches of them, that were solved elsewhere: found by their frame and load. */
import type { LevelSolver } from "../levels/compile.ts";
import type { SolvedLevel } from "../methods/method.ts";
import type { BranchShare, FoundBranch } from "../model/root-branches.ts";
import { levelText, type PartBranch, type PartLevel } from "./part.ts";

export class KnownLevels {
  readonly #byFrame = new Map<string, Map<number, SolvedLevel>>();
  readonly #branches = new Map<string, FoundBranch[]>();
  #differing = 0;

  /** Of two of the same frame and load the first counts. */
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

  /** @param frame its digest. */
  branchesOf(frame: string, loadQps: number): readonly FoundBranch[] {
    return this.#branches.get(`${frame} ${loadQps}`) ?? [];
  }

  /** @param frame its digest. */
  of(frame: string, loadQps: number): SolvedLevel | undefined {
    return this.#byFrame.get(frame)?.get(loadQps);
  }

  /** Levels that two have solved, to another result: as where a limit of time cuts a search. */
  get differing(): number {
    return this.#differing;
  }
}

interface KnownFirst {
  /** Digest of the frame. */
  readonly frame: string;
  readonly known: KnownLevels;
  /** Opened for the first level that is not known. */
  readonly open: () => LevelSolver;
  /** Called with each level that was not known, once it is solved. */
  readonly onSolved: (level: SolvedLevel) => void;
  /** Branches that are searched of levels which others have searched, too; null for none. */
  readonly share: BranchShare | null;
  /** Called with each branch that was not known, once it is searched. */
  readonly onBranch: (loadQps: number, branch: FoundBranch) => void;
}

/** A solver that solves only what is not known. */
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
