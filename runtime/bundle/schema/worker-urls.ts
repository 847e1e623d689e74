/** URLs of workers that are servers. */

const SCHEMES = ["http:", "https:", "grpc:", "grpcs:"];

export const WORKER_URL_FORM =
  "the URL of a v2 server such as http://10.0.0.7:8000; https, grpc or grpcs too";

/** Whether a text is the URL of a server: a path may follow, but no question and no password. */
export function isWorkerUrl(text: string): boolean {
  // Whoever writes several in one line has commas between them.
  if (text.includes(",") || !URL.canParse(text)) return false;
  const { protocol, hostname, port, pathname, search, hash, username, password } = new URL(text);
  if (!SCHEMES.includes(protocol) || hostname === "") return false;
  // Calls have paths of their own, and there is no usual port.
  if (protocol.startsWith("grpc") && (port === "" || pathname.length > 1)) return false;
  return [search, hash, username, password].every((part) => part === "");
}
