/**
 * Manifests, which list the content of an artifact. Source: the image specification of OCI, 1.1.
 */
import { createHash } from "node:crypto";
import { EMPTY, INDEX, MANIFEST } from "./media-types.ts";
import { registryError } from "./registry-errors.ts";

/** Reference to content in a registry. */
export interface Descriptor {
  readonly mediaType: string;
  /** `sha256:` and 64 digits. */
  readonly digest: string;
  /** In bytes. */
  readonly size: number;
  readonly artifactType?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Manifest {
  /** The media type of the configuration if the manifest states none. */
  readonly artifactType: string;
  readonly layers: readonly Descriptor[];
}

/** Limit of registries. */
export const MAX_MANIFEST_BYTES = 4 * 2 ** 20;
const MAX_DESCRIPTORS = 4096;
const MAX_SIZE = 2 ** 40;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
/** Configuration of artifacts without one. */
export const EMPTY_BYTES = Buffer.from("{}");
export const EMPTY_CONFIG = descriptorOf(EMPTY, EMPTY_BYTES);

type Fields = Readonly<Record<string, unknown>>;

/** @param annotations omitted for none. */
export function descriptorOf(
  mediaType: string,
  bytes: Uint8Array,
  annotations?: Readonly<Record<string, string>>,
): Descriptor {
  const digest = digestOfBytes(bytes);
  const more = annotations === undefined ? {} : { annotations };
  return { mediaType, digest, size: bytes.length, ...more };
}

export function digestOfBytes(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

/** Digest without the prefix `sha256:`. */
export function sha256Of({ digest }: Pick<Descriptor, "digest">): string {
  return digest.slice("sha256:".length);
}

/**
 * Encodes a manifest. The bytes depend on the content only and contain no time, so that pushing
 * twice creates one artifact.
 */
export function manifestBytes({
  artifactType,
  layers,
  subject,
}: Manifest & { readonly subject?: Descriptor | undefined }): Buffer {
  return Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST,
      artifactType,
      config: EMPTY_CONFIG,
      layers,
      ...(subject === undefined ? {} : { subject }),
    }),
  );
}

export function indexBytes(manifests: readonly Descriptor[]): Buffer {
  return Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests }));
}

/** @param where name in messages. @throws RuntimeError RUNTIME_REGISTRY for other documents. */
export function readManifest(bytes: Uint8Array, where: string): Manifest {
  const document = documentOf(bytes, where);
  const { mediaType, artifactType, config, layers } = document;
  if (mediaType === INDEX || document["manifests"] !== undefined) {
    throw registryError(where, "expected a single artifact, got an index");
  }
  const kind = typeof artifactType === "string" ? artifactType : fieldsOf(config)["mediaType"];
  return {
    artifactType: typeof kind === "string" ? kind : "",
    layers: descriptorsOf(layers, `${where}: layers`),
  };
}

/** Returns the entries of an index. @throws RuntimeError RUNTIME_REGISTRY for other documents. */
export function readIndex(bytes: Uint8Array, where: string): readonly Descriptor[] {
  return descriptorsOf(documentOf(bytes, where)["manifests"], `${where}: manifests`);
}

function documentOf(bytes: Uint8Array, where: string): Fields {
  let document: unknown;
  try {
    document = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw registryError(where, "expected a manifest in JSON");
  }
  const fields = fieldsOf(document);
  if (fields["schemaVersion"] === 2) return fields;
  throw registryError(where, "expected a manifest of schemaVersion 2");
}

function descriptorsOf(value: unknown, where: string): Descriptor[] {
  if (Array.isArray(value) && value.length <= MAX_DESCRIPTORS) {
    return value.map((one: unknown, at) => readDescriptor(one, `${where}[${at}]`));
  }
  throw registryError(where, `expected a list of at most ${MAX_DESCRIPTORS} entries`);
}

function readDescriptor(value: unknown, where: string): Descriptor {
  const { mediaType, digest, size, artifactType, annotations } = fieldsOf(value);
  if (typeof mediaType !== "string") throw registryError(`${where}.mediaType`, "expected a text");
  if (typeof digest !== "string" || !DIGEST.test(digest)) {
    throw registryError(`${where}.digest`, "expected sha256: and 64 hexadecimal digits");
  }
  if (typeof size !== "number" || !Number.isInteger(size) || size < 0 || size > MAX_SIZE) {
    throw registryError(`${where}.size`, `expected an integer from 0 to ${MAX_SIZE}`);
  }
  const texts = Object.entries(fieldsOf(annotations)).flatMap(([name, text]) => {
    return typeof text === "string" ? [[name, text] as const] : [];
  });
  return {
    mediaType,
    digest,
    size,
    ...(typeof artifactType === "string" ? { artifactType } : {}),
    ...(texts.length === 0 ? {} : { annotations: Object.fromEntries(texts) }),
  };
}

function fieldsOf(value: unknown): Fields {
  const isFields = typeof value === "object" && value !== null && !Array.isArray(value);
  return isFields ? (value as Fields) : {};
}
