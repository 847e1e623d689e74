/** Media types of policies and of OCI. */

/** Type of the bundle's layer and of the artifact. */
export const POLICY = "application/vnd.stratagem.policy.v1+msgpack";
/** A file that the bundle names by its digest. */
export const MODEL = "application/vnd.stratagem.model.v1";
/** The signature of the bundle. */
export const SIGNATURE = "application/vnd.dsse.envelope.v1+json";
/** Provenance of the bundle. */
export const PROVENANCE = "application/vnd.in-toto+json";
/** Placeholder `{}` for the configuration of an artifact. */
export const EMPTY = "application/vnd.oci.empty.v1+json";
export const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
export const INDEX = "application/vnd.oci.image.index.v1+json";
/** Annotation with the file name used when pulling, as in ORAS. */
export const TITLE = "org.opencontainers.image.title";
