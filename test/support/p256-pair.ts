/** A key pair of P-256, as openssl or cosign's users make one. */
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";

/** Writes NAME.key (PKCS #8) and NAME.pub (SPKI) in PEM. */
export function writeKeyPair(name: string): void {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const secret = privateKey.export({ type: "pkcs8", format: "pem" });
  writeFileSync(`${name}.key`, secret, { mode: 0o600 });
  writeFileSync(`${name}.pub`, publicKey.export({ type: "spki", format: "pem" }));
}
