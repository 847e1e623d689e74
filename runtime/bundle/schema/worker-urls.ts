/** URLs of workers: which there are, and how each is spoken to. */

const SCHEMES = ["http:", "https:", "grpc:", "grpcs:"] as const;

export const WORKER_URL_FORM = "http://HOST:PORT, https://, grpc:// or grpcs://";

/** Whether a text is the URL of a server: a path may follow, but no question and no password. */
export function isWorkerUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !SCHEMES.some((scheme) => scheme === url.protocol)) return false;
  const isGrpc = isGrpcUrl(text);
  const hasMore = url.search !== "" || url.hash !== "" || url.username !== "";
  if (hasMore || url.password !== "" || url.hostname === "") return false;
  return isGrpc ? url.port !== "" && (url.pathname === "" || url.pathname === "/") : true;
}

export function isGrpcUrl(url: string): boolean {
  return url.startsWith("grpc:") || url.startsWith("grpcs:");
}
