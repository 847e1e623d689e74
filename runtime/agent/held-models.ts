/** All models of an agent: which it holds, and how they come and go. */
import { HttpError, RETRY_LATER } from "../server/connections/http-error.ts";
import type { AgentModel } from "./agent-model.ts";
import { NoModelError } from "./agent-model.ts";
import { HeldModel, type HoldingOptions } from "./held-model.ts";
import type { AskedModel, ModelCatalog } from "./model-catalog.ts";

/** Each has a process. */
const MAX_HELD = 64;

type ModelState = "ready" | "loading" | "unavailable";

/** As front ends are told. */
export interface ToldModel {
  readonly name: string;
  /** Null where no file of the name was read yet, or the model has none. */
  readonly sha256: string | null;
  readonly state: ModelState;
  /** Why it is not ready; empty where it is. */
  readonly reason: string;
}

export interface AskedLoad extends AskedModel {
  /** Threads of its sessions; undefined for those of the agent. */
  readonly cores: number | undefined;
}

interface Failed {
  readonly reason: string;
}

export class HeldModels {
  readonly #catalog: ModelCatalog;
  readonly #options: HoldingOptions;
  readonly #cores: number;
  readonly #held = new Map<string, HeldModel>();
  readonly #loading = new Set<string>();
  readonly #failed = new Map<string, Failed>();
  /** Those that end, and the changes under way, which come one after another. */
  readonly #leaving = new Set<Promise<void>>();
  #changing: Promise<unknown> = Promise.resolve();
  #isClosing = false;

  /** @param cores of models of which nobody says them. */
  constructor(catalog: ModelCatalog, cores: number, options: HoldingOptions) {
    this.#catalog = catalog;
    this.#cores = cores;
    this.#options = options;
  }

  get held(): readonly HeldModel[] {
    return [...this.#held.values()];
  }

  /** Whether a model is being loaded. */
  get isLoading(): boolean {
    return this.#loading.size > 0;
  }

  /** Of all that are held, wanted, or could be loaded, by name. */
  async told(): Promise<ToldModel[]> {
    const own = [...this.#held.keys(), ...this.#loading, ...this.#failed.keys()];
    const names = new Set([...(await this.#catalog.names()), ...own]);
    return [...names].sort().map((name) => this.#toldOf(name));
  }

  /** Those that somebody asked for: held, on their way, or failed. */
  get wanted(): ToldModel[] {
    const names = [...this.#held.keys(), ...this.#loading, ...this.#failed.keys()];
    return [...new Set(names)].sort().map((name) => this.#toldOf(name));
  }

  /** Which model answers to a name. @throws HttpError 404, or 503 while it has no process. */
  ready(name: string): HeldModel {
    const held = this.#held.get(name);
    if (held?.isReady === true) return held;
    if (held === undefined && !this.#loading.has(name)) {
      throw new HttpError(404, `Request for unknown model: '${name}' is not loaded`);
    }
    throw new HttpError(503, `${name}: its process is not ready`, RETRY_LATER);
  }

  /**
   * What is known of a model that is held. Of others nothing is told, as Triton has it, so that
   * nobody takes them for ready. @throws HttpError 404
   */
  described(name: string): AgentModel {
    const held = this.#held.get(name);
    if (held !== undefined) return held.model;
    throw new HttpError(404, `Request for unknown model: '${name}' is not loaded`);
  }

  /**
   * Loads a model, in the place of what has its name, which answers until then.
   * @throws Error saying why it cannot be held; what was there stays.
   */
  load(asked: AskedLoad): Promise<void> {
    return this.#inTurn(() => this.#load(asked));
  }

  /** @throws NoModelError where it is not held. */
  unload(name: string): Promise<void> {
    return this.#inTurn(async () => {
      const held = this.#held.get(name);
      const isKnown = this.#failed.delete(name) || held !== undefined;
      if (!isKnown) throw new NoModelError("it is not loaded");
      this.#held.delete(name);
      this.#options.onChange();
      if (held !== undefined) await this.#leave(held);
    });
  }

  /** Ends all processes, after the batches that they have. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#changing;
    const held = [...this.#held.values()];
    this.#held.clear();
    await Promise.all([...this.#leaving, ...held.map((one) => one.close())]);
  }

  #toldOf(name: string): ToldModel {
    const held = this.#held.get(name);
    const sha256 = held?.model.sha256 ?? null;
    if (held?.isReady === true) return { name, sha256, state: "ready", reason: "" };
    if (held !== undefined || this.#loading.has(name)) {
      return { name, sha256, state: "loading", reason: "its process is not ready" };
    }
    const reason = this.#failed.get(name)?.reason ?? "it is not loaded";
    return { name, sha256, state: "unavailable", reason };
  }

  /** One change at a time: a model that is loaded takes cores from those that serve. */
  #inTurn(change: () => Promise<void>): Promise<void> {
    const done = this.#changing.then(change);
    this.#changing = done.catch(() => {});
    return done;
  }

  async #load({ name, sha256, cores = this.#cores }: AskedLoad): Promise<void> {
    if (this.#isClosing) throw new NoModelError("the worker is stopping");
    const before = this.#held.get(name);
    if (before === undefined && this.#held.size >= MAX_HELD) {
      throw new NoModelError(`expected at most ${MAX_HELD} models; unload another`);
    }
    this.#loading.add(name);
    this.#options.onChange();
    try {
      const found = await this.#catalog.find({ name, sha256 });
      const isSame = before?.model.sha256 === found.model.sha256;
      if (isSame && before.cores === cores && before.model.sha256 !== null) {
        await found.close();
      } else {
        this.#held.set(name, await HeldModel.open(found, cores, this.#options));
        if (before !== undefined) void this.#leave(before);
      }
      this.#failed.delete(name);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (before === undefined) this.#failed.set(name, { reason });
      throw error;
    } finally {
      this.#loading.delete(name);
      this.#options.onChange();
    }
  }

  #leave(held: HeldModel): Promise<void> {
    const left = held.close().finally(() => this.#leaving.delete(left));
    this.#leaving.add(left);
    return left;
  }
}
