/** Opens files that models lie in: nothing that never ends, or waits for a writer. */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/**
 * A file to read and its size. The caller closes it.
 * @throws Error if it cannot be opened or is no regular file.
 */
export async function openRegular(path: string): Promise<{ file: FileHandle; size: number }> {
  // Without O_NONBLOCK opening a named pipe would wait for a writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stat = await file.stat();
  if (stat.isFile()) return { file, size: stat.size };
  await file.close();
  throw new Error("it is not a regular file");
}
