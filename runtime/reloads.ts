/** Reads the bundles of a server again, and what says who may come in; one at a time. */
import { loadBundle } from "./load-bundle.ts";
import type { OpenedModels } from "./opened-models.ts";
import type { Access } from "./server/access/access.ts";
import type { Application } from "./server/applications/application.ts";
import type { Reloaded, ReloadedApplication } from "./server/http/admin-hooks.ts";
import type { RunningServer } from "./server/serve.ts";

export interface ReloadedBundle {
  readonly policy: string;
  /** Of the file, as it was when the server started. */
  readonly sha256: string;
  readonly application: Application;
}

/** Changed files that are told by name. */
const MAX_TOLD_FILES = 5;

export class Reloads {
  readonly #hosted: readonly ReloadedBundle[];
  readonly #files: OpenedModels;
  readonly #access: Access;
  readonly #digests: string[];
  readonly #last: (ReloadedApplication | null)[];
  #turn: Promise<unknown> = Promise.resolve();

  constructor(hosted: readonly ReloadedBundle[], files: OpenedModels, access: Access) {
    this.#hosted = hosted;
    this.#files = files;
    this.#access = access;
    this.#digests = hosted.map(({ sha256 }) => sha256);
    this.#last = hosted.map(() => null);
  }

  /** Of the bundle that decides, by the place of its application. */
  digestOf(index: number): string | undefined {
    return this.#digests[index];
  }

  /** What the last reading of it has come to; null where there was none. */
  lastOf(index: number): ReloadedApplication | null {
    return this.#last[index] ?? null;
  }

  /**
   * Never rejects.
   * @param name of one application; left out for all, and for who may come in.
   * @returns null where there is no such application.
   */
  run(server: RunningServer, name?: string): Promise<Reloaded | null> {
    const done = this.#turn.then(() => this.#run(server, name));
    this.#turn = done;
    return done;
  }

  async #run(server: RunningServer, name: string | undefined): Promise<Reloaded | null> {
    const applications: ReloadedApplication[] = [];
    for (const [index, one] of this.#hosted.entries()) {
      if (name !== undefined && one.application.name !== name) continue;
      const reloaded = await this.#reload(server, one, index);
      this.#last[index] = reloaded;
      applications.push(reloaded);
    }
    if (applications.length === 0) return null;
    const faults = name === undefined ? await this.#access.refresh() : [];
    const told = [...applications.map(({ notice }) => notice), ...faults].join("; ");
    const isFollowed = faults.length === 0 && applications.every((one) => one.isFollowed);
    return { isFollowed, notice: told + (await this.#changes()), applications };
  }

  async #reload(
    server: RunningServer,
    { policy, application: { name: application } }: ReloadedBundle,
    index: number,
  ): Promise<ReloadedApplication> {
    try {
      const { bundle, sha256 } = await loadBundle(policy);
      const refusal = server.replaceBundle(bundle, sha256, index);
      if (refusal === null) this.#digests[index] = sha256;
      const notice =
        refusal === null
          ? `${policy}: serving it as it is now, SHA-256 ${sha256}`
          : `${policy}: not followed, the bundle before it goes on deciding: ${refusal}`;
      return { application, policy, isFollowed: refusal === null, notice };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const notice = `not followed, the bundle before it goes on deciding: ${reason}`;
      return { application, policy, isFollowed: false, notice };
    }
  }

  async #changes(): Promise<string> {
    const changed = await this.#files.changed();
    if (changed.length === 0) return "";
    const names = changed.slice(0, MAX_TOLD_FILES).join(", ");
    const rest = changed.length - MAX_TOLD_FILES;
    const files = `${names}${rest > 0 ? ` and ${rest} more` : ""}`;
    return `; models stay those of the start, but these files are others now, or gone: ${files}`;
  }
}
