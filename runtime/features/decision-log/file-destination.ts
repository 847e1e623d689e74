/** Decision log in a file: consecutive gzip members, or plain lines. */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { causeOf } from "../../base/http-client.ts";
import { type Delivery, type LogDestination, TAKEN } from "./log-destination.ts";

const { O_APPEND, O_CREAT, O_NONBLOCK, O_RDWR } = constants;
/** First bytes of each member written here: gzip, deflate, no flags, no time. */
const MEMBER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0]);
/** Upper bound of a member's size. */
const MAX_MEMBER_BYTES = 2 ** 22;
const NEWLINE = 0x0a;

/**
 * Opens the file for each batch, so that it can be moved at any time, and removes a batch that
 * could not be written completely.
 */
export class FileDestination implements LogDestination {
  readonly name: string;
  readonly #isZipped: boolean;
  /** Whether a part of a batch may be at the end. */
  #isBroken = false;

  /** @param path a name that ends in `.jsonl` gets plain lines, any other name gzip. */
  constructor(path: string) {
    this.name = path;
    this.#isZipped = !path.endsWith(".jsonl");
  }

  /**
   * Checks that the file is writable and removes a partial write left by a crash.
   * @throws the system's error.
   */
  async prepare(): Promise<void> {
    const file = await open(this.name, O_RDWR | O_CREAT | O_NONBLOCK, 0o640);
    try {
      const status = await file.stat();
      if (!status.isFile() || status.size === 0) return;
      if (this.#isZipped) await mendMembers(file, status.size);
      else await endLine(file, status.size);
    } finally {
      await file.close();
    }
  }

  async send(text: string): Promise<Delivery> {
    try {
      const bytes = this.#isZipped ? await promisify(gzip)(text) : Buffer.from(text);
      if (this.#isBroken) await this.prepare();
      this.#isBroken = true;
      await append(this.name, bytes);
      this.#isBroken = false;
      return TAKEN;
    } catch (error) {
      return { kind: "away", reason: causeOf(error) };
    }
  }
}

async function append(path: string, bytes: Buffer): Promise<void> {
  const file = await open(path, O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK, 0o640);
  try {
    const { size } = await file.stat();
    try {
      await file.appendFile(bytes);
    } catch (error) {
      await file.truncate(size).catch(() => {});
      throw error;
    }
  } finally {
    await file.close();
  }
}

/** Truncates the last member if it is incomplete. */
async function mendMembers(file: FileHandle, size: number): Promise<void> {
  const from = Math.max(0, size - MAX_MEMBER_BYTES);
  const tail = Buffer.alloc(size - from);
  await file.read(tail, 0, tail.length, from);
  const at = tail.lastIndexOf(MEMBER);
  // Leaves a file as it is if no member in it was written here.
  if (at < 0 || (await isWhole(tail.subarray(at)))) return;
  // The member after it may consist of fewer bytes than the signature.
  for (let left = 1; left < MEMBER.length; left++) {
    const before = tail.subarray(at, tail.length - left);
    const isBegun = tail.subarray(-left).equals(MEMBER.subarray(0, left));
    if (!isBegun || !(await isWhole(before))) continue;
    await file.truncate(size - left);
    return;
  }
  await file.truncate(from + at);
}

function isWhole(member: Buffer): Promise<boolean> {
  return promisify(gunzip)(member).then(
    () => true,
    () => false,
  );
}

/** Ends a truncated line, which remains as a line that cannot be read. */
async function endLine(file: FileHandle, size: number): Promise<void> {
  const last = Buffer.alloc(1);
  await file.read(last, 0, 1, size - 1);
  if (last[0] !== NEWLINE) await file.write("\n", size);
}
