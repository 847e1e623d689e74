/**
 * Reads a model whole: weights that exporters wrote to other files take the place of their
 * references. So a model is one sequence of bytes, with one digest, in any number of files.
 */
import { createHash } from "node:crypto";
import { close, constants, fstat, open, read, readFileSync, type Stats, statSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, sep, win32 } from "node:path";
import { promisify } from "node:util";
import {
  bytesOfPieces,
  type FileSlice,
  type HeldTensor,
  NoOnnxError,
  piecesOf,
} from "./onnx-tensors.ts";

// Numbers, because workers inherit numbers: an unreferenced file handle closes itself.
const openFd = promisify(open);
const closeFd = promisify(close);
const readFd = promisify(read);
const fstatFd = promisify<number, Stats>(fstat);

/** Bytes of one read, between which others get their turn. */
const READ_BYTES = 2 ** 22;
/** Size limit of protobuf. */
export const MAX_MODEL_BYTES = 2 ** 31 - 1;
/** Each is a descriptor of every worker. */
const MAX_DATA_FILES = 256;
/** Does not block on a named pipe without a writer. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Bits of an element, by the number of its type in onnx.proto; 0 if it has no fixed size. */
const ELEMENT_BITS = [
  ...[0, 32, 8, 8, 16, 16, 32, 64, 0, 8, 16, 64, 32, 64, 64, 128],
  ...[16, 8, 8, 8, 8, 4, 4, 4, 8, 2, 2],
];

/** A file with weights, open. */
export interface DataFile {
  /** Path as the model has it. */
  readonly location: string;
  readonly fd: number;
}

/**
 * A file kept open, so that workers that inherit the descriptor read the content that was checked.
 */
export interface OpenedModel {
  readonly fd: number;
  /** Other files with weights of the model; left out without any. */
  readonly data?: readonly DataFile[];
  /** Size of the whole model. */
  readonly bytes: number;
  /** Digest of the whole model when it was checked. */
  readonly sha256: string;
}

/** A model whose files stay open until `closeModel`. */
export interface OpenModel {
  readonly fd: number;
  readonly data: readonly DataFile[];
  /** Files by path, when they were opened. */
  readonly stats: ReadonlyMap<string, Stats>;
  /** The whole model; only its own file if that is not ONNX. */
  readonly content: Buffer;
}

interface Opening {
  /** Called with the content of the model's own file. */
  readonly check?: (own: Uint8Array) => void;
  /** Whether it may be the code of a module; then any file is accepted as it is. */
  readonly mayBeCode?: boolean;
}

/**
 * Opens a model and the files that it refers to.
 * @throws Error of the file system, or naming the first tensor whose values cannot be read;
 * NoOnnxError
 */
export async function openModel(
  path: string,
  { check = () => {}, mayBeCode = false }: Opening = {},
): Promise<OpenModel> {
  const fd = await openFd(path, OPEN_FLAGS);
  const data: DataFile[] = [];
  const stats = new Map<string, Stats>();
  const opened = async ({ location }: FileSlice): Promise<number> => {
    const known = fdAt(data, location);
    if (known !== undefined) return known;
    if (data.length === MAX_DATA_FILES) {
      throw new Error(`expected at most ${MAX_DATA_FILES} files of external data`);
    }
    const place = await pathInside(path, location);
    const file = { location, fd: await openFd(place, OPEN_FLAGS) };
    data.push(file);
    stats.set(place, await fstatFd(file.fd));
    return file.fd;
  };
  try {
    stats.set(path, await fstatFd(fd));
    const own = await contentOf(fd);
    check(own);
    const content = await whole(own, opened).catch((error: unknown) => {
      if (mayBeCode && error instanceof NoOnnxError) return own;
      throw error;
    });
    return { fd, data, stats, content };
  } catch (error) {
    await closeModel({ fd, data });
    throw error;
  }
}

export async function closeModel({ fd, data }: Pick<OpenModel, "fd" | "data">): Promise<void> {
  for (const file of data) await closeFd(file.fd);
  await closeFd(fd);
}

/** Reads a model by its path. @throws as `openModel`. */
export async function wholeModel(path: string, check?: Opening["check"]): Promise<Buffer> {
  const model = await openModel(path, check === undefined ? {} : { check });
  await closeModel(model);
  return model.content;
}

/** Reads a model from its open files, wherever their positions are. @throws as `openModel`. */
export async function inheritedModel(fd: number, data: readonly DataFile[] = []): Promise<Buffer> {
  return whole(await contentOf(fd), async ({ location }) => {
    const known = fdAt(data, location);
    if (known === undefined) throw new Error("it is not among the files that were opened");
    return known;
  });
}

function fdAt(data: readonly DataFile[], location: string): number | undefined {
  return data.find((file) => file.location === location)?.fd;
}

/** Returns the size of the whole model, or 0 if its own file cannot be read or is no file. */
export function wholeBytesAt(path: string): number {
  let own: Buffer = Buffer.alloc(0);
  try {
    // Opening a pipe would wait for a writer.
    if (!statSync(path).isFile()) return 0;
    own = readFileSync(path);
    const pieces = piecesOf(own, sliceOf);
    return pieces === null ? own.length : bytesOfPieces(pieces);
  } catch {
    return own.length;
  }
}

