/**
 * Model files of a server, each opened once: workers inherit exactly the file that was checked,
 * even if its name is reused.
 */
import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { closeModel, type OpenedModel, type OpenModel, openModel } from "../files/whole-model.ts";
import { firstAxisNames } from "../onnx/onnx-axes.ts";

/** An opened model, and what its file says of the first dimensions of its tensors. */
export interface CheckedModel extends OpenedModel {
  /** Axis names per tensor name; tensors without one are left out. */
  readonly axisNames: Readonly<Record<string, string>>;
}

interface OpenedFile {
  readonly checked: CheckedModel;
  readonly model: Pick<OpenModel, "fd" | "data" | "stats">;
  /** How many have it. */
  holders: number;
}

export class OpenedModels {
  readonly #files = new Map<string, OpenedFile>();
  readonly #before: OpenedModels | undefined;

  /** @param before others whose files it shares; a file is closed with its last user. */
  constructor(before?: OpenedModels) {
    this.#before = before;
  }

  /**
   * Opens a file, following links, and reads it once; later calls return the same.
   * @param wantedSha256 reuses a file of this content that was opened before, whatever the path
   * holds now.
   * @throws Error of the file system, or if it is not a file or too large.
   */
  async open(path: string, wantedSha256?: string): Promise<CheckedModel> {
    const known = this.#files.get(path);
    if (known !== undefined) return known.checked;
    const shared = this.#before === undefined ? undefined : this.#before.#files.get(path);
    if (shared !== undefined && shared.checked.sha256 === wantedSha256) {
      shared.holders++;
      this.#files.set(path, shared);
      return shared.checked;
    }
    const { content, ...model } = await openModel(path, { mayBeCode: true });
    const { fd, data } = model;
    const sha256 = createHash("sha256").update(content).digest("hex");
    const axisNames = firstAxisNames(content);
    const opened = { fd, ...(data.length === 0 ? {} : { data }), bytes: content.length, sha256 };
    const checked = { ...opened, axisNames };
    this.#files.set(path, { checked, model, holders: 1 });
    return checked;
  }

  /** Returns the paths whose content differs from the one that was opened, or that are gone. */
  async changed(): Promise<string[]> {
    const changed: string[] = [];
    for (const [path, file] of this.#files) {
      if (!(await isSame(path, file))) changed.push(path);
    }
    return changed;
  }

  /** Workers that are running keep theirs. */
  async close(): Promise<void> {
    const files = [...this.#files.values()];
    this.#files.clear();
    for (const file of files) file.holders--;
    const last = files.filter(({ holders }) => holders === 0);
    await Promise.all(last.map(({ model }) => closeModel(model)));
  }
}

/** Reads a model again only if the metadata of one of its files differ. */
async function isSame(path: string, { checked, model }: OpenedFile): Promise<boolean> {
  let isSameFile = true;
  for (const [place, was] of model.stats) {
    const now = await stat(place).catch(() => null);
    if (now === null || now.size !== was.size) return false;
    isSameFile &&= metadataOf(now) === metadataOf(was);
  }
  if (isSameFile) return true;
  const other = new OpenedModels();
  try {
    return (await other.open(path)).sha256 === checked.sha256;
  } catch {
    return false;
  } finally {
    await other.close();
  }
}

function metadataOf({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string {
  return [dev, ino, size, mtimeMs, ctimeMs].join();
}
