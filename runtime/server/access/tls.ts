/** Certificate and key of the server and CA of its clients; shared by all listeners. */
import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { RuntimeError } from "../../base/errors.ts";
import { readRegularFile } from "../../base/regular-file.ts";
import { KeptFiles } from "./kept-files.ts";

/** Paths of PEM files. */
export interface TlsPaths {
  /** The server's certificate and the intermediate certificates. */
  readonly cert: string;
  readonly key: string;
  /** CA certificates for client certificates. Default: no client certificate is required. */
  readonly clientCa?: string;
}

/** Certificates in the form that `node:tls` and gRPC take. */
export interface TlsPair {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca?: Buffer;
  /** End of the server certificate's validity, milliseconds since 1970. */
  readonly expiresMs: number;
  /** SHA-256 fingerprint of the server certificate, hexadecimal with colons. */
  readonly fingerprint: string;
}

const MIN_TLS_VERSION = "TLSv1.2";

/** Options of `node:tls` for a pair. */
export function secureContextOf({ cert, key, ca }: TlsPair) {
  const mutual = ca === undefined ? {} : { ca };
  return { cert, key, ...mutual, minVersion: MIN_TLS_VERSION } as const;
}

const MAX_BYTES = 2 ** 20;
const MS_PER_DAY = 86_400_000;
/** Remaining validity below which a warning is logged. */
const SOON_MS = 14 * MS_PER_DAY;

interface Surroundings {
  readonly onNotice: (message: string) => void;
  /** Milliseconds since 1970. */
  readonly epochNowMs: () => number;
  readonly lookMs?: number | undefined;
}

/**
 * Opens the files, and reads them again when they change.
 * @throws RuntimeError RUNTIME_UNREADABLE, or RUNTIME_ACCESS where they do not belong together.
 */
export function openTlsFiles(
  paths: TlsPaths,
  { onNotice, epochNowMs, lookMs }: Surroundings,
): Promise<KeptFiles<TlsPair>> {
  const { cert, key, clientCa } = paths;
  const read = async () => {
    const pair = await readPair(paths);
    const leftMs = pair.expiresMs - epochNowMs();
    const day = new Date(pair.expiresMs).toISOString().slice(0, 10);
    if (leftMs <= 0) onNotice(`${cert}: the certificate expired on ${day}`);
    else if (leftMs < SOON_MS) onNotice(`${cert}: the certificate expires soon, on ${day}`);
    return pair;
  };
  const files = [cert, key, ...(clientCa === undefined ? [] : [clientCa])];
  return KeptFiles.open({ what: files.join(", "), paths: files, read, onNotice, lookMs });
}

async function readPair({ cert, key, clientCa }: TlsPaths): Promise<TlsPair> {
  const [certPem, keyPem, caPem] = await Promise.all([
    pemOf(cert),
    pemOf(key),
    clientCa === undefined ? undefined : pemOf(clientCa),
  ]);
  const certificate = certificateOf(certPem, cert);
  if (caPem !== undefined && clientCa !== undefined) certificateOf(caPem, clientCa);
  const pair = { cert: certPem, key: keyPem, ...(caPem === undefined ? {} : { ca: caPem }) };
  try {
    createSecureContext({ ...pair, minVersion: MIN_TLS_VERSION });
  } catch (error) {
    const expected = `expected the private key of ${cert}, PEM without a passphrase`;
    throw refusal(key, `${expected}: ${(error as Error).message}`);
  }
  return {
    ...pair,
    expiresMs: Date.parse(certificate.validTo),
    fingerprint: certificate.fingerprint256,
  };
}

function certificateOf(pem: Buffer, path: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw refusal(path, `expected a certificate in PEM: ${(error as Error).message}`);
  }
}

async function pemOf(path: string): Promise<Buffer> {
  const { bytes, isTooLarge } = await readRegularFile(path, MAX_BYTES).catch((error) => {
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    throw new RuntimeError("RUNTIME_UNREADABLE", `${path}: expected a file, got ${reason}`);
  });
  if (isTooLarge) throw refusal(path, `expected at most ${MAX_BYTES} bytes`);
  return bytes;
}

function refusal(path: string, message: string): RuntimeError {
  return new RuntimeError("RUNTIME_ACCESS", `${path}: ${message}`);
}
