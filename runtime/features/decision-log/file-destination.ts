/** A decision log in a file: gzip members one after the other, or lines as they are. */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { causeOf } from "../../base/http-client.ts";
import { type Delivery, type LogPlace, TAKEN } from "./log-place.ts";

const { O_APPEND, O_CREAT, O_NONBLOCK, O_RDWR } = constants;
/** What every member of ours begins with: gzip, deflate, no flags, no time. */
const MEMBER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0]);
/** A member is not larger. */
const MAX_MEMBER_BYTES = 2 ** 22;
const NEWLINE = 0x0a;

/**
 * The file is opened anew for every batch, so that it may be moved at any time, and a batch that
 * could not be written whole is taken off again.
 */
export class FilePlace implements LogPlace {
  readonly name: string;
  readonly #isZipped: boolean;

  /** @param path of names that end in `.jsonl` lines are written as they are, of others zipped. */
  constructor(path: string) {
    this.name = path;
    this.#isZipped = !path.endsWith(".jsonl");
  }

  /**
   * Sees that it can be written, and takes off what a crash left half written.
   * @throws the error of the system.
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
      await append(this.name, bytes);
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

/** Cuts the last member off where it does not end. */
async function mendMembers(file: FileHandle, size: number): Promise<void> {
  const from = Math.max(0, size - MAX_MEMBER_BYTES);
  const tail = Buffer.alloc(size - from);
  await file.read(tail, 0, tail.length, from);
  const at = tail.lastIndexOf(MEMBER);
  // None of ours: whatever it is, nothing is cut off it.
  if (at < 0 || (await isWhole(tail.subarray(at)))) return;
  // Of the next one there may be less than its first bytes.
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

/** A line that was cut is left as one that cannot be read. */
async function endLine(file: FileHandle, size: number): Promise<void> {
  const last = Buffer.alloc(1);
  await file.read(last, 0, 1, size - 1);
  if (last[0] !== NEWLINE) await file.write("\n", size);
}
