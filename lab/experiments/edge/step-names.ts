/** What the steps of an update are called: the same in each, whatever digests it is about. */

const DIGEST = /[0-9a-f]{64}/;
/** What a look at a registry brings, in this order; a model is what comes after. */
const FETCHED = ["the bundle", "its signature", "its provenance"];
/** Files that say which revision is which, in the order in which an update writes them. */
const POINTERS = ["the current revision's name", "the last good revision's name"];

const REVISION = "the revision";

type Change = "makes" | "creates" | "writes" | "puts in place" | "links" | "removes";

export class StepNames {
  readonly #folders: readonly string[];
  readonly #digests: string[] = [];
  readonly #pointers: string[] = [];
  #isPut = false;

  /** @param folders that belong to the server. */
  constructor(folders: readonly string[]) {
    this.#folders = folders;
  }

  /** Of a change of the disk; null where it is elsewhere. */
  change(kind: Change, path: string): string | null {
    const folder = this.#folders.find((one) => one !== "" && path.startsWith(`${one}/`));
    if (folder === undefined) return null;
    const thing = this.#thing(path.slice(folder.length + 1));
    if (thing !== REVISION || kind !== "removes") return `${kind} ${thing}`;
    const isFirst = !this.#isPut;
    this.#isPut = true;
    return isFirst ? "clears the revision's place" : "removes an old revision";
  }

  /** Of a request to a registry; null for what is not about content. */
  asked(url: string): string | null {
    const digest = /\/blobs\/sha256:([0-9a-f]{64})$/.exec(url)?.[1];
    return digest === undefined ? null : `asks for ${this.#fetched(digest)}`;
  }

  #thing(path: string): string {
    const [top = "", ...rest] = path.split("/");
    const last = rest.at(-1) ?? top;
    if (top === "serials") return "the serial";
    if (top === "blobs") {
      const what = this.#fetched(DIGEST.exec(last)?.[0] ?? "");
      return last.endsWith(".part") ? `${what}'s download` : what;
    }
    if (rest[1] === "revisions") return inRevision(rest.slice(2));
    return this.#pointer(last);
  }

  #fetched(digest: string): string {
    if (!this.#digests.includes(digest)) this.#digests.push(digest);
    return FETCHED[this.#digests.indexOf(digest)] ?? "a model";
  }

  /** Known by its name once it is in place; until then by the order. */
  #pointer(name: string): string {
    if (name === "current") return POINTERS[0] ?? name;
    if (name === "last-good") return POINTERS[1] ?? name;
    if (!this.#pointers.includes(name)) this.#pointers.push(name);
    return POINTERS[this.#pointers.indexOf(name)] ?? name;
  }
}

function inRevision([folder = "", file]: readonly string[]): string {
  if (file === undefined) return folder.startsWith(".new-") ? "the new folder" : REVISION;
  if (file.endsWith(".onnx")) return "a model in the revision";
  return `${file} in the revision`;
}
