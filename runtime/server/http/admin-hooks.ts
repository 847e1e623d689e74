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
  /** How policies stand with their sources; left out where all are files. */
  policies?: (() => object) | undefined;
}
