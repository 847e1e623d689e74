/** The path of a request, from whichever form its target has. */
import { HttpError } from "../connections/http-error.ts";

/** Scheme and authority of a target in absolute form, as proxies are sent it (RFC 9112 §3.2.2). */
const ORIGIN = /^https?:\/\/[^/?#]*/i;

/**
 * Returns the unescaped segments of the path; empty for a target without a path.
 * @throws HttpError 400 for invalid escapes.
 */
export function segmentsOf(target: string): string[] {
  const [path = ""] = target.replace(ORIGIN, "").split("?", 1);
  const segments = path.split("/").slice(1);
  if (!path.includes("%")) return segments;
  try {
    return segments.map(decodeURIComponent);
  } catch {
    throw new HttpError(400, `path: expected a path with valid escapes, got ${path}`);
  }
}
