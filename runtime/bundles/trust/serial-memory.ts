/**
 * Serials that a site has accepted, on disk: a file for each application's highest one. The file
 * name holds the serial, so that it only ever grows, even with several writers or a power cut.
 */
import { createHash } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { RuntimeError } from "../../base/errors.ts";

export interface FollowedSerial {
  readonly application: string;
  readonly serial: number;
  /** Digest of the bundle with this serial. */
  readonly sha256: string;
}

const KEY_DIGITS = 16;
/** Digits of the largest safe integer. */
const SERIAL_DIGITS = 16;
const NAME = /^([0-9a-f]{16})-(\d{16})\.json(?:\.new)?$/;
const PRIVATE_FOLDER = 0o700;

export class SerialMemory {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Makes the folder if needed, and checks that it can be written to.
   * @throws RuntimeError RUNTIME_SERIALS
   */
  static async open(folder: string): Promise<SerialMemory> {
    const memory = new SerialMemory(folder);
    await memory.#trying("be written to", async () => {
      await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
      const probe = join(folder, `.probe-${process.pid}`);
      await writeSynced(probe, "");
      await rm(probe, { force: true });
    });
    return memory;
  }

  /**
   * Returns the highest serial of an application; null if it has none. @throws RuntimeError
   * RUNTIME_SERIALS
   */
  async highest(application: string): Promise<FollowedSerial | null> {
    const serial = (await this.#serials(application)).at(-1);
    if (serial === undefined) return null;
    const path = join(this.#folder, nameOf(application, serial));
    const text = await this.#trying("be read", () => readFile(path, "utf8"));
    const sha256 = digestIn(text);
    if (sha256 !== undefined) return { application, serial, sha256 };
    const hint = `remove it if no bundle of ${application} older than serial ${serial} can arrive`;
    throw refusal(`${path}: expected a file written by a server, got something else; ${hint}`);
  }

  /** Stores a serial unless a higher one is stored. @throws RuntimeError RUNTIME_SERIALS */
  async remember({ application, serial, sha256 }: FollowedSerial): Promise<void> {
    const known = await this.#serials(application);
    if ((known.at(-1) ?? -1) >= serial) return;
    const path = join(this.#folder, nameOf(application, serial));
    await this.#trying("be written to", async () => {
      await writeSynced(`${path}.new`, `${JSON.stringify({ application, serial, sha256 })}\n`);
      await rename(`${path}.new`, path);
      await syncFolder(this.#folder);
      await this.#forgetBefore(application, serial);
    });
  }

  /** Ascending. */
  async #serials(application: string): Promise<number[]> {
    const names = await this.#trying("be read", () => readdir(this.#folder));
    return names
      .filter((name) => !name.endsWith(".new") && keyIn(name) === keyOf(application))
      .map(serialIn)
      .sort((a, b) => a - b);
  }

  /** Removes older serials, and files left half-written by a power cut. */
  async #forgetBefore(application: string, serial: number): Promise<void> {
    const names = await readdir(this.#folder);
    const old = names.filter((name) => {
      return keyIn(name) === keyOf(application) && serialIn(name) < serial;
    });
    for (const name of old) await rm(join(this.#folder, name), { force: true });
  }

  async #trying<T>(what: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const expected = `expected a folder of serials that can ${what}`;
      throw refusal(`${this.#folder}: ${expected}, got: ${code ?? message}`);
    }
  }
}

/** Hashed, since names of applications may have any characters. */
function keyOf(application: string): string {
  return createHash("sha256").update(application).digest("hex").slice(0, KEY_DIGITS);
}

function nameOf(application: string, serial: number): string {
  return `${keyOf(application)}-${String(serial).padStart(SERIAL_DIGITS, "0")}.json`;
}

function keyIn(name: string): string | undefined {
  return NAME.exec(name)?.[1];
}

function serialIn(name: string): number {
  return Number(NAME.exec(name)?.[2]);
}

function digestIn(text: string): string | undefined {
  try {
    const { sha256 } = JSON.parse(text) as { readonly sha256?: unknown };
    return typeof sha256 === "string" ? sha256 : undefined;
  } catch {
    return undefined;
  }
}

async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, "w", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes a rename durable, on systems that can open folders. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function refusal(message: string): RuntimeError {
  return new RuntimeError("RUNTIME_SERIALS", message);
}
