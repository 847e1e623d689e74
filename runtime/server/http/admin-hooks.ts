/** What a server lets administrators do, whoever made the server. */

/** What reading a bundle again has come to. */
export interface ReloadedApplication {
  readonly application: string;
  /** Path of its bundle. */
  readonly policy: string;
  readonly isFollowed: boolean;
  /** In words. */
  readonly notice: string;
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
  /** What bundles that look on would have decided; left out where none does. */
  shadow?(): object;
  /**
   * When queries of an application came, as a trace; left out as above.
   * @param application its name; left out where there is one.
   * @returns null where none of that name has a bundle that looks on.
   */
  shadowArrivals?(application?: string): Promise<Uint8Array> | null;
}
