/** Memory that native functions read and write, as bytes. */
import koffi from "koffi";

export interface Block {
  /** What native functions are handed. */
  readonly pointer: bigint;
  readonly bytes: DataView;
}

/** Of zeros; it stays where it is for the life of the process. */
export function block(length: number): Block {
  const pointer: bigint = koffi.alloc("uint8_t", length);
  const bytes = new Uint8Array(koffi.view(pointer, length));
  bytes.fill(0);
  return { pointer, bytes: new DataView(bytes.buffer) };
}

/** Text that ends with a zero, of at most `length` bytes. */
export function textAt({ bytes }: Block, offset: number, length: number): string {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset + offset, length);
  const end = all.indexOf(0);
  return all.toString("utf8", 0, end < 0 ? length : end);
}

/** Numbers of 64 bits as they come, which are exact up to 2^53. */
export function numberAt({ bytes }: Block, offset: number): number {
  return Number(bytes.getBigUint64(offset, true));
}
