/** Long messages are copied once, with room for the head that grpc-js would copy them for. */
import { copied, SLICE_BYTES } from "../tensors/slices.ts";
import { lengthOf } from "../tensors/tensors.ts";

/** A flag, and the length of the message in four bytes. */
export const HEAD_BYTES = 5;

/** Messages that have room for a head before them. */
const withRoom = new WeakSet<Uint8Array>();

export function joined(pieces: readonly Uint8Array[]): Uint8Array | Promise<Uint8Array> {
  const length = lengthOf(pieces);
  return length <= SLICE_BYTES ? Buffer.concat(pieces, length) : joinedInSlices(pieces, length);
}

async function joinedInSlices(pieces: readonly Uint8Array[], length: number): Promise<Uint8Array> {
  const memory = await copied(pieces, HEAD_BYTES);
  const message = memory.subarray(HEAD_BYTES, HEAD_BYTES + length);
  withRoom.add(message);
  return message;
}

/** The message with its head, where it has room for one. */
export function framed(message: Uint8Array): Buffer | undefined {
  if (message.length <= SLICE_BYTES || !withRoom.has(message)) return undefined;
  const { buffer, byteOffset, length } = message;
  const frame = Buffer.from(buffer, byteOffset - HEAD_BYTES, HEAD_BYTES + length);
  frame.writeUInt8(0, 0);
  frame.writeUInt32BE(length, 1);
  return frame;
}
