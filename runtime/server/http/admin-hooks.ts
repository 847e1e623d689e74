/** Admin operations of a server, independent of the program that started it. */

/** Outcome of reading a bundle again. */
export interface ReloadedApplication {
  readonly application: string;
  /** Path of its bundle. */
  readonly policy: string;
  readonly isFollowed: boolean;
  readonly notice: string;
  /** Error code; undefined where the bundle was accepted. */
  readonly code?: string | undefined;
}

export interface Reloaded {
  /** Whether everything that was read was accepted. */
  readonly isFollowed: boolean;
  readonly notice: string;
  readonly applications: readonly ReloadedApplication[];
}

/** Operations that administrators can start. */
export interface AdminHooks {
  /**
   * Reads bundles and access files again. Never rejects.
   * @param application its name. Default: all.
   * @returns null for an unknown application.
   */
  reload(application?: string): Promise<Reloaded | null>;
  /** The settings in force, as `serve --print-config --json` has them. */
  config(): object;
  /** Served applications, and the access rules in force. */
  state(): object;
  /** State of the policies' sources. Default: all bundles are local files. */
  policies?: (() => object) | undefined;
}
