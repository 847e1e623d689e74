/** Kinds of content, as registries and OCI name them. */

/** The bundle's layer, and the kind of the whole artifact. */
export const POLICY = "application/vnd.stratagem.policy.v1+msgpack";
/** A file that the bundle names by its digest. */
export const MODEL = "application/vnd.stratagem.model.v1";
/** The signature of the bundle. */
export const SIGNATURE = "application/vnd.dsse.envelope.v1+json";
/** Where the bundle is from. */
export const PROVENANCE = "application/vnd.in-toto+json";
/** `{}`: what an artifact without a configuration has in its place. */
export const EMPTY = "application/vnd.oci.empty.v1+json";
export const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
export const INDEX = "application/vnd.oci.image.index.v1+json";
/** What pulling gives a file, as ORAS and others have it. */
export const TITLE = "org.opencontainers.image.title";
