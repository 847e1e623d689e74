/** Admin operations of a server, independent of the program that started it. */

/** Outcome of reading a bundle again. */
export interface ReloadedApplication {
  readonly application: string;
  /** Path of its bundle. */
  readonly policy: string;
  readonly isFollowed: boolean;
  /** In words. */
  readonly notice: string;
  /** Error code; undefined where the bundle was accepted. */
  readonly code?: string | undefined;
}

export interface Reloaded {
  /** Whether all that was read is followed. */
  readonly isFollowed: boolean;
  readonly notice: string;
  readonly applications: readonly ReloadedApplication[];
}

/** Operations that administrators can start. */
export interface AdminHooks {
  /**
   * Reads bundles again and what says who may come in. Never rejects.
   * @param application its name; left out for all.
   * @returns null where there is no such application.
   */
  reload(application?: string): Promise<Reloaded | null>;
  /** The settings in force, as `serve --print-config --json` has them. */
  config(): object;
  /** Served applications, and the access rules in force. */
  state(): object;
  /** How policies stand with their sources; left out where all are files. */
  policies?: (() => object) | undefined;
}
