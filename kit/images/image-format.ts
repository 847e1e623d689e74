/** Finds the format of an image by its first bytes. */

export type ImageFormat = "jpeg" | "png" | "webp" | "gif" | "tiff" | "avif";

/** Bytes at a place of the file; a file of the kind has one of them. */
const SIGNATURES: readonly (readonly [ImageFormat, number, readonly string[]])[] = [
  ["jpeg", 0, ["\xff\xd8\xff"]],
  ["png", 0, ["\x89PNG\r\n\x1a\n"]],
  ["webp", 8, ["WEBP"]],
  ["gif", 0, ["GIF87a", "GIF89a"]],
  ["tiff", 0, ["II*\0", "MM\0*"]],
  ["avif", 4, ["ftypavif", "ftypavis"]],
];

export const IMAGE_FORMATS: readonly ImageFormat[] = SIGNATURES.map(([format]) => format);

/** Null for other formats: drawings (SVG, PDF) are programs for their readers. */
export function formatOf(bytes: Uint8Array): ImageFormat | null {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 16));
  const text = head.toString("latin1");
  const found = SIGNATURES.find(([, at, signatures]) =>
    signatures.some((signature) => text.startsWith(signature, at)),
  );
  return found?.[0] ?? null;
}
