/** Whose bundles are followed, and what the site is that they may be for. */
import { LABELS_EXPECTED, type Labels, labelsOf, labelsText } from "../bundles/trust/labels.ts";
import { type Kind, texts } from "../kinds/kinds.ts";
import { setting } from "../kinds/setting.ts";

const labels: Kind<Labels> = {
  sign: "<labels>",
  expected: LABELS_EXPECTED,
  read: labelsOf,
  write: labelsText,
};

export const TRUST = {
  requireSignature: setting(
    texts("<file>", "files of public keys"),
    null,
    "public key that has signed a bundle which is to be followed; once for each that may",
    "bundles need no signature",
  ),
  labels: setting(
    labels,
    null,
    "what this site is, such as site=berlin,tier=edge; a bundle may be signed for some alone",
    "it has no labels",
  ),
};
