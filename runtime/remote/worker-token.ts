/** Token that a front end sends to workers. */
import { readFile } from "node:fs/promises";
import { RuntimeError } from "../base/errors.ts";

/** Returns the `authorization` header; null for none. */
export type ReadToken = () => Promise<string | null>;

const MAX_TOKEN_LENGTH = 2 ** 14;
/** Time for which a token is cached; tokens rotate. */
const FRESH_MS = 5000;

/**
 * @param path of the file with the token; omitted for none. The file is reread periodically because
 * tokens rotate.
 */
export function tokenReader(path: string | undefined): ReadToken {
  if (path === undefined) return () => Promise.resolve(null);
  let read: Promise<string> | null = null;
  let readMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = performance.now();
    if (read === null || nowMs - readMs > FRESH_MS) {
      readMs = nowMs;
      read = bearerOf(path);
      read.catch(() => {
        readMs = Number.NEGATIVE_INFINITY;
      });
    }
    return read;
  };
}

/** @throws RuntimeError RUNTIME_UNREADABLE */
async function bearerOf(path: string): Promise<string> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    const reason = error.code ?? error.message;
    throw new RuntimeError("RUNTIME_UNREADABLE", `${path}: expected a token, got: ${reason}`);
  });
  const token = text.trim();
  if (token !== "" && token.length <= MAX_TOKEN_LENGTH && !/\s/.test(token))
    return `Bearer ${token}`;
  const found = `${token.length} characters`;
  throw new RuntimeError(
    "RUNTIME_UNREADABLE",
    `${path}: expected a token without whitespace, got ${found}`,
  );
}
