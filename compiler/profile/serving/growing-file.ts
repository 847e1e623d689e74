/** File that another process appends to. */
import { open } from "node:fs/promises";

export class GrowingFile {
  readonly #path: string;
  #at = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Returns the text added since the last call. */
  async more(): Promise<string> {
    const file = await open(this.#path, "r");
    try {
      const { size } = await file.stat();
      const bytes = Buffer.alloc(Math.max(0, size - this.#at));
      const { bytesRead } = await file.read(bytes, 0, bytes.length, this.#at);
      this.#at += bytesRead;
      return bytes.toString("utf8", 0, bytesRead);
    } finally {
      await file.close();
    }
  }
}
