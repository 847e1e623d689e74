/** Kinds of credentials for a registry. */

export type Credentials =
  | { readonly kind: "password"; readonly username: string; readonly password: string }
  /** Exchanged for access tokens, as stored by `docker login`. */
  | { readonly kind: "identity"; readonly token: string }
  /** Sent to the registry unchanged. */
  | { readonly kind: "bearer"; readonly token: string };
