/** How somebody shows a registry who they are. */

export type Credentials =
  | { readonly kind: "password"; readonly username: string; readonly password: string }
  /** Exchanged for tokens of a registry, as `docker login` may keep it. */
  | { readonly kind: "identity"; readonly token: string }
  /** Sent to the registry as it is. */
  | { readonly kind: "bearer"; readonly token: string };
