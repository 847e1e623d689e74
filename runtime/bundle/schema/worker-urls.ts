/** URLs of workers that are servers. */

const SCHEMES = ["http:", "https:"];

export const WORKER_URL_FORM = "the URL of a v2 server such as http://10.0.0.7:8000, or https";

/**
 * Whether a text is the URL of a server: a path is allowed, but no query, fragment or credentials.
 */
export function isWorkerUrl(text: string): boolean {
  // Commas separate several URLs in one line.
  if (text.includes(",") || !URL.canParse(text)) return false;
  const { protocol, hostname, search, hash, username, password } = new URL(text);
  if (!SCHEMES.includes(protocol) || hostname === "") return false;
  return [search, hash, username, password].every((part) => part === "");
}
