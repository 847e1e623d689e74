/** Models that an agent can hold: those of a bundle, of a folder, or fetched by digest. */
import type { VariantModel } from "../exec/models/executor.ts";
import { agentModel, NoModelError } from "./agent-model.ts";
import { type FoundModel, ModelFolder } from "./model-folder.ts";

/** A model that a front end asks for. */
export interface AskedModel {
  readonly name: string;
  /** Digest of its file; undefined for any. */
  readonly sha256: string | undefined;
}

/** Fetches a model from elsewhere. @returns the path of a permanent file; null if not found. */
export type FetchModel = (asked: {
  readonly name: string;
  readonly sha256: string;
}) => Promise<string | null>;

interface CatalogOptions {
  /** Folder of the model files. */
  readonly folder: string;
  /** Models of a bundle, checked and opened; default none. */
  readonly variants?: readonly VariantModel[] | undefined;
  /** Left out if models are not fetched. */
  readonly fetch?: FetchModel | undefined;
}

export class ModelCatalog {
  readonly #folder: ModelFolder;
  readonly #byName: ReadonlyMap<string, VariantModel>;
  readonly #fetch: FetchModel | undefined;

  constructor({ folder, variants = [], fetch }: CatalogOptions) {
    this.#folder = new ModelFolder(folder);
    this.#byName = new Map(variants.map((variant) => [variant.name, variant]));
    this.#fetch = fetch;
  }

  /**
   * Returns the models that an agent loads at its start: those of the bundle, else of the folder.
   */
  async ownNames(): Promise<string[]> {
    return this.#byName.size > 0 ? [...this.#byName.keys()] : this.#folder.names();
  }

  /** Returns the names of all models that can be loaded without a digest. */
  async names(): Promise<string[]> {
    return [...new Set([...this.#byName.keys(), ...(await this.#folder.names())])];
  }

  /** @throws NoModelError if no model has the name or the digest. */
  async find({ name, sha256 }: AskedModel): Promise<FoundModel> {
    const here = await this.#findHere(name);
    const found = here?.model.sha256 ?? null;
    if (here !== undefined && (sha256 === undefined || sha256 === found)) return here;
    await here?.close();
    if (sha256 !== undefined && this.#fetch !== undefined) {
      const path = await this.#fetch({ name, sha256 });
      if (path !== null) return this.#expected(name, path, sha256);
    }
    if (here === undefined) throw new NoModelError("no such model");
    throw new NoModelError(`expected a file with SHA-256 ${sha256}, got ${found ?? "no file"}`);
  }

  async #findHere(name: string): Promise<FoundModel | undefined> {
    const variant = this.#byName.get(name);
    if (variant === undefined) return this.#folder.find(name);
    const model = agentModel(name, variant, variant.opened?.sha256 ?? null);
    return { model, close: async () => {} };
  }

  /** Opens a fetched file if it has the requested digest. */
  async #expected(name: string, path: string, sha256: string): Promise<FoundModel> {
    const found = await this.#folder.open(name, path);
    if (found.model.sha256 === sha256) return found;
    await found.close();
    throw new NoModelError(`expected a file with SHA-256 ${sha256}, got ${found.model.sha256}`);
  }
}
