/** What a server lets administrators do, whoever made the server. */

/** What reading a bundle again has come to. */
export interface ReloadedApplication {
  readonly application: string;
  /** Path of its bundle. */
  readonly policy: string;
  readonly isFollowed: boolean;
  /** In words. */
  readonly notice: string;
  /** Of the error; left out where it is followed. */
  readonly code?: string | undefined;
}

export interface Reloaded {
  /** Whether all that was read is followed. */
  readonly isFollowed: boolean;
  readonly notice: string;
  readonly applications: readonly ReloadedApplication[];
}

/** What can be done by hand with a bundle that is tried. */
export const CANARY_ACTIONS = ["promote", "roll-back", "start"] as const;
export type CanaryAction = (typeof CANARY_ACTIONS)[number];

export interface CanaryDone {
  readonly isDone: boolean;
  /** In words. */
  readonly notice: string;
}

/** Requests by what became of them. */
interface ToldArm {
  readonly kept: number;
  readonly violated: number;
}

/** A bundle that is or was tried. */
export interface CanaryTold {
  /** Empty until its file was read. */
  readonly application: string;
  readonly policy: string;
  readonly sha256: string;
  readonly state: "starting" | "tried" | "promoted" | "rolled back";
  /** Why it was promoted or rolled back; empty before. */
  readonly because: string;
  /** Of the requests that it gets now, and gets in turn. */
  readonly share: number;
  readonly shares: readonly number[];
  /** At the present share, or the last one. */
  readonly requests?: { readonly stable: ToldArm; readonly canary: ToldArm };
  /** 0 to 1, which is enough; while it is tried. */
  readonly evidence?: { readonly for: number; readonly against: number };
  /** Until it may be promoted, at least; while it is tried. */
  readonly leftMs?: number;
}

/** Bundles that are tried, for administrators. */
export interface CanaryHooks {
  told(): readonly CanaryTold[];
  /** @returns null where there is no such canary, or there are several and no name. */
  act(action: CanaryAction, name?: string): Promise<CanaryDone | null>;
}

/** What a server can do for administrators. */
export interface AdminHooks {
  /**
   * Reads bundles again and what says who may come in. Never rejects.
   * @param application its name; left out for all.
   * @returns null where there is no such application.
   */
  reload(application?: string): Promise<Reloaded | null>;
  /** The settings in force, as `serve --print-config --json` has them. */
  config(): object;
  /** What is served, and by whose leave. */
  state(): object;
  /** Left out where no bundle is tried. */
  readonly canary?: CanaryHooks | undefined;
  /** How policies stand with their sources; left out where all are files. */
  policies?: (() => object) | undefined;
}