/** @param fdOf opens the file of a slice. */
async function whole(own: Buffer, fdOf: (slice: FileSlice) => Promise<number>): Promise<Buffer> {
  const pieces = piecesOf(own, sliceOf);
  if (pieces === null) return own;
  const byteCount = bytesOfPieces(pieces);
  if (byteCount > MAX_MODEL_BYTES) throw tooLarge(byteCount);
  const content = Buffer.allocUnsafeSlow(byteCount);
  let at = 0;
  for (const piece of pieces) {
    if (piece instanceof Uint8Array) content.set(piece, at);
    else await readSlice(piece, await named(piece, () => fdOf(piece)), content, at);
    at += piece.length;
  }
  return content;
}

async function readSlice(slice: FileSlice, fd: number, target: Buffer, at: number): Promise<void> {
  const { offset, length } = slice;
  await named(slice, async () => {
    const { size } = await regular(fd);
    if (offset + length > size) {
      const expected = `expected ${length} bytes from ${offset} on`;
      throw new Error(`${expected}; the file has ${size} bytes`);
    }
    await readFull(fd, target.subarray(at, at + length), offset);
  });
}

/** Returns where the values of a tensor lie; null for one inside the model. @throws Error */
function sliceOf({ name, dims, dataType, external }: HeldTensor): FileSlice | null {
  if (external === null) return null;
  const location = external.get("location") ?? "";
  const where = whereOf({ tensor: name, location });
  const bits = ELEMENT_BITS[dataType] ?? 0;
  const needed = Math.ceil(dims.reduce((product, size) => product * size, bits) / 8);
  const offset = wholeNumber(external.get("offset") ?? "0", `${where}: offset`);
  const length = wholeNumber(external.get("length") ?? String(needed), `${where}: length`);
  if (length !== needed && bits > 0) {
    const shape = `the shape [${dims.join(", ")}] of elements of ${bits} bits`;
    throw new Error(`${where}: expected ${needed} bytes for ${shape}, got ${length}`);
  }
  return { tensor: name, location, offset, length };
}

/**
 * Resolves a location, following links. Models are untrusted: a name must not lead out of the
 * folder of the model, or of the file that the model is a link to, on any operating system.
 */
async function pathInside(model: string, location: string): Promise<string> {
  const allowed = "allowed: a file inside the model's folder";
  const parts = location.split(/[\\/]/);
  const leaves = isAbsolute(location) || win32.isAbsolute(location) || parts.includes("..");
  if (location === "" || leaves) throw new Error(`leaves the folder; ${allowed}`);
  const path = await realpath(join(dirname(model), location));
  for (const folder of [await realpath(dirname(model)), dirname(await realpath(model))]) {
    const inside = relative(folder, path);
    if (inside !== ".." && !inside.startsWith(`..${sep}`) && !isAbsolute(inside)) return path;
  }
  throw new Error(`is a link to ${path}; ${allowed}`);
}

function wholeNumber(text: string, where: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new Error(`${where}: expected an integer number of bytes, got "${text}"`);
}

/** Adds the tensor and its file to errors. */
async function named<T>(slice: FileSlice, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === undefined ? message : `expected a readable file, got: ${message}`;
    throw new Error(`${whereOf(slice)}: ${reason}`);
  }
}

function whereOf({ tensor, location }: Pick<FileSlice, "tensor" | "location">): string {
  return `tensor "${tensor}": external data at "${location}"`;
}

async function contentOf(fd: number): Promise<Buffer> {
  const { size } = await regular(fd);
  if (size > MAX_MODEL_BYTES) throw tooLarge(size);
  const content = Buffer.allocUnsafeSlow(size);
  await readFull(fd, content, 0);
  return content;
}

async function regular(fd: number): Promise<Stats> {
  const stats = await fstatFd(fd);
  if (!stats.isFile()) throw new Error("not a file");
  return stats;
}

async function readFull(fd: number, target: Buffer, position: number): Promise<void> {
  for (let at = 0; at < target.length; ) {
    const length = Math.min(READ_BYTES, target.length - at);
    const { bytesRead } = await readFd(fd, target, at, length, position + at);
    if (bytesRead === 0)
      throw new Error(`the file ends while it is read, at byte ${position + at}`);
    at += bytesRead;
  }
}

function tooLarge(byteCount: number): Error {
  return new Error(`${byteCount} bytes, where ONNX files have at most ${MAX_MODEL_BYTES}`);
}

interface SomeFile {
  readonly path: string;
  readonly opened?: OpenedModel;
}

/**
 * Reads a whole model from its open files, else from its path.
 * @throws Error if the content changed since it was checked, or if it cannot be read.
 */
export async function modelBytes({ path, opened }: SomeFile): Promise<Uint8Array> {
  if (opened === undefined) return wholeModel(path);
  const { fd, sha256, data = [] } = opened;
  const bytes = await inheritedModel(fd, data);
  const found = createHash("sha256").update(bytes).digest("hex");
  if (found === sha256) return bytes;
  throw new Error(
    `${["the file", ...data.map(({ location }) => location)].join(" or ")} changed while it was ` +
      `served: expected SHA-256 ${sha256}, got ${found}; restore the old content, or restart`,
  );
}
